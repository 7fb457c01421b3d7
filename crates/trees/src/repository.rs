//! The user's repository: what of it can be worked on, and what a run is based on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use team_executor_agents::Ended;
use team_executor_agents::git::{Call, Git};
use team_executor_beneath::{Dir, How, ours};

use crate::git::{Trouble, Word, answered, ask, line, listed, must, must_see};
use crate::merge::OURS;
use crate::names;
use crate::submodules::Submodules;
use crate::tree::LOCK;

/// The oldest git that merges as it is needed here.
const LEAST: (u32, u32) = (2, 41);
/// What is checked out, among changed files.
const HEAD: &str = "HEAD";
/// How many files are named.
const TOLD: usize = 5;
/// What of every project is no work of the user's.
const NOT_WORK: [&str; 3] = [".workflow", "team-executor.toml", ".worktreeinclude"];

/// What becomes of work that the user has not committed when a run begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dirty {
    /// The run does not begin.
    #[default]
    Refuse,
    /// A commit of it is what the run is based on. No branch, index or file of the user's changes.
    Snapshot,
    /// Tasks do not see it.
    Ignore,
}

impl Dirty {
    /// As it is written.
    pub const WORDS: [&'static str; 3] = ["refuse", "snapshot", "ignore"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        let nth = Self::WORDS.iter().position(|known| *known == word)?;
        [Self::Refuse, Self::Snapshot, Self::Ignore].get(nth).copied()
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Snapshot => "snapshot",
            Self::Ignore => "ignore",
        }
    }
}

/// The repository that a project is in.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) git: Git,
    /// Of the checkout.
    pub(crate) git_dir: PathBuf,
    /// Where objects and refs are; the same, but for a linked worktree.
    pub(crate) common: PathBuf,
    /// The checkout.
    pub(crate) top: PathBuf,
    /// Where the project is in it: empty, or with a slash at its end.
    pub(crate) prefix: String,
    pub(crate) is_sha256: bool,
    /// What of the project is no work of the user's that a task could miss.
    not_work: Vec<String>,
    submodules: Submodules,
}

impl Repository {
    /// Opens the repository around a project to work on it, with the git in `PATH` of this environment.
    pub fn open(project: &Path, environment: &[(String, String)], submodules: Submodules) -> Result<Self, Trouble> {
        let repository = Self { submodules, ..Self::find(project, environment)? };
        repository.can_begin("HEAD")?;
        Ok(repository)
    }

    /// Opens the repository around a project to look at what there is in it.
    pub fn find(project: &Path, environment: &[(String, String)]) -> Result<Self, Trouble> {
        let none = "set isolation = \"none\" in team-executor.toml to work without trees";
        let git =
            Git::find(environment).map_err(|why| Trouble::refused(why.to_string(), "install git 2.41 or newer"))?;
        let version = git.version().map_err(|error| Trouble::Failed(format!("git cannot run: {error}")))?;
        if version.is_none_or(|version| version < LEAST) {
            let found = version.map_or_else(|| "unknown".to_owned(), |(major, minor)| format!("{major}.{minor}"));
            let (major, minor) = LEAST;
            let why = format!("git {found} is too old for a tree per task; {major}.{minor} is needed");
            return Err(Trouble::refused(why, format!("install git {major}.{minor} or newer, or {none}")));
        }
        let here = Call { cwd: Some(project), ..Call::default() };
        let asked = ["rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir", "--git-common-dir"];
        let Ok(answer) = line(&git, &here, &[&asked[..], &["--show-object-format"]].concat()) else {
            let why = format!("{} is not in a git repository", project.display());
            return Err(Trouble::refused(why, format!("git init && git add -A && git commit -m start; or {none}")));
        };
        let mut lines = answer.lines();
        let [bare, git_dir, common, format] = [(); 4].map(|()| lines.next().unwrap_or_default().to_owned());
        if bare == "true" {
            let why = format!("{} is a bare repository, which has no files to work on", project.display());
            return Err(Trouble::refused(why, "git clone it, and run in the clone"));
        }
        let place = line(&git, &here, &["rev-parse", "--show-toplevel", "--show-prefix"])?;
        let mut lines = place.lines();
        let top = PathBuf::from(lines.next().unwrap_or_default());
        let prefix = lines.next().unwrap_or_default().to_owned();
        let (git_dir, common) = (PathBuf::from(git_dir), PathBuf::from(common));
        let not_work = NOT_WORK.map(str::to_owned).into();
        Ok(Self {
            git,
            git_dir,
            common,
            top,
            prefix,
            is_sha256: format == "sha256",
            not_work,
            submodules: Submodules::default(),
        })
    }

