//! Whether the files in `discoveries/` agree with the tasks. What many of the files share is said once, with a count.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{Task, TaskId, TaskStatus};

use super::format::{ABOUT, FOLDER, TaskDiscovery, understand};
use crate::code::Code;
use crate::dialect::{Dialect, lifecycle_file};
use crate::finding::{Finding, Place};
use crate::folder::Folder;
use crate::reading::Reading;
use crate::side::{names, read_each};
use crate::span::Span;

/// Reads every discovery and compares it with its task. Where the dialect demands one of every completed task, those
/// without one are named.
pub fn check_all(reading: &mut Reading<'_>, tasks: &[Task], demanded: bool) {
    let state = state_file(reading.folder);
    let by_id = LazyCell::new(|| tasks.iter().map(|task| (task.id.as_str(), task)).collect::<HashMap<_, _>>());
    let mut found: HashSet<TaskId> = HashSet::new();
    let names = names(reading, FOLDER, &ABOUT).into_iter().filter(|name| name.ends_with(".json"));
    let files = names.map(|name| format!("{FOLDER}/{name}").into());
    read_each(reading, FOLDER, &ABOUT, files, |reading, file, text| {
        let (discovery, status) = understand(reading, file, text)?;
        let verdict = judge(&discovery, status, file, &by_id, &state);
        found.insert(discovery.task);
        verdict
    });
    if demanded {
        without(reading, tasks, &found, &state);
    }
}

/// The file that the state of the tasks stands in.
fn state_file(folder: &dyn Folder) -> Arc<str> {
    let file = match Dialect::detect(folder) {
        Some(Dialect::Tls) => lifecycle_file(folder),
        _ => ["tasks.json", "tasks.csv", "team-session.json"]
            .into_iter()
            .find(|file| folder.has(file))
            .unwrap_or("tasks.json"),
    };
    file.into()
}

fn judge(
    discovery: &TaskDiscovery,
    status: Span,
    file: &Arc<str>,
    tasks: &HashMap<&str, &Task>,
    state: &Arc<str>,
) -> Option<Finding> {
    let Some(task) = tasks.get(discovery.task.as_str()) else {
        let message = "a discovery of a task that does not exist was ignored";
        return Some(Finding::warning(Code::Disagreement, message).file(file));
    };
    let said = discovery.status?;
    let contradicts = matches!(
        (said, task.status),
        (TaskStatus::Failed, TaskStatus::Completed) | (TaskStatus::Completed, TaskStatus::Failed)
    );
    if !contradicts {
        return None;
    }
    let id = &task.id;
    let message = format!("task '{id}' is {} in {state}, but {said} in {file}", task.status);
    let mut finding = Finding::error(Code::Contradiction, message).at(file, status, format!("here it is {said}"));
    let label = format!("here it is {}", task.status);
    finding.related.push(Place { file: state.clone(), span: None, label });
    Some(finding.help("make both say the same").help(format!("or remove {file} and let '{id}' run again")))
}

/// Says how many completed tasks have no discovery.
fn without(reading: &mut Reading<'_>, tasks: &[Task], found: &HashSet<TaskId>, state: &Arc<str>) {
    const SHOWN: usize = 5;
    let missing = || tasks.iter().filter(|task| task.status == TaskStatus::Completed && !found.contains(&task.id));
    let times = u32::try_from(missing().count()).unwrap_or(u32::MAX);
    if times == 0 {
        return;
    }
    let names: Vec<_> = missing().take(SHOWN).map(|task| task.id.as_str()).collect();
    let more = if missing().nth(SHOWN).is_some() { ", …" } else { "" };
    let finding = Finding::warning(Code::IncompleteState, "a completed task has no discovery").file(state);
    let finding = finding.help(format!("write {FOLDER}/<task>.json for {}{more}", names.join(", ")));
    reading.findings.push(Finding { times, ..finding });
}

