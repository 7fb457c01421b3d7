//! What the refs of a run say: what each task changed, and what of it is in the trunk. Only looks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use team_executor_agents::git::Call;

use crate::git::{Trouble, line, listed, must};
use crate::names::{self, Part};
use crate::repository::Repository;
use crate::tree::Trees;

/// A commit with what was changed in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The attempt that made it.
    pub attempt: u32,
    /// What it is compared with: the work of others that it builds on.
    pub base: String,
    /// The commit.
    pub commit: String,
    /// How much differs.
    pub total: Total,
    /// What became of it.
    pub place: Place,
}

/// How far a commit has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is in the trunk.
    Merged,
    /// It is in what is being tested now, or was when an executor was killed.
    Testing,
    /// Its worker ended well.
    Delivered,
    /// Its worker failed or was lost.
    Left,
}

/// How much differs between two commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Total {
    /// Files.
    pub files: usize,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
}

/// How a file differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Where it is in the repository.
    pub path: String,
    /// Lines that were added and removed; nothing for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// The refs of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// What the run is based on.
    pub base: String,
    /// Everything that is merged.
    pub trunk: String,
    /// How much differs between both.
    pub total: Total,
    /// The branch that the user gets.
    pub branch: String,
    /// What it names now, if it is there.
    pub branch_at: Option<String>,
    /// What it was last made or moved to.
    pub landed: Option<String>,
    /// The last result of each task, or what its last attempt left, by the part of a ref that stands for the task.
    changes: BTreeMap<String, Change>,
}

impl Overview {
    /// What a task changed.
    pub fn of_task(&self, task: &str) -> Option<&Change> {
        self.changes.get(&names::part(task))
    }

    /// Whether the branch holds everything that is merged.
    pub fn is_landed(&self) -> bool {
        self.branch_at.as_ref() == Some(&self.trunk) || self.landed.as_ref() == Some(&self.trunk)
    }
}

impl Trees {
    /// What the refs of the run say.
    pub fn overview(&self) -> Result<Option<Overview>, Trouble> {
        self.repository.overview(&self.name, &self.run)
    }
}

/// The commits of an attempt.
#[derive(Debug, Clone, Default)]
struct Tried {
    base: Option<String>,
    result: Option<String>,
    lost: Option<String>,
}

impl Tried {
    fn note(&mut self, part: Part, commit: String) {
        *match part {
            Part::Base => &mut self.base,
            Part::Result => &mut self.result,
            Part::Lost => &mut self.lost,
        } = Some(commit);
    }
}

type Attempts = BTreeMap<u32, Tried>;

impl Repository {
    /// What the refs of a run say that people call by this name; nothing if it has none.
    pub fn overview(&self, name: &str, run: &str) -> Result<Option<Overview>, Trouble> {
        let below = names::of_run(run);
        let (mut own, mut tasks) = (HashMap::new(), BTreeMap::<String, Attempts>::new());
        for (full, commit) in self.refs(run)? {
            match names::read(run, &full) {
                Some((task, attempt, part)) => {
                    tasks.entry(task.to_owned()).or_default().entry(attempt).or_default().note(part, commit);
                }
                None => {
                    let short = full.strip_prefix(&below).unwrap_or(&full).trim_start_matches('/');
                    own.insert(short.to_owned(), commit);
                }
            }
        }
        let Some(base) = own.remove("base") else { return Ok(None) };
        let trunk = own.remove("trunk").unwrap_or_else(|| base.clone());
        let merged = self.between(&base, &trunk)?;
        let testing = own.remove("testing").map(|tip| self.between(&trunk, &tip)).transpose()?.unwrap_or_default();
        let place = |commit: &String| match commit {
            _ if merged.contains(commit) => Place::Merged,
            _ if testing.contains(commit) => Place::Testing,
            _ => Place::Delivered,
        };
        let parents = self.parents(&tasks)?;
        let mut found = Vec::new();
        for (task, attempts) in &tasks {
            let result = attempts.iter().rev().find_map(|(attempt, tried)| Some((*attempt, tried.result.clone()?)));
            let lost = attempts.iter().rev().find_map(|(attempt, tried)| Some((*attempt, tried.lost.clone()?)));
            let left = |(attempt, commit)| (attempt, commit, Place::Left);
            let chosen = match result {
                // What is in the base changes nothing, so it is merged wherever the trunk is.
                Some((attempt, commit)) => {
                    let changes_nothing =
                        attempts.get(&attempt).is_some_and(|tried| tried.base.as_ref() == Some(&commit));
                    let place = if commit == base
                        || changes_nothing && place(&commit) == Place::Delivered && self.is_in(&commit, &trunk)?
                    {
                        Place::Merged
                    } else {
                        place(&commit)
                    };
                    Some((attempt, commit, place))
                }
                None => lost.map(left),
            };
            let Some((attempt, commit, place)) = chosen else { continue };
            let Some(base) = compared_with(attempts, attempt, &parents) else { continue };
            found.push((task.clone(), Change { attempt, base, commit, total: Total::default(), place }));
        }
        let mut pairs: Vec<(&str, &str)> =
            found.iter().map(|(_, change)| (change.base.as_str(), change.commit.as_str())).collect();
        pairs.push((&base, &trunk));
        let mut totals = self.known_totals(&pairs);
        let total = totals.pop().unwrap_or_default();
        for ((_, change), total) in found.iter_mut().zip(totals) {
            change.total = total;
        }
        let branch = names::branch(name);
        let branch_at = self.commit_of(&format!("refs/heads/{branch}"))?;
        let landed = own.remove("landed");
        Ok(Some(Overview { base, trunk, total, branch, branch_at, landed, changes: found.into_iter().collect() }))
    }

