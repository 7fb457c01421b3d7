//! What is in a tree, as a commit of the user's repository. It is made with an index of our own, by the user's repository: no setting and
//! no file that an agent wrote into the tree's own repository counts.

use std::path::Path;

use team_executor_agents::git::Call;
use team_executor_beneath::Dir;

use crate::git::{Trouble, Word, ask, line, listed, must, must_see};
use crate::merge::{Merged, stamped};
use crate::names::{self, Part};
use crate::tree::{INDEX, Trees, in_index};

/// What a commit says of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// The first line.
    pub subject: String,
    /// What the worker found, if it said so.
    pub findings: String,
    /// Who did it.
    pub role: String,
    /// The program that did it.
    pub agent: String,
    /// When its worker ended, in seconds.
    pub seconds: i64,
    /// The files that it may change.
    pub scope: Scope,
}

/// The files that a task may change in its tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All.
    #[default]
    All,
    /// Those that match these patterns. A result that changes others is wrong.
    Only(Vec<String>),
    /// None: the task only reviews. What it changes is kept beside its result, and nothing builds on that.
    Review,
}

/// What a task that only reviews changed in its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// The commit that holds it; nothing if no commit can, and the tree stays.
    pub commit: Option<String>,
    /// The files, or why they are in no commit, a line each.
    pub files: Vec<String>,
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The commit; the base of the attempt if it changed nothing.
    pub commit: String,
    /// What it was based on.
    pub base: Merged,
    /// How many files differ from that.
    pub files: usize,
    /// How many lines were added and removed.
    pub lines: (u64, u64),
    /// What must be mended before anything can build on it, a line each.
    pub wrong: Vec<String>,
    /// What is no part of it.
    pub aside: Option<Aside>,
}

impl Trees {
    /// Commits what is in the tree of an attempt, and keeps it as the result. Asked again it says the same.
    pub fn deliver(&self, task: &str, attempt: u32, story: &Story) -> Result<Delivered, Trouble> {
        let repository = &self.repository;
        let base = self.base_of(task, attempt)?;
        let name = names::of_attempt(&self.run, task, attempt, Part::Result);
        let known = repository.commit_of(&name)?;
        // A task that begins with conflicts resolves them, also one that reviews.
        if story.scope == Scope::Review && base.conflicts.is_empty() {
            // Before the result, so that a crash in between leaves nothing unkept.
            let aside = self.set_aside((task, attempt), &base.commit, known.is_some(), story)?;
            if known.is_none() {
                repository.create(&name, &base.commit)?;
            }
            let delivered = self.described(base.commit.clone(), base, (task, attempt), &story.scope)?;
            return Ok(Delivered { aside, ..delivered });
        }
        if let Some(commit) = known {
            return self.described(commit, base, (task, attempt), &story.scope);
        }
        let tree = self.path(task, attempt);
        let wrong = self.uncommittable(task, attempt, &base.commit)?;
        if !wrong.is_empty() {
            let commit = base.commit.clone();
            return Ok(Delivered { commit, base, files: 0, lines: (0, 0), wrong, aside: None });
        }
        let commit = self.commit(&tree, task, attempt, &base.commit, story)?;
        repository.create(&name, &commit)?;
        self.described(commit, base, (task, attempt), &story.scope)
    }

    /// Keeps what a task that only reviews changed in its tree; nothing if it changed no file.
    fn set_aside(
        &self,
        (task, attempt): (&str, u32),
        base: &str,
        is_delivered: bool,
        story: &Story,
    ) -> Result<Option<Aside>, Trouble> {
        let commit = self.repository.commit_of(&names::of_attempt(&self.run, task, attempt, Part::Lost))?;
        let commit = match commit {
            None if is_delivered => return Ok(None),
            None => self.lost(task, attempt, "which only reviewed", story.clone())?,
            known => known,
        };
        let files = match &commit {
            Some(commit) => self.repository.files_between(base, commit)?.into_iter().map(|file| file.path).collect(),
            None => self.large_files(task, attempt)?,
        };
        Ok((!files.is_empty()).then_some(Aside { commit, files }))
    }

