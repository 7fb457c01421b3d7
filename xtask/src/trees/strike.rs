//! What strikes while a session runs.

use std::fmt;
use std::time::Duration;

use crate::crash::chance::Chance;

/// The longest time between a start and a kill.
const LONGEST_MS: u64 = 1_200;
/// A strike at a call of git is at one of so many after the start.
const CALLS: u64 = 40;
/// One at a system call of git is at one of so many of its sort.
const SYSTEM_CALLS: u64 = 24;
/// Sorts of system calls, and what they say when they fail.
const SORTS: [(&str, &[&str]); 10] = [
    ("write", &["EIO", "ENOSPC"]),
    ("openat", &["EIO", "EMFILE", "ENOSPC"]),
    ("fsync,fdatasync", &["EIO"]),
    ("?rename,renameat,renameat2", &["EIO", "ENOSPC"]),
    ("?link,linkat", &["EIO", "ENOSPC"]),
    ("?mkdir,mkdirat", &["ENOSPC"]),
    ("?unlink,unlinkat", &["EIO"]),
    ("read,pread64", &["EIO", "EINTR"]),
    ("getdents64", &["EIO"]),
    ("?lstat,newfstatat", &["EIO"]),
];

/// One thing that goes wrong.
#[derive(Debug)]
pub(crate) enum Strike {
    /// Nothing does.
    None,
    /// The executor, a keeper or both are killed after a while.
    Time { delay: Duration, executor: bool, keeper: bool },
    /// The executor is killed before or after a call of git.
    Call { nth: u64, is_before: bool },
    /// A system call of a call of git fails, or kills it.
    System { nth: u64, calls: &'static str, fault: String },
}

impl Strike {
    /// One of them.
    pub(crate) fn by_chance(chance: &mut Chance) -> Self {
        let delay = Duration::from_millis(chance.below(LONGEST_MS));
        let nth = chance.below(CALLS) + 1;
        match chance.below(8) {
            0 => Self::Time { delay, executor: true, keeper: false },
            1 => Self::Time { delay, executor: false, keeper: true },
            2 => Self::Time { delay, executor: true, keeper: true },
            3 => Self::Call { nth, is_before: true },
            4 => Self::Call { nth, is_before: false },
            kind => {
                let (calls, errors) = SORTS[chance.index(SORTS.len())];
                // The first ones are tried more often: not every call of git has many.
                let most = chance.below(SYSTEM_CALLS) + 1;
                let when = chance.below(most) + 1;
                let how = match kind {
                    5 => "signal=KILL".to_owned(),
                    _ => format!("error={}", errors[chance.index(errors.len())]),
                };
                Self::System { nth, calls, fault: format!("{calls}:{how}:when={when}") }
            }
        }
    }
}

/// What was done in all runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    executor: u64,
    keeper: u64,
    both: u64,
    at_call: u64,
    git: u64,
    faults: u64,
    /// Strikes for which the session was over too soon, or that found no such call.
    missed: u64,
    pub(crate) resumes: u64,
    pub(crate) starts: usize,
}

impl Tally {
    pub(crate) fn note(&mut self, strike: &Strike, has_struck: bool) {
        let of = match strike {
            Strike::None => return,
            _ if !has_struck => &mut self.missed,
            Strike::Time { executor: true, keeper: true, .. } => &mut self.both,
            Strike::Time { executor: true, .. } => &mut self.executor,
            Strike::Time { .. } => &mut self.keeper,
            Strike::Call { .. } => &mut self.at_call,
            Strike::System { fault, .. } if fault.contains("signal=") => &mut self.git,
            Strike::System { .. } => &mut self.faults,
        };
        *of += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, keeper, both, at_call, git, faults, missed, resumes, starts } = self;
        write!(
            f,
            "kill -9 of the executor {executor} times by the clock and {at_call} at a call of git, of a keeper {keeper}, of both {both}, \
             of git within a call {git}; {faults} failed system calls of git; {missed} strikes missed; {resumes} resumes, \
             {starts} workers started"
        )
    }
}
