//! Requests to a run that no executor has: decided by the same rules and committed to the journal, and nothing is started.
//!
//! What the keepers of a killed executor have written down is not looked at here. It need not be: no request changes
//! anything about an attempt that is at work, so the next executor finds each of them and learns what it came to.

use std::path::Path;

use team_executor_core::run::{Event, Policy, Run, WaveFailed, WaveThen};
use team_executor_core::{Graph, Session, SessionStatus, TaskIndex};
use team_executor_files::Dialect;
use team_executor_store::records;
use team_executor_store::run_folder::project_root;

use super::{Answer, Request};
use crate::options::Failure;
use crate::run_at::{self, Opened};
use crate::{clock, replay, views};

/// What came of a request without an executor.
#[derive(Debug)]
pub struct Applied {
    /// What came of it.
    pub answer: Answer,
    /// What was not written although it should have been. It can be rendered again.
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

/// Applies a request to a run, and renders what people read. Whoever else has the run is named by the failure.
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
        at.sign(epoch)?;
    }
    let input = match request.input(clock::now(), |id| graph.index_of(id)) {
        Ok(input) => input,
        Err(why) => {
            return Ok(Applied { answer: Answer::refused(rules.stage().word(), why), warnings: Vec::new() });
        }
    };
    let step = rules.clone().step(input);
    let events = without_executor(step.events);
    keep(&mut rules, &events)?;
    let answer = Answer::of(request, &events, step.refused, &rules, id);
    if events.is_empty() {
        return Ok(Applied { answer, warnings: Vec::new() });
    }
    let mut views = views::of(&at, folder, dialect, plan.cadence)?;
    let (_, warnings) = views::leave(&mut views, &at, folder, &mut session, &rules, SessionStatus::Completed);
    Ok(Applied { answer, warnings })
}

/// The part of a step up to where an executor would start something or ask somebody: the next one derives the rest again.
fn without_executor(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().take_while(|event| !needs_executor(event)).collect()
}

const fn needs_executor(event: &Event) -> bool {
    matches!(event, Event::Claimed { .. } | Event::WaveMerged { then: WaveThen::Ask | WaveThen::Abort, .. })
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::{Cadence, ErrorClass, Input, Outcome, Work, WorkEnded};
    use team_executor_core::{RoleName, Task, TaskId, Timestamp};

    use super::super::request::Wanted;
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
            all.push(Request::Retry { which: Wanted::Failed, downstream });
            for (task, _) in TASKS {
                all.push(Request::Retry { which: Wanted::Tasks(vec![task.to_owned()]), downstream });
            }
        }
        all.extend(TASKS.map(|(task, _)| Request::Skip { task: task.to_owned(), reason: String::new() }));
        all
    }

    #[test]
    fn no_request_changes_an_attempt_that_a_killed_executor_left_at_work() {
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
