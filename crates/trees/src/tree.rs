//! The trees of a run. Each is a small repository of its own beside the project: it borrows the objects of the user's repository, and has
//! a stash, branches, a configuration and an index of its own. What an agent does to these stays in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use team_executor_agents::git::Call;
use team_executor_beneath::{Dir, make_ours, ours};

use crate::case::Case;
use crate::extras::Extras;
use crate::git::{Trouble, must};
use crate::merge::Merged;
use crate::names::{self, Part};
use crate::repository::{Dirty, Repository, put};
use crate::submodules::Submodules;

/// Ends the name of a tree that is being made: no worker has seen it.
pub(crate) const UNFINISHED: &str = ".tmp";
/// Ends the name of our own index of a tree, which no agent writes.
pub(crate) const INDEX: &str = ".index";
/// Ends the name of what a killed git leaves beside a file that it was writing.
pub(crate) const LOCK: &str = ".lock";
/// Stands in the name of a tree that a killed executor had made, and that no worker was in.
pub(crate) const FOUND: &str = "-found";
/// Trees that are being removed.
pub(crate) const TRASH: &str = "trash";

/// The trees of a run.
#[derive(Debug, Clone)]
pub struct Trees {
    pub(crate) repository: Repository,
    /// What people call the run.
    pub(crate) name: String,
    /// What its refs and folders are called: no other run was or will be.
    pub(crate) run: String,
    /// Where they are.
    pub(crate) home: PathBuf,
    /// What the run is based on.
    base: String,
    /// What they have besides the files of a commit.
    pub(crate) extras: Extras,
    /// Which names are one.
    pub(crate) case: Case,
}

/// A tree that can be worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// The commit that is in it, and which of its files hold conflicts.
    pub base: Merged,
    /// The commit of what an earlier attempt left, whose worker failed or was lost.
    pub lost: Option<String>,
}

impl Trees {
    /// Opens the trees of a run of a project, and settles what the run is based on. `root` has the trees of all projects.
    /// A run has a name, and a key that no other run ever has.
    pub fn open(
        repository: Repository,
        (name, run): (&str, &str),
        root: &Path,
        (base, dirty): (&str, Dirty),
        extras: Extras,
    ) -> Result<Self, Trouble> {
        let home = home(root, &repository, run);
        if home.starts_with(&repository.top) {
            let why = format!("the trees of a run cannot be inside the project: {}", root.display());
            return Err(Trouble::refused(why, "set `root` in [isolation] to a folder outside of it"));
        }
        make_ours(&home).map_err(|error| Trouble::io("make", &home, &error))?;
        let case = Case::of(&repository, &home);
        let mut trees =
            Self { repository, name: name.to_owned(), run: run.to_owned(), home, base: String::new(), extras, case };
        trees.clear_unfinished()?;
        trees.base = trees.repository.base(run, base, dirty, &trees.home)?;
        Ok(trees)
    }

    /// The trees of a run that is not begun or continued here, to look at and to remove. Nothing is made.
    pub fn of_run(repository: Repository, name: &str, mark: crate::Mark) -> Result<Option<Self>, Trouble> {
        let Some(base) = repository.commit_of(&format!("{}/base", names::of_run(&mark.key)))? else { return Ok(None) };
        let case = Case::of(&repository, &mark.home);
        Ok(Some(Self {
            repository,
            name: name.to_owned(),
            run: mark.key,
            home: mark.home,
            base,
            extras: Extras::default(),
            case,
        }))
    }

    /// Where they are.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The repository.
    pub const fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What the folder of the run is to say of them.
    pub fn mark(&self) -> crate::Mark {
        crate::Mark { key: self.run.clone(), home: self.home.clone() }
    }

    /// Makes a link beside the trees. No tree is called so: their names have a dot.
    pub fn link(&self, name: &str, to: &Path) -> Result<(), Trouble> {
        self.open_home()?.link(name, to).map_err(|errno| self.failed("make", name, errno))
    }

    /// What the run is based on.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Where the tree of an attempt is, or would be.
    pub fn path(&self, task: &str, attempt: u32) -> PathBuf {
        self.home.join(names::folder(task, attempt))
    }