#[cfg(test)]
mod tests {
    use team_executor_core::RoleName;

    use super::*;
    use crate::finding::Severity;
    use crate::folder::MemoryFolder;

    fn task(id: &str, status: TaskStatus) -> Task {
        let mut task = Task::new(TaskId::parse(id).expect("id"), RoleName::parse("r").expect("role"));
        task.status = status;
        task
    }

    fn file(id: &str, status: &str) -> String {
        format!(
            r#"{{"task_id":"{id}","timestamp":"2026-01-01T00:00:00Z","status":"{status}","findings":"f","data":{{}}}}"#
        )
    }

    #[test]
    fn a_discovery_that_contradicts_its_task_is_an_error() {
        let folder = MemoryFolder::default()
            .with("tasks.json", "{}")
            .with("discoveries/A.json", file("A", "failed"))
            .with("discoveries/B.json", file("B", "completed"))
            .with("discoveries/C.json", file("C", "completed"))
            .with("discoveries/D.json", file("D", "completed"));
        let mut reading = Reading::new(&folder, "s");
        let tasks = [
            task("A", TaskStatus::Completed),
            task("B", TaskStatus::Failed),
            task("C", TaskStatus::Completed),
            task("D", TaskStatus::InProgress),
        ];
        check_all(&mut reading, &tasks, true);
        let said: Vec<_> = reading.findings.iter().map(|f| (f.severity, f.code, f.message.as_str())).collect();
        let error = |message| (Severity::Error, Code::Contradiction, message);
        assert_eq!(
            said,
            [
                error("task 'A' is completed in tasks.json, but failed in discoveries/A.json"),
                error("task 'B' is failed in tasks.json, but completed in discoveries/B.json"),
            ]
        );
        let first = reading.findings.iter().next().expect("a finding");
        let place = first.place.as_ref().expect("a place");
        let text = reading.sources.get(&place.file).expect("a source").text();
        assert_eq!(place.span.map(|span| span.slice(text)), Some("\"failed\""));
        assert_eq!(first.related[0].file.as_ref(), "tasks.json");
        assert!(reading.sources.get("discoveries/C.json").is_none());
    }

    #[test]
    fn finding_of_many_files_is_reported_once() {
        let mut folder = MemoryFolder::default().with("discoveries/notes.md", "-").with("discoveries/Z.json", "{");
        let mut tasks = Vec::new();
        for n in 0..30 {
            folder = folder.with(&format!("discoveries/T{n}.json"), format!(r#"{{"id":"T{n}","status":"completed"}}"#));
            tasks.push(task(&format!("T{}", n + 10), TaskStatus::Completed));
        }
        let mut reading = Reading::new(&folder, "s");
        check_all(&mut reading, &tasks, true);
        let said: Vec<_> = reading.findings.iter().map(|f| (f.code, f.times)).collect();
        assert_eq!(
            said,
            [
                (Code::FieldAlias, 30),
                (Code::DefaultUsed, 30),
                (Code::DefaultUsed, 30),
                (Code::DefaultUsed, 30),
                (Code::Disagreement, 10),
                (Code::Corrupt, 1),
                (Code::IncompleteState, 10),
            ]
        );
        assert!(!reading.findings.has_errors());
    }

    #[test]
    fn missing_discoveries_are_fine_until_a_task_completes() {
        let folder = MemoryFolder::default();
        let mut reading = Reading::new(&folder, "s");
        check_all(&mut reading, &[task("A", TaskStatus::Pending)], true);
        assert_eq!(reading.findings.iter().count(), 0);
        check_all(&mut reading, &[task("A", TaskStatus::Completed)], true);
        assert_eq!(reading.findings.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::IncompleteState]);
        let folder = MemoryFolder::default().with("discoveries", "a file");
        let mut reading = Reading::new(&folder, "s");
        check_all(&mut reading, &[], true);
        assert_eq!(reading.findings.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::FileUnreadable]);
    }
}
