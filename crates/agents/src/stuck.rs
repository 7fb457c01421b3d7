//! Keepers of an earlier executor that do not end. One may have been stopped: it is woken, and ends its worker. One that does
//! not end then is killed with all that is in its cgroup; what else it leaves is swept up later.
//!
//! A keeper is known by what it is and has, never by a number that was stored: it has its ledger open.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::cgroup::Cgroup;
use crate::keeper::ARGUMENT;
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
        let cgroup = Cgroup::of(processes::number(pid));
        let _gone_already = pidfd_send_signal(held, Signal::KILL);
        if let Some(cgroup) = cgroup {
            cgroup.kill()?;
        }
    }
    Ok(())
}

/// The processes that are the keeper of a ledger, held by descriptors. There is one at most.
fn keepers(ledger: &Path) -> Vec<(Pid, OwnedFd)> {
    let Ok(file) = fs::metadata(ledger) else { return Vec::new() };
    let found = processes::all().into_iter().filter(|process| !process.ended);
    let held = found.filter_map(|process| Some((process.pid, pidfd_open(process.pid, PidfdFlags::empty()).ok()?)));
    held.filter(|(pid, _)| is_keeper(*pid) && has_open(*pid, &file)).collect()
}

fn is_keeper(pid: Pid) -> bool {
    let words = fs::read(format!("/proc/{}/cmdline", processes::number(pid))).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(ARGUMENT.as_bytes())
}

fn has_open(pid: Pid, file: &fs::Metadata) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", processes::number(pid))).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    files.any(|open| (open.dev(), open.ino()) == (file.dev(), file.ino()))
}
