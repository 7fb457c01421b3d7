//! Names that differ only in case: two files on some file systems, one on others. Git is told of the user's, and trees may be on another.

use std::collections::BTreeMap;
use std::path::Path;

use team_executor_agents::git::Call;
use team_executor_beneath::ours;

use crate::git::{Trouble, line, listed, must};
use crate::repository::Repository;
use crate::tree::Trees;

/// Which file systems take such names for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Case {
    /// The user's, as git found it.
    of_user: bool,
    /// That of the trees.
    of_trees: bool,
}

impl Case {
    /// Of a repository, and of the folder of its trees.
    pub(crate) fn of(repository: &Repository, home: &Path) -> Self {
        let command = ["config", "--type=bool", "--get", "core.ignoreCase"];
        let of_user = line(&repository.git, &repository.call(), &command).is_ok_and(|said| said == "true");
        Self { of_user, of_trees: of_user && is_one(home).unwrap_or(true) }
    }
}

/// Whether a folder is found by its name in the other case.
fn is_one(folder: &Path) -> Option<bool> {
    let name = folder.file_name()?.to_str()?;
    let others = [name.to_lowercase(), name.to_uppercase()];
    let other = folder.with_file_name(others.into_iter().find(|other| other != name)?);
    let found = ours::look_at(folder).ok()?;
    Some(ours::look_at(&other).is_ok_and(|other| (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino)))
}

impl Trees {
    /// A call of git that may touch a tree.
    pub(crate) fn call(&self) -> Call<'_> {
        let option = format!("core.ignoreCase={}", self.case.of_trees);
        Call { options: vec!["-c".to_owned(), option], ..self.repository.call() }
    }

    /// The files of a commit which the user's file system takes for others of it, without those that the run began with.
    pub(crate) fn alike(&self, commit: &str) -> Result<Vec<String>, Trouble> {
        if !self.case.of_user {
            return Ok(Vec::new());
        }
        let mut alike = self.repository.alike_in(commit)?;
        if !alike.is_empty() {
            let known = self.repository.alike_in(self.base())?;
            alike.retain(|file| !known.contains(file));
        }
        Ok(alike)
    }
}

impl Repository {
    /// The files of a commit whose names differ from those of others only in case.
    fn alike_in(&self, commit: &str) -> Result<Vec<String>, Trouble> {
        let out = must(&self.git, &self.call(), &["ls-tree", "-r", "-z", "--name-only", commit])?;
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in listed(&out) {
            by_name.entry(file.to_lowercase()).or_default().push(file);
        }
        Ok(by_name.into_values().filter(|files| files.len() > 1).flatten().collect())
    }
}
