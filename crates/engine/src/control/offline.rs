//! Requests to a run that no executor has: decided by the same rules and committed to the journal, and nothing is started.
//!
//! The ledgers of a killed executor's keepers are read only to skip a task that was running then. It need not
//! be otherwise: no other request changes anything about an attempt that is at work, so the next executor
//! finds each of them and learns what it came to.

use std::path::Path;
use std::time::Duration;

use team_executor_agents::{Ended, Harvest};
use team_executor_core::run::{Event, Input, Outcome, Policy, Refused, Run, WaveFailed, WaveThen, Work, WorkEnded};
use team_executor_core::{Graph, Session, SessionStatus, Task, TaskIndex};
use team_executor_files::Dialect;
use team_executor_store::records;
use team_executor_store::run_folder::project_root;

use super::{Answer, Request};
use crate::begin::replay;
use crate::begin::run_at::{self, Opened, RunAt};
use crate::clock;
use crate::options::Failure;
use crate::render::views;

/// How long the keepers of a killed executor have to end their workers.
const PATIENCE: Duration = Duration::from_secs(15);

/// What came of a request without an executor.
#[derive(Debug)]
pub struct Applied {
    /// What came of it.
    pub answer: Answer,
    /// Files that could not be written. They can be rendered again.
    pub warnings: Vec<String>,
}

/// A run and the session that it is of.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The session that was read.
    pub session: &'a Session,
    /// How its tasks hang together.
    pub graph: &'a Graph,
    /// How it was written.
    pub dialect: Dialect,
    /// Its folder, absolute.
    pub folder: &'a Path,
    /// The current folder, absolute.
    pub current: &'a Path,
    /// The name of the run.
    pub run: &'a str,
}

/// Applies a request to a run, and renders what people read. If another executor has the run, the failure
/// names it.
pub fn apply(target: Target<'_>, request: &Request) -> Result<Applied, Failure> {
    let Target { graph, dialect, folder, .. } = target;
    let project = project_root(folder, target.current);
    let opened = run_at::reopen(target.session, &project, target.run.to_owned())?;
    let Opened { run: mut at, mut journal, plan, history, rebooted, .. } = opened;
    let mut session = target.session.clone();
    plan.put_into(&mut session.tasks);
    let policy = Policy { wave_failed: WaveFailed::Ask, ..plan.policy(target.session) };
    let mut rules = replay::rules(&session.tasks, graph, &at.id, policy, replay::events(&history))?;
    let id = |task: TaskIndex| session.tasks[task.get()].id.as_str();
    let epoch = journal.epoch();
    let mut keep = |rules: &mut Run, events: &[Event]| {
        for event in events {
            rules.apply(event);
            journal.append(&records::write(event, id))?;
        }
        journal.commit()
    };
    if rebooted {
        // Once the lock says that the machine was not started since, the next executor could not know.
        keep(&mut rules, &[Event::Doubted { at: clock::now() }])?;
        at.hold.sign(epoch)?;
    }
    let input = match request.input(clock::now(), |id| graph.index_of(id)) {
        Ok(input) => input,
        Err(why) => {
            return Ok(Applied { answer: Answer::refused(rules.stage().word(), why), warnings: Vec::new() });
        }
    };
    let skipped = if let Input::Skip { task, .. } = input { Some(task) } else { None };
    let lost = rules.at_work().find(|work| Some(work.task) == skipped);
    if let Some(work) = lost
        && !came_to_nothing(&at, &session.tasks[work.task.get()], work)?
    {
        let why = format!("'{}' has already finished; `resume` records its result", id(work.task));
        return Ok(Applied { answer: Answer::refused(rules.stage().word(), why), warnings: Vec::new() });
    }
    let (events, refused) = decided(&rules, lost, input);
    keep(&mut rules, &events)?;
    let answer = Answer::from_events(request, &events, refused, &rules, id);
    if events.is_empty() {
        return Ok(Applied { answer, warnings: Vec::new() });
    }
    let mut views = views::open(&at, folder, dialect, plan.cadence)?;
    let (_, warnings) = views::leave(&mut views, &at, folder, &mut session, &rules, SessionStatus::Completed);
    Ok(Applied { answer, warnings })
}

/// The events of a request, and first those of a lost worker that is in its way. All of it, or nothing.
fn decided(rules: &Run, lost: Option<Work>, input: Input) -> (Vec<Event>, Option<Refused>) {
    let lost = lost.map(|work| WorkEnded { work, outcome: Outcome::Interrupted });
    let lost = lost.map(|ended| Input::Ended { now: input.now(), ended });
    let (mut next, mut events) = (rules.clone(), Vec::new());
    for input in lost.into_iter().chain([input]) {
        let step = next.clone().step(input);
        if step.refused.is_some() {
            return (Vec::new(), step.refused);
        }
        let kept = without_executor(step.events);
        kept.iter().for_each(|event| next.apply(event));
        events.extend(kept);
    }
    (events, None)
}

