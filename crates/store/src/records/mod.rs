//! The lines of the journal: events of a run, with tasks by their ids; `record` has their shapes. A record
//! that is not known is refused, never skipped: an older program must not continue what a newer one began.

mod read;
mod record;
mod write;

use std::borrow::Cow;
use std::collections::HashSet;

use team_executor_core::run::PlanMark;
use team_executor_core::{TaskIndex, Timestamp};

pub use read::{Unreadable, read};
use record::{At, Record};
use write::begins;
pub use write::{write, write_with};

/// What a record says besides the event: the rules do not ask for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Aside<'a> {
    /// Of a claim, the agent that does the attempt.
    pub agent: Option<&'a str>,
    /// Of the end of an attempt, when its worker first printed something.
    pub first_output: Option<Timestamp>,
    /// Of the end of an attempt, when its worker ended. Then it was checked.
    pub ended: Option<Timestamp>,
}

/// The version of the records.
pub const VERSION: u32 = 1;

/// When these records say that the run was finished; nothing if they do not, or if tasks began anew after that.
pub fn finished_at<'r>(all: impl Iterator<Item = &'r str>) -> Option<Timestamp> {
    let mut finished = None;
    for record in all {
        // Most records are of another sort: only those that may count are read.
        if ["{\"type\":\"reset\"", "{\"type\":\"returned\""].iter().any(|start| record.starts_with(start)) {
            finished = None;
        } else if record.starts_with("{\"type\":\"finished\"") {
            finished = match serde_json::from_str(record) {
                Ok(Record::Finished(At { at })) => Some(Timestamp::from_micros(at)),
                _ => None,
            };
        }
    }
    finished
}

/// What these records make of the plan that a run began with.
pub fn amended<'r>(all: impl Iterator<Item = &'r str>) -> Amended {
    let mut amended = Amended::default();
    for record in all.filter(|record| AMENDING.iter().any(|start| record.starts_with(start))) {
        match serde_json::from_str(record) {
            Ok(Record::Added(added)) => {
                amended.behind += added.tasks.len();
                amended.added.extend(added.tasks.into_iter().map(Cow::into_owned));
            }
            Ok(Record::Replanned(it)) => {
                amended.last = Some(PlanMark { digest: it.digest.into_owned(), tasks: it.tasks });
                amended.behind = 0;
                amended.removed.extend(it.removed.into_iter().map(Cow::into_owned));
            }
            _ => {}
        }
    }
    amended
}

/// How records begin that change the plan.
const AMENDING: [&str; 2] = ["{\"type\":\"added\"", "{\"type\":\"replanned\""];

/// What a run makes of the plan that it began with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amended {
    /// What makes the plan the same since it was last changed.
    pub last: Option<PlanMark>,
    /// How many tasks were added since then.
    pub behind: usize,
    /// All tasks that were ever added.
    pub added: HashSet<String>,
    /// All that are not there any more.
    pub removed: HashSet<String>,
}

impl Amended {
    /// The number by which records mean a task: that of the session, or [`GONE`] for one that was removed.
    pub fn index(&self, task: &str, known: Option<TaskIndex>) -> Option<TaskIndex> {
        if self.removed.contains(task) { Some(GONE) } else { known }
    }
}

/// A task that the plan has no more: the rules pass over what they are told of it.
pub const GONE: TaskIndex = TaskIndex(u32::MAX);

/// Whether one of these records says that an attempt at a task began.
pub fn was_begun<'r>(task: &str, mut all: impl Iterator<Item = &'r str>) -> bool {
    let begin = write::begins_of("claimed", task);
    all.any(|record| record.starts_with(&begin))
}

