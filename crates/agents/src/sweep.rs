//! Ending what a keeper could not end any more because it was killed itself.
//!
//! The processes of an attempt are known by their cgroup, by the mark in their environment and by their parents. One that left
//! its cgroup, cleared its environment and lost its parents is a child of the executor, if that lives; else it is not found.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crate::environment::ATTEMPT;
use crate::processes;

/// How often the table of processes is searched at most; each time finds what the last one set free.
const ROUNDS: usize = 200;

/// Ends the processes that carry the mark of one of these attempts, and those below them.
pub(crate) fn sweep_marked(keys: &BTreeSet<&str>) -> io::Result<usize> {
    if keys.is_empty() {
        return Ok(0);
    }
    // One that was killed may still be seen the next time.
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let marked = marked(keys);
        if marked.is_empty() {
            return Ok(killed.len());
        }
        let hit = marked.into_iter().filter(|process| kill(*process, keys));
        killed.extend(hit.map(|(pid, _)| processes::number(pid)));
        thread::sleep(Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// A process of the attempt: its number, and whose child it was if it has no mark of its own.
type Found = (Pid, Option<i32>);

fn marked(keys: &BTreeSet<&str>) -> Vec<Found> {
    let live: Vec<_> =
        processes::all().into_iter().filter(|process| !process.ended && process.pid != getpid()).collect();
    let roots: Vec<_> = live.iter().map(|process| process.pid).filter(|pid| has_mark(*pid, keys)).collect();
    let below = processes::descendants(&live, &roots);
    let unmarked = live.iter().filter(|process| below.contains(&processes::number(process.pid)));
    let unmarked = unmarked.filter(|process| !roots.contains(&process.pid));
    let unmarked = unmarked.map(|process| (process.pid, Some(process.parent)));
    // Children first: without their parents they could not be recognised any more.
    unmarked.chain(roots.iter().map(|pid| (*pid, None))).collect()
}

/// Kills a process if it is still the one that was found: the descriptor holds it while we look again.
fn kill((pid, parent): Found, keys: &BTreeSet<&str>) -> bool {
    let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let same = match parent {
        None => has_mark(pid, keys),
        Some(parent) => processes::one(processes::number(pid)).is_some_and(|now| now.parent == parent),
    };
    same && pidfd_send_signal(&held, Signal::KILL).is_ok()
}

fn has_mark(pid: Pid, keys: &BTreeSet<&str>) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", processes::number(pid)));
    let key = |entry: &[u8]| {
        let key = entry.strip_prefix(ATTEMPT.as_bytes())?.strip_prefix(b"=")?;
        std::str::from_utf8(key).ok().map(|key| keys.contains(key))
    };
    environ.is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| key(entry) == Some(true)))
}
