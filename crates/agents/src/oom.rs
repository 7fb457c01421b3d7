//! When memory runs out, the kernel should end a worker, which is tried again, and not the keeper that answers for it.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

/// What a process is worth to the kernel, which its children inherit.
const SCORE: &str = "/proc/self/oom_score_adj";
/// How much rather than its keeper a worker is ended, in thousandths of all memory.
const MORE: i32 = 200;
/// The most that the kernel takes.
const MOST: i32 = 1000;

/// This process's own score, which is raised while a child begins. That is far cheaper than to open the child's.
#[derive(Debug)]
pub(crate) struct Score {
    file: File,
    own: String,
    raised: String,
}

impl Score {
    /// Nothing where the score cannot be raised and lowered again.
    pub(crate) fn open() -> Option<Self> {
        let own: i32 = fs::read_to_string(SCORE).ok()?.trim().parse().ok()?;
        let file = File::options().write(true).open(SCORE).ok()?;
        let score = Self { file, own: own.to_string(), raised: own.saturating_add(MORE).min(MOST).to_string() };
        (score.set(&score.raised) && score.set(&score.own)).then_some(score)
    }

    /// Starts a process, which with all that it will start is the one to end before this one.
    pub(crate) fn raised<T>(&self, start: impl FnOnce() -> T) -> T {
        let _it_was_possible = self.set(&self.raised);
        let started = start();
        let _it_was_possible = self.set(&self.own);
        started
    }

    fn set(&self, score: &str) -> bool {
        self.file.write_all_at(score.as_bytes(), 0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_ended_before_its_parent() {
        let score = |pid: &str| -> i32 {
            fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse().unwrap()
        };
        let own = score("self");
        let start = || Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let mut child = Score::open().unwrap().raised(start);
        assert_eq!((score("self"), score(&child.id().to_string())), (own, (own + MORE).min(MOST)));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
