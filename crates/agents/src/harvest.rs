//! What an executor finds of the keepers of earlier ones: a lock says whether a keeper may still live, and only when none
//! does are their ledgers read.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use team_executor_beneath::{io_error, open_ours, open_regular, ours};

use crate::cgroup::Cgroup;
use crate::exit::Exit;
use crate::keeper::{complete, remove_left};
use crate::ledger::{Entry, entries, is_original};
use crate::stuck;
use crate::sweep::sweep_marked;

/// How often a lock is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// After how many looks a keeper that may have been stopped is woken, each time.
const LOOKS: usize = 200;

/// How long a keeper that was killed may take to be gone.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// The remains of keepers that are gone.
#[derive(Debug, Default)]
pub struct Harvest {
    ledgers: Vec<PathBuf>,
    attempts: BTreeMap<String, Left>,
    /// What the last folder of each was called.
    folders: Vec<String>,
}

/// What is known of one attempt.
#[derive(Debug, Default)]
struct Left {
    cgroup: Option<PathBuf>,
    /// What the folder is called that it delivered to.
    folder: Option<String>,
    exit: Option<Exit>,
    /// Its keeper wrote down that nothing of it is left.
    is_gone: bool,
    /// Its keeper wrote that into a ledger which is here.
    is_from_here: bool,
}

impl Harvest {
    /// The same as [`Harvest::gather`], but keepers do not have their way: one that was stopped is woken, and one that still
    /// lives when the time is over is killed. Nothing only if one cannot be killed.
    pub fn insist(folder: &Path, keys: &[String], patience: Duration) -> io::Result<Option<Self>> {
        let until = Instant::now().checked_add(patience);
        for ledger in list(folder)? {
            let mut looks = 0;
            while is_held(&ledger)? {
                if until.is_some_and(|until| Instant::now() >= until) {
                    stuck::kill(&ledger)?;
                    break;
                }
                looks += 1;
                if looks % LOOKS == 0 {
                    stuck::wake(&ledger); // not before: it looks at all processes, and most keepers end at once
                }
                thread::sleep(GLANCE);
            }
        }
        Self::gather(folder, keys, LAST_PATIENCE)
    }

    /// Waits until every keeper with a ledger in this folder is gone, and reads what the ledgers say of these attempts.
    /// Nothing if one still lives when the time is over.
    pub fn gather(folder: &Path, keys: &[String], patience: Duration) -> io::Result<Option<Self>> {
        let until = Instant::now().checked_add(patience);
        let mut ledgers = list(folder)?;
        ledgers.sort();
        for ledger in &ledgers {
            while is_held(ledger)? {
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(None);
                }
                thread::sleep(GLANCE);
            }
        }
        let mut attempts: BTreeMap<String, Left> = keys.iter().map(|key| (key.clone(), Left::default())).collect();
        let mut folders = Vec::new();
        for ledger in &ledgers {
            let (mut file, mut bytes) = (open_regular(ledger)?, Vec::new());
            file.read_to_end(&mut bytes)?;
            let is_from_here = is_original(&bytes, &file.metadata()?);
            let mut last = None;
            for entry in entries(&bytes) {
                if let Entry::Started { folder: Some(folder), .. } = &entry {
                    last = Some(folder.clone());
                }
                let Some(left) = attempts.get_mut(entry.key()) else { continue };
                left.is_from_here |= is_from_here;
                match entry {
                    Entry::Started { cgroup, folder, .. } => (left.cgroup, left.folder) = (cgroup, folder),
                    Entry::Exited(exit) => left.exit = Some(exit),
                    Entry::Ended(exit) => (left.exit, left.is_gone) = (Some(exit), true),
                }
            }
            folders.extend(last);
        }
        Ok(Some(Self { ledgers, attempts, folders }))
    }

    /// How an attempt ended, if its keeper wrote that down.
    pub fn exit(&self, key: &str) -> Option<&Exit> {
        self.attempts.get(key)?.exit.as_ref()
    }

    /// Whether the keeper of an attempt wrote down that nothing of it is left. Anything else is to be [swept](Harvest::sweep).
    pub fn is_gone(&self, key: &str) -> bool {
        self.attempts.get(key).is_some_and(|left| left.is_gone)
    }

    /// Whether the keeper of an attempt belonged to the run that its ledger is found in, and not to one that this is a copy of.
    pub fn is_from_here(&self, key: &str) -> bool {
        self.attempts.get(key).is_some_and(|left| left.is_from_here)
    }

    /// Ends what is left of attempts whose keepers were killed, and says how many processes that were. All processes of
    /// the machine are looked at, once for all attempts.
    pub fn sweep(&self, keys: &[&str]) -> io::Result<usize> {
        let mut count = 0;
        for cgroup in keys.iter().filter_map(|key| Cgroup::named(self.attempts.get(*key)?.cgroup.as_ref()?)) {
            count += cgroup.kill()?;
            cgroup.remove()?;
        }
        Ok(count + sweep_marked(&keys.iter().copied().collect())?)
    }

    /// Does what keepers had no time for that were killed after their workers had ended: counts what these delivered into
    /// their folders, and makes it durable. Nothing of them may live any more. Where these folders are, each attempt is asked.
    pub fn complete<'p>(&mut self, artifacts: impl Fn(&str) -> Option<&'p Path>) {
        for (key, left) in self.attempts.iter_mut().filter(|(_, left)| !left.is_gone) {
            if let (Some(exit), Some(folder), Some(artifacts)) = (&mut left.exit, &left.folder, artifacts(key)) {
                complete(exit, &artifacts.join(folder));
            }
        }
    }

    /// Removes the empty folders that keepers which were killed left among those of their tasks.
    pub fn remove_empty_folders(&self, artifacts: &Path) {
        self.folders.iter().for_each(|folder| remove_left(&artifacts.join(folder)));
    }

    /// Removes the ledgers. Everything that they say must be durable elsewhere.
    pub fn forget(self) -> io::Result<()> {
        self.ledgers.iter().try_for_each(|ledger| ours::remove(ledger))
    }
}

/// Every ledger in a folder. Nothing but a regular file is one.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = match open_ours(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folder => folder?,
    };
    let names = folder.list().map_err(io_error)?.into_iter().filter(|name| folder.has_file(name));
    Ok(names.map(|name| folder.whole(&name)).collect())
}

/// Whether a keeper has the ledger.
fn is_held(ledger: &Path) -> io::Result<bool> {
    match open_regular(ledger)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Ended;
    use crate::ledger::Ledger;

    #[test]
    fn harvest_locks_then_reads_then_removes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        let keys = ["k".to_owned(), "lost".to_owned()];
        let mut ledger = Ledger::create(&folder.join("1-0")).unwrap();
        for key in ["other", "k"] {
            ledger.note(&Entry::Ended(Exit::without_run(key, Ended::Exit(0), 5))).unwrap();
        }
        assert!(Harvest::gather(folder, &keys, Duration::ZERO).unwrap().is_none());
        drop(ledger);
        // A child that another test has just begun may hold it until it is a program of its own.
        let harvest = Harvest::gather(folder, &keys, LAST_PATIENCE).unwrap().unwrap();
        assert_eq!(harvest.exit("k").map(|exit| &exit.ended), Some(&Ended::Exit(0)));
        assert_eq!((harvest.exit("lost"), harvest.exit("other")), (None, None));
        assert_eq!(harvest.sweep(&["lost"]).unwrap(), 0);
        harvest.forget().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn where_no_keeper_was_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let harvest = Harvest::gather(&dir.path().join("none"), &[], Duration::ZERO).unwrap().unwrap();
        harvest.forget().unwrap();
    }
}
