//! Parts of a report that are kept when the end of its attempt is durable: score, details, notes for others.
//! After a crash it is taken over again: to do it twice changes nothing.

use std::path::Path;

use team_executor_core::run::{Event, Run, Then, Work};
use team_executor_core::{Session, Task, TaskIndex, TaskStatus};
use team_executor_files::discovery::{self, TaskDiscovery};
use team_executor_files::json;
use team_executor_store::{Disk, Durability, Kind, replace};

use super::demands::{Discovery, Known, Reports, file_name};
use super::report::{Severity, WorkerReport};
use super::review::is_reviewer;
use crate::begin::run_at::RunAt;
use crate::conclude::wisdom;

/// Where reports come from and where they go.
pub(crate) struct TakeOver<'a, D> {
    pub(crate) run: &'a RunAt,
    /// The session's folder.
    pub(crate) session: &'a Path,
    /// That of the discoveries, if the dialect has one.
    pub(crate) discoveries: Option<&'a D>,
}

impl<D: Disk> TakeOver<'_, D> {
    /// Takes over what an attempt reported, if an event is its end. Says what was ignored or could not be written.
    pub(crate) fn at_end(&self, session: &mut Session, event: &Event, known: &mut Known) -> Vec<String> {
        let (work, over) = match event {
            Event::Completed { work, .. } => (work, Some(TaskStatus::Completed)),
            Event::Failed { work, then, .. } => (work, matches!(then, Then::Over).then_some(TaskStatus::Failed)),
            Event::Interrupted { work, .. } => {
                known.remove(work);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        let known = known.remove(work);
        let Some(task) = session.tasks.get_mut(work.task.get()) else { return Vec::new() };
        match known {
            Some(None) => Vec::new(),
            Some(Some(reports)) => self.reports(task, *work, over, &reports),
            None => self.reports(task, *work, over, &self.read(task, *work)),
        }
    }

    /// Takes over what an earlier executor did not get to.
    pub(crate) fn catch_up(&self, session: &mut Session, rules: &Run) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, task) in (0..).map(TaskIndex).zip(&mut session.tasks) {
            let Some(view) = rules.view(index) else { continue };
            if view.attempt > 0 && view.status != TaskStatus::InProgress {
                let over = Some(view.status).filter(|status| status.is_over());
                let work = Work { task: index, attempt: view.attempt };
                problems.extend(self.reports(task, work, over, &self.read(task, work)));
            }
        }
        problems
    }

    fn read(&self, task: &Task, work: Work) -> Reports {
        Reports {
            result: self.run.results.report(&task.id, work.attempt),
            discovery: Discovery::read(self.discoveries, &task.id).unwrap_or_default(),
        }
    }

    fn reports(&self, task: &mut Task, work: Work, over: Option<TaskStatus>, reports: &Reports) -> Vec<String> {
        let result = with_discovery(reports.result.as_ref());
        let found = with_discovery(reports.discovery.report());
        let mut problems = Vec::new();
        let scores: Vec<_> = result.iter().chain(&found).map(|report| score(report, task, &mut problems)).collect();
        let score = scores.into_iter().flatten().next();
        if over == Some(TaskStatus::Completed) {
            task.quality_score = score.or(task.quality_score);
        }
        if let (Some(disk), Some(over)) = (self.discoveries, over) {
            let whole = match (found, result) {
                (Some(found), _) if found.1.quality_score != score => Some(found),
                (None, Some(result)) if disk.kind(&file_name(&task.id)) == Ok(Kind::Missing) => Some(result),
                _ => None,
            };
            let agrees =
                |(_, found): &(&WorkerReport, &TaskDiscovery)| found.status.is_none_or(|status| status == over);
            problems.extend(whole.filter(agrees).and_then(|report| put(disk, task, report, score)));
        }
        let mark = self.run.key(task.id.as_str(), work.attempt);
        for (book, texts) in result.or(found).map(|(report, _)| report.wisdom()).unwrap_or_default() {
            let written = wisdom::append(self.session, book, task.id.as_str(), Some(&mark), &texts);
            problems.extend(written.err().map(|why| format!("{}: its notes for other tasks are lost: {why}", task.id)));
        }
        if let Some(dispute) = result.and_then(|(report, _)| dispute(report)) {
            problems.extend(wisdom::note_issue(self.session, task.id.as_str(), &mark, &dispute));
        }
        problems
    }
}

/// A report with what it is as a discovery, if it is one.
fn with_discovery(report: Option<&WorkerReport>) -> Option<(&WorkerReport, &TaskDiscovery)> {
    report.and_then(|report| Some((report, report.discovery.as_deref()?)))
}