    /// What is in this folder is no work of the user's that a task could miss: the session that is run.
    pub fn leave_out(&mut self, folder: &Path) {
        let project = self.top.join(&self.prefix);
        let inside = folder.strip_prefix(&project).ok().and_then(Path::to_str).filter(|inside| !inside.is_empty());
        self.not_work.extend(inside.map(str::to_owned));
    }

    /// Refuses what trees cannot hold yet.
    pub fn can_begin(&self, base: &str) -> Result<(), Trouble> {
        let commit = format!("{base}^{{commit}}");
        let Word::Yes(_) = ask(&self.git, &self.call(), &["rev-parse", "--verify", "-q", &commit])? else {
            let (why, help) = if base == "HEAD" {
                ("the repository has no commits yet".to_owned(), "git add -A && git commit -m start".to_owned())
            } else {
                (format!("`{base}` names no commit of the repository"), "git log --oneline shows commits".to_owned())
            };
            return Err(Trouble::refused(why, help));
        };
        let found = must(&self.git, &self.call(), &["ls-tree", "-z", "--name-only", &commit, ".gitmodules"])?;
        if !found.is_empty() && self.submodules == Submodules::Refuse {
            let why = "the repository has submodules, and a commit of a task keeps nothing of what is changed in one";
            let help =
                "set submodules = \"init\" in [isolation] to have them in trees, unchanged; or isolation = \"none\"";
            return Err(Trouble::refused(why, help));
        }
        Ok(())
    }

