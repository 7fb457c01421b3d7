//! The journal: the only authority over a run. Records are buffered by [`Journal::append`] and made durable together by
//! [`Journal::commit`], one write and one `fdatasync` for all of them. [`Journal::hand_over`] gives them to the system
//! before that, so that they outlive this process but not a power cut. The first failure is final: what the kernel still
//! holds after a failed sync is not known, so nothing more is written, and the next opener finds out what is on disk. Only a
//! write that finds no room is tried again, as long as there is a [`Reserve`] to make some.
//!
//! [`Journal::begin_sync`] does not wait for the disk. It covers what was appended before it, whatever else the disk may
//! have when it ends. Each line says how many before it were not durable when it was appended.

use std::sync::Arc;

use rustix::io::Errno;

use crate::disk::{Disk, DiskError, DiskFile};
use crate::history::History;
use crate::line::{Head, Seq, encode};
use crate::recover::{Checks, Damage, recover_with};
use crate::reserve::Reserve;
use crate::syncer::Syncer;
use crate::tide::{Mark, Tide};

/// Why the journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// There is no room on the disk. Open the journal again once there is.
    #[error("{0}")]
    Full(DiskError),
    /// The disk failed. This incarnation is over.
    #[error("{0}")]
    Failed(DiskError),
    /// The journal holds something that no crash leaves behind.
    #[error("the journal is damaged: {0}")]
    Damaged(#[from] Damage),
    /// Another program cut it while it was open. Further records would be written after a hole.
    #[error("{name} was cut from {from} to {to} bytes while the run went on")]
    Shortened {
        /// The file.
        name: String,
        /// How long it had to be.
        from: u64,
        /// How long it is.
        to: u64,
    },
    /// A record must be one line. Nothing was written; the journal can still be used.
    #[error("a record must not contain a line end")]
    NotOneLine,
}

impl From<DiskError> for JournalError {
    fn from(error: DiskError) -> Self {
        if error.is_full() { Self::Full(error) } else { Self::Failed(error) }
    }
}

/// The journal, open for appending. Its folder must be locked by [`crate::Lock`].
#[derive(Debug)]
pub struct Journal<F> {
    file: F,
    name: String,
    /// The last line that was appended.
    last: Head,
    epoch: u64,
    /// Where the next lines are written.
    end: u64,
    /// Lines that are not written.
    buffer: String,
    /// Up to which number everything is durable.
    durable: Seq,
    /// Who syncs beside, and up to where the sync that is under way makes everything durable.
    syncer: Option<Box<dyn Syncer>>,
    syncing: Option<Mark>,
    /// Those who read what is durable.
    tide: Option<Arc<Tide>>,
    failure: Option<JournalError>,
    reserve: Option<Reserve<F>>,
    /// The reserve had to be used, and this was not reported yet.
    is_short: bool,
}

impl<F: DiskFile> Journal<F> {
    /// Makes an empty journal in epoch 1; fails if there is anything of that name.
    pub fn create<D: Disk<File = F>>(disk: &D, name: &str) -> Result<Self, JournalError> {
        let mut file = disk.create(name).map_err(DiskError::when("create", name))?;
        file.sync_all().map_err(DiskError::when("sync", name))?;
        disk.sync_folder().map_err(DiskError::when("sync the folder of", name))?;
        Ok(Self::at(file, name, Head::default(), 1, 0))
    }

    /// Opens a journal in the next epoch and gives its records, which are all durable then. A torn tail is cut off.
    pub fn open<D: Disk<File = F>>(disk: &D, name: &str) -> Result<(Self, History), JournalError> {
        Self::open_with(disk, name, Checks::ALL)
    }

    pub(crate) fn open_with<D: Disk<File = F>>(
        disk: &D,
        name: &str,
        checks: Checks,
    ) -> Result<(Self, History), JournalError> {
        let mut file = disk.open(name).map_err(DiskError::when("open", name))?;
        let mut bytes = file.read_all().map_err(DiskError::when("read", name))?;
        let recovered = recover_with(&bytes, checks)?;
        if recovered.tail.is_some() {
            file.truncate(recovered.end as u64).map_err(DiskError::when("cut", name))?;
            bytes.truncate(recovered.end);
        }
        // If a sync failed before, the kernel may hold lines as clean that are not on disk, and no sync would bring them
        // there. Only the last epoch can have such lines: they are written again, byte for byte.
        let doubtful = recovered.last_epoch;
        file.write_all_at(doubtful as u64, &bytes[doubtful..]).map_err(DiskError::when("write", name))?;
        file.sync_all().map_err(DiskError::when("sync", name))?;
        disk.sync_folder().map_err(DiskError::when("sync the folder of", name))?;
        let text = String::from_utf8(bytes).map_err(|_| DiskError::when("read", name)(Errno::ILSEQ))?;
        let (last, end) = (recovered.last, text.len() as u64);
        tracing::info!(
            last = last.seq,
            epoch = last.epoch,
            bytes = end,
            torn = recovered.tail.is_some(),
            "journal opened"
        );
        Ok((Self::at(file, name, last, last.epoch.saturating_add(1), end), History { text, recovered }))
    }

