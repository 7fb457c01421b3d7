//! When each attempt of a run did what, from the records of its journal. Only those who look at a run ask for it.

use team_executor_core::run::{Event, Run};
use team_executor_core::{TaskIndex, Timestamp};
use team_executor_store::records;

/// The times of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptTimes {
    /// Which attempt, from 1.
    pub attempt: u32,
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
}

/// Collects the times of all attempts, by task.
#[derive(Debug, Default)]
pub(crate) struct Collected(pub(crate) Vec<Vec<AttemptTimes>>);

impl Collected {
    /// Takes an event before the rules do.
    pub(crate) fn take(&mut self, rules: &Run, event: &Event, record: &str) {
        let (work, at, outcome) = match event {
            Event::Claimed { work, at, .. } => {
                let started = AttemptTimes {
                    attempt: work.attempt,
                    ready: rules.ready_since(work.task),
                    started: *at,
                    first_output: None,
                    ended: None,
                    checked: None,
                    outcome: None,
                };
                return self.of(work.task).push(started);
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
        }
    }

    fn of(&mut self, task: TaskIndex) -> &mut Vec<AttemptTimes> {
        if self.0.len() <= task.get() {
            self.0.resize_with(task.get() + 1, Vec::new);
        }
        &mut self.0[task.get()]
    }
}
