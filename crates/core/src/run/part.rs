//! A part of a plan: only some tasks start, and the run stops when nothing of them can start any more.

use super::decide::Turn;
use super::event::{Event, Halt};
use super::state::{Run, Stage};
use super::view::Counts;
use crate::graph::TaskIndex;
use crate::task::TaskStatus;

impl Run {
    /// Whether a task is left out of what is run now.
    pub(super) fn is_left_out(&self, task: TaskIndex) -> bool {
        self.policy.part.as_ref().is_some_and(|part| !part.contains(&task))
    }

    /// How many tasks of the chosen part there are of each status; nothing where all are run.
    pub fn part(&self) -> Option<Counts> {
        let part = self.policy.part.as_ref()?;
        let mut counts = Counts::default();
        part.iter()
            .filter(|task| self.has(**task))
            .filter_map(|task| self.status(*task))
            .for_each(|status| *counts.of_mut(status) += 1);
        Some(counts)
    }

    /// The first task of the chosen part that waits for one that is left out, and that one.
    pub fn waits_for_left_out(&self) -> Option<(TaskIndex, TaskIndex)> {
        let part = self.policy.part.as_ref()?;
        let waits = part.iter().filter(|task| self.status(**task) == Some(TaskStatus::Pending));
        waits
            .flat_map(|task| self.graph.dependencies(*task).iter().map(|on| (*task, *on)))
            .find(|(_, on)| self.is_left_out(*on) && self.status(*on).is_some_and(|status| !status.is_over()))
    }
}

impl Turn<'_> {
    /// Stops when nothing runs and all that could start is left out.
    pub(super) fn stop_after_part(&mut self) {
        let state = &self.run.state;
        let stands = state.stage == Stage::Going && state.slots.running() == 0 && state.recalled.is_empty();
        let is_left = state.counts.pending > 0 && self.run.policy.part.is_some();
        if stands && is_left && self.run.next_wake().is_none() && !self.run.wants_worker() {
            self.emit(Event::Halted { why: Halt::PartDone, at: self.now });
        }
    }
}