    fn at(file: F, name: &str, last: Head, epoch: u64, end: u64) -> Self {
        Self {
            file,
            name: name.to_owned(),
            last,
            epoch,
            end,
            buffer: String::new(),
            durable: last.seq,
            syncer: None,
            syncing: None,
            tide: None,
            failure: None,
            reserve: None,
            is_short: false,
        }
    }

    /// A second handle of the journal's file, for the syncer.
    pub fn file(&self) -> Result<F, Errno> {
        self.file.another()
    }

    /// From now on [`Self::begin_sync`] hands the work to the syncer, and does not wait for it.
    pub fn sync_beside(&mut self, syncer: Box<dyn Syncer>) {
        self.syncer = Some(syncer);
    }

    /// From now on readers are told what is durable; it is durable so far.
    pub fn tell_readers(&mut self, tide: Arc<Tide>) {
        tide.rise(Mark { seq: self.durable, bytes: self.end });
        self.tide = Some(tide);
    }

    /// Gives it room that it may use when the disk is full.
    pub fn set_reserve(&mut self, reserve: Reserve<F>) {
        self.reserve = Some(reserve);
    }

    /// Whether the disk is full, and what was appended is there only because of the reserve. That is said once.
    pub fn take_short(&mut self) -> bool {
        std::mem::take(&mut self.is_short)
    }

