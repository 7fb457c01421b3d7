//! Files beside a table that say how tasks ended: `wave-N-results.csv`, `task-wave-N-results.csv`, `results.csv` and
//! `discoveries/*.json`. Work that they call completed and the table calls open is not done again.

use std::collections::HashMap;
use std::sync::Arc;

use team_executor_core::{Reported, Task, TaskStatus};

use crate::code::Code;
use crate::csv::{self, Record};
use crate::discovery;
use crate::fields;
use crate::finding::{Finding, Severity};
use crate::limits;
use crate::reading::{About, Reading};
use crate::side::apart;
use crate::span::{Source, Span};

static ABOUT: About = About {
    subject: "a table of results",
    schema: "tasks-csv",
    limit: limits::CSV_BYTES,
    if_missing: "",
    if_wrong: "or remove it",
};

/// What columns of such tables are called.
const ID: &[&str] = &["id", "task_id"];
const STATUS: &[&str] = &["status", "result_status", "state"];
const FINDINGS: &[&str] = &["findings", "summary", "result"];

/// How many tasks a warning names.
const NAMED: usize = 10;

/// What one file says about one task.
struct Said {
    status: TaskStatus,
    findings: Option<String>,
    file: Arc<str>,
    place: Span,
}

/// The tasks that are open in the session's own file and completed in a file beside it, with a warning that names them.
/// Files that contradict each other about such a task are an error.
pub(crate) fn read(reading: &mut Reading<'_>, tasks: &[Task]) -> Vec<Reported> {
    let open: HashMap<&str, usize> = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| !task.status.is_over())
        .map(|(at, task)| (task.id.as_str(), at))
        .collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut said: Vec<Vec<Said>> = tasks.iter().map(|_| Vec::new()).collect();
    for file in tables(reading) {
        table(reading, &file, &open, &mut said);
    }
    discoveries(reading, &open, &mut said);
    let mut reported = Vec::new();
    for (task, said) in tasks.iter().zip(&said) {
        let completed = said.iter().find(|said| said.status == TaskStatus::Completed);
        let failed = said.iter().find(|said| said.status == TaskStatus::Failed);
        match (completed, failed) {
            (Some(completed), Some(failed)) => reading.findings.push(contradiction(task, completed, failed)),
            (Some(completed), None) => {
                let findings = said.iter().find_map(|said| said.findings.clone());
                reported.push(Reported { task: task.id.clone(), file: completed.file.to_string(), findings });
            }
            _ => {}
        }
    }
    if !reported.is_empty() {
        reading.findings.push(warning(&reported));
    }
    reported
}

/// The tables of results, those of the waves first.
fn tables(reading: &Reading<'_>) -> Vec<Arc<str>> {
    let names = reading.folder.list(".").unwrap_or_default();
    let mut found: Vec<(u64, String)> = names.into_iter().filter_map(|name| Some((rank(&name)?, name))).collect();
    found.sort();
    found.into_iter().map(|(_, name)| name.into()).collect()
}

fn rank(name: &str) -> Option<u64> {
    if name == "results.csv" {
        return Some(u64::MAX);
    }
    let wave = name.strip_suffix("-results.csv")?;
    wave.strip_prefix("task-").unwrap_or(wave).strip_prefix("wave-")?.parse::<u32>().ok().map(u64::from)
}

fn table(reading: &mut Reading<'_>, file: &Arc<str>, open: &HashMap<&str, usize>, said: &mut [Vec<Said>]) {
    // Nothing depends on such a file: one that cannot be read says nothing.
    let (text, _) = apart(reading, |reading| reading.optional_text(file, &ABOUT, Severity::Warning));
    let Some(text) = text else { return };
    if let Ok(table) = csv::parse(&text) {
        let names: Vec<String> = table.header().cells().map(|cell| cell.value.trim().to_lowercase()).collect();
        let column = |known: &[&str]| known.iter().find_map(|known| names.iter().position(|name| name == known));
        let (Some(id), Some(status)) = (column(ID), column(STATUS)) else { return };
        let findings = column(FINDINGS).filter(|column| *column != status);
        for record in table.records() {
            let Some(at) = record.get(id).and_then(|cell| open.get(cell.value.trim()).copied()) else { continue };
            let (Some(cell), Some(status)) = (record.get(status), ended(record, status)) else { continue };
            let findings = findings.and_then(|column| record.get(column)).map(|cell| cell.value.into_owned());
            let findings = findings.filter(|text| !text.trim().is_empty());
            let place = Span { start: cell.start, end: cell.end };
            said[at].push(Said { status, findings, file: file.clone(), place });
        }
    }
    reading.sources.insert(file.clone(), Source::new(text));
}

/// How a row says that its task ended, if it does.
fn ended(record: Record<'_, '_>, column: usize) -> Option<TaskStatus> {
    let word = record.get(column)?.value.trim().to_lowercase();
    let status = TaskStatus::from_word(fields::status_word(&word))?;
    matches!(status, TaskStatus::Completed | TaskStatus::Failed).then_some(status)
}

