//! What is run and how, and why it may not go on.

use std::path::PathBuf;

use team_executor_core::run::Cadence;
use team_executor_core::{Graph, Session};
use team_executor_files::Dialect;
use team_executor_store::{JournalError, records};

/// What is run and how.
#[derive(Debug)]
pub struct Options {
    /// The session that was read.
    pub session: Session,
    /// How its tasks hang together.
    pub graph: Graph,
    /// How it was written.
    pub dialect: Dialect,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// The current folder, absolute.
    pub current: PathBuf,
    /// This program, which is also the keepers'.
    pub exe: PathBuf,
    /// The environment of this program.
    pub environment: Vec<(String, String)>,
    /// How many workers at once.
    pub slots: u32,
    /// Beats or waves.
    pub cadence: Cadence,
    /// How often a failed task is tried again.
    pub retries: u32,
    /// The command of every worker.
    pub command: Vec<String>,
    /// How long a one-shot worker may take, in milliseconds.
    pub limit_ms: u64,
}

/// Why a run could not go on. It can be resumed once the cause is gone.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Another executor has it.
    #[error("another executor holds this session: {0}")]
    Held(String),
    /// The journal cannot be used.
    #[error("the journal of the run cannot be used: {0}")]
    Journal(#[from] JournalError),
    /// The journal says something that this version does not know.
    #[error("{0}")]
    Record(#[from] records::Unreadable),
    /// The session is not the one that was begun.
    #[error("{0}")]
    Changed(String),
    /// A file of the run cannot be used.
    #[error("cannot {action} {path}: {reason}")]
    Disk {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// It runs inside a worker of itself.
    #[error("{0}")]
    TooDeep(String),
    /// A worker of an earlier executor cannot be proved dead.
    #[error("a worker of an earlier executor is still running: {0}")]
    StillRunning(String),
}

impl Failure {
    pub(crate) fn disk(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| Self::Disk { action, path, reason: error.to_string() }
    }
}
