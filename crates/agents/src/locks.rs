//! Which processes hold files locked, as `/proc/locks` shows it at one moment. Everybody may read that, also about a process
//! whose open files they may not see.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::process::Pid;

use crate::keeper::ARGUMENT;

/// A file that one process holds locked for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// The process that took the lock.
    pub(crate) by: i32,
    device: (u32, u32),
    inode: u64,
}

/// Everything that is locked now. Processes that cannot be seen from here are left out.
pub(crate) fn all() -> Vec<Held> {
    let locks = fs::read("/proc/locks").unwrap_or_default();
    String::from_utf8_lossy(&locks).lines().filter_map(parse).collect()
}

impl Held {
    /// Whether a keeper holds this file as its ledger: it has the lock, and its command line names the file. Numbers of
    /// devices differ between the lock and the file on some file systems, so the command line decides there.
    pub(crate) fn is_ledger(&self, file: &rustix::fs::Stat) -> bool {
        if self.inode != file.st_ino {
            return false;
        }
        let Some(named) = ledger_of(self.by) else { return false };
        let device = (rustix::fs::major(file.st_dev), rustix::fs::minor(file.st_dev));
        let same = rustix::fs::stat(&named).is_ok_and(|it| (it.st_dev, it.st_ino) == (file.st_dev, file.st_ino));
        same || self.device == device
    }

    /// The process that took the lock.
    pub(crate) fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.by)
    }
}

/// The ledger that the command line of a keeper names.
fn ledger_of(pid: i32) -> Option<PathBuf> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).skip(1);
    let is_keeper = words.next()? == ARGUMENT.as_bytes();
    let ledger = words.next().filter(|_| is_keeper)?;
    Some(OsStr::from_bytes(ledger).into())
}

/// Reads `1: FLOCK  ADVISORY  WRITE 812 fe:00:4711 0 EOF`. A line with `->` is about a process that waits.
fn parse(line: &str) -> Option<Held> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if (words.next()?, words.next()?, words.next()?) != ("FLOCK", "ADVISORY", "WRITE") {
        return None;
    }
    let by = words.next()?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let major = u32::from_str_radix(file.next()?, 16).ok()?;
    let minor = u32::from_str_radix(file.next()?, 16).ok()?;
    Some(Held { by, device: (major, minor), inode: file.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::number;

    #[test]
    fn locks_are_read_and_waiters_are_not() {
        let held = Held { by: 812, device: (0xfe, 0), inode: 4711 };
        assert_eq!(parse("1: FLOCK  ADVISORY  WRITE 812 fe:00:4711 0 EOF"), Some(held));
        for line in [
            "1: -> FLOCK  ADVISORY  WRITE 812 fe:00:4711 0 EOF",
            "2: FLOCK  ADVISORY  READ 812 fe:00:4711 0 EOF",
            "3: POSIX  ADVISORY  WRITE 812 fe:00:4711 0 EOF",
            "4: FLOCK  ADVISORY  WRITE x fe:00:4711 0 EOF",
            "",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn lock_of_this_process_is_shown_but_is_no_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::File::create(dir.path().join("ledger")).unwrap();
        file.lock().unwrap();
        let found = rustix::fs::fstat(&file).unwrap();
        let me = number(rustix::process::getpid());
        let held = all().into_iter().find(|held| held.by == me && held.inode == found.st_ino);
        assert!(!held.unwrap().is_ledger(&found), "this process is not a keeper");
    }
}