    /// The epoch of the records that are appended now.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Adds a record to the next commit.
    pub fn append(&mut self, json: &str) -> Result<Seq, JournalError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if json.contains('\n') {
            return Err(JournalError::NotOneLine);
        }
        let open = self.last.seq.saturating_sub(self.durable);
        self.last = encode(&mut self.buffer, self.last, open, self.epoch, json);
        Ok(self.last.seq)
    }

    /// Whether everything that was appended is durable.
    pub fn is_durable(&self) -> bool {
        self.durable == self.last.seq
    }

    /// Whether everything that was appended is durable, or will be when the sync that is under way has ended.
    pub fn is_covered(&self) -> bool {
        self.syncing.map_or(self.durable, |mark| mark.seq) == self.last.seq
    }

    /// Whether a sync is under way.
    pub fn is_syncing(&self) -> bool {
        self.syncing.is_some()
    }

    /// The number of the last record.
    pub fn last(&self) -> Seq {
        self.last.seq
    }

    /// The number up to which everything is durable.
    pub fn durable(&self) -> Seq {
        self.durable
    }

    /// Gives everything that was appended to the system. If this process is killed, it is there; after a power cut it may
    /// not be.
    pub fn hand_over(&mut self) -> Result<(), JournalError> {
        self.unless_failed(Self::write)
    }

    /// Makes everything that was appended durable. Nothing may depend on a record before this is done.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        // Of two syncs at once, only one is told of a failure.
        self.end_sync(|syncer| Some(syncer.wait()))?;
        self.unless_failed(|journal| {
            journal.write()?;
            if !journal.is_durable() {
                journal.file.sync_data().map_err(DiskError::when("sync", &journal.name))?;
                journal.is_durable_to(Mark { seq: journal.last.seq, bytes: journal.end });
            }
            Ok(())
        })
    }

    /// Hands everything over and begins to make it durable. While a sync is under way no other one begins.
    /// Without a syncer to sync beside it is waited for.
    pub fn begin_sync(&mut self) -> Result<(), JournalError> {
        if self.syncer.is_none() {
            return self.commit();
        }
        self.hand_over()?;
        if let Some(syncer) = &mut self.syncer
            && self.syncing.is_none()
            && self.durable < self.last.seq
        {
            syncer.begin();
            self.syncing = Some(Mark { seq: self.last.seq, bytes: self.end });
        }
        Ok(())
    }

    /// Takes note of the sync that is under way, if it has ended.
    pub fn synced(&mut self) -> Result<(), JournalError> {
        self.end_sync(|syncer| syncer.ended())
    }

    fn end_sync(&mut self, how: impl FnOnce(&mut dyn Syncer) -> Option<Result<(), Errno>>) -> Result<(), JournalError> {
        self.unless_failed(|journal| {
            let (Some(upto), Some(syncer)) = (journal.syncing, &mut journal.syncer) else { return Ok(()) };
            let Some(ended) = how(&mut **syncer) else { return Ok(()) };
            ended.map_err(DiskError::when("sync", &journal.name))?;
            journal.syncing = None;
            journal.is_durable_to(upto);
            Ok(())
        })
    }

    fn is_durable_to(&mut self, mark: Mark) {
        self.durable = mark.seq;
        tracing::debug!(upto = mark.seq, "journal synced");
        if let Some(tide) = &self.tide {
            tide.rise(mark);
        }
    }

    fn unless_failed(&mut self, act: impl FnOnce(&mut Self) -> Result<(), JournalError>) -> Result<(), JournalError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        act(self).inspect_err(|failure| {
            tracing::error!(%failure, "journal failed");
            self.failure = Some(failure.clone());
        })
    }

    fn write(&mut self) -> Result<(), JournalError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let length = self.file.length().map_err(DiskError::when("look at", &self.name))?;
        if length < self.end {
            return Err(JournalError::Shortened { name: self.name.clone(), from: self.end, to: length });
        }
        let mut written = self.file.write_all_at(self.end, self.buffer.as_bytes());
        while let Err(Errno::NOSPC | Errno::DQUOT) = written
            && self.reserve.as_mut().is_some_and(Reserve::give)
        {
            self.is_short = true;
            // From where the last good line ended: what a short write left is written over.
            written = self.file.write_all_at(self.end, self.buffer.as_bytes());
        }
        written.map_err(DiskError::when("write", &self.name))?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_disk::RealDisk;
    use crate::recover::Torn;
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::{Fault, Lies, Strike};

    fn texts(history: &History) -> Vec<(u64, u64, &str)> {
        history.records().map(|record| (record.seq, record.epoch, record.json)).collect()
    }

    #[test]
    fn committed_records_survive_to_the_next_epoch() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        assert_eq!((journal.epoch(), journal.append("{\"a\":1}"), journal.append("2")), (1, Ok(1), Ok(2)));
        assert_eq!(journal.commit(), Ok(()));
        assert_eq!(journal.append("never committed"), Ok(3));
        assert!(matches!(Journal::create(&disk, "journal"), Err(JournalError::Failed(_))));
        let (mut journal, history) = Journal::open(&disk, "journal").expect("the journal opens");
        assert_eq!((texts(&history), history.torn()), (vec![(1, 1, "{\"a\":1}"), (2, 1, "2")], None));
        assert_eq!((journal.epoch(), journal.append("é"), journal.commit()), (2, Ok(3), Ok(())));
        let (journal, history) = Journal::open(&disk, "journal").expect("the journal opens");
        assert_eq!((journal.epoch(), texts(&history).last()), (3, Some(&(3, 2, "é"))));
    }

    #[test]
    fn unsynced_records_belong_to_the_next_commit() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        assert!(journal.is_durable());
        for json in ["1", "2"] {
            journal.append(json).and_then(|_| journal.hand_over()).expect("handed over");
            assert!(!journal.is_durable());
        }
        journal.commit().expect("committed");
        assert!(journal.is_durable());
        journal.append("3").and_then(|_| journal.hand_over()).expect("handed over");
        let text = String::from_utf8(disk.read("journal").expect("readable")).expect("text");
        let numbers: Vec<_> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(numbers, ["1", "2-1", "3"]);
    }

    #[test]
    fn a_torn_tail_is_cut_and_told() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        journal.append("1").and_then(|_| journal.commit()).expect("committed");
        let whole = disk.read("journal").expect("readable");
        let torn = [&whole[..], b"12345678 torn"].concat();
        std::fs::write(dir.path().join("journal"), torn).expect("written");
        let (_, history) = Journal::open(&disk, "journal").expect("the journal opens");
        assert_eq!(history.torn(), Some(Torn { at: whole.len(), bytes: 13 }));
        assert_eq!(History::read([&whole[..], b"12345678 \xFFtorn"].concat()).map(|seen| seen.records().len()), Ok(1));
        assert_eq!(History::read([&whole[..], b"12345678 torn"].concat()), Ok(history));
        assert_eq!(disk.read("journal"), Ok(whole));
    }

    #[test]
    fn cut_of_an_open_journal_is_noticed_before_a_write() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        journal.append("1").and_then(|_| journal.commit()).expect("committed");
        let from = journal.end;
        disk.open("journal").and_then(|mut file| file.truncate(3)).expect("cut");
        let cut = JournalError::Shortened { name: "journal".to_owned(), from, to: 3 };
        assert_eq!(journal.append("2").and_then(|_| journal.commit()), Err(cut.clone()));
        assert_eq!((journal.hand_over(), journal.file.length()), (Err(cut), Ok(3)));
    }

    #[test]
    fn a_record_of_two_lines_is_refused_and_nothing_else() {
        let disk = SimDisk::new(0, Lies::default());
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        assert_eq!(journal.append("{\n}"), Err(JournalError::NotOneLine));
        assert_eq!((journal.append("{}"), journal.commit()), (Ok(1), Ok(())));
    }

    #[test]
    fn a_commit_of_many_records_is_one_write_and_one_sync() {
        let disk = SimDisk::new(0, Lies::default());
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        let before = disk.operations();
        for _ in 0..100 {
            journal.append("{}").expect("appended");
        }
        assert_eq!(disk.operations(), before);
        assert_eq!((journal.commit(), disk.operations()), (Ok(()), before + 2));
        assert_eq!((journal.commit(), disk.operations()), (Ok(()), before + 2));
    }

    #[test]
    fn short_and_interrupted_writes_are_no_failures() {
        for (fault, sticky) in [(Fault::Short, true), (Fault::Interrupted, false)] {
            let disk = SimDisk::new(0, Lies::default());
            let mut journal = Journal::create(&disk, "journal").expect("a new journal");
            disk.plan(Some(Strike { at: disk.operations(), fault, sticky }));
            assert_eq!((journal.append("{\"a\":1}"), journal.commit()), (Ok(1), Ok(())));
            let (_, history) = Journal::open(&disk, "journal").expect("the journal opens");
            assert_eq!(texts(&history), [(1, 1, "{\"a\":1}")]);
        }
    }

    /// The disk takes a part of a line and no more, and the reserve makes room for all of it.
    #[test]
    fn full_disk_uses_the_reserve_and_rewrites_a_cut_line() {
        let (mut cut, mut used) = (false, 0);
        for seed in 0..50 {
            let disk = SimDisk::new(seed, Lies::default());
            let mut journal = Journal::create(&disk, "journal").expect("a new journal");
            journal.set_reserve(Reserve::keep(&disk, "reserve", 4096).expect("there is room"));
            disk.plan(Some(Strike { at: disk.operations(), fault: Fault::Full, sticky: true }));
            let json = format!("\"{}\"", "x".repeat(300));
            let before = disk.operations();
            assert_eq!((journal.append(&json), journal.commit()), (Ok(1), Ok(())));
            cut |= disk.operations() > before + 5; // a write, another one, two for the reserve, the write, the sync
            assert_eq!((journal.take_short(), journal.take_short()), (true, false));
            used = (2..200).take_while(|_| journal.append(&json).and_then(|_| journal.commit()).is_ok()).count();
            let failed = journal.append(&json);
            assert!(matches!(failed, Err(JournalError::Full(_))), "{failed:?}");
            disk.plan(None);
            let (_, history) = Journal::open(&disk, "journal").expect("the journal opens");
            assert_eq!(texts(&history).len(), used + 1);
            assert!(texts(&history).iter().all(|(_, epoch, text)| (*epoch, *text) == (1, json.as_str())));
        }
        assert!(cut && used >= 8, "{cut} {used}");
    }

    #[test]
    fn a_failed_sync_is_final_whatever_is_reserved() {
        for after in [0, 1] {
            let disk = SimDisk::new(0, Lies::default());
            let mut journal = Journal::create(&disk, "journal").expect("a new journal");
            journal.set_reserve(Reserve::keep(&disk, "reserve", 4096).expect("there is room"));
            disk.plan(Some(Strike { at: disk.operations() + after, fault: Fault::Io, sticky: false }));
            let failed = journal.append("{}").and_then(|_| journal.commit());
            assert!(matches!(failed, Err(JournalError::Failed(_))) && !journal.take_short(), "{failed:?}");
            assert_eq!(disk.peek("reserve", |cached, _| cached.len()), Some(4096));
        }
    }

    #[test]
    fn first_failure_is_final_except_a_full_disk() {
        for (after, fault) in [(0, Fault::Io), (1, Fault::Io), (0, Fault::Full)] {
            let disk = SimDisk::new(0, Lies::default());
            let mut journal = Journal::create(&disk, "journal").expect("a new journal");
            disk.plan(Some(Strike { at: disk.operations() + after, fault, sticky: false }));
            let failed = journal.append("{}").and_then(|_| journal.commit());
            match &failed {
                Err(JournalError::Full(error)) => assert_eq!((fault, error.errno), (Fault::Full, Errno::NOSPC)),
                Err(JournalError::Failed(error)) => assert_eq!((fault, error.errno), (Fault::Io, Errno::IO)),
                other => panic!("{other:?}"),
            }
            let operations = disk.operations();
            assert_eq!((journal.commit(), journal.append("{}").map(|_| ())), (failed.clone(), failed));
            assert_eq!(disk.operations(), operations);
        }
        let full = DiskError { action: "write", name: "journal".to_owned(), errno: Errno::NOSPC };
        assert_eq!(JournalError::from(full).to_string(), "cannot write journal: no space left on device");
    }
}
