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
pub(crate) fn wave(run: &Run) -> Option<u32> {
    match run.stage() {
        Stage::Paused(PauseReason::WaveFailed(wave)) => Some(*wave),
        _ => None,
    }
}

/// Whether somebody must be asked: nobody has retried the wave meanwhile.
pub(crate) fn is_open(run: &Run) -> bool {
    wave(run).is_some_and(|wave| !failed(run, wave).is_empty())
}

/// What a decision means to the rules.
pub(crate) fn inputs(decision: Decision, wave: u32, run: &Run, now: Timestamp) -> Vec<Input> {
    let counts = run.counts();
    let is_over = counts.pending + counts.ready + counts.in_progress == 0;
    match (decision, failed(run, wave)) {
        (Decision::Retry, tasks) if !tasks.is_empty() => {
            vec![Input::Retry { now, which: Which::Tasks(tasks), downstream: false }, Input::Resume { now }]
        }
        (Decision::Abort, _) if !is_over => vec![Input::Stop { now }],
        // Nothing is left that could be retried or stopped.
        _ => vec![Input::Resume { now }],
    }
}

fn failed(run: &Run, wave: u32) -> Vec<TaskIndex> {
    let of_wave = |task: &TaskIndex| run.graph().wave(*task) == wave;
    let failed = |task: &TaskIndex| run.status(*task) == Some(TaskStatus::Failed);
    run.graph().order().iter().copied().filter(of_wave).filter(failed).collect()
}
