//! Where an attempt works. Today every attempt works in the folder of the project; a folder of its own for each attempt is
//! another implementation of the same two calls.

use std::path::{Path, PathBuf};

use team_executor_core::run::{Outcome, Work};

use crate::options::Failure;

/// Gives attempts their working folders.
pub(crate) trait Workspace {
    /// The folder that an attempt works in, also for the commands that check it.
    fn enter(&mut self, work: Work) -> Result<&Path, Failure>;

    /// The attempt is over, and nothing of it works there any more.
    fn leave(&mut self, work: Work, outcome: &Outcome);
}

/// Every attempt works in the folder of the project.
#[derive(Debug)]
pub(crate) struct Project(pub(crate) PathBuf);

impl Workspace for Project {
    fn enter(&mut self, _: Work) -> Result<&Path, Failure> {
        Ok(&self.0)
    }

    fn leave(&mut self, _: Work, _: &Outcome) {}
}
