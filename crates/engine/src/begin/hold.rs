//! A run that one executor holds: the lock in its private folder, its journal, and the room that is kept for that. Every file is
//! reached through [`Disk`], so that a simulator takes, opens and signs the same way.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use team_executor_store::run_folder::{JOURNAL, LOCK, RESERVE};
use team_executor_store::{Disk, History, Holder, Journal, Lock, LockError, Reserve, sweep};

use crate::options::Failure;

/// A run whose lock is held.
#[derive(Debug)]
pub struct Hold<D: Disk> {
    executor: D,
    lock: Lock<D::File>,
    me: Holder,
    /// The folder of the run, for messages.
    path: PathBuf,
}

/// A journal that was opened again.
#[derive(Debug)]
pub struct Reopened<F, P> {
    /// The journal.
    pub journal: Journal<F>,
    /// What it held.
    pub history: History,
    /// What was read in its first record.
    pub plan: P,
    /// A power cut may have taken what an earlier executor gave to the system.
    pub rebooted: bool,
}

impl<D: Disk> Hold<D> {
    /// Takes the lock of a run, removes what a killed executor was writing, and makes the names of all folders durable, from
    /// the private one up.
    pub fn take(
        executor: D,
        (run, above): (&D, &[&D]),
        me: Holder,
        path: &Path,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let lock = lock(&executor, LOCK, patience, path)?;
        let swept = sweep(run).and_then(|_| sweep(&executor));
        swept.map_err(|error| failed("prepare", path, &error))?;
        for folder in [&executor, run].iter().chain(above) {
            folder.sync_folder().map_err(|errno| Failure::disk("sync", path)(errno.into()))?;
        }
        Ok(Self { executor, lock, me, path: path.to_owned() })
    }

    /// The private folder.
    pub const fn folder(&self) -> &D {
        &self.executor
    }

    /// Begins the journal with its first record. One whose making was cut off goes.
    pub fn begin(&mut self, plan: &str) -> Result<Journal<D::File>, Failure> {
        self.sign(1)?;
        match self.executor.remove(JOURNAL) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(Failure::disk("begin", &self.path)(errno.into())),
        }
        let mut journal = Journal::create(&self.executor, JOURNAL)?;
        journal.append(plan)?;
        journal.commit()?;
        Ok(journal)
    }

    /// Opens the journal again, unless what it holds does not pass.
    pub fn reopen<P>(
        &mut self,
        pass: impl FnOnce(&History, u64) -> Result<P, Failure>,
    ) -> Result<Reopened<D::File, P>, Failure> {
        let rebooted = !self.lock.was_held_since(&self.me.boot);
        let (journal, history) = Journal::open(&self.executor, JOURNAL)?;
        let plan = pass(&history, journal.epoch())?;
        // The next executor must know of the power cut too, until this one has recorded its consequences.
        let boot = if rebooted { String::new() } else { self.me.boot.clone() };
        self.say(&Holder { boot, epoch: journal.epoch(), ..self.me.clone() })?;
        Ok(Reopened { journal, history, plan, rebooted })
    }

    /// Keeps so much room for the journal, if there is any.
    pub fn keep_room(&self, journal: &mut Journal<D::File>, bytes: usize) {
        if let Ok(reserve) = Reserve::keep(&self.executor, RESERVE, bytes) {
            journal.set_reserve(reserve);
        }
    }

    /// Needs no room for the journal any more.
    pub fn give_up_room(&self) -> Result<(), Failure> {
        match self.executor.remove(RESERVE) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Failure::disk("remove the reserve of", &self.path)(errno.into())),
        }
    }

    /// Says who has the lock, once everything that an earlier executor left is written down.
    pub fn sign(&mut self, epoch: u64) -> Result<(), Failure> {
        self.say(&Holder { epoch, ..self.me.clone() })
    }

    fn say(&mut self, holder: &Holder) -> Result<(), Failure> {
        self.lock.sign(holder).map_err(|error| failed("sign the lock of", &self.path, &error))
    }
}

/// Takes a lock, or says who has it.
pub(crate) fn lock<D: Disk>(disk: &D, name: &str, patience: Duration, path: &Path) -> Result<Lock<D::File>, Failure> {
    Lock::take(disk, name, patience).map_err(|error| match error {
        LockError::Held { by } => Failure::Held(by),
        LockError::Disk(error) => failed("lock", path, &error),
    })
}

fn failed(action: &'static str, path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Disk { action, path: path.to_owned(), reason: error.to_string() }
}
