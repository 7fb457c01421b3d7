//! The executor's side of its keepers: one keeper per slot, started when it is first needed, used again for the next
//! task, replaced when it dies.
//!
//! There is no thread: the owner of the pool waits in [`Keepers::wait`] for whatever happens next. The
//! owner's thread must live as long as the pool, because the kernel tells a child of the death of the
//! *thread* that started it.

mod kept;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tracing::{debug, warn};

use crate::adapters::Usage;
use crate::capture::CHUNK;
use crate::exit::{Ended, Exit, Obstacle};
use crate::keeper::remove_left;
use crate::open_files;
use crate::protocol::{Assignment, KeeperMessage, Request};
use kept::{Gone, Kept};

/// How long a keeper may take to answer, besides the time that its worker has.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it is looked whether something has stopped a keeper that has a worker.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// What happens to the workers in the slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperEvent {
    /// What it printed last, for a screen.
    Line {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// One line without control characters.
        text: String,
    },
    /// What a known agent has used so far.
    Used {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// How much.
        usage: Box<Usage>,
    },
    /// The worker and all that it started are gone, or no keeper could be given the attempt; the slot is free.
    Ended {
        /// Where.
        slot: usize,
        /// How it ended.
        exit: Box<Exit>,
        /// Why the keeper's ledger does not hold that, if so.
        unrecorded: Option<String>,
    },
    /// Something had stopped the keeper. It was woken, and the worker goes on.
    Woken {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
    },
    /// The keeper died without a word of its worker. What the worker left was ended as far as it could be found; the slot
    /// is free.
    KeeperDied {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// Why, in words for people.
        reason: String,
    },
}

/// A pool of keepers. When it is dropped every worker is ended and every keeper is closed; that takes as long as the
/// workers' grace.
#[derive(Debug)]
pub struct Keepers {
    exe: PathBuf,
    ledgers: PathBuf,
    epoch: u64,
    /// The number of the next keeper.
    next: u64,
    /// The keeper of each slot.
    kept: BTreeMap<usize, Kept>,
    /// What happened and was not told.
    untold: Vec<KeeperEvent>,
    buffer: Vec<u8>,
    patience: Duration,
    heartbeat: Duration,
    /// When it is next looked whether a keeper was stopped.
    beat: Instant,
}

impl Keepers {
    /// An empty pool of keepers, which are `exe` run with [`keeper::ARGUMENT`](crate::keeper::ARGUMENT). Their ledgers are
    /// in a folder that is there; the epoch tells them from those of others.
    pub fn new(exe: PathBuf, ledgers: PathBuf, epoch: u64) -> Self {
        crate::cgroup::remove_abandoned();
        open_files::raise();
        Self {
            exe,
            ledgers,
            epoch,
            next: 0,
            kept: BTreeMap::new(),
            untold: Vec::new(),
            buffer: vec![0; CHUNK],
            patience: PATIENCE,
            heartbeat: HEARTBEAT,
            beat: Instant::now(),
        }
    }

    /// The same with another patience for keepers that do not answer.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same with another time between two looks for keepers that were stopped.
    #[must_use]
    pub const fn with_heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Runs a worker in a slot that is free. Paths must be absolute.
    pub fn start(&mut self, slot: usize, assignment: Assignment) {
        let (key, patience) = (assignment.key.clone(), self.patience);
        debug!(slot, key, "worker started");
        let told = self.idle_keeper(slot).and_then(|kept| {
            match kept.run(assignment, patience) {
                // A keeper that does not hear is dead, and that is told when its end is noticed.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                _ => kept.key = Some(key.clone()),
            }
            Ok(())
        });
        if let Err(error) = told {
            warn!(slot, key, %error, "no keeper took the attempt");
            let ended = Ended::CouldNotStart(Obstacle::about("no keeper took the attempt", &error));
            let exit = Box::new(Exit::without_run(&key, ended, 0));
            self.untold.push(KeeperEvent::Ended { slot, exit, unrecorded: None });
        }
    }

    /// Ends the worker in a slot: asked first, killed after its grace.
    pub fn end(&mut self, slot: usize) {
        if let Some(kept) = self.kept.get_mut(&slot)
            && let Some(key) = kept.key.clone()
        {
            let _noticed_later = kept.request(&Request::End { key });
            kept.hurry(self.patience);
        }
    }