/// Whether the worker of an attempt was lost with its executor, and has not reported anything that counts. None of it lives
/// after this.
fn came_to_nothing(at: &RunAt, task: &Task, work: Work) -> Result<bool, Failure> {
    let (ledgers, key) = (at.ledgers(), at.key(task.id.as_str(), work.attempt));
    let harvest = Harvest::insist(&ledgers, std::slice::from_ref(&key), PATIENCE);
    let harvest = harvest.map_err(Failure::disk("look at", &ledgers))?;
    let harvest = harvest.ok_or_else(|| Failure::StillRunning(at.id.clone()))?;
    if !at.is_moved || harvest.is_from_here(&key) {
        harvest.sweep(&[&key]).map_err(Failure::disk("end what is left of", &at.path))?;
    }
    let exit = harvest.exit(&key);
    let was_ended = exit.is_none_or(|exit| matches!(exit.ended, Ended::Interrupted | Ended::Stopped));
    let result = at.results.read(&task.id, work.attempt)?;
    let may_have_finished = exit.is_some_and(|exit| exit.well) && result.is_some();
    let is_reported = result.and_then(Result::ok).is_some_and(|report| report.reported_by == Some(key));
    Ok(was_ended && !may_have_finished && !is_reported)
}

/// The part of a step up to where an executor would start something or ask a person: the next one derives the
/// rest again.
fn without_executor(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().take_while(|event| !needs_executor(event)).collect()
}

const fn needs_executor(event: &Event) -> bool {
    matches!(event, Event::Claimed { .. } | Event::WaveMerged { then: WaveThen::Ask | WaveThen::Abort, .. })
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::{Cadence, ErrorClass};
    use team_executor_core::{RoleName, Task, TaskId, Timestamp};

    use super::super::request::ToRetry;
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1);
    /// A and E are at work, B has failed, D is completed, and C, F and G wait.
    const TASKS: [(&str, &[&str]); 7] =
        [("A", &[]), ("B", &[]), ("C", &["A"]), ("D", &[]), ("E", &["D"]), ("F", &["B"]), ("G", &["E", "F"])];

    fn killed(cadence: Cadence) -> (Graph, Run) {
        let id = |text: &str| TaskId::parse(text).unwrap();
        let task = |(name, on): &(&str, &[&str])| Task {
            dependencies: on.iter().map(|on| id(on)).collect(),
            ..Task::new(id(name), RoleName::parse("r").unwrap())
        };
        let tasks: Vec<Task> = TASKS.iter().map(task).collect();
        let graph = Graph::seal(&tasks).graph.unwrap();
        let mut rules = Run::new(&tasks, graph.clone(), Policy { slots: 3, cadence, ..Policy::default() }).unwrap();
        rules.step(Input::Start { now: NOW });
        let ended = |task: u32, outcome| {
            let work = Work { task: TaskIndex(task), attempt: 1 };
            Input::Ended { now: NOW, ended: WorkEnded { work, outcome } }
        };
        rules.step(ended(1, Outcome::Failed { class: ErrorClass::Fatal, error: String::new() }));
        rules.step(ended(3, Outcome::completed(None)));
        (graph, rules)
    }

    fn requests() -> Vec<Request> {
        let mut all = vec![Request::Pause { reason: String::new() }, Request::Resume, Request::Drain, Request::Stop];
        for downstream in [false, true] {
            all.push(Request::Retry { which: ToRetry::Failed, downstream, feedback: String::new(), with: None });
            for (task, _) in TASKS {
                all.push(Request::Retry {
                    which: ToRetry::Tasks(vec![task.to_owned()]),
                    downstream,
                    feedback: String::new(),
                    with: None,
                });
            }
        }
        all.extend(TASKS.map(|(task, _)| Request::Skip { task: task.to_owned(), reason: String::new() }));
        all
    }

    #[test]
    fn request_leaves_attempts_of_a_killed_executor_alone() {
        let mut changed = 0;
        for cadence in [Cadence::Beat, Cadence::Wave] {
            let (graph, rules) = killed(cadence);
            let at_work: Vec<Work> = rules.at_work().collect();
            assert!(!at_work.is_empty());
            for request in requests() {
                let input = request.input(NOW, |id| graph.index_of(id)).unwrap();
                let mut after = rules.clone();
                let events = without_executor(after.clone().step(input).events);
                events.iter().for_each(|event| after.apply(event));
                assert_eq!(after.at_work().collect::<Vec<_>>(), at_work, "{cadence:?} {request:?}");
                changed += usize::from(!events.is_empty());
            }
        }
        assert!(changed > 12, "{changed}");
    }
}
