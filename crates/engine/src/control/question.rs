//! What the executor asks a person, and what the answer means: a whole wave failed, or the run is at a checkpoint.

use std::time::Duration;

use team_executor_core::run::{AtCheckpoint, Input, PauseReason, Run, Stage, Which};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus, Timestamp};

use super::Request;

/// What can be typed at a checkpoint.
pub const ANSWERS: &str = "resume, improve TEXT, revise TASK TEXT, recheck, feedback TEXT, or stop";

/// What happens at a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoints {
    /// How long a person has. Without it, a run waits for ever for a person who can be asked, and not at all
    /// for one who cannot.
    pub wait: Option<Duration>,
    /// The action if no person has decided.
    pub unattended: AtCheckpoint,
}

/// What a person's line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The failed tasks of the wave run again.
    Retry,
    /// The run stops here.
    Stop,
    /// The decision at the checkpoint.
    Decide(Request),
}

/// The wave that failed, if the run waits for a decision.
pub(crate) fn wave(run: &Run) -> Option<u32> {
    match run.stage() {
        Stage::Paused(PauseReason::WaveFailed(wave)) => Some(*wave),
        _ => None,
    }
}

/// Whether the run is at a checkpoint.
pub(crate) const fn is_checkpoint(run: &Run) -> bool {
    matches!(run.stage(), Stage::Paused(PauseReason::Checkpoint { .. }))
}

/// Whether a person must be asked: the wave was not retried meanwhile.
pub(crate) fn is_open(run: &Run) -> bool {
    wave(run).is_some_and(|wave| !failed(run, wave).is_empty()) || is_checkpoint(run)
}

/// The request that a person typed; `None` if it is unknown. The end of the input stops the run.
pub(crate) fn understood(line: Option<&str>, run: &Run) -> Option<Reply> {
    let Some(line) = line.map(str::trim) else { return Some(Reply::Stop) };
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (word, rest) = (word.to_lowercase(), rest.trim());
    if !is_checkpoint(run) {
        return match word.as_str() {
            "r" | "retry" => Some(Reply::Retry),
            "a" | "abort" => Some(Reply::Stop),
            _ => None,
        };
    }
    let decide =
        |action, tasks, text: &str| Some(Reply::Decide(Request::Decide { action, tasks, text: text.to_owned() }));
    match word.as_str() {
        "s" | "stop" => Some(Reply::Stop),
        "r" | "resume" => decide(CheckpointAction::Resume, Vec::new(), rest),
        "i" | "improve" => decide(CheckpointAction::Improve, Vec::new(), rest),
        "c" | "recheck" => decide(CheckpointAction::Recheck, Vec::new(), rest),
        "f" | "feedback" if !rest.is_empty() => decide(CheckpointAction::Feedback, Vec::new(), rest),
        "v" | "revise" if !rest.is_empty() => {
            let (task, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            decide(CheckpointAction::Revise, vec![task.to_owned()], text.trim())
        }
        _ => None,
    }
}

/// What to do about a wave that failed means to the rules.
pub(crate) fn inputs(retry: bool, wave: u32, run: &Run, now: Timestamp) -> Vec<Input> {
    let counts = run.counts();
    let is_over = counts.pending + counts.ready + counts.in_progress == 0;
    match (retry, failed(run, wave)) {
        (true, tasks) if !tasks.is_empty() => {
            vec![Input::Retry { now, which: Which::Tasks(tasks), downstream: false }, Input::Resume { now }]
        }
        (false, _) if !is_over => vec![Input::Stop { now }],
        // Nothing is left that could be retried or stopped.
        _ => vec![Input::Resume { now }],
    }
}

fn failed(run: &Run, wave: u32) -> Vec<TaskIndex> {
    let of_wave = |task: &TaskIndex| run.graph().wave(*task) == wave;
    let failed = |task: &TaskIndex| run.status(*task) == Some(TaskStatus::Failed);
    run.graph().order().iter().copied().filter(of_wave).filter(failed).collect()
}