    /// Says that an attempt comes to what an earlier one did: it was only checked again.
    pub fn deliver_again(
        &self,
        task: &str,
        (attempt, earlier): (u32, u32),
        scope: &Scope,
    ) -> Result<Option<Delivered>, Trouble> {
        let of = |attempt, part| names::of_attempt(&self.run, task, attempt, part);
        let Some(commit) = self.repository.commit_of(&of(earlier, Part::Result))? else { return Ok(None) };
        let base = self.base_of(task, earlier)?;
        self.repository.create(&of(attempt, Part::Base), &base.commit)?;
        self.repository.create(&of(attempt, Part::Result), &commit)?;
        let home = self.open_home()?;
        let folder = names::folder(task, attempt);
        if !home.has(&folder) {
            self.check_out(&home, &folder, &commit)?;
        }
        self.described(commit, base, (task, attempt), scope).map(Some)
    }

    /// Keeps what earlier attempts at a task left that have no result: the commit of the last one.
    pub(crate) fn keep_lost(&self, task: &str, before: u32) -> Result<Option<String>, Trouble> {
        let mut last = None;
        for attempt in (1..before).rev() {
            let of = |part| names::of_attempt(&self.run, task, attempt, part);
            let home = self.open_home()?;
            if !home.has(&names::folder(task, attempt)) || self.repository.commit_of(&of(Part::Result))?.is_some() {
                continue;
            }
            let commit = match self.repository.commit_of(&of(Part::Lost))? {
                Some(commit) => Some(commit),
                None => self.lost(task, attempt, "which did not complete", Story::default())?,
            };
            last = last.or(commit);
        }
        Ok(last)
    }

    /// Keeps what is in a tree beside any result: its worker failed, was lost or only reviewed. Nothing if that is what it began with. A file
    /// that is too large stays in the tree only.
    fn lost(&self, task: &str, attempt: u32, why: &str, story: Story) -> Result<Option<String>, Trouble> {
        let name = names::of_attempt(&self.run, task, attempt, Part::Base);
        let Some(base) = self.repository.commit_of(&name)? else { return Ok(None) };
        if !self.large_files(task, attempt)?.is_empty() {
            return Ok(None);
        }
        let story = Story { subject: format!("{task}: left by attempt {attempt}, {why}"), ..story };
        let commit = self.commit(&self.path(task, attempt), task, attempt, &base, &story)?;
        if commit == base {
            return Ok(None);
        }
        self.repository.create(&names::of_attempt(&self.run, task, attempt, Part::Lost), &commit)?;
        Ok(Some(commit))
    }