/// The score in a report, if it is one and the role may give one.
fn score(&(report, found): &(&WorkerReport, &TaskDiscovery), task: &Task, problems: &mut Vec<String>) -> Option<f64> {
    if !report.has_score {
        return None;
    }
    let why = match found.quality_score {
        None => "it is not a number from 0 to 100".to_owned(),
        Some(score) if is_reviewer(&task.role) => return Some(score),
        Some(_) => format!("only reviewers and evaluators give a score; its role is '{}'", task.role),
    };
    problems.push(format!("{}: its quality_score was ignored: {why}", task.id));
    None
}

/// A missing consensus that is worth a note but no reason to stop.
fn dispute(report: &WorkerReport) -> Option<String> {
    let dispute = report.dispute.as_ref().filter(|dispute| dispute.severity == Severity::Medium)?;
    Some(format!("no consensus (MEDIUM): {}", dispute.reason.as_deref().unwrap_or_default()))
}

/// Writes the discovery of a task that is over, with the score that counts.
fn put<D: Disk>(
    disk: &D,
    task: &Task,
    (report, found): (&WorkerReport, &TaskDiscovery),
    score: Option<f64>,
) -> Option<String> {
    let whole = TaskDiscovery { task: task.id.clone(), quality_score: score, ..found.clone() };
    let text = discovery::write(&whole, json::parse(&report.text).ok().as_ref());
    let put = replace(disk, &file_name(&task.id), text.as_bytes(), Durability::Rendered);
    put.err().map(|error| format!("a file was not written: {error}"))
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, TaskId};

    use super::*;
    use crate::conclude::wisdom::Book;

    fn report(text: &str) -> WorkerReport {
        WorkerReport::parse(text, &TaskId::parse("A").unwrap()).unwrap()
    }

    fn task(role: &str) -> Task {
        Task::new(TaskId::parse("A").unwrap(), RoleName::parse(role).unwrap())
    }

    #[test]
    fn quality_score_needs_a_reviewer_and_0_to_100() {
        for (role, score, taken, warned) in [
            ("reviewer", "92.5", Some(92.5), ""),
            ("code-reviewer", "0", Some(0.0), ""),
            ("Spec_Evaluator", "100", Some(100.0), ""),
            ("reviewer", "null", None, ""),
            ("reviewer", "100.1", None, "it is not a number from 0 to 100"),
            ("reviewer", "-1", None, "it is not a number from 0 to 100"),
            ("reviewer", "\"good\"", None, "it is not a number from 0 to 100"),
            ("builder", "50", None, "only reviewers and evaluators give a score; its role is 'builder'"),
            ("previewer", "50", None, "only reviewers and evaluators give a score; its role is 'previewer'"),
        ] {
            let mut problems = Vec::new();
            let text = format!(r#"{{"status":"completed","findings":"f","quality_score":{score}}}"#);
            let report = report(&text);
            let given = super::score(&with_discovery(Some(&report)).unwrap(), &task(role), &mut problems);
            assert_eq!(given, taken, "{role} {score}");
            assert_eq!(problems.is_empty(), warned.is_empty(), "{problems:?}");
            assert!(problems.iter().all(|problem| problem.ends_with(warned)), "{problems:?}");
        }
    }

    #[test]
    fn wisdom_holds_marked_entries_and_all_decisions() {
        let told = report(
            r#"{"status":"completed","data":{"decisions":["d1: because"],"wisdom":{"learnings":["a",1,{"x":2}],"decisions":"d2","junk":[1]}}}"#,
        );
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let wisdom = told.wisdom();
        assert_eq!(wisdom[0], (Book::Learnings, texts(&["a", "1"])));
        assert_eq!(wisdom[1], (Book::Decisions, texts(&["d1: because", "d2"])));
        assert_eq!(wisdom.len(), 2);
        let dispute = |severity: &str| {
            let text = format!(r#"{{"data":{{"consensus_blocked":{{"severity":"{severity}","reason":"tabs"}}}}}}"#);
            super::dispute(&report(&text))
        };
        assert_eq!(dispute("MEDIUM").as_deref(), Some("no consensus (MEDIUM): tabs"));
        assert_eq!((dispute("HIGH"), dispute("LOW"), super::dispute(&report("{}"))), (None, None, None));
        for nothing in ["{}", r#"{"data":null}"#, r#"{"data":{"wisdom":[]}}"#, r#"{"data":{"wisdom":{"issues":{}}}}"#] {
            assert_eq!(report(nothing).wisdom(), [], "{nothing}");
        }
    }
}
