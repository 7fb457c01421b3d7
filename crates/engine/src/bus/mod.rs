//! What workers and people say to each other and about tasks, from outside of the executor: the message bus of a session,
//! and what may be changed of its tasks. Nothing here starts or decides anything in a run.
//!
//! Reading order: `attempt` (who asks, if a worker does), [`mod@log`] (a message is said), `heard` (what was said),
//! `discover` (what a worker found), [`state`] (where tasks stand), `context` (all that a worker can
//! know), `shown` (how it is shown to programs), `own` (a worker reports its own task), `create` (a person adds a task), `change` (or changes or removes one),
//! [`mod@propose`] (a worker proposes one).

mod attempt;
mod change;
mod context;
pub(crate) mod create;
mod discover;
mod heard;
pub mod log;
mod own;
pub mod propose;
mod shown;
pub mod state;

pub use attempt::Attempt;
pub use change::{TaskEdit, change};
pub use context::context;
pub use create::{NewTask, create};
pub use discover::discover;
pub use heard::{Filter, Heard};
pub use log::{Draft, broadcast, log};
pub use own::OwnReport;
pub use propose::{Proposal, proposals, propose};
pub use shown::{ShownDiscovery, ShownMessage, ShownRole, ShownState, ShownTask};

/// What to do where the disk says no.
const LOOK_AT_DISK: &str = "check the folder with: ls -la; and the room on the disk with: df -h";

/// Why nothing was done, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// Something to type.
    pub help: String,
}

impl Refusal {
    /// What is wrong, and something to type.
    pub fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into() }
    }

    /// The disk says no.
    pub(crate) fn disk(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(format!("{what}: {error}"), LOOK_AT_DISK)
    }

    /// Whether it is the disk that says no.
    pub fn is_of_disk(&self) -> bool {
        self.help == LOOK_AT_DISK
    }
}
