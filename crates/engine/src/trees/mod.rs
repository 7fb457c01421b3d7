//! A tree of its own for every attempt: when it is made, when what is in it becomes a commit, and when that joins the trunk. What git
//! does is in the crate `trees`; here is the order in which a run does it.
//!
//! An attempt at a task with a tree goes through three more steps than others, all within its slot: its tree is made before its worker
//! starts; when the worker has ended well, what is in the tree becomes a commit, which the checks of the task then judge;
//! and what passed them joins the trunk through the queue, before the task counts as completed. So nothing ever builds on work that
//! does not merge or breaks the tests, and whose that is goes back by the same rule as what fails a check.
//!
//! Git may take seconds, so threads (`bench`) call it; the dispatcher hears of it by a message and goes on meanwhile.

mod bench;
mod isolation;
mod queue;

use std::collections::BTreeMap;
use std::path::PathBuf;

use team_executor_core::{Task, TaskIndex};
use team_executor_trees::Scope;
pub(crate) use team_executor_trees::{Dirty, Extras, Land};

pub use self::bench::News;
pub(crate) use self::bench::{Bench, Errand};
pub(crate) use self::isolation::{Completed, Isolation, repository, story};
pub(crate) use self::queue::{Member, Queue, Step};
use crate::conclude::artifacts::Verify;
use crate::conclude::only_reviews;

/// Which tasks have trees of their own, and what becomes of what they change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the trees are.
    pub root: PathBuf,
    /// What a run is based on.
    pub base: String,
    /// What becomes of work that the user has not committed.
    pub dirty: Dirty,
    /// Which tasks, in the order of the session.
    pub isolated: Vec<bool>,
    /// Whether tasks have trees that were added since.
    pub others: bool,
    /// The files that tasks may change, as patterns, where that is settled.
    pub scopes: BTreeMap<TaskIndex, Vec<String>>,
    /// What trees have besides the files of a commit.
    pub extras: Extras,
    /// What is run in each tree before its worker starts.
    pub setup: Option<Verify>,
    /// What must end well before something joins the trunk.
    pub verify: Option<Verify>,
    /// How many results are tried together at most.
    pub batch: usize,
    /// How often it is tried again before a failure counts.
    pub flaky: u32,
    /// What becomes of a result that does not merge.
    pub conflict: Conflict,
    /// What the user gets.
    pub land: Land,
}

/// What becomes of a result that does not merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conflict {
    /// Its task is done again, from a merge with the markers of the conflict in it. As for all work that is not accepted, a person is
    /// asked when there were as many rounds as there may be.
    #[default]
    Agent,
    /// A person is asked at once.
    Checkpoint,
}

impl Conflict {
    /// As it is written.
    pub const WORDS: [&'static str; 2] = ["agent", "checkpoint"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "agent" => Some(Self::Agent),
            "checkpoint" => Some(Self::Checkpoint),
            _ => None,
        }
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Checkpoint => "checkpoint",
        }
    }
}

impl Settings {
    /// The files that a task may change. One that only reviews changes none, unless that is settled otherwise.
    pub(crate) fn scope(&self, index: TaskIndex, task: &Task) -> Scope {
        match self.scopes.get(&index) {
            Some(patterns) => Scope::Only(patterns.clone()),
            None if only_reviews(task) => Scope::Review,
            None => Scope::All,
        }
    }

    /// Whether a task has trees of its own.
    pub fn has(&self, task: TaskIndex) -> bool {
        self.isolated.get(task.get()).copied().unwrap_or(self.others)
    }
}
