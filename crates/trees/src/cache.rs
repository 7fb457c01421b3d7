//! Folders of builds and dependencies, which git ignores: a tree takes them over from one that needs them no longer. They are moved, which
//! costs nothing on any file system, so there are never more copies than trees at work.

use rustix::io::Errno;
use team_executor_agents::git::Call;

use crate::git::{Trouble, Word, ask, listed};
use crate::names;
use crate::tree::{INDEX, Trees, in_index};

/// What says which dependencies a project has. Where one of them differs, its folders are another project's.
const LOCK_FILES: [&str; 15] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
];

/// An attempt that is over, and whose commit is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Donor {
    /// Its task.
    pub task: String,
    /// Which attempt at it.
    pub attempt: u32,
    /// Its result.
    pub commit: String,
}

impl Trees {
    /// Moves the folders that trees share one after the other into the tree of an attempt, each from the first of these that has
    /// it and the same lock files. Says which ones; nothing may run in these trees any more.
    pub fn take_over(
        &self,
        (task, attempt): (&str, u32),
        base: &str,
        donors: &[Donor],
    ) -> Result<Vec<String>, Trouble> {
        let folder = names::folder(task, attempt);
        let wanted = if donors.is_empty() { Vec::new() } else { self.wanted(&folder)? };
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let (home, mut taken) = (self.open_home()?, Vec::new());
        for donor in donors {
            let from = names::folder(&donor.task, donor.attempt);
            let left: Vec<&String> = wanted.iter().filter(|cache| !taken.contains(*cache)).collect();
            let has_some = |cache: &&&String| home.has_dir(&format!("{from}/{cache}"));
            let there: Vec<&&String> = left.iter().filter(has_some).collect();
            if there.is_empty() || from == folder || !self.has_same_locks(base, &donor.commit)? {
                continue;
            }
            for cache in there {
                match home.rename_new(&format!("{from}/{cache}"), &format!("{folder}/{cache}")) {
                    Ok(()) => taken.push((*cache).clone()),
                    // Another tree was quicker.
                    Err(Errno::NOENT | Errno::EXIST) => {}
                    Err(errno) => return Err(self.failed("move into", &folder, errno)),
                }
            }
        }
        Ok(taken)
    }

    /// The folders that a tree lacks, and that git ignores in it: others would be committed.
    fn wanted(&self, folder: &str) -> Result<Vec<String>, Trouble> {
        let path = self.home.join(folder);
        let home = self.open_home()?;
        let whole = |cache: &String| format!("{}{cache}", self.repository.prefix);
        let can_hold = |cache: &String| {
            let parent = cache.rsplit_once('/').map_or(folder.to_owned(), |(parent, _)| format!("{folder}/{parent}"));
            !home.has(&format!("{folder}/{cache}")) && home.has_dir(&parent)
        };
        let lacking = self.extras.cache.iter().map(whole).filter(can_hold);
        let input: String = lacking.map(|cache| format!("{cache}/\0")).collect();
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let index = self.home.join(format!("{folder}{INDEX}"));
        let call = Call { env: vec![in_index(&index)], work_tree: Some(&path), input: &input, ..self.call() };
        Ok(match ask(&self.repository.git, &call, &["check-ignore", "-z", "--stdin"])? {
            Word::Yes(out) => listed(&out).into_iter().map(|cache| cache.trim_end_matches('/').to_owned()).collect(),
            Word::No(_) => Vec::new(),
        })
    }

    fn has_same_locks(&self, one: &str, other: &str) -> Result<bool, Trouble> {
        let patterns = LOCK_FILES.map(|name| format!(":(top,glob)**/{name}"));
        let mut command = vec!["diff-tree", "-r", "--quiet", one, other, "--"];
        command.extend(patterns.iter().map(String::as_str));
        Ok(matches!(ask(&self.repository.git, &self.repository.call(), &command)?, Word::Yes(_)))
    }
}
