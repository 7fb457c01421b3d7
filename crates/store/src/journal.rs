//! The journal: the only authority over a run. Records are buffered by [`Journal::append`] and made durable together by
//! [`Journal::commit`], one write and one `fdatasync` for all of them. The first failure is final: what the kernel still
//! holds after a failed sync is not known, so nothing more is written, and the next opener finds out what is on disk.

use rustix::io::Errno;

use crate::disk::{Disk, DiskError, DiskFile};
use crate::line::{Head, Seq, encode};
use crate::recover::{Checks, Damage, Recovered, Torn, recover_with};

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
    /// Where the next commit is written.
    end: u64,
    /// Lines that are not committed.
    buffer: String,
    failure: Option<JournalError>,
}

/// What a journal held when it was opened.
#[derive(Debug, PartialEq, Eq)]
pub struct History {
    text: String,
    recovered: Recovered,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number; the first one has 1.
    pub seq: Seq,
    /// The incarnation that wrote it.
    pub epoch: u64,
    /// What it says.
    pub json: &'a str,
}

impl History {
    /// The records in their order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.recovered.records.iter().map(|record| Record {
            seq: record.seq,
            epoch: record.epoch,
            json: &self.text[record.json.clone()],
        })
    }

    /// What was cut off because it was never committed.
    pub fn torn(&self) -> Option<Torn> {
        self.recovered.tail
    }
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
        Ok((Self::at(file, name, last, last.epoch.saturating_add(1), end), History { text, recovered }))
    }

    fn at(file: F, name: &str, last: Head, epoch: u64, end: u64) -> Self {
        Self { file, name: name.to_owned(), last, epoch, end, buffer: String::new(), failure: None }
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
        let starts_commit = self.buffer.is_empty();
        self.last = encode(&mut self.buffer, self.last, starts_commit, self.epoch, json);
        Ok(self.last.seq)
    }

    /// Makes everything that was appended durable. Nothing may depend on a record before this is done.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.write_buffer() {
            let failure = JournalError::from(error);
            self.failure = Some(failure.clone());
            return Err(failure);
        }
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), DiskError> {
        let written = self.file.write_all_at(self.end, self.buffer.as_bytes());
        written.map_err(DiskError::when("write", &self.name))?;
        self.file.sync_data().map_err(DiskError::when("sync", &self.name))
    }
}
