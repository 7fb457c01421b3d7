//! The trunk of a run, which grows with every task that is completed, and the branch that the user gets.

use std::path::PathBuf;

use team_executor_beneath::make_ours;

use crate::git::{Trouble, line};
use crate::merge::Merged;
use crate::names;
use crate::tree::{INDEX, Trees};

/// The tree in which it is tried what the trunk would be. No task has a dot at the end of its name.
const STAGE: &str = "trunk.";

/// What the user gets at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Land {
    /// A branch `te/RUN`.
    #[default]
    Branch,
    /// Nothing: only our own refs.
    None,
}

impl Land {
    /// As it is written.
    pub const WORDS: [&'static str; 2] = ["branch", "none"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "branch" => Some(Self::Branch),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::None => "none",
        }
    }
}

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// No task changed anything.
    Nothing,
    /// It names everything that is completed.
    Branch {
        /// Its name.
        name: String,
        /// The commit.
        commit: String,
    },
    /// It was not touched.
    Not {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

impl Trees {
    /// Everything that is completed, as one commit.
    pub fn trunk(&self) -> Result<String, Trouble> {
        Ok(self.repository.commit_of(&self.trunk_ref())?.unwrap_or_else(|| self.base().to_owned()))
    }

    fn trunk_ref(&self) -> String {
        format!("{}/trunk", names::of_run(&self.run))
    }

    /// What the trunk would be with a result. Nothing is written but objects.
    pub fn candidate(&self, trunk: &str, task: &str, result: &str) -> Result<Merged, Trouble> {
        self.repository.merge(&[trunk.to_owned(), result.to_owned()], &format!("Merge {task}"))
    }

    /// Makes the files of the trunk's own tree those of a commit, and says where a command runs in it. What builds left there stays.
    pub fn stage(&self, commit: &str) -> Result<PathBuf, Trouble> {
        let home = self.open_home()?;
        let path = self.home.join(STAGE);
        if home.has(STAGE) {
            let index = format!("{STAGE}{INDEX}");
            let locked = format!("{index}.lock");
            if home.has(&locked) {
                home.remove(&locked).map_err(|errno| self.failed("remove", &locked, errno))?;
            }
            self.read_tree(&path, &self.home.join(index), commit)?;
        } else {
            self.check_out(&home, STAGE, commit)?;
        }
        let project = self.project_in(&path);
        make_ours(&project).map_err(|error| Trouble::io("make", &project, &error))?;
        Ok(project)
    }

    /// Moves the trunk, if it is still where it was.
    pub fn advance(&self, from: &str, to: &str) -> Result<(), Trouble> {
        if from == to {
            return Ok(());
        }
        let name = self.trunk_ref();
        let known = self.repository.commit_of(&name)?;
        self.repository.update(&name, to, known.as_deref().map_or("", |_| from))
    }

    /// The name of the branch that the user gets.
    pub fn branch(&self) -> String {
        format!("te/{}", names::part(&self.name))
    }

    /// Makes the branch, or moves it along if the user has not touched it.
    pub fn land(&self) -> Result<Landed, Trouble> {
        let repository = &self.repository;
        let (trunk, name) = (self.trunk()?, self.branch());
        if trunk == self.base() {
            return Ok(Landed::Nothing);
        }
        let (branch, ours) = (format!("refs/heads/{name}"), format!("{}/landed", names::of_run(&self.run)));
        let (there, landed) = (repository.commit_of(&branch)?, repository.commit_of(&ours)?);
        let not = |why: &str| Ok(Landed::Not { name: name.clone(), why: why.to_owned() });
        let done = Landed::Branch { name: name.clone(), commit: trunk.clone() };
        match &there {
            Some(there) if *there == trunk => {}
            // The user has merged it and deleted it since.
            None if landed.as_ref() == Some(&trunk) => return Ok(done),
            Some(there) if Some(there) != landed.as_ref() => {
                return not("the branch was changed since, and stays as it is");
            }
            there => {
                let command = ["for-each-ref", "--format=%(worktreepath)", &branch];
                if !line(&repository.git, &repository.call(), &command)?.is_empty() {
                    return not("the branch is checked out, and stays as it is");
                }
                if repository.update(&branch, &trunk, there.as_deref().unwrap_or_default()).is_err() {
                    return not("another branch is in the way of its name");
                }
            }
        }
        repository.update(&ours, &trunk, landed.as_deref().unwrap_or_default())?;
        Ok(done)
    }
}