    /// The same as [`Self::totals`]. Nothing differs where objects are gone: `artifacts verify` says so, and all else can still be seen.
    fn known_totals(&self, pairs: &[(&str, &str)]) -> Vec<Total> {
        let one = |pair: &(&str, &str)| self.totals(&[*pair]).ok().and_then(|totals| totals.first().copied());
        self.totals(pairs).unwrap_or_else(|_| pairs.iter().map(|pair| one(pair).unwrap_or_default()).collect())
    }

    /// How much differs between commits, pair by pair.
    pub fn totals(&self, pairs: &[(&str, &str)]) -> Result<Vec<Total>, Trouble> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = pairs.iter().map(|(from, to)| format!("{to} {from}\n")).collect();
        let call = Call { input: &input, ..self.call() };
        let command = ["diff-tree", "--stdin", "--always", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff"];
        let out = must(&self.git, &call, &command)?;
        let mut totals: Vec<Total> = Vec::with_capacity(pairs.len());
        for entry in listed(&out) {
            match (numbers(&entry), totals.last_mut()) {
                (None, _) => totals.push(Total::default()),
                (Some((lines, _)), Some(total)) => {
                    let (added, removed) = lines.unwrap_or_default();
                    *total =
                        Total { files: total.files + 1, added: total.added + added, removed: total.removed + removed };
                }
                (Some(_), None) => {}
            }
        }
        if totals.len() == pairs.len() {
            Ok(totals)
        } else {
            Err(Trouble::Failed("git diff-tree said too little".to_owned()))
        }
    }

    /// How each file differs between two commits.
    pub fn files_between(&self, from: &str, to: &str) -> Result<Vec<FileChange>, Trouble> {
        let command = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", from, to];
        let out = must(&self.git, &self.call(), &command)?;
        let one = |entry: String| numbers(&entry).map(|(lines, path)| FileChange { path: path.to_owned(), lines });
        Ok(listed(&out).into_iter().filter_map(one).collect())
    }

    /// The difference between two commits, as `git apply` takes it.
    pub fn patch_between(&self, from: &str, to: &str) -> Result<Vec<u8>, Trouble> {
        let command = [
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-color",
            from,
            to,
        ];
        must(&self.git, &self.call(), &command)
    }

    /// What the work of an attempt is compared with.
    pub(crate) fn compared_with(&self, run: &str, task: &str, attempt: u32) -> Result<Option<String>, Trouble> {
        let part = names::part(task);
        let mut attempts = Attempts::new();
        for (name, commit) in self.refs_below(&format!("{}/t/{part}", names::of_run(run)))? {
            let Some((_, number, part)) = names::read(run, &name) else { continue };
            attempts.entry(number).or_default().note(part, commit);
        }
        let tasks = BTreeMap::from([(part.clone(), attempts)]);
        let parents = self.parents(&tasks)?;
        Ok(tasks.get(&part).and_then(|attempts| compared_with(attempts, attempt, &parents)))
    }

