//! A thread that makes the journal durable, so that its writer need not wait for the disk.

use std::fmt::Debug;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::disk::DiskFile;

/// Syncs one file, one sync at a time.
pub trait Syncer: Debug {
    /// Begins to make durable what is written. The one before has ended.
    fn begin(&mut self);

    /// How the sync that has begun ended, if it has. This is said once.
    fn ended(&mut self) -> Option<Result<(), Errno>>;

    /// Waits for the end of the sync that has begun.
    fn wait(&mut self) -> Result<(), Errno>;
}

/// Syncs in a thread, which ends with this.
#[derive(Debug)]
pub struct SyncThread {
    begin: Sender<()>,
    ended: Receiver<Result<(), Errno>>,
}

impl SyncThread {
    /// Starts the thread. After each sync it tells how long that took.
    pub fn start<F>(mut file: F, tell: impl Fn(Duration) + Send + 'static) -> Result<Self, Errno>
    where
        F: DiskFile + Send + 'static,
    {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let work = move || {
            while begun.recv().is_ok() {
                let began = Instant::now();
                if end.send(file.sync_data()).is_err() {
                    break;
                }
                tell(began.elapsed());
            }
        };
        let thread = thread::Builder::new().name("sync".to_owned()).spawn(work);
        thread.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Self { begin, ended })
    }
}

impl Syncer for SyncThread {
    fn begin(&mut self) {
        // If the thread is gone, the next question about the end says so.
        self.begin.send(()).ok();
    }

    fn ended(&mut self) -> Option<Result<(), Errno>> {
        match self.ended.try_recv() {
            Ok(ended) => Some(ended),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => Some(Err(Errno::IO)),
        }
    }

    fn wait(&mut self) -> Result<(), Errno> {
        self.ended.recv().unwrap_or(Err(Errno::IO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk as _;
    use crate::journal::{Journal, JournalError};
    use crate::real_disk::RealDisk;
    use crate::sim_disk::{SimDisk, SimFile};
    use crate::sim_fault::{Fault, Lies, Strike};
    use crate::sim_inode::Damage;
    use crate::sim_sync::SimSyncer;

    /// A journal that is synced beside, with one record on which a sync is under way.
    fn syncing() -> (SimDisk, Journal<SimFile>) {
        let disk = SimDisk::new(0, Lies::default());
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        let file = journal.file().expect("its file");
        journal.sync_beside(Box::new(SimSyncer::new(file)));
        journal.begin_sync().expect("nothing to sync");
        assert!(!journal.is_syncing());
        journal.append("1").and_then(|_| journal.begin_sync()).expect("begun");
        assert!(journal.is_syncing() && journal.is_covered() && !journal.is_durable());
        (disk, journal)
    }

    fn numbers(disk: &SimDisk) -> Vec<String> {
        let text = String::from_utf8(disk.read("journal").expect("readable")).expect("text");
        text.lines().filter_map(|line| line.split(' ').nth(2).map(str::to_owned)).collect()
    }

    #[test]
    fn a_sync_covers_what_was_appended_before_it_began() {
        let (disk, mut journal) = syncing();
        journal.append("2").and_then(|_| journal.hand_over()).expect("handed over");
        journal.begin_sync().expect("one is under way");
        assert!(!journal.is_covered());
        journal.synced().expect("synced");
        assert_eq!((journal.durable(), journal.last(), journal.is_syncing()), (1, 2, false));
        disk.crash(Damage::Lost);
        let (_, history) = Journal::open(&disk, "journal").expect("the journal opens");
        assert_eq!(history.records().len(), 1);
    }

    /// A power cut may take any of these lines and leave others.
    #[test]
    fn a_line_says_how_many_before_it_are_not_durable() {
        let (disk, mut journal) = syncing();
        journal.append("2").and_then(|_| journal.hand_over()).expect("handed over");
        journal.synced().expect("synced");
        journal.append("3").and_then(|_| journal.begin_sync()).expect("begun");
        journal.synced().expect("synced");
        assert!(journal.is_durable());
        journal.append("4").and_then(|_| journal.hand_over()).expect("handed over");
        assert_eq!(numbers(&disk), ["1", "2-1", "3-1", "4"]);
    }

    #[test]
    fn a_commit_waits_for_the_sync_that_is_under_way() {
        let (disk, mut journal) = syncing();
        journal.append("2").expect("appended");
        let before = disk.operations();
        journal.commit().expect("committed");
        assert_eq!((journal.is_durable(), journal.is_syncing(), disk.operations()), (true, false, before + 3));
        let (disk, mut journal) = syncing();
        journal.commit().expect("committed");
        assert_eq!((journal.is_durable(), numbers(&disk)), (true, vec!["1".to_owned()]));
    }

    #[test]
    fn failed_sync_is_final() {
        for end in [Journal::synced, Journal::commit] {
            let (disk, mut journal) = syncing();
            disk.plan(Some(Strike { at: disk.operations(), fault: Fault::Io, sticky: false }));
            let failed = end(&mut journal);
            assert!(matches!(failed, Err(JournalError::Failed(_))), "{failed:?}");
            assert_eq!((journal.durable(), journal.begin_sync(), journal.commit()), (0, failed.clone(), failed));
        }
    }

    #[test]
    fn a_thread_syncs_and_tells() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        let (told, tells) = mpsc::channel();
        let tell = move |took| told.send(took).expect("a listener");
        let thread = journal.file().and_then(|file| SyncThread::start(file, tell)).expect("a thread");
        journal.sync_beside(Box::new(thread));
        for json in ["1", "2"] {
            journal.append(json).and_then(|_| journal.begin_sync()).expect("begun");
            tells.recv().expect("told");
            journal.synced().expect("synced");
            assert!(journal.is_durable());
        }
        journal.append("3").and_then(|_| journal.begin_sync()).expect("begun");
        journal.commit().expect("committed");
        assert_eq!((journal.is_durable(), journal.durable()), (true, 3));
        drop(journal);
        tells.recv().expect("the last sync");
        assert!(tells.recv().is_err(), "the thread has ended");
    }
}
