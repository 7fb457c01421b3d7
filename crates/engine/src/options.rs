//! What is run and how, and why it may not go on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use team_executor_core::run::{Backoff, Cadence, TaskPolicy};
use team_executor_core::{Graph, Session, TaskIndex};
use team_executor_files::Dialect;
use team_executor_store::{JournalError, records};

use crate::control::Decision;
use crate::worker::Workers;

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
    /// Which run is continued, if not the newest of the session.
    pub run: Option<String>,
    /// Hears what a person wants after [`Notice::WaveFailed`](crate::Notice::WaveFailed): nothing if that was not understood.
    /// Without it such a run stops.
    pub ask: Option<fn() -> Option<Decision>>,
    /// How long it waits before.
    pub backoff: Backoff,
    /// What differs for single tasks.
    pub tasks: BTreeMap<TaskIndex, TaskPolicy>,
    /// Who does which task.
    pub workers: Workers,
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
    /// Nobody was chosen to do a task.
    #[error("no worker was chosen for task '{0}'")]
    NoWorker(String),
    /// It runs inside a worker of itself.
    #[error("{0}")]
    TooDeep(String),
    /// The executor of a run could not be asked.
    #[error("{0}")]
    Control(String),
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
