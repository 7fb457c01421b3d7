//! Logs that several processes append to: whole lines, one write each, one writer at a time. Nothing that is
//! there is ever changed. A line that another writer left unfinished is closed first, so that it costs only
//! itself.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rustix::io::Errno;

use crate::disk::{Disk as _, DiskError, retried};
use crate::lock::{Lock, LockError};
use crate::real_disk::{RealDisk, RealFile};

/// How long a writer waits for its turn. Each has it for about a millisecond.
pub const TURN: Duration = Duration::from_secs(30);

/// The turn to append to the logs of a folder, for as long as this lives. The file of the lock stays.
#[derive(Debug)]
pub struct Turn {
    _lock: Lock<RealFile>,
}

impl Turn {
    /// Waits so long for the turn.
    pub fn take(folder: &RealDisk, patience: Duration) -> Result<Self, LockError> {
        Lock::take(folder, LOCK, patience).map(|lock| Self { _lock: lock })
    }
}

/// A log that is open for appending.
#[derive(Debug)]
pub struct Log {
    file: File,
    name: String,
}

impl Log {
    /// Opens a log, or makes one that only its owner may read. No one else appends while the turn lasts.
    pub fn open(folder: &RealDisk, name: &str, _turn: &Turn) -> Result<Self, DiskError> {
        let file = folder.append_file(name).map_err(DiskError::when("open", name))?;
        Ok(Self { file, name: name.to_owned() })
    }

    /// How long it is.
    pub fn length(&self) -> Result<u64, DiskError> {
        let stat = rustix::fs::fstat(&self.file).map_err(DiskError::when("look at", &self.name))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Its last bytes, at most so many.
    pub fn end(&self, most: u64) -> Result<Vec<u8>, DiskError> {
        let length = self.length()?;
        let start = length.saturating_sub(most);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        let read = self.file.read_exact_at(&mut bytes, start);
        read.map_err(|error| self.failed("read")(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        Ok(bytes)
    }

    /// Appends whole lines in one write. A write that the disk cuts short is an error, and the next writer closes its line.
    pub fn append(&mut self, lines: &str) -> Result<(), DiskError> {
        let torn = self.end(1)?.first().is_some_and(|last| *last != b'\n');
        let bytes = if torn { format!("\n{lines}").into_bytes() } else { lines.as_bytes().to_vec() };
        let write = || (&self.file).write(&bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        match retried(write) {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(_) => Err(self.failed("append all to")(Errno::NOSPC)),
            Err(errno) => Err(self.failed("append to")(errno)),
        }
    }

    /// Makes durable what was appended, and that there is such a log in the folder.
    pub fn sync(&self, folder: &RealDisk) -> Result<(), DiskError> {
        retried(|| rustix::fs::fdatasync(&self.file)).map_err(self.failed("sync"))?;
        folder.sync_folder().map_err(self.failed("sync the folder of"))
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(Errno) -> DiskError {
        DiskError::when(action, &self.name)
    }
}

/// In the folder of the logs.
const LOCK: &str = ".lock";

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        (dir, disk)
    }

    fn append(disk: &RealDisk, lines: &str) {
        let turn = Turn::take(disk, TURN).expect("a turn");
        Log::open(disk, "log", &turn).expect("a log").append(lines).expect("appended");
    }

    #[test]
    fn lines_of_many_writers_are_whole_and_none_is_lost() {
        let (dir, _disk) = world();
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
                std::thread::spawn(move || (0..20).for_each(|line| append(&disk, &format!("{writer} {line}\n"))))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("it ends"));
        let text = std::fs::read_to_string(dir.path().join("log")).expect("text");
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!((lines.len(), text.lines().count()), (160, 160));
    }

    #[test]
    fn a_line_that_was_left_unfinished_is_closed_first() {
        let (dir, disk) = world();
        std::fs::write(dir.path().join("log"), b"{\"torn\xE6").expect("written");
        append(&disk, "a\n");
        append(&disk, "b\n");
        assert_eq!(std::fs::read(dir.path().join("log")).expect("bytes"), b"{\"torn\xE6\na\nb\n");
        let turn = Turn::take(&disk, TURN).expect("a turn");
        let log = Log::open(&disk, "log", &turn).expect("a log");
        assert_eq!((log.length(), log.end(3)), (Ok(12), Ok(b"\nb\n".to_vec())));
        assert_eq!(log.end(99).map(|bytes| bytes.len()), Ok(12));
    }

    #[test]
    fn append_refuses_other_than_files() {
        let (dir, disk) = world();
        std::fs::write(dir.path().join("precious"), "mine").expect("written");
        std::os::unix::fs::symlink("precious", dir.path().join("link")).expect("a link");
        std::fs::create_dir(dir.path().join("folder")).expect("a folder");
        let turn = Turn::take(&disk, TURN).expect("a turn");
        for name in ["link", "folder", "../x"] {
            assert!(Log::open(&disk, name, &turn).is_err(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("precious")).expect("text"), "mine");
    }
}