fn discoveries(reading: &mut Reading<'_>, open: &HashMap<&str, usize>, said: &mut [Vec<Said>]) {
    for name in reading.folder.list(discovery::FOLDER).unwrap_or_default() {
        let Some(at) = name.strip_suffix(".json").and_then(|id| open.get(id).copied()) else { continue };
        let file: Arc<str> = format!("{}/{name}", discovery::FOLDER).into();
        let (found, _) = apart(reading, |reading| discovery::read(reading, &file));
        let Some(found) = found else { continue };
        if let Some(status @ (TaskStatus::Completed | TaskStatus::Failed)) = found.status {
            let findings = Some(found.findings).filter(|text| !text.is_empty());
            said[at].push(Said { status, findings, file, place: Span::new(0, 1) });
        }
    }
}

fn contradiction(task: &Task, completed: &Said, failed: &Said) -> Finding {
    let message = format!("task '{}' is completed in {}, but failed in {}", task.id, completed.file, failed.file);
    Finding::error(Code::Contradiction, message)
        .at(&failed.file, failed.place, "here it failed")
        .and(&completed.file, completed.place, "here it is completed")
        .help("make both say the same, or remove the older file")
        .help("or let the task run: add --ignore-results to the command")
}

fn warning(reported: &[Reported]) -> Finding {
    let mut files: Vec<&str> = reported.iter().map(|one| one.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let more = files.len().saturating_sub(NAMED);
    files.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
    let mut tasks: Vec<&str> = reported.iter().take(NAMED).map(|one| one.task.as_str()).collect();
    let left = format!("{} more", reported.len().saturating_sub(NAMED));
    tasks.extend((reported.len() > NAMED).then_some(&*left));
    let message =
        format!("tasks that {}{more} report as completed count as completed: {}", files.join(", "), tasks.join(", "));
    let file: Arc<str> = files.first().copied().unwrap_or_default().into();
    Finding::warning(Code::Disagreement, message).file(&file).help("add --ignore-results to run them again")
}

#[cfg(test)]
mod tests {
    use crate::load::{load, load_ignoring_results};
    use crate::{Loaded, MemoryFolder};

    const TABLE: &str = "id,title,status\nA,a,pending\nB,b,in_progress\nC,c,completed\nD,d,pending\n";

    fn folder(files: &[(&str, &str)]) -> MemoryFolder {
        files
            .iter()
            .fold(MemoryFolder::default().with("tasks.csv", TABLE), |folder, (name, text)| folder.with(name, *text))
    }

    fn reported(loaded: Loaded) -> Vec<String> {
        let (session, _) = loaded.session.unwrap();
        let line = |one: &team_executor_core::Reported| format!("{} {} {:?}", one.task, one.file, one.findings);
        session.reported.iter().map(line).collect()
    }

    /// R: P-04
    #[test]
    fn results_beside_a_table_name_completed_tasks() {
        let folder = folder(&[
            ("results.csv", "id,result_status,findings\nA,completed,late\nC,failed,\nX,completed,\n"),
            ("task-wave-2-results.csv", "\"task_id\",\"status\",\"summary\"\n\"B\",\"done\",\"b, done\"\n"),
            ("wave-1-results.csv", "id,status,findings\nA,completed,\n"),
            ("wave-x-results.csv", "id,status\nD,completed\n"),
            ("discoveries/D.json", r#"{"task_id":"D","status":"completed","findings":"d"}"#),
        ]);
        let loaded = load(&folder, "s", None);
        let named = loaded.findings.iter().filter(|finding| finding.message.contains("count as completed: A, B, D"));
        assert_eq!(named.count(), 1);
        assert_eq!(
            reported(loaded),
            [
                "A wave-1-results.csv Some(\"late\")",
                "B task-wave-2-results.csv Some(\"b, done\")",
                "D discoveries/D.json Some(\"d\")"
            ]
        );
        assert_eq!(reported(load_ignoring_results(&folder, "s", None)), [""; 0]);
    }

    /// R: P-04
    #[test]
    fn results_that_contradict_each_other_are_an_error() {
        let folder = folder(&[
            ("results.csv", "id,status\nA,failed\nC,failed\n"),
            ("wave-1-results.csv", "id,status\nA,pass\nC,ok\n"),
        ]);
        let loaded = load(&folder, "s", None);
        let message = "task 'A' is completed in wave-1-results.csv, but failed in results.csv";
        assert!(loaded.session.is_none() && loaded.findings.iter().any(|finding| finding.message == message));
        assert!(load_ignoring_results(&folder, "s", None).session.is_some());
    }

    #[test]
    fn a_file_that_cannot_be_read_reports_nothing() {
        for text in ["", "id\n\"A", "id,status", "status,findings\ncompleted,x\n", "id,status\nA\nA,odd\n"] {
            assert_eq!(
                reported(load(&folder(&[("results.csv", text), ("discoveries/A.json", text)]), "s", None)),
                [""; 0]
            );
        }
    }
}
