//! What the executor asks a person, and what the answer means: a whole wave failed, or the run is at a checkpoint.

use std::time::Duration;

use team_executor_core::run::{AtCheckpoint, Input, PauseReason, Run, Stage, Which};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus, Timestamp};

use super::Request;

/// What can be typed at a checkpoint.
pub const ANSWERS: &str = "y to approve, improve TEXT, revise TASK TEXT, recheck, feedback TEXT, stop, or ? for help";
/// What that means.
pub(crate) const MEANINGS: &str = "y, approve or resume continues; improve TEXT or reject TEXT redoes the reviewed tasks with this feedback; \
     revise TASK TEXT redoes one task and everything built on it; recheck repeats the review; feedback TEXT adds a note for \
     later workers; stop ends here, and the next start asks again";
/// The words, each with its short form, and what it stands for.
const WORDS: [(&str, &str, Word); 10] = [
    ("yes", "y", Word::Act(CheckpointAction::Resume)),
    ("approve", "a", Word::Act(CheckpointAction::Resume)),
    ("resume", "r", Word::Act(CheckpointAction::Resume)),
    ("improve", "i", Word::Act(CheckpointAction::Improve)),
    ("reject", "reject", Word::Act(CheckpointAction::Improve)),
    ("revise", "v", Word::Act(CheckpointAction::Revise)),
    ("recheck", "c", Word::Act(CheckpointAction::Recheck)),
    ("feedback", "f", Word::Act(CheckpointAction::Feedback)),
    ("stop", "s", Word::Stop),
    ("help", "?", Word::Help),
];

/// What a word of an answer stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Act(CheckpointAction),
    Stop,
    Help,
}

/// What a word stands for, by itself, its short form or a unique begin.
fn meant(word: &str) -> Option<Word> {
    let exact = WORDS.iter().find(|(name, short, _)| *name == word || *short == word);
    let mut begun = WORDS.iter().filter(|(name, ..)| !word.is_empty() && name.starts_with(word));
    let only = begun.next().filter(|(.., first)| begun.all(|(.., other)| other == first));
    exact.or(only).map(|(.., meaning)| *meaning)
}

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
    /// What can be typed is to be explained.
    Help,
    /// The action at the checkpoint.
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
            "?" | "help" => Some(Reply::Help),
            word if !word.is_empty() && "retry".starts_with(word) => Some(Reply::Retry),
            word if !word.is_empty() && "abort".starts_with(word) => Some(Reply::Stop),
            _ => None,
        };
    }
    let decide =
        |action, tasks, text: &str| Some(Reply::Decide(Request::Decide { action, tasks, text: text.to_owned() }));
    match meant(&word)? {
        Word::Stop => Some(Reply::Stop),
        Word::Help => Some(Reply::Help),
        Word::Act(CheckpointAction::Feedback | CheckpointAction::Revise) if rest.is_empty() => None,
        Word::Act(CheckpointAction::Revise) => {
            let (task, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            decide(CheckpointAction::Revise, vec![task.to_owned()], text.trim())
        }
        Word::Act(action) => decide(action, Vec::new(), rest),
    }
}

/// What to do about a wave that failed means to the rules.
pub(crate) fn inputs(retry: bool, wave: u32, run: &Run, now: Timestamp) -> Vec<Input> {
    let counts = run.counts();
    let is_over = counts.pending + counts.ready + counts.in_progress == 0;
    match (retry, failed(run, wave)) {
        (true, tasks) if !tasks.is_empty() => {
            vec![
                Input::Retry {
                    now,
                    which: Which::Tasks(tasks),
                    downstream: false,
                    feedback: String::new(),
                    with: None,
                },
                Input::Resume { now },
            ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_by_a_unique_begin() {
        for (word, expected) in [
            ("y", Some(CheckpointAction::Resume)),
            ("ap", Some(CheckpointAction::Resume)),
            ("r", Some(CheckpointAction::Resume)),
            ("res", Some(CheckpointAction::Resume)),
            ("rej", Some(CheckpointAction::Improve)),
            ("imp", Some(CheckpointAction::Improve)),
            ("rev", Some(CheckpointAction::Revise)),
            ("rec", Some(CheckpointAction::Recheck)),
            ("feed", Some(CheckpointAction::Feedback)),
            ("re", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(meant(word), expected.map(Word::Act), "{word}");
        }
        assert_eq!((meant("?"), meant("st")), (Some(Word::Help), Some(Word::Stop)));
    }
}
