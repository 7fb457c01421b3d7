//! The folder of one attempt, as its keeper uses it: a lock that is held while any process of the worker may live, what
//! was started, the logs, and how it ended.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// Held by the keeper as long as any process of the worker may live. It is never removed.
pub(crate) const LOCK: &str = "live.lock";
/// Who keeps the worker.
pub(crate) const STARTED: &str = "started.json";
/// How it ended.
pub(crate) const EXIT: &str = "exit.json";
/// What it printed.
pub(crate) const OUT: &str = "out.log";
/// What it complained about.
pub(crate) const ERR: &str = "err.log";

/// Someone who only looks holds the lock for an instant.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// What is known before the worker runs, so that it can be ended when its keeper is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    /// Of the attempt.
    pub(crate) key: String,
    /// The keeper's process, to be shown only.
    pub(crate) keeper: u32,
    /// The cgroup that all of its processes are in.
    pub(crate) cgroup: Option<PathBuf>,
}

/// The folder of an attempt that is ours alone.
#[derive(Debug)]
pub(crate) struct Attempt {
    dir: PathBuf,
    _lock: File,
}

impl Attempt {
    /// Takes a folder that was not used before.
    pub(crate) fn take(dir: &Path) -> io::Result<Self> {
        let lock = options().append(true).create(true).open(dir.join(LOCK))?;
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::WouldBlock) => return Err(io::Error::other("another keeper has this attempt")),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        if [EXIT, STARTED].iter().any(|name| dir.join(name).exists()) {
            return Err(io::Error::other("this attempt was made before"));
        }
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    /// Writes down who keeps the worker.
    pub(crate) fn begin(&self, started: &Started) -> io::Result<()> {
        self.replace(STARTED, &serde_json::to_vec(started)?, false)
    }

    /// A new log.
    pub(crate) fn log(&self, name: &str) -> io::Result<File> {
        options().write(true).create_new(true).open(self.dir.join(name))
    }

    /// Writes down how it ended. When this returns and `durable` was asked for, no power cut takes it back.
    pub(crate) fn record(&self, exit: &Exit, durable: bool) -> io::Result<()> {
        self.replace(EXIT, exit.to_text()?.as_bytes(), durable)
    }

    fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let temporary = temporary(&self.dir, name);
        let mut file = options().write(true).create(true).truncate(true).open(&temporary)?;
        file.write_all(bytes)?;
        if durable {
            file.sync_all()?;
        }
        fs::rename(&temporary, self.dir.join(name))?;
        if durable {
            File::open(&self.dir)?.sync_all()?;
        }
        Ok(())
    }
}

/// Removes what a keeper that was killed had not finished writing.
pub(crate) fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for name in [STARTED, EXIT] {
        match fs::remove_file(temporary(dir, name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn temporary(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.tmp"))
}

/// Files of an attempt are for its owner only.
fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Ended;

    #[test]
    fn a_folder_serves_one_attempt_only() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = Attempt::take(dir.path()).unwrap();
        attempt.begin(&Started { key: "k".into(), keeper: 1, cgroup: None }).unwrap();
        drop(attempt);
        assert_eq!(Attempt::take(dir.path()).unwrap_err().to_string(), "this attempt was made before");
    }

    #[test]
    fn a_log_that_is_there_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let attempt = Attempt::take(dir.path()).unwrap();
        drop(attempt.log(OUT).unwrap());
        assert_eq!(attempt.log(OUT).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_was_not_finished_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for name in [LOCK, STARTED, "exit.json.tmp", "started.json.tmp"] {
            fs::write(dir.path().join(name), "{").unwrap();
        }
        remove_unfinished(dir.path()).unwrap();
        remove_unfinished(dir.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [LOCK, STARTED]);
    }

    #[test]
    fn what_is_recorded_is_whole_and_private_and_leaves_nothing_else() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let attempt = Attempt::take(dir.path()).unwrap();
        let exit = Exit::without_run("k", Ended::Exit(0), 5);
        attempt.record(&exit, true).unwrap();
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [EXIT, LOCK]);
        let path = dir.path().join(EXIT);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Exit::from_text(&fs::read_to_string(path).unwrap()), Some(exit));
    }
}
