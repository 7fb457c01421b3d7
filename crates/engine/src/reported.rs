//! What a worker reports beyond how its task ended: a score, what it found in detail, what others should know. It is taken
//! over when the end of its attempt is durable, and again after a crash: to do it twice changes nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use team_executor_core::run::{Event, Run, Then, Work};
use team_executor_core::{RoleName, Session, Task, TaskIndex, TaskStatus};
use team_executor_files::discovery::{self, TaskDiscovery};
use team_executor_files::json::{self, Kind, Value};
use team_executor_files::reading::Reading;
use team_executor_files::{MemoryFolder, fields};
use team_executor_store::run_folder::component;
use team_executor_store::{Disk, Durability, Kind as DiskKind, replace};

use crate::judgement::{self, Severity};
use crate::outcome;
use crate::run_at::RunAt;
use crate::wisdom::{self, Book};

/// Where reports come from and where they go.
pub(crate) struct Reports<'a, D> {
    pub(crate) run: &'a RunAt,
    /// The session's folder.
    pub(crate) session: &'a Path,
    /// That of the discoveries, if the dialect has one.
    pub(crate) discoveries: Option<&'a D>,
    /// The attempts that are known to have left no result.
    pub(crate) silent: &'a BTreeSet<Work>,
}

impl<D: Disk> Reports<'_, D> {
    /// Takes over what an attempt reported, if an event is its end. Says what was ignored or could not be written.
    pub(crate) fn take_over(&self, session: &mut Session, event: &Event) -> Vec<String> {
        let (work, over) = match event {
            Event::Completed { work, .. } => (work, Some(TaskStatus::Completed)),
            Event::Failed { work, then, .. } => (work, matches!(then, Then::Over).then_some(TaskStatus::Failed)),
            _ => return Vec::new(),
        };
        let task = session.tasks.get_mut(work.task.get());
        task.map(|task| self.of_attempt(task, *work, over)).unwrap_or_default()
    }

    /// Takes over what an earlier executor did not get to.
    pub(crate) fn catch_up(&self, session: &mut Session, rules: &Run) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, task) in (0..).map(TaskIndex).zip(&mut session.tasks) {
            let Some(view) = rules.view(index) else { continue };
            if view.attempt > 0 && view.status != TaskStatus::InProgress {
                let over = Some(view.status).filter(|status| status.is_over());
                problems.extend(self.of_attempt(task, Work { task: index, attempt: view.attempt }, over));
            }
        }
        problems
    }

    fn of_attempt(&self, task: &mut Task, work: Work, over: Option<TaskStatus>) -> Vec<String> {
        let (is_silent, attempt) = (self.silent.contains(&work), work.attempt);
        if is_silent && self.discoveries.is_none() {
            return Vec::new();
        }
        let name = format!("{}.json", component(task.id.as_str()));
        let result = if is_silent { None } else { outcome::result(&self.run.result(task.id.as_str(), attempt)) };
        let result = result.and_then(|text| Report::read(text, &name));
        let left = self.discoveries.and_then(|disk| disk.read(&name).ok());
        let left = left.and_then(|bytes| Report::read(String::from_utf8_lossy(&bytes).into_owned(), &name));
        let mut problems = Vec::new();
        let scores: Vec<_> = result.iter().chain(&left).map(|report| report.score(task, &mut problems)).collect();
        let score = scores.into_iter().flatten().next();
        if over == Some(TaskStatus::Completed) {
            task.quality_score = score.or(task.quality_score);
        }
        if let (Some(disk), Some(over)) = (self.discoveries, over) {
            let whole = match (&left, &result) {
                (Some(left), _) if left.found.quality_score != score => Some(left),
                (None, Some(result)) if disk.kind(&name) == Ok(DiskKind::Missing) => Some(result),
                _ => None,
            };
            let agrees = |report: &&Report| report.found.status.is_none_or(|status| status == over);
            problems.extend(whole.filter(agrees).and_then(|report| put(disk, &name, task, report, score)));
        }
        let mark = self.run.key(task.id.as_str(), attempt);
        let dispute = result.as_ref().and_then(Report::dispute);
        for (book, texts) in result.or(left).map(|report| report.wisdom()).unwrap_or_default() {
            let written = wisdom::append(self.session, book, task.id.as_str(), Some(&mark), &texts);
            problems.extend(written.err().map(|why| format!("{}: what others should know is lost: {why}", task.id)));
        }
        if let Some(dispute) = dispute {
            problems.extend(wisdom::note_issue(self.session, task.id.as_str(), &mark, &dispute));
        }
        problems
    }
}

/// Whether a role judges the work of others, by its name.
pub(crate) fn judges(role: &RoleName) -> bool {
    let mut words = role.as_str().split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["reviewer", "evaluator"].iter().any(|judge| word.eq_ignore_ascii_case(judge)))
}

/// Writes the discovery of a task that is over, with the score that counts.
fn put<D: Disk>(disk: &D, name: &str, task: &Task, report: &Report, score: Option<f64>) -> Option<String> {
    let whole = TaskDiscovery { task: task.id.clone(), quality_score: score, ..report.found.clone() };
    let text = discovery::write(&whole, json::parse(&report.text).ok().as_ref());
    let put = replace(disk, name, text.as_bytes(), Durability::Rendered);
    put.err().map(|error| format!("a file was not written: {error}"))
}

