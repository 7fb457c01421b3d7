//! Keepers of an earlier executor that do not end. One may have been stopped: it is woken, and ends its worker. One that does
//! not end then is killed with all that is in its cgroup; what else it leaves is swept up later.
//!
//! A keeper is known by what it is and has, never by a number that was stored: it has its ledger locked.
//! The kernel says so of every process, also of one whose open files are hidden.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use team_executor_beneath::ours;

use crate::cgroup::Cgroup;
use crate::locks::{self, Held};
use crate::processes;

/// Lets the keeper of a ledger go on if something has stopped it.
pub(crate) fn wake(ledger: &Path) {
    for (_, held) in keepers(ledger) {
        let _gone_already = pidfd_send_signal(held, Signal::CONT);
    }
}

/// Kills the keeper of a ledger, and what is in its cgroup.
pub(crate) fn kill(ledger: &Path) -> io::Result<()> {
    for (pid, held) in keepers(ledger) {
        // It cannot have left it: it is still the one that has the ledger.
        let cgroup = Cgroup::from_pid(processes::number(pid));
        let _gone_already = pidfd_send_signal(held, Signal::KILL);
        if let Some(cgroup) = cgroup {
            cgroup.kill()?;
        }
    }
    Ok(())
}

/// The processes that are the keeper of a ledger, held by descriptors. There is one at most.
fn keepers(ledger: &Path) -> Vec<(Pid, OwnedFd)> {
    let Ok(file) = ours::look_at(ledger) else { return Vec::new() };
    let has_it = |held: &Held| held.is_ledger(&file);
    let found = locks::all().into_iter().filter(has_it).filter_map(|held| held.pid());
    let held = found.filter_map(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?)));
    // Its number may have been given away before it was held.
    let still = |pid: Pid| locks::all().iter().any(|held| held.pid() == Some(pid) && has_it(held));
    held.filter(|(pid, _)| still(*pid)).collect()
}
