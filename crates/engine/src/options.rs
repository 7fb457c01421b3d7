//! What is run and how, and why it may not go on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use team_executor_agents::{Lack, Seats};
use team_executor_core::run::{Backoff, Budgets, Cadence, Learned, TaskPolicy};
use team_executor_core::{Graph, Millis, Session, SessionStatus, TaskIndex};
use team_executor_files::Dialect;
use team_executor_store::{JournalError, records};

use crate::begin::remembered::Remembered;
use crate::control::Checkpoints;
use crate::cost::prices::Prices;
use crate::prepare::newcomer::Chooser;
use crate::prepare::worker::Workers;
use crate::trees;

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
    /// The same, where a person chose it for this start: it takes the place of a limit that was set in the run.
    pub limit: Option<u32>,
    /// What all runs of the user on this machine share, if that is limited.
    pub machine: Option<Seats>,
    /// Beats or waves.
    pub cadence: Cadence,
    /// How often a failed task is tried again.
    pub retries: u32,
    /// How often work that was not accepted is done again.
    pub rounds: u32,
    /// How many tasks workers may propose.
    pub proposals: u32,
    /// What happens at a checkpoint.
    pub checkpoints: Checkpoints,
    /// Which run is continued, if not the newest of the session.
    pub run: Option<String>,
    /// The user wants it to go on, also past a checkpoint.
    pub goes_on: bool,
    /// Reads what a person answers to [`WaveFailed`](crate::event::Kind::WaveFailed) and
    /// [`Checkpoint`](crate::event::Kind::Checkpoint): a line; nothing at the end of the input. Without it no
    /// person is asked.
    pub ask: Option<fn() -> Option<String>>,
    /// How long it waits before.
    pub backoff: Backoff,
    /// For tasks that several agents can do, whose quotas the others use.
    pub fallbacks: BTreeMap<TaskIndex, Vec<u32>>,
    /// How long it waits at most until an agent has quota again; without it, as long as it takes.
    pub quota_wait: Option<Millis>,
    /// Only these tasks start; all, where none are named.
    pub part: Option<BTreeSet<TaskIndex>>,
    /// What may be used.
    pub budgets: Budgets,
    /// What models cost.
    pub prices: Prices,
    /// What differs for single tasks.
    pub tasks: BTreeMap<TaskIndex, TaskPolicy>,
    /// How long tasks are expected to take, where that is known.
    pub learned: Learned,
    /// Who does which task.
    pub workers: Workers,
    /// Chooses for tasks that are added or given to others while the run goes on; without it that cannot be.
    pub chooser: Option<Box<dyn Chooser>>,
    /// Which tasks have a tree of their own, if any.
    pub trees: Option<trees::Settings>,
    /// The project may be on a file system that other machines write to.
    pub allow_network: bool,
    /// What the session becomes when every task is completed; active, if that is decided afterwards.
    pub at_end: SessionStatus,
    /// What the run remembers of this start, for the next one.
    pub remembered: Option<Remembered>,
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
    /// A person changed a file at rest in a way that cannot be taken over.
    #[error("an edit cannot be applied, so nothing was started")]
    Edited {
        /// What cannot, one line each.
        refused: Vec<String>,
        /// Where the edited files are kept.
        kept: Vec<String>,
    },
    /// Only a finished run can be put away.
    #[error("the run {0} is not finished")]
    Unfinished(String),
    /// There is no such run.
    #[error("{0}")]
    NoRun(String),
    /// Something of the user's is in the way.
    #[error("{0}")]
    InTheWay(String),
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
    /// A task was given to an agent that cannot do it any more.
    #[error("task '{task}' was given to another agent, which cannot do it now: {why}")]
    NoAgent {
        /// Its id.
        task: String,
        /// Why not.
        why: String,
    },
    /// A task has no worker.
    #[error("no worker was chosen for task '{0}'")]
    NoWorker(String),
    /// The journal of a run that may be the session's is lost, or damaged where it says of which session it is.
    #[error(
        "the journal of the run {0} is lost, or damaged in its first line, so it cannot be matched to this session"
    )]
    Nameless(String),
    /// A folder or the journal was moved or removed while the run went on.
    #[error("{0} was moved or removed while the run went on")]
    Gone(PathBuf),
    /// A lock would not keep executors on other machines out.
    #[error("{path} is on a network file system ({name}), where a lock may not keep a second executor out")]
    Network {
        /// The project.
        path: PathBuf,
        /// Which file system.
        name: &'static str,
    },
    /// The system has no more open files, processes or memory to give at this moment.
    #[error("{0}")]
    Shortage(String),
    /// The disk is full.
    #[error("{0}")]
    NoRoom(String),
    /// It runs inside a worker of itself.
    #[error("{0}")]
    TooDeep(String),
    /// The executor of a run could not be asked.
    #[error("{0}")]
    Control(String),
    /// The repository of the project cannot have a tree for each task.
    #[error("{why}")]
    Trees {
        /// Why.
        why: String,
        /// What to do.
        help: String,
    },
    /// What the machines of the run meet at cannot be used.
    #[error("{why}")]
    Backend {
        /// Why.
        why: String,
    },
    /// A worker of an earlier executor cannot be proved dead.
    #[error("a worker of an earlier executor is still running: {0}")]
    StillRunning(String),
}

impl Failure {
    pub(crate) fn disk(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| {
            let words = || format!("cannot {action} {}: {error}", path.display());
            match Lack::from_error(&error) {
                Some(Lack::Means) => Self::Shortage(words()),
                Some(Lack::Room) => Self::NoRoom(words()),
                None => Self::Disk { action, reason: error.to_string(), path },
            }
        }
    }
}
