//! A person changed the plan while nothing ran: all of it is taken, or none.

use std::collections::BTreeSet;

use super::decide::Turn;
use super::event::{Event, SkipReason};
use super::input::{Refused, Which};
use crate::graph::TaskIndex;
use crate::moves::Moves;
use crate::task::TaskStatus;

impl Turn<'_> {
    /// Some tasks begin anew, a completed one with everything behind it, and some will not run.
    pub(super) fn edited(&mut self, again: &[TaskIndex], skip: &[TaskIndex], reason: &str) -> Result<(), Refused> {
        let is_completed = |task: &TaskIndex| self.run.status(*task) == Some(TaskStatus::Completed);
        let (completed, others): (Vec<_>, Vec<_>) = again.iter().copied().partition(is_completed);
        let mut anew: BTreeSet<_> = self.run.to_reset(Which::Tasks(completed), true)?.into_iter().collect();
        anew.extend(self.run.to_reset(Which::Tasks(others), false)?);
        for task in skip {
            let state = self
                .run
                .state
                .tasks
                .get(task.get())
                .filter(|task| !task.is_absent)
                .ok_or(Refused::NoSuchTask(*task))?;
            state.status.moved(TaskStatus::Skipped)?;
        }
        let at = self.now;
        for task in skip {
            self.emit(Event::Skipped { task: *task, reason: SkipReason::Person(reason.to_owned()), at });
        }
        if !anew.is_empty() {
            self.emit(Event::Reset { tasks: anew.into_iter().collect(), at });
        }
        Ok(())
    }
}