/// Tells whether a worker has an attempt after a record, or nothing if the record does not say. Records are not read for
/// that: each begins with its type, its task and its attempt.
pub fn at_work(task: &str, attempt: u32) -> impl Fn(&str) -> Option<bool> {
    let kinds = [("claimed", true), ("completed", false), ("failed", false), ("interrupted", false)];
    let kinds = kinds.map(|(kind, is_at_work)| (begins(kind, task, attempt), is_at_work));
    move |record| {
        let says = |begin: &String| record.strip_prefix(begin.as_str()).is_some_and(|rest| rest.starts_with(','));
        kinds.iter().find(|(begin, _)| says(begin)).map(|(_, is_at_work)| *is_at_work)
    }
}

/// The agent that the record of a claim names.
pub fn agent(claimed: &str) -> Option<String> {
    match serde_json::from_str(claimed) {
        Ok(Record::Claimed(claimed)) => claimed.agent.map(|agent| agent.into_owned()),
        _ => None,
    }
}

/// When the worker of an attempt first printed something and when it ended, by the record of the end of the attempt.
pub fn times(ended: &str) -> [Option<Timestamp>; 2] {
    let times = match serde_json::from_str(ended) {
        Ok(Record::Completed(it)) => [it.first_output, it.ended],
        Ok(Record::Failed(it)) => [it.first_output, it.ended],
        Ok(Record::Interrupted(it)) => [it.first_output, it.ended],
        _ => [None, None],
    };
    times.map(|at| at.map(Timestamp::from_micros))
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::{
        Assignment, Bound, Cancel, Cause, ErrorClass, Event, Group, Halt, Measure, PauseReason, PlanMark, ReviewThen,
        Reviewed, Scope, SkipReason, Then, Used, WaveThen, Work,
    };
    use team_executor_core::{CheckpointAction, Complexity, RoleName, TaskId, TaskIndex, Verdict};

    use super::*;

    const IDS: [&str; 3] = ["IMPL-001", "任务 \"2\"", "1"];

    fn every_event() -> Vec<Event> {
        let at = Timestamp::from_micros(1_764_000_000_000_001);
        let work = Work { task: TaskIndex(1), attempt: 7 };
        let again = Then::Again { not_before: Timestamp::from_micros(-5) };
        let failed = |class, then| Event::Failed { work, class, error: "no\n\"way\"".to_owned(), then, at };
        let skipped = |reason| Event::Skipped { task: TaskIndex(2), reason, at };
        let assignment =
            |model: Option<&str>| Assignment { agent: "my \"agent\"".to_owned(), model: model.map(str::to_owned) };
        let merged = |then| Event::WaveMerged { wave: 4, then, at };
        let judged = |then| {
            let (verdict, complexity) = (Some(Verdict::Warn), Some(Complexity::High));
            Some(Box::new(Reviewed { verdict, complexity, then }))
        };
        let ask =
            |tasks, critique: &str| ReviewThen::Ask { cause: Cause::Blocked, tasks, critique: critique.to_owned() };
        let back = ReviewThen::SendBack { tasks: vec![TaskIndex(0)], critique: "\"no\"".to_owned() };
        let halted = |scope| {
            let bound = Bound { scope, measure: Measure::Usd, used: 3, budget: 2, next: 1 };
            Event::Halted { why: Halt::Budget(Box::new(bound)), at }
        };
        vec![
            Event::Began { at },
            Event::Recovered { at },
            Event::Intended { works: vec![work, Work { task: TaskIndex(2), attempt: 1 }], at },
            Event::Doubted { at },
            Event::Claimed { work, slot: 3, fast_advance: true, choice: 0, at },
            Event::Claimed { work, slot: 3, fast_advance: false, choice: 2, at },
            Event::Completed { work, findings: None, reviewed: None, at },
            Event::Completed { work, findings: Some(String::new()), reviewed: judged(ReviewThen::GoOn), at },
            Event::Completed { work, findings: None, reviewed: judged(ask(Vec::new(), "")), at },
            Event::Completed { work, findings: None, reviewed: judged(ask(vec![TaskIndex(1)], "no tests")), at },
            Event::Completed { work, findings: None, reviewed: judged(back), at },
            failed(ErrorClass::Rejected, Then::Over),
            Event::Returned { tasks: vec![TaskIndex(1)], at },
            Event::Decided {
                checkpoint: Some(TaskIndex(1)),
                action: CheckpointAction::Revise,
                tasks: vec![TaskIndex(0)],
                text: "better\n".to_owned(),
                at,
            },
            Event::Decided {
                checkpoint: None,
                action: CheckpointAction::Feedback,
                tasks: Vec::new(),
                text: String::new(),
                at,
            },
            Event::Paused { reason: PauseReason::Checkpoint { task: TaskIndex(2), cause: Cause::Planned }, at },
            skipped(SkipReason::TooSimple(TaskIndex(0), Complexity::Low)),
            skipped(SkipReason::SwitchedOff),
            failed(ErrorClass::Transient, again),
            failed(ErrorClass::Quota { until: None }, again),
            failed(ErrorClass::Quota { until: Some(at) }, again),
            failed(ErrorClass::Auth, Then::Over),
            failed(ErrorClass::Shortage, again),
            failed(ErrorClass::Budget, again),
            failed(ErrorClass::Unreachable, again),
            failed(ErrorClass::Fatal, Then::Over),
            Event::Interrupted { work, then: again, at },
            Event::Interrupted { work, then: Then::Over, at },
            skipped(SkipReason::DependencyFailed(TaskIndex(0))),
            skipped(SkipReason::DependencySkipped(TaskIndex(1))),
            skipped(SkipReason::NoDependencyFailed),
            skipped(SkipReason::Person("not needed".to_owned())),
            Event::Reset { tasks: vec![TaskIndex(0), TaskIndex(2)], at },
            merged(WaveThen::GoOn),
            merged(WaveThen::Ask),
            merged(WaveThen::Abort),
            Event::Paused { reason: PauseReason::Told("lunch".to_owned()), at },
            Event::Paused { reason: PauseReason::WaveFailed(2), at },
            Event::Resumed { at },
            Event::Draining { at },
            Event::Stopping { at },
            Event::Finished { at },
            Event::Used { work, used: Box::new(Used { agent: "a \"b\"".to_owned(), input: 7, ..Used::default() }), at },
            Event::Used {
                work,
                used: Box::new(Used {
                    agent: "claude".to_owned(),
                    model: Some("opus".to_owned()),
                    session_id: Some("s".to_owned()),
                    attach: Some("claude --resume s".to_owned()),
                    input: 1 << 62,
                    cached: 2,
                    output: 3,
                    cost_micros: Some(0),
                    turns: Some(5),
                    wall_ms: 6,
                    is_estimated: true,
                    stored: 7,
                }),
                at,
            },
            Event::Halted { why: Halt::NotLoggedIn(TaskIndex(2)), at },
            Event::Halted { why: Halt::NoRoom, at },
            Event::Paused {
                reason: PauseReason::Told("\u{8}\u{c}\r\t\u{1}\u{7f}\u{85}\u{2028}£é\\/".to_owned()), at
            },
            halted(Scope::Run),
            halted(Scope::Role(RoleName::parse("q a").unwrap())),
            halted(Scope::Task(TaskIndex(1))),
            Event::Added { tasks: vec![TaskIndex(1), TaskIndex(2)], at },
            Event::Halted { why: Halt::PartDone, at },
            Event::Cancelled { work, then: Cancel::Retry, reason: "a \"b\"\n".to_owned(), at },
            Event::Cancelled { work, then: Cancel::Skip, reason: String::new(), at },
            Event::Cancelled { work, then: Cancel::Fail, reason: "too slow".to_owned(), at },
            Event::Advised { tasks: vec![TaskIndex(0), TaskIndex(2)], text: "smaller\nsteps".to_owned(), at },
            Event::Limited { group: Group::All, most: Some(7), at },
            Event::Limited { group: Group::Role(RoleName::parse("q a").unwrap()), most: Some(1), at },
            Event::Limited { group: Group::Agent("my \"agent\"".to_owned()), most: None, at },
            Event::Assigned { tasks: vec![TaskIndex(0)], to: assignment(Some("m:1")), at },
            Event::Assigned { tasks: vec![TaskIndex(1), TaskIndex(2)], to: assignment(None), at },
            Event::Replanned {
                changed: vec![TaskIndex(0)],
                removed: vec![TaskId::parse("old \"1\"").unwrap()],
                plan: PlanMark { digest: "00ff".to_owned(), tasks: 2 },
                at,
            },
        ]
    }

    #[test]
    fn a_record_says_whether_its_attempt_is_at_work() {
        for event in every_event() {
            let expected = match event {
                Event::Claimed { .. } => Some(true),
                Event::Completed { .. } | Event::Failed { .. } | Event::Interrupted { .. } => Some(false),
                _ => None,
            };
            let record = write(&event, |task| IDS[task.get()]);
            assert_eq!(at_work(IDS[1], 7)(&record), expected, "{record}");
            for (task, attempt) in [(IDS[1], 70), (IDS[1], 0), (IDS[0], 7)] {
                assert_eq!(at_work(task, attempt)(&record), None, "{record}");
            }
        }
    }

    /// The file was written before records were derived. Lines are added to it; none is ever changed.
    #[test]
    fn records_of_old_journals_are_read_and_written_to_the_byte() {
        let index = |id: &str| IDS.iter().position(|known| *known == id).map(|at| TaskIndex(at as u32));
        let old: Vec<_> = include_str!("every_record.jsonl").lines().collect();
        let events = every_event();
        assert_eq!(old.len(), events.len());
        for (old, event) in old.into_iter().zip(events) {
            assert_eq!(write(&event, |task| IDS[task.get()]), old);
            assert_eq!(read(old, index), Ok(event), "{old}");
        }
    }

    #[test]
    fn record_with_agent_and_times_is_the_same_to_the_rules() {
        for event in every_event() {
            let (first_output, ended) = (Some(Timestamp::from_micros(7)), Some(Timestamp::from_micros(-8)));
            let aside = Aside { agent: Some("my \"agent\"\n"), first_output, ended };
            let record = write_with(&event, |task| IDS[task.get()], &aside);
            let is_end = matches!(event, Event::Completed { .. } | Event::Failed { .. } | Event::Interrupted { .. });
            assert_eq!(times(&record), if is_end { [first_output, ended] } else { [None, None] }, "{record}");
            assert!(!record.contains('\n'), "{record}");
            let is_claim = matches!(event, Event::Claimed { .. });
            assert_eq!(agent(&record).as_deref(), is_claim.then_some("my \"agent\"\n"));
            let index = |id: &str| IDS.iter().position(|known| *known == id).map(|at| TaskIndex(at as u32));
            assert_eq!(read(&record, index), Ok(event), "{record}");
        }
        assert_eq!(agent(r#"{"type":"began","at":1}"#), None);
    }

    #[test]
    fn every_event_is_read_back() {
        for event in every_event() {
            let record = write(&event, |task| IDS[task.get()]);
            assert!(!record.contains('\n'), "{record}");
            let index = |id: &str| IDS.iter().position(|known| *known == id).map(|at| TaskIndex(at as u32));
            assert_eq!(read(&record, index), Ok(event), "{record}");
        }
    }

    #[test]
    fn unknown_record_is_refused() {
        let index = |id: &str| (id == "A").then_some(TaskIndex(0));
        let read = |record: &str| read(record, index).map_err(|error| error.to_string());
        assert_eq!(
            read(r#"{"type":"teleported","at":1}"#),
            Err("unknown record `teleported`: another version of team-executor wrote it".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"claimed","task":"B","attempt":1,"slot":0,"fast_advance":false,"at":1}"#),
            Err("the record names the task `B`, which the session does not have".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"claimed","task":"A","slot":0,"fast_advance":false,"at":1}"#),
            Err("the record `claimed` has no readable `attempt`".to_owned())
        );
        assert!(read("nonsense").is_err());
    }
}
