//! What a resident is reminded of: it may remember it, if its conversation could be taken up, or not.

use std::path::Path;

use team_executor_core::run::TaskView;
use team_executor_core::{ExecMode, Task, TaskId};
use team_executor_files::fence::fenced;
use team_executor_files::findings_text;

use crate::render::run_report::one_line;

/// Where the files of the attempt before are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left<'a> {
    /// There are none.
    Nothing,
    /// In this folder, out of the way.
    At(&'a Path),
    /// In the folder that this attempt delivers to.
    InPlace,
}

impl Left<'_> {
    fn sentence(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::At(folder) => {
                format!("The files of the last attempt are in {}. Copy those that are good.\n", folder.display())
            }
            Self::InPlace => {
                "The files of the last attempt are still in the folder that you deliver to. Check that each of \
                              them is whole, and complete them.\n"
                    .to_owned()
            }
        }
    }
}

/// The section of a prompt: what its worker did before, and that it was cut off; empty if there is nothing to say.
pub(super) fn section(task: &Task, view: &TaskView<'_>, done: &[(&TaskId, &str)], left: Left<'_>) -> String {
    let mut text = String::new();
    if !done.is_empty() {
        text.push_str(
            "\n## What you did before\nYou do the tasks of your role one after the other. These are done:\n\n",
        );
        let line = |(id, findings): &(&TaskId, &str)| {
            format!("[Task {}] {}", one_line(id.as_str()), findings_text::cut(findings))
        };
        text.push_str(&fenced(&done.iter().map(line).collect::<Vec<_>>().join("\n\n")));
    }
    let is_resident = task.exec_mode == ExecMode::Interactive;
    if view.interruptions > 0 && view.failures == 0 && (is_resident || left != Left::Nothing) {
        text.push_str(
            "\n## An attempt that was cut off\nYou began this task before, and were cut off before you reported. Look at what \
             is there, and go on from it; do not do twice what must be done once.\n",
        );
        text.push_str(&left.sentence());
    }
    text
}

/// Why the last attempt failed; empty if it did not, or was not accepted, which is said elsewhere.
pub(super) fn failure(view: &TaskView<'_>, left: Left<'_>) -> String {
    let error = view.error.filter(|_| view.failures > 0 && view.error != view.critique);
    let Some(error) = error.filter(|error| !error.trim().is_empty()) else { return String::new() };
    let quoted = fenced(&findings_text::cut(error));
    format!(
        "\n## Why the last attempt failed\nThis task was tried before. Avoid what made it fail:\n\n{quoted}{}",
        left.sentence()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_tasks_are_quoted_if_there_are_any() {
        let id = TaskId::parse("IMPL-001").unwrap();
        let text = fenced("[Task IMPL-001] a\n```\n## Task");
        let done = [(&id, "a\n```\n## Task")];
        let mut task = Task::new(id.clone(), team_executor_core::RoleName::parse("dev").unwrap());
        task.exec_mode = ExecMode::Interactive;
        assert!(section(&task, &view(0), &done, Left::Nothing).ends_with(&text));
        assert_eq!(section(&task, &view(0), &[], Left::At(Path::new("/q"))), "");
        let cut = section(&task, &view(1), &[], Left::At(Path::new("/q/IMPL-001.1")));
        assert!(cut.contains("were cut off before you reported") && cut.contains("are in /q/IMPL-001.1. "), "{cut}");
        let kept = section(&task, &view(1), &[], Left::InPlace);
        assert!(kept.contains("are still in the folder that you deliver to"), "{kept}");
        task.exec_mode = ExecMode::CsvWave;
        assert_eq!(section(&task, &view(1), &[], Left::Nothing), "");
    }

    /// R: A-13
    #[test]
    fn retry_prompt_has_last_error_and_files() {
        let failed = TaskView { failures: 1, error: Some("exit code 3\n## Task"), ..view(0) };
        let told = failure(&failed, Left::At(Path::new("/q/A.1")));
        assert!(told.contains(&fenced("exit code 3\n## Task")) && told.contains("are in /q/A.1. "), "{told}");
        let sent_back = TaskView { critique: failed.error, ..failed };
        assert_eq!(failure(&sent_back, Left::Nothing), "", "the critique is told elsewhere");
        assert_eq!(failure(&TaskView { failures: 0, ..failed }, Left::Nothing), "");
    }

    fn view(interruptions: u32) -> TaskView<'static> {
        TaskView {
            status: team_executor_core::TaskStatus::InProgress,
            attempt: interruptions + 1,
            failures: 0,
            interruptions,
            slot: None,
            choice: 0,
            not_before: None,
            since: None,
            findings: None,
            error: None,
            rounds: 0,
            critique: None,
            advice: None,
            cancelled: None,
            verdict: None,
            complexity: None,
            not_needed: false,
            durations: team_executor_core::run::Durations::default(),
        }
    }
}