    /// The files that came to an attempt, or to an earlier one at its task, with a conflict that is still in a commit.
    pub(crate) fn open_conflicts(&self, task: &str, attempt: u32, commit: &str) -> Result<Vec<String>, Trouble> {
        let mut files = Vec::new();
        for attempt in 1..=attempt {
            let name = names::of_attempt(&self.run, task, attempt, Part::Base);
            let Some(base) = self.repository.commit_of(&name)? else { continue };
            for file in self.repository.conflicts_in(&base)? {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        self.repository.with_markers(commit, &files)
    }

    /// What an attempt was based on.
    fn base_of(&self, task: &str, attempt: u32) -> Result<Merged, Trouble> {
        let name = names::of_attempt(&self.run, task, attempt, Part::Base);
        let commit = self.repository.commit_of(&name)?;
        let commit = commit.ok_or_else(|| Trouble::Failed(format!("the ref {name} is gone")))?;
        Ok(Merged { conflicts: self.repository.conflicts_in(&commit)?, commit })
    }

    /// What is in a tree now, as an object.
    pub(crate) fn tree_of(&self, tree: &Path, task: &str, attempt: u32) -> Result<String, Trouble> {
        let folder = names::folder(task, attempt);
        let (name, home) = (format!("{folder}{INDEX}"), self.open_home()?);
        let index = self.own_index(&name)?;
        let call = Call { env: vec![in_index(&index)], work_tree: Some(tree), ..self.call() };
        if !home.has(&name) {
            let base = self.base_of(task, attempt)?;
            must(&self.repository.git, &call, &["read-tree", &base.commit])?;
        }
        let git = &self.repository.git;
        must_see(git, &call, &["add", "-A", "--sparse", "."])?;
        line(git, &call, &["write-tree"]).or_else(|_| {
            self.forget_times(&call, &self.base_of(task, attempt)?.commit)?;
            must_see(git, &call, &["add", "-A", "--sparse", "."])?;
            line(git, &call, &["write-tree"])
        })
    }

    /// Has the files that differ from a commit read again. Git notes them in the index before their content is at its place, and one that
    /// was killed in between, or could not write, leaves an index that names what is nowhere.
    fn forget_times(&self, call: &Call<'_>, base: &str) -> Result<(), Trouble> {
        let git = &self.repository.git;
        let out =
            must(git, call, &["diff-index", "--cached", "--raw", "-z", "--no-renames", "--diff-filter=AMT", base])?;
        let (mut entries, mut input) = (listed(&out).into_iter(), String::new());
        while let Some((entry, file)) = entries.next().zip(entries.next()) {
            let words: Vec<&str> = entry.split(' ').collect();
            if let [_, mode, _, content, _] = words[..] {
                input.push_str(&format!("{mode} {content}\t{file}\0"));
            }
        }
        must(git, &Call { input: &input, ..call.clone() }, &["update-index", "-z", "--index-info"]).map(drop)
    }

    fn commit(&self, tree: &Path, task: &str, attempt: u32, base: &str, story: &Story) -> Result<String, Trouble> {
        let repository = &self.repository;
        let files = self.tree_of(tree, task, attempt)?;
        let parent = self.agents_own(tree, base)?.unwrap_or_else(|| base.to_owned());
        if files == line(&repository.git, &repository.call(), &["rev-parse", &format!("{parent}^{{tree}}")])? {
            return Ok(parent);
        }
        let name = if story.role.is_empty() { "team-executor" } else { &story.role };
        let env = stamped(name, "team-executor@localhost", &story.seconds.to_string());
        let call = Call { env, ..repository.call() };
        line(
            &repository.git,
            &call,
            &["commit-tree", &files, "-p", &parent, "-m", &message(self, task, attempt, story)],
        )
    }

    /// The last commit that an agent made itself on top of its base, brought into the user's repository.
    fn agents_own(&self, tree: &Path, base: &str) -> Result<Option<String>, Trouble> {
        let repository = &self.repository;
        let own = tree.join(".git");
        if Dir::open(&own).is_err() {
            return Ok(None); // it removed its repository
        }
        let call = Call { git_dir: Some(&own), ..Call::default() };
        let Ok(Word::Yes(out)) = ask(&repository.git, &call, &["rev-parse", "--verify", "-q", "HEAD"]) else {
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&out).trim().to_owned();
        if head == base || !matches!(head.len(), 40 | 64) || !head.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        // Its objects are read where they are; its configuration is not.
        let borrowed = vec![("GIT_ALTERNATE_OBJECT_DIRECTORIES", own.join("objects").display().to_string())];
        let call = Call { env: borrowed, ..repository.call() };
        let Ok(Word::Yes(_)) = ask(&repository.git, &call, &["merge-base", "--is-ancestor", base, &head]) else {
            return Ok(None);
        };
        let pack = repository.common.join("objects/pack/pack").display().to_string();
        let wanted = format!("{head}\n^{base}\n");
        must(&repository.git, &Call { input: &wanted, ..call }, &["pack-objects", "-q", "--revs", &pack])?;
        Ok(Some(head))
    }
}

/// What the commit of an attempt says.
fn message(trees: &Trees, task: &str, attempt: u32, story: &Story) -> String {
    let plain =
        |text: &str| text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect::<String>();
    let one = |text: &str| plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = one(&story.subject);
    if !story.findings.trim().is_empty() {
        text.push_str("\n\n");
        text.push_str(plain(&story.findings).trim());
    }
    text.push_str(&format!("\n\nTask: {}\nAttempt: {attempt}\n", one(task)));
    for (key, value) in [("Role", &story.role), ("Agent", &story.agent), ("Run", &trees.name)] {
        if !value.is_empty() {
            text.push_str(&format!("{key}: {}\n", one(value)));
        }
    }
    text
}
