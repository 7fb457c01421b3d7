//! When each attempt of a run did what, from the records of its journal. Only those who look at a run ask for it.

use std::sync::Arc;

use team_executor_core::run::{ErrorClass, Event, Run};
use team_executor_core::{TaskIndex, Timestamp};
use team_executor_store::records;

/// The times of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptTimes {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The agent, as the user calls it; empty where the journal does not say it.
    pub agent: Arc<str>,
    /// In which slot.
    pub slot: u32,
    /// When its task could have started.
    pub ready: Option<Timestamp>,
    /// When it was given to a worker.
    pub started: Timestamp,
    /// When its worker first printed something, if that is known.
    pub first_output: Option<Timestamp>,
    /// When its worker ended, if that is known.
    pub ended: Option<Timestamp>,
    /// When its outcome was decided: what it delivered was checked before.
    pub checked: Option<Timestamp>,
    /// What it ended as; nothing while it goes on.
    pub outcome: Option<&'static str>,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Its work was sent back later, or was not accepted.
    pub is_sent_back: bool,
}

/// Collects the times of all attempts, by task.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    times: Vec<Vec<AttemptTimes>>,
    /// The agent that was named last: mostly it is the next one too.
    agent: Arc<str>,
}

impl Collected {
    /// Takes an event before the rules do.
    pub(crate) fn take(&mut self, rules: &Run, event: &Event, record: &str) {
        let (work, at, outcome) = match event {
            Event::Claimed { work, slot, at, .. } => {
                let agent = self.named(record);
                let started = AttemptTimes {
                    attempt: work.attempt,
                    agent,
                    slot: *slot,
                    ready: rules.ready_since(work.task),
                    started: *at,
                    first_output: None,
                    ended: None,
                    checked: None,
                    outcome: None,
                    error: None,
                    is_sent_back: false,
                };
                return self.of(work.task).push(started);
            }
            Event::Returned { tasks, .. } => {
                for task in tasks {
                    let last = self.of(*task).last_mut().filter(|last| last.outcome == Some("completed"));
                    last.into_iter().for_each(|last| last.is_sent_back = true);
                }
                return;
            }
            Event::Completed { work, at, .. } => (work, at, "completed"),
            Event::Failed { work, at, .. } => (work, at, "failed"),
            Event::Interrupted { work, at, .. } => (work, at, "interrupted"),
            _ => return,
        };
        let last = self.of(work.task).last_mut().filter(|last| last.attempt == work.attempt && last.outcome.is_none());
        if let Some(last) = last {
            [last.first_output, last.ended] = records::times(record);
            (last.checked, last.outcome) = (Some(*at), Some(outcome));
            if let Event::Failed { error, class, .. } = event {
                last.error = Some(error.clone());
                last.is_sent_back = *class == ErrorClass::Rejected;
            }
        }
    }

    /// The agent of the last attempt at a task.
    pub(crate) fn agent(&mut self, task: TaskIndex) -> Arc<str> {
        self.of(task).last().map(|last| Arc::clone(&last.agent)).unwrap_or_default()
    }

    /// All of them, by task. Tasks behind the last one that was tried are left out.
    pub(crate) fn into_times(self) -> Vec<Vec<AttemptTimes>> {
        self.times
    }

    fn named(&mut self, claimed: &str) -> Arc<str> {
        let name = records::agent(claimed).unwrap_or_default();
        if *self.agent != *name {
            self.agent = name.into();
        }
        Arc::clone(&self.agent)
    }

    fn of(&mut self, task: TaskIndex) -> &mut Vec<AttemptTimes> {
        if self.times.len() <= task.get() {
            self.times.resize_with(task.get() + 1, Vec::new);
        }
        &mut self.times[task.get()]
    }
}