    /// Waits until something happens to a worker, something can be read from `other`, or the time is over; says what
    /// happened to the workers. Now and then it returns with nothing, when it has looked after the keepers.
    pub fn wait(&mut self, other: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<Vec<KeeperEvent>> {
        if self.untold.is_empty() {
            self.look(Some(other), timeout)?;
        }
        Ok(std::mem::take(&mut self.untold))
    }

    /// Ends every worker, closes every keeper, and waits until they are gone.
    pub fn close_all(&mut self) {
        for kept in self.kept.values_mut() {
            let _noticed_later = kept.request(&Request::Close {});
        }
        while !self.kept.is_empty() {
            // Also those whose worker has ended since have to end.
            self.kept.values_mut().for_each(|kept| kept.hurry(self.patience));
            if self.look(None, None).is_err() {
                break;
            }
        }
        while let Some((_, kept)) = self.kept.pop_first() {
            self.put_away(kept);
        }
    }

    /// The keeper of a slot, which may be a new one.
    fn idle_keeper(&mut self, slot: usize) -> io::Result<&mut Kept> {
        if self.kept.get(&slot).is_some_and(|kept| kept.key.is_some()) {
            return Err(io::Error::other("the slot is not free"));
        }
        // It may have died while it was idle, and we may not have heard of it yet.
        if self.kept.get_mut(&slot).is_some_and(|kept| !kept.lives())
            && let Some(kept) = self.kept.remove(&slot)
        {
            self.put_away(kept);
        }
        match self.kept.entry(slot) {
            Entry::Occupied(kept) => Ok(kept.into_mut()),
            Entry::Vacant(free) => {
                let ledger = self.ledgers.join(format!("{}-{}", self.epoch, self.next));
                self.next += 1;
                debug!(slot, ?ledger, "keeper started");
                Ok(free.insert(Kept::start(&self.exe, ledger)?))
            }
        }
    }

    /// Waits and listens once, and sees to the keepers that do not answer.
    fn look(&mut self, other: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> io::Result<()> {
        let mut fds: Vec<_> =
            self.kept.values().map(|kept| PollFd::from_borrowed_fd(kept.fd(), PollFlags::IN)).collect();
        fds.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        let due = self.kept.values().filter_map(Kept::due).min();
        let beat = self.kept.values().any(Kept::is_awaited).then_some(self.beat);
        let next = due.into_iter().chain(beat).min();
        let until_next = next.map(|next| next.saturating_duration_since(Instant::now()));
        let timeout = timeout.into_iter().chain(until_next).min().map(|timeout| Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Err(Errno::INTR) => return Ok(()),
            ready => drop(ready?),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let slots: Vec<usize> =
            self.kept.keys().copied().zip(ready).filter(|(_, ready)| *ready).map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.listen(slot));
        if let Some(now) = next.map(|_| Instant::now()) {
            self.kept.values_mut().for_each(|kept| kept.rouse(now, self.patience));
            self.wake_stopped(now);
        }
        Ok(())
    }

    /// Wakes the keepers that something has stopped, at each beat.
    fn wake_stopped(&mut self, now: Instant) {
        if now < self.beat {
            return;
        }
        self.beat = now + self.heartbeat;
        for (slot, kept) in self.kept.iter_mut().filter(|(_, kept)| kept.is_awaited()) {
            let woken = kept.wake_if_stopped().then(|| kept.key.clone()).flatten();
            if woken.is_some() {
                warn!(slot, "stopped keeper woken");
            }
            self.untold.extend(woken.map(|key| KeeperEvent::Woken { slot: *slot, key }));
        }
    }

    fn listen(&mut self, slot: usize) {
        let Some(kept) = self.kept.get_mut(&slot) else { return };
        let Some(answers) = kept.hear(&mut self.buffer) else { return self.gone(slot) };
        for answer in answers {
            self.untold.push(match answer {
                KeeperMessage::Line { key, text } => KeeperEvent::Line { slot, key, text },
                KeeperMessage::Used { key, usage } => KeeperEvent::Used { slot, key, usage },
                KeeperMessage::Ended { exit, unrecorded } => {
                    kept.key = None;
                    kept.rest();
                    debug!(slot, key = exit.key, "worker ended");
                    KeeperEvent::Ended { slot, exit, unrecorded }
                }
            });
        }
    }

    fn gone(&mut self, slot: usize) {
        let Some(kept) = self.kept.remove(&slot) else { return };
        let key = kept.key.clone();
        let gone = self.put_away(kept);
        if key.is_some() {
            warn!(slot, key, reason = gone.reason, "keeper gone");
        }
        self.untold.extend(key.map(|key| match gone.exit {
            Some(exit) => KeeperEvent::Ended { slot, exit: Box::new(exit), unrecorded: None },
            None => KeeperEvent::KeeperDied { slot, key, reason: gone.reason },
        }));
    }

    /// Puts away a keeper that is not among the others any more. One that was killed may have left an empty folder, unless the
    /// next attempt at its last task has it.
    fn put_away(&self, kept: Kept) -> Gone {
        let folder = kept.folder().map(Path::to_owned);
        let gone = kept.put_away();
        if let Some(folder) = folder.filter(|folder| self.kept.values().all(|other| other.folder() != Some(folder))) {
            remove_left(&folder);
        }
        gone
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        self.close_all();
    }
}
