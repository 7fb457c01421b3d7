//! Submodules: their files are there as in the user's checkout, from objects that the user has; nothing is fetched. A commit of
//! the repository keeps nothing of what is changed in one, so nothing may be.

use std::path::{Path, PathBuf};

use team_executor_agents::git::Call;
use team_executor_beneath::{Dir, make_ours, ours};

use crate::git::{Trouble, Word, ask, line, listed, must};
use crate::names;
use crate::repository::Repository;
use crate::tree::{INDEX, Trees, in_index};

/// What becomes of submodules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Submodules {
    /// A repository with submodules is refused.
    #[default]
    Refuse,
    /// Those that the user has initialised have their files in trees, too.
    Init,
}

impl Submodules {
    /// As it is written.
    pub const WORDS: [&'static str; 2] = ["refuse", "init"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "refuse" => Some(Self::Refuse),
            "init" => Some(Self::Init),
            _ => None,
        }
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Init => "init",
        }
    }
}

/// A submodule that the user has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Submodule {
    /// Where it is in the repository.
    pub(crate) path: String,
    /// Which of its commits is wanted.
    pub(crate) commit: String,
    /// The user's repository of it.
    pub(crate) git_dir: PathBuf,
}

impl Repository {
    /// The submodules in a commit that the user has initialised.
    pub(crate) fn submodules(&self, commit: &str) -> Result<Vec<Submodule>, Trouble> {
        let blob = format!("--blob={commit}:.gitmodules");
        let command = ["config", &blob, "-z", "--get-regexp", r"^submodule\..*\.path$"];
        let Ok(Word::Yes(out)) = ask(&self.git, &self.call(), &command) else { return Ok(Vec::new()) };
        let named = listed(&out).into_iter().filter_map(|entry| {
            let (key, path) = entry.split_once('\n')?;
            Some((path.to_owned(), key.strip_prefix("submodule.")?.strip_suffix(".path")?.to_owned()))
        });
        let mut found = Vec::new();
        for (path, name) in named {
            let of = format!("{commit}:{path}");
            let Ok(wanted) = line(&self.git, &self.call(), &["rev-parse", "--verify", "-q", &of]) else { continue };
            // No name leads out of the repository.
            let of_git = Dir::open(&self.common).and_then(|git| git.dir(&format!("modules/{name}")));
            let in_checkout = || Dir::open(&self.top).and_then(|top| top.dir(&format!("{path}/.git")));
            let Ok(git_dir) = of_git.or_else(|_| in_checkout()) else { continue };
            let git_dir = git_dir.path().to_owned();
            let call = Call { git_dir: Some(&git_dir), ..Call::default() };
            if must(&self.git, &call, &["cat-file", "-e", &format!("{wanted}^{{commit}}")]).is_ok() {
                found.push(Submodule { path, commit: wanted, git_dir });
            }
        }
        Ok(found)
    }
}

impl Trees {
    /// Fills the folders of submodules.
    pub(crate) fn fill_submodules(&self, tree: &Path, commit: &str) -> Result<(), Trouble> {
        for Submodule { path, commit, git_dir } in self.repository.submodules(commit)? {
            let folder = tree.join(&path);
            make_ours(&folder).map_err(|error| Trouble::io("make", &folder, &error))?;
            self.begin_repository(&folder, &commit, &git_dir)?;
            let index = folder.join(".git/index");
            let call = Call {
                git_dir: Some(&git_dir),
                env: vec![in_index(&index)],
                work_tree: Some(&folder),
                ..Call::default()
            };
            must(&self.repository.git, &call, &["read-tree", "--reset", "-u", &commit])?;
        }
        Ok(())
    }

    /// The submodules of a commit that were changed in a tree. One that names another commit which the user has is not changed.
    pub(crate) fn changed_submodules(&self, tree: &Path, commit: &str) -> Result<Vec<String>, Trouble> {
        let mut changed = Vec::new();
        for Submodule { path, commit, git_dir } in self.repository.submodules(commit)? {
            let own = tree.join(&path).join(".git");
            if ours::open(&own).is_ok() && !self.is_as_committed(&tree.join(&path), &git_dir, &commit)? {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Whether a submodule in a tree holds what one of its commits does that the user has, and no commits of its own.
    fn is_as_committed(&self, folder: &Path, git_dir: &Path, wanted: &str) -> Result<bool, Trouble> {
        let git = &self.repository.git;
        let of_tree = folder.join(".git");
        let call = Call { git_dir: Some(&of_tree), ..Call::default() };
        let head =
            line(git, &call, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]).unwrap_or_else(|_| wanted.to_owned());
        let refs = line(git, &call, &["for-each-ref", "--format=%(objectname)"]).unwrap_or_default();
        let of_user = Call { git_dir: Some(git_dir), ..Call::default() };
        let is_users = |commit: &str| must(git, &of_user, &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok();
        if !refs.lines().chain([head.as_str()]).all(is_users) {
            return Ok(false);
        }
        // With an index of our own and the user's repository nothing is run that an agent has configured.
        // Other threads look at other trees meanwhile.
        let within = folder.strip_prefix(&self.home).unwrap_or(folder).display().to_string();
        let (home, name) = (self.open_home()?, format!("{}{INDEX}", names::part(&within)));
        let index = self.own_index(&name)?;
        let call = Call { env: vec![in_index(&index)], work_tree: Some(folder), ..of_user };
        must(git, &call, &["read-tree", "--reset", &head])?;
        let _differs = ask(git, &call, &["update-index", "-q", "--refresh"]);
        let same = ask(git, &call, &["diff-index", "--quiet", &head, "--"])?;
        let new = must(git, &call, &["ls-files", "-z", "-o", "--exclude-standard"])?;
        home.remove(&name).map_err(|errno| self.failed("remove", &name, errno))?;
        Ok(matches!(same, Word::Yes(_)) && new.is_empty())
    }
}
