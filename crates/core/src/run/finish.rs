//! When a run is over, and how it stands then.

use super::decide::Turn;
use super::effect::{Effect, Ending};
use super::event::{Event, PauseReason};
use super::policy::Cadence;
use super::state::{Run, Stage};

impl Run {
    /// Whether nothing more will happen to any task by itself.
    pub(super) fn everything_is_over(&self) -> bool {
        self.state.counts.pending == 0 && self.state.counts.in_progress == 0
    }

    /// Whether a person must decide how it goes on. A pause that a person asked for is no question.
    fn asks(&self) -> bool {
        matches!(self.pause(), Some(PauseReason::WaveFailed(_) | PauseReason::Checkpoint { .. }))
    }

    fn is_finished(&self) -> bool {
        let merged = self.policy.cadence == Cadence::Beat || self.current_wave().is_none();
        let goes_on = !matches!(self.state.stage, Stage::NotBegun | Stage::Finished);
        goes_on && !self.asks() && self.everything_is_over() && merged
    }

    /// How the run stands, if nothing runs and nothing will by itself.
    fn ending(&self) -> Option<Ending> {
        let all_completed = self.state.counts.completed + self.state.not_needed == self.state.counts.total();
        match self.state.stage {
            _ if self.state.slots.running() > 0 => None,
            Stage::NotBegun | Stage::Going => None,
            Stage::Paused(_) => Some(Ending::Paused),
            Stage::Draining => Some(Ending::Drained),
            Stage::Stopping => Some(Ending::Stopped),
            Stage::Finished if all_completed => Some(Ending::AllCompleted),
            Stage::Finished => Some(Ending::WithFailures),
        }
    }
}

impl Turn<'_> {
    /// Says what the run waits for: a time, nothing, or only its workers.
    pub(super) fn finish(&mut self) {
        if self.run.is_finished() {
            self.emit(Event::Finished { at: self.now });
        }
        if self.run.state.stage == Stage::Going
            && let Some(at) = self.run.next_wake()
        {
            self.effects.push(Effect::WakeAt { at });
        }
        if let Some(ending) = self.run.ending() {
            self.effects.push(Effect::Over { ending });
        }
    }
}
