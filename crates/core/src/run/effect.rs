//! Effects of a step on the outside, due once its events are durable. Effects are values; nothing is carried
//! out here.

use super::event::Event;
use super::input::{Refused, Work};
use super::review::Cause;
use super::view::Standing;
use crate::graph::TaskIndex;
use crate::time::Timestamp;

/// The answer of a run to one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The events, already applied. They must be durable, in this order, before any effect is carried out.
    pub events: Vec<Event>,
    /// How the run stood after each of them.
    pub standings: Vec<Standing>,
    /// The effects, in this order.
    pub effects: Vec<Effect>,
    /// Why the input changed nothing, if it did not. Only its time counts; what that makes possible starts with the
    /// next input, at the latest when [`Effect::WakeAt`] comes true.
    pub refused: Option<Refused>,
}

/// One thing to be done outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Start a worker.
    Spawn {
        /// For which attempt at which task.
        work: Work,
        /// Where; at most one worker at a time is in a slot.
        slot: u32,
    },
    /// Check again what the last attempt delivered, without a worker; what came out is told as the end of this attempt.
    Check {
        /// For which attempt at which task.
        work: Work,
        /// Where; as for a worker.
        slot: u32,
    },
    /// End a worker; how it ended is told as an input.
    EndWorker {
        /// What it holds.
        work: Work,
    },
    /// Tell when this time has come: the earliest at which something can start. Replaces what was asked for before.
    WakeAt {
        /// When.
        at: Timestamp,
    },
    /// All workers of a wave failed: ask whether to retry, to go on or to stop.
    AskWaveFailed {
        /// Which wave, from 1.
        wave: u32,
    },
    /// The run is at a checkpoint: ask a person.
    AskCheckpoint {
        /// Which task it comes after.
        task: TaskIndex,
        /// Why.
        cause: Cause,
    },
    /// Nothing runs, and nothing will by itself.
    Over {
        /// How it stands.
        ending: Ending,
    },
}

/// How a run stands when nothing runs any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every task is completed.
    AllCompleted,
    /// Every task is over, and not all are completed.
    WithFailures,
    /// It was paused.
    Paused,
    /// It was told to let its workers finish.
    Drained,
    /// It was told to end its workers.
    Stopped,
}
