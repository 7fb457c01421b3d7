//! Where an attempt works: in the folder of the project, or in a tree of its own.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use team_executor_core::run::Work;
use team_executor_core::{Session, TaskIndex};

use crate::trees::Isolation;

/// The working folders of attempts.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the project.
    pub(crate) project: PathBuf,
    /// The trees of the run, if any of its tasks has one.
    pub(crate) trees: Option<Isolation>,
}

impl Workspace {
    /// The folder that an attempt works in, also for the commands that check it.
    pub(crate) fn folder(&self, session: &Session, work: Work) -> Cow<'_, Path> {
        match self.isolation(work.task) {
            None => Cow::Borrowed(&self.project),
            Some(trees) => Cow::Owned(trees.folder(session.tasks[work.task.get()].id.as_str(), work.attempt)),
        }
    }

    /// The trees of the run, if a task has one.
    pub(crate) fn isolation(&self, task: TaskIndex) -> Option<&Isolation> {
        self.trees.as_ref().filter(|trees| trees.settings().has(task))
    }

    /// The same, to change what is known of them.
    pub(crate) fn isolation_mut(&mut self, task: TaskIndex) -> Option<&mut Isolation> {
        self.trees.as_mut().filter(|trees| trees.settings().has(task))
    }
}