    /// Makes a branch that names a commit. One that names it already is left alone.
    pub fn make_branch(&self, name: &str, commit: &str) -> Result<(), Trouble> {
        let help = "name another branch, for instance: review/IMPL-001";
        if name.starts_with('-') || line(&self.git, &self.call(), &["check-ref-format", "--branch", name]).is_err() {
            return Err(Trouble::refused(format!("`{name}` cannot be the name of a branch"), help));
        }
        let full = format!("refs/heads/{name}");
        match self.commit_of(&full)? {
            Some(there) if there == commit => Ok(()),
            Some(_) => {
                Err(Trouble::refused(format!("the branch `{name}` is there already, and names other work"), help))
            }
            None => self
                .update(&full, commit, "")
                .map_err(|trouble| Trouble::refused(format!("the branch `{name}` cannot be made: {trouble}"), help)),
        }
    }

    /// The commits that are in one and not in the other.
    fn between(&self, from: &str, to: &str) -> Result<HashSet<String>, Trouble> {
        let out = line(&self.git, &self.call(), &["rev-list", to, &format!("^{from}"), "--"])?;
        Ok(out.lines().map(str::to_owned).collect())
    }

    /// The parents of everything that attempts began with.
    fn parents(&self, tasks: &BTreeMap<String, Attempts>) -> Result<HashMap<String, Vec<String>>, Trouble> {
        let again = tasks.values().filter(|attempts| attempts.len() > 1);
        let bases: Vec<&String> = again.flat_map(BTreeMap::values).filter_map(|tried| tried.base.as_ref()).collect();
        if bases.is_empty() {
            return Ok(HashMap::new());
        }
        let input: String = bases.iter().map(|base| format!("{base}\n")).collect();
        let call = Call { input: &input, ..self.call() };
        let out = line(&self.git, &call, &["rev-list", "--no-walk", "--parents", "--stdin"])?;
        let one = |line: &str| {
            let mut commits = line.split(' ').map(str::to_owned);
            Some((commits.next()?, commits.collect()))
        };
        Ok(out.lines().filter_map(one).collect())
    }
}

/// What the work of a task is compared with: what its attempt began with, without what earlier attempts at it had done.
fn compared_with(attempts: &Attempts, attempt: u32, parents: &HashMap<String, Vec<String>>) -> Option<String> {
    let base = attempts.get(&attempt)?.base.as_ref()?;
    let earlier = attempts.range(..attempt).rev().find_map(|(attempt, tried)| Some((*attempt, tried.result.as_ref()?)));
    let Some((before, result)) = earlier else { return Some(base.clone()) };
    if base == result {
        return compared_with(attempts, before, parents);
    }
    let merged = parents.get(base).filter(|parents| parents.contains(result));
    // The last one is the trunk, which holds what the first attempt began with.
    let other = merged.and_then(|parents| parents.iter().rev().find(|parent| *parent != result));
    Some(other.unwrap_or(base).clone())
}

/// The numbers and the path of an entry of `--numstat -z`; nothing for the line that names a commit.
fn numbers(entry: &str) -> Option<(Option<(u64, u64)>, &str)> {
    let mut parts = entry.splitn(3, '\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some((added.parse().ok().zip(removed.parse().ok()), path))
}

impl Repository {
    /// Writes a bundle with everything that the refs of a run name, on top of what the run is based on.
    pub fn bundle(&self, run: &str, to: &Path) -> Result<(), Trouble> {
        let (glob, base) = (format!("--glob={}/*", names::of_run(run)), format!("^{}/base", names::of_run(run)));
        let to = to.display().to_string();
        // Many threads would pack the same commits in other ways each time.
        let call = Call { options: vec!["-c".to_owned(), "pack.threads=1".to_owned()], ..self.call() };
        must(&self.git, &call, &["bundle", "create", "-q", &to, &glob, &base]).map(drop)
    }

    /// Whether a file is a bundle with all of that.
    pub fn is_bundled(&self, run: &str, file: &Path) -> Result<bool, Trouble> {
        let file = file.display().to_string();
        let Ok(out) = line(&self.git, &self.call(), &["bundle", "list-heads", &file]) else { return Ok(false) };
        let heads: HashSet<&str> = out.lines().collect();
        let base = self.commit_of(&format!("{}/base", names::of_run(run)))?;
        let refs = self.refs(run)?.into_iter().filter(|(_, commit)| Some(commit) != base.as_ref());
        Ok(refs.map(|(name, commit)| format!("{commit} {name}")).all(|head| heads.contains(head.as_str())))
    }

    /// Whether everything that came to a commit on top of another one is there, to the last object.
    pub fn is_whole(&self, from: &str, to: &str) -> bool {
        let exclude = format!("^{from}");
        must(&self.git, &self.call(), &["rev-list", "--objects", "--quiet", to, &exclude, "--"]).is_ok()
    }
}