    /// Where a worker works in a tree: where the project is in its repository.
    pub fn project_in(&self, tree: &Path) -> PathBuf {
        if self.repository.prefix.is_empty() { tree.to_owned() } else { tree.join(&self.repository.prefix) }
    }

    /// What every attempt at the task of this part of a ref came to, the last one that ended well: the attempt and its commit.
    pub fn results(&self) -> Result<BTreeMap<String, (u32, String)>, Trouble> {
        let mut results: BTreeMap<String, (u32, String)> = BTreeMap::new();
        // Git passes over a folder of refs that it cannot open without a word, and what is overlooked would be missing in all that
        // builds on it.
        let refs = self.repository.refs(&self.run)?;
        if refs != self.repository.refs(&self.run)? {
            return Err(Trouble::Failed("the refs of the run cannot be read".to_owned()));
        }
        for (name, commit) in refs {
            let Some((task, attempt, Part::Result)) = names::read(&self.run, &name) else { continue };
            let known = results.entry(task.to_owned()).or_insert_with(|| (attempt, commit.clone()));
            if known.0 < attempt {
                *known = (attempt, commit);
            }
        }
        Ok(results)
    }

    /// The same with the name of the task.
    pub fn result_of(&self, task: &str, results: &BTreeMap<String, (u32, String)>) -> Option<(u32, String)> {
        results.get(&names::part(task)).cloned()
    }

    /// Makes the tree of an attempt from these commits, merged in this order; without any, from what the run is based on. What
    /// earlier attempts at the task left is kept first.
    pub fn make(&self, task: &str, attempt: u32, commits: &[String]) -> Result<Made, Trouble> {
        let lost = self.keep_lost(task, attempt)?;
        let name = names::of_attempt(&self.run, task, attempt, Part::Base);
        let mut base = match self.repository.commit_of(&name)? {
            Some(commit) => Merged { conflicts: self.repository.conflicts_in(&commit)?, commit },
            None => {
                let own = [self.base.clone()];
                let commits = if commits.is_empty() { &own[..] } else { commits };
                let merged = self.repository.merge(commits, &format!("Merge what {task} builds on"))?;
                self.repository.create(&name, &merged.commit)?;
                merged
            }
        };
        for file in self.open_conflicts(task, attempt, &base.commit)? {
            if !base.conflicts.contains(&file) {
                base.conflicts.push(file);
            }
        }
        let folder = names::folder(task, attempt);
        let home = self.open_home()?;
        if home.has(&folder) {
            // It was made for this attempt, whose executor was killed before the worker began; what is in it stays.
            home.rename_free(&folder, &format!("{folder}{FOUND}"))
                .map_err(|errno| self.failed("keep", &folder, errno))?;
        }
        self.check_out(&home, &folder, &base.commit)?;
        // The folder of the project may have no file that is committed.
        let project = self.project_in(&self.home.join(&folder));
        make_ours(&project).map_err(|error| Trouble::io("make", &project, &error))?;
        Ok(Made { path: self.home.join(&folder), base, lost })
    }

    /// Fills a new folder with the files of a commit.
    pub(crate) fn check_out(&self, home: &Dir, folder: &str, commit: &str) -> Result<(), Trouble> {
        let unfinished = format!("{folder}{UNFINISHED}");
        if home.has(&unfinished) {
            home.remove_all(&unfinished).map_err(|errno| self.failed("remove", &unfinished, errno))?;
        }
        let path = self.home.join(&unfinished);
        self.begin_repository(&path, commit, &self.repository.common)?;
        let index = path.join(".git/index");
        self.read_tree(&path, &index, commit)?;
        let bytes = ours::read_chosen(&index, u64::MAX).map_err(|errno| self.failed("read", "index", errno))?;
        put(&self.home, &format!("{folder}{INDEX}"), &bytes)?;
        if self.extras.submodules == Submodules::Init {
            self.fill_submodules(&path, commit)?;
        }
        let tree = home.dir(&unfinished).map_err(|errno| self.failed("open", &unfinished, errno))?;
        self.repository.include(&self.extras.include, &tree)?;
        home.rename_new(&unfinished, folder).map_err(|errno| self.failed("rename", &unfinished, errno))
    }

