//! How long things took: each task, and the run with and without the time in which nothing ran. All of it follows from the events
//! alone, so that it is the same for those who read them again.

use super::event::Event;
use super::policy::Cadence;
use super::state::Run;
use crate::graph::TaskIndex;
use crate::task::TaskStatus;
use crate::time::{Millis, Timestamp};

/// How long a run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pace {
    began: Option<Timestamp>,
    /// When something last happened.
    last: Option<Timestamp>,
    /// In microseconds, with a worker at work and without one.
    active: u64,
    idle: u64,
    /// When the last wave was merged.
    pub(super) merged: Option<Timestamp>,
    /// How long the attempt took that ended last.
    took: u64,
}

/// How long a task took, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Took {
    ran: u64,
    waited: u64,
}

impl Took {
    /// No time at all.
    pub(super) const NOTHING: Self = Self { ran: 0, waited: 0 };
}

/// How long a task took so far, over all of its attempts that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durations {
    /// With a worker.
    pub ran: Millis,
    /// Ready, without a worker; that of an attempt that runs is in it.
    pub waited: Millis,
}

impl Run {
    /// How long the run had a worker at work, up to the last event.
    pub fn active(&self) -> Millis {
        millis(self.pace.active)
    }

    /// How long it had none, since it began: it was held or paused, or no executor had it.
    pub fn idle(&self) -> Millis {
        millis(self.pace.idle)
    }

    /// When something last happened.
    pub fn last_event(&self) -> Option<Timestamp> {
        self.pace.last
    }

    /// How long the attempt took that ended last.
    pub(super) fn took(&self) -> Millis {
        millis(self.pace.took)
    }

    /// When a task that starts now became ready.
    pub fn ready_since(&self, task: TaskIndex) -> Option<Timestamp> {
        let state = self.state.tasks.get(task.get())?;
        let before = self.graph.dependencies(task).iter().map(|on| self.state.tasks[on.get()].since);
        let is_wave = self.policy.cadence == Cadence::Wave;
        let merged = self.pace.merged.filter(|_| is_wave);
        before.chain([self.pace.began, state.since, merged, Some(state.not_before)]).flatten().max()
    }

    /// Counts the time up to an event, before anything changes. What an executor did after its last event is not known, so the
    /// time until another one took over counts as idle.
    pub(super) fn count_time(&mut self, event: &Event) {
        let at = event.at();
        let is_active = self.state.counts.in_progress > 0 && !matches!(event, Event::Recovered { .. });
        let pace = &mut self.pace;
        let passed = pace.last.map_or(0, |last| between(last, at));
        let sum = if is_active { &mut pace.active } else { &mut pace.idle };
        *sum = sum.saturating_add(passed);
        pace.last = Some(at);
        if matches!(event, Event::Began { .. }) {
            pace.began.get_or_insert(at);
        }
    }

    /// A worker gets a task that was ready since then.
    pub(super) fn count_wait(&mut self, task: TaskIndex, ready: Option<Timestamp>, at: Timestamp) {
        let waited = ready.map_or(0, |ready| between(ready, at));
        let took = &mut self.state.tasks[task.get()].took;
        took.waited = took.waited.saturating_add(waited);
    }

    /// The worker of a task has ended.
    pub(super) fn count_attempt(&mut self, task: TaskIndex, at: Timestamp) {
        let state = &mut self.state.tasks[task.get()];
        let ran = state.since.filter(|_| state.status == TaskStatus::InProgress).map_or(0, |since| between(since, at));
        state.took.ran = state.took.ran.saturating_add(ran);
        self.pace.took = ran;
    }

    pub(super) fn durations(&self, task: TaskIndex) -> Durations {
        let Took { ran, waited } = self.state.tasks.get(task.get()).map(|task| task.took).unwrap_or_default();
        Durations { ran: millis(ran), waited: millis(waited) }
    }
}

/// In microseconds; none if the clock was set back in between.
fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros().saturating_sub(from.as_micros())).unwrap_or(0)
}

const fn millis(micros: u64) -> Millis {
    Millis(micros / 1000)
}
