//! When a tree may go: never before everything in it is in the user's repository. Both the end of a run and `prune`
//! ask here, and nowhere else.
//!
//! A tree of an attempt may go if nothing in it differs from the commit that is kept of it, if its repository has no commits of its own, and
//! if the run has landed, was put away, or the user said so. The caller holds the lock of the run, and no worker of it lives.

use std::path::Path;

use team_executor_agents::git::Call;
use team_executor_beneath::{Dir, ours, words};

use crate::git::{Trouble, Word, ask, line, listed, must, must_see};
use crate::landing::STAGE;
use crate::names::{self, Part};
use crate::tree::{FOUND, INDEX, TRASH, Trees, UNFINISHED, in_index};

/// How many files are named.
const TOLD: usize = 3;
/// What `stat` counts in.
const BLOCK: u64 = 512;

/// A tree that is there, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The name of its folder.
    pub folder: String,
    /// How much of the disk it has.
    pub bytes: u64,
    /// Why it must stay; nothing if it may go.
    pub stays: Option<String>,
}

/// Who wants trees to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The run itself: only if the user has everything that is merged.
    OfRun,
    /// The user, or the run was put away.
    OfUser,
}

impl Trees {
    /// Every tree of the run, with its size and why it stays. Only looks.
    pub fn stored(&self, consent: Consent) -> Result<Vec<Stored>, Trouble> {
        let Ok(home) = Dir::open(&self.home) else { return Ok(Vec::new()) };
        let of_run = self.open_ends(consent)?;
        let known = self.attempts()?;
        let names = home.list().map_err(|errno| self.failed("list", "", errno))?;
        let folders = names.into_iter().filter(|name| home.has_dir(name));
        let stored = folders.map(|folder| {
            let why = match &of_run {
                _ if folder == TRASH || folder.ends_with(UNFINISHED) => None,
                Some(why) => Some(why.clone()),
                None if folder == STAGE => None,
                None => match attempt_of(&folder, &known) {
                    Some(spot) => self.why_kept(&folder, &spot).unwrap_or_else(|trouble| Some(trouble.to_string())),
                    None => Some("no attempt of the run is known that has it".to_owned()),
                },
            };
            Stored { bytes: bytes(&home, &folder), folder, stays: why }
        });
        Ok(stored.collect())
    }

    /// Removes the trees that may go, and says of each that was there whether it stays.
    pub fn remove_stored(&self, consent: Consent) -> Result<Vec<Stored>, Trouble> {
        let mut stored = self.stored(consent)?;
        for one in stored.iter_mut().filter(|one| one.stays.is_none()) {
            one.stays = self.remove(&one.folder).err().map(|trouble| trouble.to_string());
        }
        if let Ok(home) = Dir::open(&self.home) {
            // They stay if something in them could not be removed.
            let _stays = home.remove_dir(TRASH);
            if stored.iter().all(|one| one.stays.is_none()) {
                // What has no folder is our own: indexes, notes and links.
                for file in home.list().unwrap_or_default() {
                    let _stays = home.remove(&file);
                }
            }
        }
        Ok(stored)
    }

    /// Why no tree of the run may go.
    fn open_ends(&self, consent: Consent) -> Result<Option<String>, Trouble> {
        if consent == Consent::OfUser {
            return Ok(None);
        }
        let landed = self.repository.commit_of(&format!("{}/landed", names::of_run(&self.run)))?;
        let trunk = self.trunk()?;
        let is_done = trunk == self.base() || landed.as_ref() == Some(&trunk);
        Ok((!is_done).then(|| "the run has not landed".to_owned()))
    }

    /// The part of a ref and the number of each attempt that has refs.
    fn attempts(&self) -> Result<Vec<(String, u32)>, Trouble> {
        let refs = self.repository.refs(&self.run)?;
        let read = refs.iter().filter_map(|(name, _)| names::read(&self.run, name));
        let mut attempts: Vec<_> = read.map(|(task, attempt, _)| (task.to_owned(), attempt)).collect();
        attempts.dedup();
        Ok(attempts)
    }

    /// Why the tree of an attempt must stay; nothing if it may go.
    fn why_kept(&self, folder: &str, (task, attempt): &(String, u32)) -> Result<Option<String>, Trouble> {
        let of = |part| self.repository.commit_of(&names::of_part(&self.run, task, *attempt, part));
        // One that was never worked in holds what it began with.
        let commit = match folder.contains(FOUND) {
            true => of(Part::Base)?,
            // One that only reviewed has a result without what is in its tree.
            false => of(Part::Lost)?.or(of(Part::Result)?).or(of(Part::Base)?),
        };
        let Some(commit) = commit else { return Ok(Some("nothing of it is kept as a commit".to_owned())) };
        let path = self.home.join(folder);
        let changed = self.changed_since(&path, folder, &commit)?;
        if !changed.is_empty() {
            let more = changed.len().saturating_sub(TOLD);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let files = changed.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
            return Ok(Some(format!("it was changed since its commit: {files}{more}")));
        }
        if let Some(inside) = self.repository_inside(&path, &commit)? {
            return Ok(Some(format!("it holds another repository, of which a commit keeps nothing: {inside}")));
        }
        Ok(self.own_commits(&path, &commit).map(|what| format!("it has {what} of its own")))
    }