    /// Makes files and an index those of a commit. What is not in either stays.
    pub(crate) fn read_tree(&self, tree: &Path, index: &Path, commit: &str) -> Result<(), Trouble> {
        let call = Call { env: vec![in_index(index)], work_tree: Some(tree), ..self.call() };
        must(&self.repository.git, &call, &["read-tree", "--reset", "-u", commit]).map(drop)
    }

    /// The repository of a tree: what `git init` would make, with objects that are borrowed from another one and nothing else of it.
    pub(crate) fn begin_repository(&self, path: &Path, commit: &str, common: &Path) -> Result<(), Trouble> {
        let Repository { is_sha256, .. } = &self.repository;
        let is_whole = common == self.repository.common;
        let remote = if is_whole { self.repository.remote(self.extras.remote) } else { String::new() };
        let git = path.join(".git");
        for folder in ["objects/info", "objects/pack", "refs/heads", "info"] {
            make_ours(&git.join(folder)).map_err(|error| Trouble::io("make", &git, &error))?;
        }
        let (version, more) = if *is_sha256 { (1, "[extensions]\n\tobjectformat = sha256\n") } else { (0, "") };
        let config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\thooksPath = /dev/null\n{more}\
             [gc]\n\tauto = 0\n[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n\
             [user]\n\tname = team-executor\n\temail = team-executor@localhost\n{remote}"
        );
        put(&git, "config", config.as_bytes())?;
        put(&git, "HEAD", format!("{commit}\n").as_bytes())?;
        let objects = common.join("objects");
        put(&git.join("objects/info"), "alternates", format!("{}\n", objects.display()).as_bytes())?;
        // What the user ignores without a file of the repository, and where the history of a shallow clone ends.
        for (from, into, name) in
            [(common.join("info"), git.join("info"), "exclude"), (common.to_owned(), git, "shallow")]
        {
            if let Ok(bytes) = ours::read_chosen(&from.join(name), 64 << 20) {
                put(&into, name, &bytes)?;
            }
        }
        Ok(())
    }

    /// Removes what was being made or removed when an executor was killed. No worker has seen the one, and the other is kept as a commit.
    fn clear_unfinished(&self) -> Result<(), Trouble> {
        let home = self.open_home()?;
        let names = home.list().map_err(|errno| self.failed("list", "", errno))?;
        for name in names {
            // What cannot be removed is listed by `doctor`.
            if name.ends_with(UNFINISHED) || name == TRASH {
                let _stays = home.remove_all(&name);
            } else if name.ends_with(LOCK) {
                let _stays = home.remove(&name);
            }
        }
        Ok(())
    }

    /// Where an index of our own is, which no git is writing now. A killed one leaves a lock.
    pub(crate) fn own_index(&self, name: &str) -> Result<PathBuf, Trouble> {
        let (home, lock) = (self.open_home()?, format!("{name}{LOCK}"));
        if home.has(&lock) {
            home.remove(&lock).map_err(|errno| self.failed("remove", &lock, errno))?;
        }
        Ok(self.home.join(name))
    }

    pub(crate) fn open_home(&self) -> Result<Dir, Trouble> {
        ours::open(&self.home).map_err(|errno| self.failed("open", "", errno))
    }

    pub(crate) fn failed(&self, action: &str, name: &str, errno: rustix::io::Errno) -> Trouble {
        Trouble::io(action, &self.home.join(name), &team_executor_beneath::words(errno))
    }
}

/// Where the trees of a run are: projects of one name have folders of their own.
fn home(root: &Path, repository: &Repository, run: &str) -> PathBuf {
    let project = repository.common.display().to_string();
    let name = repository.top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let digest = names::part(&format!("{project}/"));
    root.join(format!("{}-{}", names::part(&name), digest.trim_start_matches("x-"))).join(names::part(run))
}

/// The variable that chooses an index.
pub(crate) fn in_index(index: &Path) -> (&'static str, String) {
    ("GIT_INDEX_FILE", index.display().to_string())
}
