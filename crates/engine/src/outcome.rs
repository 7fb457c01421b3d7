//! From how a worker ended to what the rules are told.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use team_executor_agents::outcome::{Outcome as Judged, Produced, judge};
use team_executor_agents::{Ended, Exit};
use team_executor_core::run::{ErrorClass, Judgement, Outcome};

/// The most that is read of a result. One that is longer ends early and so cannot be understood.
pub(crate) const RESULT_BYTES: u64 = 1 << 20;

/// What an attempt came to, by how it ended, what it reported and what it left.
pub(crate) fn of(exit: &Exit, produced: &Produced<'_>) -> Outcome {
    of_ended(&exit.ended, produced)
}

/// The same, of which only the end is known.
pub(crate) fn of_ended(ended: &Ended, produced: &Produced<'_>) -> Outcome {
    match (judge(ended, produced), ended) {
        (Judged::Completed { findings }, _) => Outcome::completed(Some(findings)),
        (Judged::Interrupted, _) => Outcome::Interrupted,
        (Judged::Failed { error, .. }, Ended::Limit(_)) => Outcome::TimedOut { error },
        (Judged::Failed { error, .. }, Ended::CouldNotStart(_)) => Outcome::CouldNotStart { error },
        (Judged::Failed { error, .. }, _) => Outcome::Failed { class: ErrorClass::Transient, error },
    }
}

/// What an attempt came to, with what it says about the work of others, or why that is not enough.
pub(crate) fn judged(outcome: Outcome, said: Result<Option<Judgement>, String>) -> Outcome {
    match (outcome, said) {
        (Outcome::Completed { findings, .. }, Ok(judgement)) => {
            Outcome::Completed { findings, judgement: judgement.map(Box::new) }
        }
        (Outcome::Completed { .. }, Err(error)) => Outcome::Failed { class: ErrorClass::Transient, error },
        (outcome, _) => outcome,
    }
}

/// The text of a result. What is there but cannot be read is empty, which no result is: it decides, and not the exit status.
pub(crate) fn result(path: &Path) -> Option<String> {
    let is_file = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        found => found.is_ok_and(|found| found.is_file()),
    };
    let mut bytes = Vec::new();
    let read = |file: File| file.take(RESULT_BYTES).read_to_end(&mut bytes);
    if !is_file || File::open(path).and_then(read).is_err() {
        return Some(String::new());
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
