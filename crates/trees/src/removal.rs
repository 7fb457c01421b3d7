//! When a tree may go: never before everything in it is in the user's repository.

use team_executor_agents::git::Call;

use crate::git::{Trouble, line};
use crate::names::{self, Part};
use crate::tree::{INDEX, TRASH, Trees, UNFINISHED};

/// A tree that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its folder.
    pub folder: String,
    /// Why.
    pub why: String,
}

impl Trees {
    /// Removes the trees of attempts whose work is kept as commits; says which stay. No worker of the run lives.
    pub fn remove_kept(&self, tasks: impl IntoIterator<Item = String>) -> Result<Vec<Kept>, Trouble> {
        let home = self.open_home()?;
        let there = home.list().map_err(|errno| self.failed("list", "", errno))?;
        let mut kept = Vec::new();
        for task in tasks {
            for folder in there.iter().filter(|name| home.has_dir(name)) {
                let Some(attempt) = attempt_of(folder, &task) else { continue };
                match self.why_kept(&task, attempt) {
                    Ok(None) => self.remove(folder)?,
                    Ok(Some(why)) => kept.push(Kept { folder: folder.clone(), why }),
                    Err(trouble) => kept.push(Kept { folder: folder.clone(), why: trouble.to_string() }),
                }
            }
        }
        // It stays if something in it could not be removed.
        let _stays = home.remove_dir(TRASH);
        Ok(kept)
    }

    /// Why the tree of an attempt must stay; nothing if it may go.
    fn why_kept(&self, task: &str, attempt: u32) -> Result<Option<String>, Trouble> {
        let repository = &self.repository;
        let path = self.path(task, attempt);
        let of = |part| repository.commit_of(&names::of_attempt(&self.run, task, attempt, part));
        // One that was never worked in holds what it began with.
        let Some(commit) = of(Part::Result)?.or(of(Part::Lost)?).or(of(Part::Base)?) else {
            return Ok(Some("nothing of it is kept as a commit".to_owned()));
        };
        let tree = line(&repository.git, &repository.call(), &["rev-parse", &format!("{commit}^{{tree}}")])?;
        if self.tree_of(&path, task, attempt)? != tree {
            return Ok(Some("it was changed since its commit".to_owned()));
        }
        let own = path.join(".git");
        let call = Call { git_dir: Some(&own), ..Call::default() };
        let Ok(refs) = line(&repository.git, &call, &["for-each-ref", "--format=%(objectname)"]) else {
            return Ok(None); // its repository is gone
        };
        for commit_of_agent in refs.lines() {
            if !repository.is_in(commit_of_agent, &commit).unwrap_or(false) {
                return Ok(Some("it has branches or stashes of its own".to_owned()));
            }
        }
        Ok(None)
    }

    /// Moves a tree away first, so that no half of one has a tree's name.
    fn remove(&self, folder: &str) -> Result<(), Trouble> {
        let home = self.open_home()?;
        let trash = home.make_dir(TRASH).map_err(|errno| self.failed("make", TRASH, errno))?;
        let moved = home.move_free(folder, &trash, folder).map_err(|errno| self.failed("move", folder, errno))?;
        trash.remove_all(&moved).map_err(|errno| self.failed("remove", folder, errno))?;
        let index = format!("{folder}{INDEX}");
        if home.has(&index) {
            home.remove(&index).map_err(|errno| self.failed("remove", &index, errno))?;
        }
        Ok(())
    }
}

/// Which attempt at a task a folder is of.
fn attempt_of(folder: &str, task: &str) -> Option<u32> {
    let attempt = folder.strip_suffix(UNFINISHED).map_or(folder, |_| "").rsplit_once('.')?.1.parse().ok()?;
    (names::folder(task, attempt) == folder).then_some(attempt)
}
