//! Requests to a run that no executor has: decided by the same rules and committed to the journal, and nothing is started.

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
    let Opened { run: mut at, mut journal, plan, records, rebooted, .. } = opened;
    let mut session = target.session.clone();
    plan.put_into(&mut session.tasks);
    let policy = Policy { wave_failed: WaveFailed::Ask, ..plan.policy(target.session) };
    let records = records.iter().map(String::as_str);
    let mut rules = replay::rules(&session.tasks, graph, &at.id, policy, records)?;
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
    // The step is cut off where an executor would start something or ask somebody: the next one derives the rest again.
    let events: Vec<Event> = step.events.into_iter().take_while(|event| !needs_executor(event)).collect();
    keep(&mut rules, &events)?;
    let answer = Answer::of(request, &events, step.refused, &rules, id);
    if events.is_empty() {
        return Ok(Applied { answer, warnings: Vec::new() });
    }
    let mut views = views::of(&at, folder, dialect, plan.cadence)?;
    let (_, warnings) = views::leave(&mut views, &at, folder, &mut session, &rules, SessionStatus::Completed);
    Ok(Applied { answer, warnings })
}

const fn needs_executor(event: &Event) -> bool {
    matches!(event, Event::Claimed { .. } | Event::WaveMerged { then: WaveThen::Ask | WaveThen::Abort, .. })
}
