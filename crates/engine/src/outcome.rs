//! From how a worker ended to what the rules are told.

use team_executor_agents::outcome::{Outcome as Judged, Produced, judge};
use team_executor_agents::{Ended, Exit};
use team_executor_core::run::{ErrorClass, Outcome};

use crate::run_at::RunAt;

/// The most that is read of a result.
const RESULT_BYTES: u64 = 8 << 20;

/// What an attempt came to, by how it ended, what it reported and what it left.
pub(crate) fn of(run: &RunAt, task: &str, attempt: u32, exit: &Exit) -> Outcome {
    let result_path = run.result(task, attempt);
    let readable = std::fs::metadata(&result_path).is_ok_and(|file| file.is_file() && file.len() <= RESULT_BYTES);
    let result = if readable { std::fs::read_to_string(&result_path).ok() } else { None };
    let artifacts = std::fs::read_dir(run.artifacts(task)).map_or(0, |entries| entries.count());
    let produced = Produced {
        result: result.as_deref(),
        last_line: exit.last_line.as_deref(),
        artifacts,
        missing: &[],
        must_report: false,
    };
    match (judge(&exit.ended, &produced), &exit.ended) {
        (Judged::Completed { findings }, _) => Outcome::Completed { findings: Some(findings) },
        (Judged::Interrupted, _) => Outcome::Interrupted,
        (Judged::Failed { error, .. }, Ended::Limit(_)) => Outcome::TimedOut { error },
        (Judged::Failed { error, .. }, Ended::CouldNotStart(_)) => Outcome::CouldNotStart { error },
        (Judged::Failed { error, .. }, _) => Outcome::Failed { class: ErrorClass::Transient, error },
    }
}