/// A result, or a discovery that a worker wrote itself.
struct Report {
    text: String,
    found: TaskDiscovery,
}

impl Report {
    fn read(text: String, name: &str) -> Option<Self> {
        let file: Arc<str> = format!("{}/{name}", discovery::FOLDER).into();
        let folder = MemoryFolder::default().with(&file, text.clone());
        let found = discovery::read(&mut Reading::new(&folder, discovery::FOLDER), &file)?;
        Some(Self { text, found })
    }

    /// The score, if it is one and the role may give one.
    fn score(&self, task: &Task, problems: &mut Vec<String>) -> Option<f64> {
        let document = json::parse(&self.text).ok()?;
        document.root().get("quality_score").filter(|score| !score.is_null())?;
        let why = match self.found.quality_score {
            None => "it is not a number from 0 to 100".to_owned(),
            Some(score) if judges(&task.role) => return Some(score),
            Some(_) => format!("only reviewers and evaluators give one, and its role is '{}'", task.role),
        };
        problems.push(format!("{}: its quality_score was ignored: {why}", task.id));
        None
    }

    /// What the team did not agree on, where that is worth a note but no reason to stop.
    fn dispute(&self) -> Option<String> {
        let document = json::parse(&self.text).ok()?;
        let blocked = document.root().get("data")?.get("consensus_blocked")?;
        judgement::severity(blocked).filter(|severity| *severity == Severity::Medium)?;
        let reason = blocked.get("reason").and_then(fields::text_of).unwrap_or_default();
        Some(format!("no consensus (MEDIUM): {reason}"))
    }

    /// What others should know: `data.wisdom`, and the decisions of the discovery.
    fn wisdom(&self) -> Vec<(Book, Vec<String>)> {
        let Ok(document) = json::parse(&self.text) else { return Vec::new() };
        let told = document.root().get("data").and_then(|data| data.get("wisdom"));
        let all = Book::ALL.map(|book| {
            let mut texts = told.and_then(|told| told.get(book.word())).map(texts).unwrap_or_default();
            if book == Book::Decisions {
                texts.splice(0..0, self.found.decisions.iter().cloned());
            }
            (book, texts)
        });
        all.into_iter().filter(|(_, texts)| !texts.is_empty()).collect()
    }
}

/// A list of texts, or one.
fn texts(value: Value<'_, '_>) -> Vec<String> {
    let text = |value: Value<'_, '_>| fields::text_of(value).map(|text| text.into_owned());
    if value.kind() == Kind::Array {
        value.items().filter_map(text).collect()
    } else {
        text(value).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> Report {
        Report::read(text.to_owned(), "A.json").unwrap()
    }

    fn task(role: &str) -> Task {
        Task::new(team_executor_core::TaskId::parse("A").unwrap(), RoleName::parse(role).unwrap())
    }

    #[test]
    fn only_reviewers_and_evaluators_give_a_score_and_only_one_from_0_to_100() {
        for (role, score, taken, warned) in [
            ("reviewer", "92.5", Some(92.5), ""),
            ("code-reviewer", "0", Some(0.0), ""),
            ("Spec_Evaluator", "100", Some(100.0), ""),
            ("reviewer", "null", None, ""),
            ("reviewer", "100.1", None, "it is not a number from 0 to 100"),
            ("reviewer", "-1", None, "it is not a number from 0 to 100"),
            ("reviewer", "\"good\"", None, "it is not a number from 0 to 100"),
            ("builder", "50", None, "only reviewers and evaluators give one, and its role is 'builder'"),
            ("previewer", "50", None, "only reviewers and evaluators give one, and its role is 'previewer'"),
        ] {
            let mut problems = Vec::new();
            let text = format!(r#"{{"status":"completed","findings":"f","quality_score":{score}}}"#);
            assert_eq!(report(&text).score(&task(role), &mut problems), taken, "{role} {score}");
            assert_eq!(problems.is_empty(), warned.is_empty(), "{problems:?}");
            assert!(problems.iter().all(|problem| problem.ends_with(warned)), "{problems:?}");
        }
    }

    #[test]
    fn wisdom_is_what_is_told_as_such_and_every_decision() {
        let told = report(
            r#"{"status":"completed","data":{"decisions":["d1: because"],"wisdom":{"learnings":["a",1,{"x":2}],"decisions":"d2","junk":[1]}}}"#,
        );
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let wisdom = told.wisdom();
        assert_eq!(wisdom[0], (Book::Learnings, texts(&["a", "1"])));
        assert_eq!(wisdom[1], (Book::Decisions, texts(&["d1: because", "d2"])));
        assert_eq!(wisdom.len(), 2);
        let dispute = |severity: &str| {
            report(&format!(r#"{{"data":{{"consensus_blocked":{{"severity":"{severity}","reason":"tabs"}}}}}}"#))
                .dispute()
        };
        assert_eq!(dispute("MEDIUM").as_deref(), Some("no consensus (MEDIUM): tabs"));
        assert_eq!((dispute("HIGH"), dispute("LOW"), report("{}").dispute()), (None, None, None));
        for nothing in ["{}", r#"{"data":null}"#, r#"{"data":{"wisdom":[]}}"#, r#"{"data":{"wisdom":{"issues":{}}}}"#] {
            assert_eq!(report(nothing).wisdom(), [], "{nothing}");
        }
    }
}