    /// A repository inside of a tree: of its files and commits nothing is in the commit of the tree.
    fn repository_inside(&self, path: &Path, commit: &str) -> Result<Option<String>, Trouble> {
        let out = must(&self.repository.git, &self.repository.call(), &["ls-tree", "-r", "-z", commit])?;
        let links = listed(&out).into_iter().filter(|entry| entry.starts_with("160000 "));
        let inside = links.filter_map(|entry| entry.split_once('\t').map(|(_, file)| file.to_owned()));
        let mut inside: Vec<String> =
            inside.filter(|file| ours::look_at(&path.join(file).join(".git")).is_ok()).collect();
        if !inside.is_empty() {
            let (known, changed) = (self.repository.submodules(commit)?, self.changed_submodules(path, commit)?);
            inside.retain(|file| changed.contains(file) || !known.iter().any(|one| one.path == *file));
        }
        Ok(inside.into_iter().next())
    }

    /// The files of a tree that differ from a commit. No object is written.
    fn changed_since(&self, path: &Path, folder: &str, commit: &str) -> Result<Vec<String>, Trouble> {
        let git = &self.repository.git;
        let (name, home) = (format!("{}{INDEX}", folder.split(FOUND).next().unwrap_or(folder)), self.open_home()?);
        let index = self.own_index(&name)?;
        let call = Call { env: vec![in_index(&index)], work_tree: Some(path), ..self.call() };
        if !home.has(&name) {
            must(git, &call, &["read-tree", commit])?;
        }
        // It says no where something differs, which is looked at next.
        let _differs = ask(git, &call, &["update-index", "-q", "--refresh"]);
        // In a repository inside of the tree nothing is run: an agent may have configured it.
        let differs = ["diff-index", "--ignore-submodules=dirty", "--name-only", "-z", commit, "--"];
        let mut changed = match ask(git, &call, &differs)? {
            Word::Yes(out) | Word::No(out) => listed(&out),
        };
        changed.extend(listed(&must_see(git, &call, &["ls-files", "-z", "-o", "--exclude-standard"])?));
        Ok(changed)
    }

    /// What the repository of a tree has that is not in a commit.
    fn own_commits(&self, path: &Path, commit: &str) -> Option<&'static str> {
        let own = path.join(".git");
        if Dir::open(&own).is_err() {
            return None; // its repository is gone
        }
        let git = &self.repository.git;
        let call = Call { git_dir: Some(&own), ..Call::default() };
        let is_kept = |of_agent: &str| self.repository.is_in(of_agent, commit).unwrap_or(false);
        let Ok(refs) = line(git, &call, &["for-each-ref", "--format=%(objectname)"]) else {
            return Some("a repository that git cannot read,");
        };
        if !refs.lines().all(is_kept) {
            return Some("branches or stashes");
        }
        let head = line(git, &call, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
        head.is_ok_and(|head| !is_kept(&head)).then_some("commits")
    }

    /// Moves a tree away first, so that no half of one has a tree's name.
    fn remove(&self, folder: &str) -> Result<(), Trouble> {
        let home = self.open_home()?;
        let moved = if folder == TRASH || folder.ends_with(UNFINISHED) {
            return home.remove_all(folder).map_err(|errno| self.failed("remove", folder, errno));
        } else {
            let trash = home.make_dir(TRASH).map_err(|errno| self.failed("make", TRASH, errno))?;
            home.move_free(folder, &trash, folder).map_err(|errno| self.failed("move", folder, errno))?
        };
        let index = format!("{folder}{INDEX}");
        if home.has(&index) {
            home.remove(&index).map_err(|errno| self.failed("remove", &index, errno))?;
        }
        home.remove_all(&format!("{TRASH}/{moved}")).map_err(|errno| {
            Trouble::Failed(format!("cannot remove {}: {}", self.home.join(TRASH).join(&moved).display(), words(errno)))
        })
    }
}

/// Which attempt a folder is of.
fn attempt_of(folder: &str, known: &[(String, u32)]) -> Option<(String, u32)> {
    let folder = folder.split(FOUND).next()?;
    known.iter().find(|(task, attempt)| names::folder_of_part(task, *attempt) == folder).cloned()
}

/// How much of the disk a folder has. What cannot be looked at counts nothing.
fn bytes(home: &Dir, folder: &str) -> u64 {
    let (mut folders, mut bytes) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        let Ok(within) = home.dir(&folder) else { continue };
        for name in within.list().unwrap_or_default() {
            if let Ok(found) = within.stat(&name) {
                bytes += u64::try_from(found.st_blocks).unwrap_or(0) * BLOCK;
            }
            if within.has_dir(&name) {
                folders.push(format!("{folder}/{name}"));
            }
        }
    }
    bytes
}
