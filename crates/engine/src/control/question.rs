//! What the executor asks a person: a whole wave failed, and now?

use team_executor_core::run::{Input, PauseReason, Run, Stage, Which};
use team_executor_core::{TaskIndex, TaskStatus, Timestamp};

/// What a person wants after every task of a wave failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The failed tasks of the wave run again.
    Retry,
    /// The run stops.
    Abort,
}

/// The wave that failed, if the run waits for a decision.
pub(crate) fn open(run: &Run) -> Option<u32> {
    match run.stage() {
        Stage::Paused(PauseReason::WaveFailed(wave)) => Some(*wave),
        _ => None,
    }
}

/// What a decision means to the rules.
pub(crate) fn inputs(decision: Decision, wave: u32, run: &Run, now: Timestamp) -> Vec<Input> {
    let counts = run.counts();
    let is_over = counts.pending + counts.ready + counts.in_progress == 0;
    match decision {
        Decision::Retry => {
            let failed = |task: &TaskIndex| run.status(*task) == Some(TaskStatus::Failed);
            let of_wave = |task: &TaskIndex| run.graph().wave(*task) == wave;
            let tasks = run.graph().order().iter().copied().filter(of_wave).filter(failed).collect();
            vec![Input::Retry { now, which: Which::Tasks(tasks), downstream: false }, Input::Resume { now }]
        }
        // Nothing is left that could be stopped: the run finishes.
        Decision::Abort if is_over => vec![Input::Resume { now }],
        Decision::Abort => vec![Input::Stop { now }],
    }
}
