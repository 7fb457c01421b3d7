//! The trunk of a run, which grows with every task that is completed, and the branch that the user gets.

use std::path::PathBuf;
use std::time::Duration;

use team_executor_agents::git::Call;
use team_executor_beneath::make_ours;

use crate::git::{Trouble, Word, ask, line, must};
use crate::merge::Merged;
use crate::names;
use crate::repository::{Repository, put};
use crate::tree::{INDEX, Trees};

/// A lock of a ref that is older than this is a dead git's.
const DEAD: Duration = Duration::from_secs(2);

/// The tree in which it is tried what the trunk would be. No task has a dot at the end of its name.
pub(crate) const STAGE: &str = "trunk.";

/// A file that says that this tree was set up.
pub(crate) const SET_UP: &str = "trunk.set-up";

/// The tree in which what the trunk would be is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Where commands run in it.
    pub folder: PathBuf,
    /// What sets up trees has been run in it.
    pub is_set_up: bool,
}

/// What the user gets at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Land {
    /// A branch `te/RUN`.
    #[default]
    Branch,
    /// The branch that is checked out moves along; where that cannot be, a branch `te/RUN`.
    FastForward,
    /// Nothing: only our own refs.
    None,
}

impl Land {
    /// As it is written.
    pub const WORDS: [&'static str; 3] = ["branch", "ff", "none"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "branch" => Some(Self::Branch),
            "ff" => Some(Self::FastForward),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::FastForward => "ff",
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
        /// Why the checkout was not moved along, if that was wanted.
        instead: Option<String>,
    },
    /// The checkout has everything that is completed.
    FastForward {
        /// The branch that is checked out.
        branch: String,
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
        let mut merged = self.repository.merge(&[trunk.to_owned(), result.to_owned()], &format!("Merge {task}"))?;
        for file in self.alike(&merged.commit)? {
            if !merged.conflicts.contains(&file) {
                merged.conflicts.push(file);
            }
        }
        Ok(merged)
    }

    /// Makes the files of the trunk's own tree those of a commit, and says where a command runs in it. What builds left there stays.
    pub fn stage(&self, commit: &str) -> Result<Stage, Trouble> {
        let home = self.open_home()?;
        let path = self.home.join(STAGE);
        if home.has(STAGE) {
            self.read_tree(&path, &self.own_index(&format!("{STAGE}{INDEX}"))?, commit)?;
        } else {
            let _was_there = home.remove(SET_UP);
            self.check_out(&home, STAGE, commit)?;
        }
        let project = self.project_in(&path);
        make_ours(&project).map_err(|error| Trouble::io("make", &project, &error))?;
        // Those who look are told what is being tested.
        let testing = format!("{}/testing", names::of_run(&self.run));
        must(&self.repository.git, &self.repository.call(), &["update-ref", &testing, commit])?;
        Ok(Stage { folder: project, is_set_up: home.has(SET_UP) })
    }

    /// Remembers that what sets up trees has been run in the trunk's own tree.
    pub fn note_set_up(&self) -> Result<(), Trouble> {
        put(&self.home, SET_UP, b"")
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
        names::branch(&self.name)
    }

    /// Gives the user everything that is completed.
    pub fn land(&self, how: Land) -> Result<Landed, Trouble> {
        self.repository.land((&self.name, &self.run), how)
    }
}

impl Repository {
    /// Gives the user everything that is merged in a run, which has a name and a key: moves the checkout along if that is wanted and
    /// nothing of the user's can be touched by it, else makes the branch, or moves it along if the user has not touched it.
    pub fn land(&self, (name, run): (&str, &str), how: Land) -> Result<Landed, Trouble> {
        let of = |word: &str| self.commit_of(&format!("{}/{word}", names::of_run(run)));
        let (Some(base), Some(trunk)) = (of("base")?, of("trunk")?) else { return Ok(Landed::Nothing) };
        if trunk == base || how == Land::None {
            return Ok(Landed::Nothing);
        }
        let ours = format!("{}/landed", names::of_run(run));
        let landed = of("landed")?;
        let note = || self.update(&ours, &trunk, landed.as_deref().unwrap_or_default());
        let mut instead = None;
        if how == Land::FastForward {
            match self.fast_forward(&trunk)? {
                Ok(branch) => {
                    note()?;
                    return Ok(Landed::FastForward { branch, commit: trunk });
                }
                Err(why) => instead = Some(why),
            }
        }
        let branch = names::branch(name);
        if let Some(why) = self.move_branch(&branch, &trunk, landed.as_deref())? {
            return Ok(Landed::Not { name: branch, why: why.to_owned() });
        }
        note()?;
        Ok(Landed::Branch { name: branch, commit: trunk, instead })
    }

    /// Makes a branch of ours, or moves it along; says why not if it has commits of others.
    fn move_branch(&self, name: &str, to: &str, landed: Option<&str>) -> Result<Option<&'static str>, Trouble> {
        let full = format!("refs/heads/{name}");
        let there = self.commit_of(&full)?;
        match there.as_deref() {
            Some(there) if there == to => return Ok(None),
            // The user has merged it and deleted it since.
            None if landed == Some(to) => return Ok(None),
            Some(there) if Some(there) != landed => {
                return Ok(Some("the branch was changed since, and stays as it is"));
            }
            _ => {}
        }
        if !line(&self.git, &self.call(), &["for-each-ref", "--format=%(worktreepath)", &full])?.is_empty() {
            return Ok(Some("the branch is checked out, and stays as it is"));
        }
        let Err(trouble) = self.update(&full, to, there.as_deref().unwrap_or_default()) else { return Ok(None) };
        // A branch `te`, or one below this name.
        let (above, below) = (self.refs_below("refs/heads/te")?, format!("{full}/"));
        if above.iter().any(|(known, _)| known == "refs/heads/te" || known.starts_with(&below)) {
            return Ok(Some("another branch is in the way of its name"));
        }
        // Git writes a ref in a moment.
        self.free_ref(&full, DEAD);
        Err(trouble)
    }

    /// Moves the branch that is checked out, its files and its index along to a commit, if nothing of the user's is in the way; says
    /// which branch that is, or why not. Git overwrites no file that is not committed.
    fn fast_forward(&self, to: &str) -> Result<Result<String, String>, Trouble> {
        let Word::Yes(out) = ask(&self.git, &self.call(), &["symbolic-ref", "-q", "--short", "HEAD"])? else {
            return Ok(Err("no branch is checked out".to_owned()));
        };
        let branch = String::from_utf8_lossy(&out).trim().to_owned();
        let Some(head) = self.commit_of("HEAD")? else { return Ok(Err(format!("{branch} has no commit"))) };
        if self.is_in(to, &head)? {
            return Ok(Ok(branch));
        }
        if !self.is_in(&head, to)? {
            return Ok(Err(format!("{branch} has commits that are not in the run")));
        }
        if let Some(what) = self.in_progress() {
            return Ok(Err(format!("{what} is in progress in the checkout")));
        }
        if let Some(file) = self.uncommitted()?.first() {
            return Ok(Err(format!("there is work that is not committed: {file}")));
        }
        let env = vec![("GIT_REFLOG_ACTION", "team-executor".to_owned())];
        let call = Call { work_tree: Some(&self.top), env, ..self.call() };
        Ok(match must(&self.git, &call, &["merge", "--ff-only", "--no-overwrite-ignore", "--no-stat", "-q", to]) {
            Ok(_) => Ok(branch),
            Err(trouble) => Err(trouble.to_string()),
        })
    }
}
