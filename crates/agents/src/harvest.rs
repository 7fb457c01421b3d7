//! What an executor finds of an attempt that an earlier one started: the lock says whether anything may still live, and
//! only when nothing does is the outcome read.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::attempt::{EXIT, LOCK};
use crate::exit::Exit;

/// How often a lock is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// What is left of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Harvest {
    /// Its keeper lives: no second worker may be started.
    Running,
    /// It ended, and this is how.
    Ended(Box<Exit>),
    /// There is no outcome that can be believed.
    Nothing,
}

/// Looks at the folder of an attempt.
pub fn harvest(dir: &Path, key: &str) -> io::Result<Harvest> {
    if is_held(dir)? {
        return Ok(Harvest::Running);
    }
    let bytes = match fs::read(dir.join(EXIT)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Harvest::Nothing),
        Err(error) => return Err(error),
    };
    let exit = str::from_utf8(&bytes).ok().and_then(Exit::from_text).filter(|exit| exit.key == key);
    Ok(exit.map_or(Harvest::Nothing, |exit| Harvest::Ended(Box::new(exit))))
}

/// Waits until the keeper of an attempt is gone; false if it still lives when the time is over.
pub fn wait_dead(dir: &Path, timeout: Duration) -> io::Result<bool> {
    let until = Instant::now().checked_add(timeout);
    while is_held(dir)? {
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(false);
        }
        thread::sleep(GLANCE);
    }
    Ok(true)
}

/// Whether a keeper has the attempt.
fn is_held(dir: &Path) -> io::Result<bool> {
    let lock = match File::open(dir.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Attempt;
    use crate::exit::Ended;

    #[test]
    fn the_lock_comes_first_then_the_outcome() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(harvest(dir.path(), "k").unwrap(), Harvest::Nothing);
        let attempt = Attempt::take(dir.path()).unwrap();
        let exit = Exit::without_run("k", Ended::Exit(0), 5);
        attempt.record(&exit, false).unwrap();
        assert_eq!(harvest(dir.path(), "k").unwrap(), Harvest::Running);
        assert!(!wait_dead(dir.path(), Duration::ZERO).unwrap());
        drop(attempt);
        assert!(wait_dead(dir.path(), Duration::ZERO).unwrap());
        assert_eq!(harvest(dir.path(), "k").unwrap(), Harvest::Ended(Box::new(exit)));
        assert_eq!(harvest(dir.path(), "other").unwrap(), Harvest::Nothing);
    }

    #[test]
    fn half_an_outcome_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let text = Exit::without_run("k", Ended::Exit(0), 5).to_text().unwrap();
        for half in ["", &text[..text.len() / 2], "\u{0}\u{0}"] {
            fs::write(dir.path().join(EXIT), half).unwrap();
            assert_eq!(harvest(dir.path(), "k").unwrap(), Harvest::Nothing, "{half:?}");
        }
        fs::write(dir.path().join(EXIT), [0xff, 0xfe]).unwrap();
        assert_eq!(harvest(dir.path(), "k").unwrap(), Harvest::Nothing);
    }
}
