//! How a worker ended.

use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Of the attempt.
    pub key: String,
    /// What ended it.
    pub ended: Ended,
    /// When it was started, in milliseconds of the wall clock since 1970.
    pub started_at: u64,
    /// When the last of its processes was gone, likewise.
    pub ended_at: u64,
    /// How long it took by a clock that nobody sets.
    pub ran_ms: u64,
    /// What came of its standard output.
    pub out: Stream,
    /// What came of its standard error.
    pub err: Stream,
    /// How many processes it left behind when it ended by itself. They were killed.
    pub leaked: usize,
    /// How many things it delivered.
    pub artifacts: usize,
    /// The last line of its standard output that is not empty, without control characters.
    pub last_line: Option<String>,
}

/// What ended a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It ended by itself with this code.
    Exit(i32),
    /// A signal that we did not send.
    Signal(i32),
    /// We ended it, because it took too long.
    Limit(Limit),
    /// We ended it, because the executor said so.
    Stopped,
    /// We ended it, because the executor was gone.
    Interrupted,
    /// It never ran, for this reason.
    CouldNotStart(String),
}

/// Which limit a worker ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It printed nothing at all.
    FirstOutput,
    /// It printed nothing more.
    Idle,
    /// It took too long in all.
    Total,
}

/// What came of an output stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// How much was printed.
    pub bytes: u64,
    /// How much of that is not in the log.
    pub dropped: u64,
}

impl Exit {
    /// An attempt of which nothing ran.
    pub(crate) fn without_run(key: &str, ended: Ended, now: u64) -> Self {
        Self {
            key: key.to_owned(),
            ended,
            started_at: now,
            ended_at: now,
            ran_ms: 0,
            out: Stream::default(),
            err: Stream::default(),
            leaked: 0,
            artifacts: 0,
            last_line: None,
        }
    }
}
