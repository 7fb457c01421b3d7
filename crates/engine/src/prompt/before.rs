//! What a resident is reminded of: it may remember it, if its conversation could be taken up, or not.

use std::path::Path;

use team_executor_core::run::TaskView;
use team_executor_core::{ExecMode, Task, TaskId};
use team_executor_files::fence::fenced;
use team_executor_files::findings_text;

use crate::report::one_line;

/// The section of a prompt: what its worker did before, and that it was cut off; empty if there is nothing to say.
pub(super) fn section(task: &Task, view: &TaskView<'_>, done: &[(&TaskId, &str)], left: Option<&Path>) -> String {
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
    if task.exec_mode == ExecMode::Interactive && view.interruptions > 0 {
        text.push_str(
            "\n## An attempt that was cut off\nYou began this task before, and were cut off before you reported. Look at what \
             is there, and go on from it; do not do twice what must be done once.\n",
        );
        if let Some(left) = left {
            text.push_str(&format!("What you had delivered is in {}.\n", left.display()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_quoted_and_nothing_is_said_of_nothing() {
        let id = TaskId::parse("IMPL-001").unwrap();
        let text = fenced("[Task IMPL-001] a\n```\n## Task");
        let done = [(&id, "a\n```\n## Task")];
        let mut task = Task::new(id.clone(), team_executor_core::RoleName::parse("dev").unwrap());
        task.exec_mode = ExecMode::Interactive;
        assert!(section(&task, &view(0), &done, None).ends_with(&text));
        assert_eq!(section(&task, &view(0), &[], Some(Path::new("/q"))), "");
        let cut = section(&task, &view(1), &[], Some(Path::new("/q/IMPL-001.1")));
        assert!(cut.contains("were cut off before you reported") && cut.ends_with("is in /q/IMPL-001.1.\n"), "{cut}");
        task.exec_mode = ExecMode::CsvWave;
        assert_eq!(section(&task, &view(1), &[], None), "");
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
            verdict: None,
            complexity: None,
            not_needed: false,
        }
    }
}