    /// Where the project is in the repository: empty, or with a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A call that touches no files.
    pub(crate) fn call(&self) -> Call<'_> {
        Call { git_dir: Some(&self.git_dir), ..Call::default() }
    }

    /// The commit that a ref names.
    pub fn commit_of(&self, name: &str) -> Result<Option<String>, Trouble> {
        match ask(&self.git, &self.call(), &["rev-parse", "--verify", "-q", &format!("{name}^{{commit}}")])? {
            Word::Yes(out) => Ok(Some(String::from_utf8_lossy(&out).trim().to_owned())),
            Word::No(_) => Ok(None),
        }
    }

    /// All refs of a run, by name.
    pub(crate) fn refs(&self, run: &str) -> Result<Vec<(String, String)>, Trouble> {
        self.refs_below(&names::of_run(run))
    }

    /// All refs below one of ours.
    pub(crate) fn refs_below(&self, below: &str) -> Result<Vec<(String, String)>, Trouble> {
        let command = ["for-each-ref", "--format=%(refname) %(objectname)", below];
        let out = must_see(&self.git, &self.call(), &command)?;
        let pair = |line: &str| line.split_once(' ').map(|(name, commit)| (name.to_owned(), commit.to_owned()));
        Ok(String::from_utf8_lossy(&out).lines().filter_map(pair).collect())
    }

    /// Makes a ref, once and for good. One that is there already must name the same commit.
    pub(crate) fn create(&self, name: &str, commit: &str) -> Result<(), Trouble> {
        self.update(name, commit, "")
            .or_else(|trouble| if self.commit_of(name)?.as_deref() == Some(commit) { Ok(()) } else { Err(trouble) })
    }

    /// Moves a ref from one commit to another; the empty text stands for no commit.
    pub(crate) fn update(&self, name: &str, to: &str, from: &str) -> Result<(), Trouble> {
        let none = "0".repeat(if self.is_sha256 { 64 } else { 40 });
        let from = if from.is_empty() { none.as_str() } else { from };
        let ended = self.git.call(&self.call(), &["update-ref", name, to, from]);
        let ended = ended.map_err(|error| Trouble::Failed(format!("git update-ref cannot run: {error}")))?;
        if let Ended::Signal(_) = ended.ended {
            self.free_ref(name, Duration::ZERO);
        }
        answered("update-ref", ended).map(drop)
    }

    /// Removes the lock of a ref that a killed git left, if it is older than this.
    pub(crate) fn free_ref(&self, name: &str, age: Duration) {
        let Some((folder, name)) = name.rsplit_once('/') else { return };
        let (folder, lock) = (self.common.join(folder), format!("{name}{LOCK}"));
        let Ok(folder) = Dir::open(&folder) else { return };
        let is_old = |found: &rustix::fs::Stat| {
            let since = Duration::from_secs(u64::try_from(found.st_mtime).unwrap_or(0));
            UNIX_EPOCH.elapsed().is_ok_and(|now| now >= since + age)
        };
        if folder.stat(&lock).is_ok_and(|found| is_old(&found)) {
            let _stays = folder.remove(&lock);
        }
    }

    /// What a run is based on. It is resolved when the run is first asked, and stays.
    pub fn base(&self, run: &str, base: &str, dirty: Dirty, scratch: &Path) -> Result<String, Trouble> {
        self.free_refs(run);
        let name = format!("{}/base", names::of_run(run));
        if let Some(commit) = self.commit_of(&name)? {
            return Ok(commit);
        }
        self.can_begin(base)?;
        let Some(commit) = self.commit_of(base)? else { return Err(Trouble::Failed(format!("no commit {base}"))) };
        let changed = if dirty == Dirty::Ignore { Vec::new() } else { self.uncommitted()? };
        let commit = match (dirty, changed.as_slice()) {
            (_, []) | (Dirty::Ignore, _) => commit,
            (Dirty::Refuse, changed) => return Err(not_committed(changed)),
            (Dirty::Snapshot, _) => self.snapshot(&commit, scratch)?,
        };
        self.create(&name, &commit)?;
        Ok(commit)
    }

    /// Refuses work that is not committed, before a run is made.
    pub fn must_be_committed(&self) -> Result<(), Trouble> {
        match self.uncommitted()?.as_slice() {
            [] => Ok(()),
            changed => Err(not_committed(changed)),
        }
    }

    /// What the user has changed and not committed, without what is no work.
    pub fn uncommitted(&self) -> Result<Vec<String>, Trouble> {
        let call = Call { work_tree: Some(&self.top), ..self.call() };
        let command = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
        let out = must(&self.git, &call, &command)?;
        let paths = listed(&out).into_iter().filter_map(|entry| entry.get(3..).map(str::to_owned));
        let is_work = |path: &String| {
            let inside = path.strip_prefix(&self.prefix).unwrap_or(path);
            !self.not_work.iter().any(|name| Path::new(inside).starts_with(name))
        };
        Ok(paths.filter(is_work).collect())
    }

    /// What in the checkout is not as it was committed: its files with size and time, and what is checked out. Two looks are
    /// compared to find work that was done there.
    pub fn state(&self) -> Result<BTreeMap<String, (i64, i64, u64)>, Trouble> {
        let look = |file: String| {
            let found = ours::look_at(&self.top.join(&file)).ok();
            let of = found.map_or((0, 0, 0), |found| (found.st_size, found.st_mtime, found.st_mtime_nsec));
            (file, of)
        };
        let mut state: BTreeMap<_, _> = self.uncommitted()?.into_iter().map(look).collect();
        let head = self.commit_of("HEAD")?.unwrap_or_default();
        let digits = u64::from_str_radix(head.get(..16).unwrap_or_default(), 16).unwrap_or(0);
        state.insert(HEAD.to_owned(), (0, 0, digits));
        Ok(state)
    }

    /// What the user is in the middle of in the checkout.
    pub(crate) fn in_progress(&self) -> Option<&'static str> {
        const SIGNS: [(&str, &str); 6] = [
            ("MERGE_HEAD", "a merge"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("BISECT_LOG", "a bisection"),
        ];
        let is_there = |sign: &str| ours::look_at(&self.git_dir.join(sign)).is_ok();
        SIGNS.iter().find(|(sign, _)| is_there(sign)).map(|(_, what)| *what)
    }

    /// A commit of what is in the checkout, made with an index of our own.
    fn snapshot(&self, head: &str, scratch: &Path) -> Result<String, Trouble> {
        let index = self.git_dir.join("index");
        let unmerged = must(&self.git, &Call { work_tree: Some(&self.top), ..self.call() }, &["ls-files", "-u", "-z"])?;
        if !unmerged.is_empty() {
            let help = "git merge --abort, or resolve the conflicts and git commit";
            return Err(Trouble::refused(
                "a merge is in progress in the checkout, so there is nothing whole to begin with",
                help,
            ));
        }
        let bytes = ours::read_chosen(&index, u64::MAX).unwrap_or_default();
        let own = scratch.join("base.index");
        put(scratch, "base.index", &bytes)?;
        let env = vec![("GIT_INDEX_FILE", own.display().to_string())];
        let call = Call { work_tree: Some(&self.top), env: env.clone(), ..self.call() };
        let mut add: Vec<String> = ["add", "-A", "--sparse", "--", ":/"].map(str::to_owned).into();
        add.extend(self.not_work.iter().map(|name| format!(":(exclude,top,literal){}{name}", self.prefix)));
        must(&self.git, &call, &add.iter().map(String::as_str).collect::<Vec<_>>())?;
        let tree = line(&self.git, &call, &["write-tree"])?;
        if tree == line(&self.git, &self.call(), &["rev-parse", &format!("{head}^{{tree}}")])? {
            return Ok(head.to_owned());
        }
        let date = line(&self.git, &self.call(), &["show", "-s", "--format=%ct", head])?;
        let call = Call { env: OURS.at(&date), ..self.call() };
        line(&self.git, &call, &["commit-tree", &tree, "-p", head, "-m", "Uncommitted work when the run began"])
    }

    /// Removes what a killed git left in the way of our own refs.
    fn free_refs(&self, run: &str) {
        let mut folders = vec![self.common.join(names::of_run(run))];
        while let Some(folder) = folders.pop() {
            let Ok(open) = Dir::open(&folder) else { continue };
            for name in open.list().unwrap_or_default() {
                if open.has_dir(&name) {
                    folders.push(folder.join(&name));
                } else if name.ends_with(LOCK) {
                    let _stays = open.remove(&name);
                }
            }
        }
    }
}

fn not_committed(changed: &[String]) -> Trouble {
    let more = changed.len().saturating_sub(TOLD);
    let mut files = changed.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        files.push_str(&format!(" and {more} more"));
    }
    let why = format!("there is work that is not committed, which tasks would not see: {files}");
    Trouble::refused(why, "git add -A && git commit; or set dirty = \"snapshot\" or \"ignore\" in [isolation]")
}

/// Writes a file of our own anew.
pub(crate) fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Trouble> {
    use std::io::Write as _;
    let failed = |error: &dyn std::fmt::Display| Trouble::io("write", &folder.join(name), &error.to_string());
    let open = ours::open(folder).map_err(|errno| failed(&errno))?;
    if open.has(name) {
        open.remove(name).map_err(|errno| failed(&errno))?;
    }
    let mut file = open.file(name, How::CreateNew).map_err(|errno| failed(&errno))?;
    file.write_all(bytes).map_err(|error| failed(&error))
}
