//! How a worker ended.

use std::path::PathBuf;
use std::{fmt, io};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Of the attempt.
    pub key: String,
    /// What ended it.
    pub ended: Ended,
    /// It was told to end, and ended with code 0: if it handed in its result, it had finished.
    #[serde(default, skip_serializing_if = "is_false")]
    pub well: bool,
    /// When it was started, in milliseconds of the wall clock since 1970.
    pub started_at: u64,
    /// When the last of its processes was gone, likewise.
    pub ended_at: u64,
    /// How long it took by a clock that is never set.
    pub ran_ms: u64,
    /// How long after that it first printed something, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_output_ms: Option<u64>,
    /// What came of its standard output.
    pub out: Printed,
    /// What came of its standard error.
    pub err: Printed,
    /// How many processes it left behind when it ended by itself. They were killed.
    pub leaked: usize,
    /// How many things it delivered.
    pub artifacts: usize,
    /// Where something was moved to that stood in the place of its folder before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<PathBuf>,
    /// Where a copy is of what was in its folder before it began, and stayed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<PathBuf>,
    /// Why a power cut may take what it delivered, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undurable: Option<Obstacle>,
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
    /// It never ran.
    CouldNotStart(Obstacle),
}

/// Why a worker never ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// In words for people.
    pub reason: String,
    /// What was lacking, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
}

/// What the system has none left of at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// Open files, processes or memory, which others give back when they end.
    Means,
    /// Room on the disk.
    Room,
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
pub struct Printed {
    /// How much was printed.
    pub bytes: u64,
    /// How much of that is not in the log.
    pub dropped: u64,
}

impl Lack {
    /// What is lacking, if that is what an error of the system says.
    pub fn from_error(error: &std::io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM => Some(Self::Means),
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Some(Self::Room),
            _ => None,
        }
    }
}

impl Obstacle {
    /// Something else than the system is in the way.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), lack: None }
    }

    /// What the system says about something.
    pub fn about(what: impl fmt::Display, error: &io::Error) -> Self {
        Self { reason: format!("{what}: {error}"), lack: Lack::from_error(error) }
    }
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        Self { reason: error.to_string(), lack: Lack::from_error(&error) }
    }
}

impl Exit {
    /// An attempt of which nothing ran.
    pub fn without_run(key: &str, ended: Ended, now: u64) -> Self {
        Self {
            key: key.to_owned(),
            ended,
            well: false,
            started_at: now,
            ended_at: now,
            ran_ms: 0,
            first_output_ms: None,
            out: Printed::default(),
            err: Printed::default(),
            leaked: 0,
            artifacts: 0,
            undurable: None,
            aside: None,
            copied: None,
            last_line: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn is_false(it: &bool) -> bool {
    !*it
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_shortage_differs_from_other_errors() {
        for (errno, lack) in [
            (Errno::MFILE, Some(Lack::Means)),
            (Errno::NFILE, Some(Lack::Means)),
            (Errno::AGAIN, Some(Lack::Means)),
            (Errno::NOMEM, Some(Lack::Means)),
            (Errno::NOSPC, Some(Lack::Room)),
            (Errno::FBIG, Some(Lack::Room)),
            (Errno::DQUOT, Some(Lack::Room)),
            (Errno::NOENT, None),
        ] {
            let error = io::Error::from(errno);
            let obstacle = Obstacle::about("a worker", &error);
            assert_eq!((obstacle.reason.as_str(), obstacle.lack), (&*format!("a worker: {error}"), lack));
            assert_eq!(Obstacle::from(error).lack, lack);
        }
        let words = Obstacle::from(io::Error::other("x (os error 24)"));
        assert_eq!(words, Obstacle::new("x (os error 24)"), "only what the system says counts");
    }
}
