//! Examines a journal without changing it; and the one repair there is: a damaged journal is copied, then cut
//! before its damage.

use std::ops::Range;

use rustix::io::Errno;
use team_executor_beneath::free;

use crate::disk::{Disk, DiskError, DiskFile};
use crate::line::decode;
use crate::recover::{Damage, Flaw, Recovered, Torn, recover};

/// The state of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// How long it is.
    pub bytes: usize,
    /// Where its good records are, in their order.
    pub records: Vec<Range<usize>>,
    /// How many executors wrote them.
    pub epochs: usize,
    /// What was never committed. The next run cuts it off.
    pub torn: Option<Torn>,
    /// Damage that no crash causes. Every run is refused until it is repaired.
    pub damage: Option<Damage>,
    /// Where the records are that have a right checksum and stand behind the damage.
    pub behind: Vec<Range<usize>>,
}

/// Looks at the bytes of a journal, of which so many are known to have been durable.
pub fn examine(bytes: &[u8], durable: u64) -> Examined {
    let (good, damage) = match recover(bytes) {
        Ok(good) if (bytes.len() as u64) < durable => {
            let (line, offset) = (good.records.len() + 1, good.end);
            (Some(good), Some(Damage { line, offset, flaw: Flaw::Missing, valid_after: 0 }))
        }
        Ok(good) => (Some(good), None),
        // The records before the damage are good.
        Err(damage) => (recover(&bytes[..damage.offset]).ok(), Some(damage)),
    };
    let behind = damage.map(|damage| intact(bytes, damage.offset)).unwrap_or_default();
    let Some(Recovered { records, tail, .. }) = good else {
        return Examined { bytes: bytes.len(), records: Vec::new(), epochs: 0, torn: None, damage, behind };
    };
    let epochs = records.chunk_by(|one, next| one.epoch == next.epoch).count();
    let records = records.into_iter().map(|record| record.json).collect();
    Examined { bytes: bytes.len(), records, epochs, torn: tail.filter(|_| damage.is_none()), damage, behind }
}

/// Cuts a damaged journal before its damage, after all of it was copied beside it, and gives the name of the copy. Nothing
/// is done to one that is not damaged. One that is not there is empty then. Its folder must be locked by [`crate::Lock`].
pub fn cut_damage<D: Disk>(disk: &D, name: &str, durable: u64) -> Result<Option<String>, DiskError> {
    let opened = match disk.open(name) {
        Err(Errno::NOENT) => disk.create(name),
        opened => opened,
    };
    let mut file = opened.map_err(DiskError::when("open", name))?;
    let bytes = file.read_all().map_err(DiskError::when("read", name))?;
    let Some(damage) = examine(&bytes, durable).damage else { return Ok(None) };
    let copy = copy(disk, name, &bytes)?;
    file.truncate(damage.offset as u64).map_err(DiskError::when("cut", name))?;
    file.sync_all().map_err(DiskError::when("sync", name))?;
    Ok(Some(copy))
}

/// Writes the bytes to the first free `<name>.damaged-N`, durably.
fn copy<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> Result<String, DiskError> {
    let (copy, mut file) = free::numbered(&format!("{name}.damaged"), |copy| {
        free::unless_taken(disk.create(copy)).map_err(DiskError::when("create", copy))
    })?;
    let written = file.write_all_at(0, bytes).and_then(|()| file.sync_all()).and_then(|()| disk.sync_folder());
    if let Err(errno) = written {
        // Half a copy is none; the journal is as it was.
        disk.remove(&copy).ok();
        return Err(DiskError::when("write", &copy)(errno));
    }
    Ok(copy)
}

/// The records from an offset on whose lines have a right checksum.
fn intact(bytes: &[u8], from: usize) -> Vec<Range<usize>> {
    let mut start = from;
    let mut found = Vec::new();
    for raw in bytes[from..].split_inclusive(|byte| *byte == b'\n') {
        let line = raw.strip_suffix(b"\n").and_then(decode).filter(|line| line.intact);
        found.extend(line.map(|line| start + line.json.start..start + line.json.end));
        start += raw.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journal, JournalError};
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::{Fault, Lies, Strike};

    /// A disk with a journal of four commits by two executors.
    fn world() -> SimDisk {
        let disk = SimDisk::new(0, Lies::default());
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        for json in ["1", "2"] {
            journal.append(json).and_then(|_| journal.commit()).expect("committed");
        }
        let (mut journal, _) = Journal::open(&disk, "journal").expect("it opens");
        for json in ["3", "4"] {
            journal.append(json).and_then(|_| journal.commit()).expect("committed");
        }
        disk
    }

    /// Flips a bit of the second record.
    fn damage(disk: &SimDisk) -> (Vec<u8>, usize) {
        let whole = disk.read("journal").expect("readable");
        let second = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let mut file = disk.open("journal").expect("it opens");
        file.write_all_at(second as u64 + 2, b"x").expect("written");
        (disk.read("journal").expect("readable"), second)
    }

    fn texts<'b>(bytes: &'b [u8], records: &[Range<usize>]) -> Vec<&'b str> {
        records.iter().map(|record| str::from_utf8(&bytes[record.clone()]).expect("UTF-8")).collect()
    }

    #[test]
    fn intact_journal_counts_records_and_epochs() {
        let bytes = world().read("journal").expect("readable");
        let found = examine(&bytes, bytes.len() as u64);
        assert_eq!(texts(&bytes, &found.records), ["1", "2", "3", "4"]);
        assert_eq!((found.epochs, found.torn, found.damage, found.bytes), (2, None, None, bytes.len()));
        let torn = [&bytes[..], b"half"].concat();
        assert_eq!(examine(&torn, bytes.len() as u64).torn, Some(Torn { at: bytes.len(), bytes: 4 }));
        assert_eq!(examine(b"", 0).epochs, 0);
    }

    #[test]
    fn a_damaged_journal_is_copied_whole_and_cut_before_its_damage() {
        let disk = world();
        let (damaged, second) = damage(&disk);
        let found = examine(&damaged, 0);
        assert_eq!((texts(&damaged, &found.records), texts(&damaged, &found.behind)), (vec!["1"], vec!["3", "4"]));
        assert_eq!(found.damage.map(|damage| (damage.line, damage.offset)), Some((2, second)));
        assert!(matches!(Journal::open(&disk, "journal"), Err(JournalError::Damaged(_))));
        disk.create("journal.damaged-1").expect("a file of another");
        assert_eq!(cut_damage(&disk, "journal", 0), Ok(Some("journal.damaged-2".to_owned())));
        assert_eq!(disk.read("journal.damaged-2"), Ok(damaged.clone()));
        assert_eq!(disk.read("journal"), Ok(damaged[..second].to_vec()));
        let (_, history) = Journal::open(&disk, "journal").expect("it opens again");
        assert_eq!(history.records().map(|record| record.json).collect::<Vec<_>>(), ["1"]);
        assert_eq!(cut_damage(&disk, "journal", 0), Ok(None));
    }

    #[test]
    fn without_a_whole_copy_nothing_is_cut() {
        for fault in [Fault::Full, Fault::Io] {
            for after in 0..4 {
                let disk = world();
                let (damaged, _) = damage(&disk);
                let before = disk.operations();
                disk.plan(Some(Strike { at: before + after, fault, sticky: true }));
                if cut_damage(&disk, "journal", 0).is_err() {
                    disk.plan(None);
                    assert_eq!(disk.read("journal"), Ok(damaged), "{fault:?} after {after}");
                }
            }
        }
    }

    #[test]
    fn missing_durable_record_is_damage() {
        let (whole, second) = (world().read("journal").expect("readable"), 1);
        let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let end = lines.iter().take(second).map(|line| line.len()).sum::<usize>();
        for cut in [end, end + 5, 0] {
            let found = examine(&whole[..cut], whole.len() as u64);
            let kept = if cut == 0 { 0 } else { second };
            let damage = Damage { line: kept + 1, offset: end.min(cut), flaw: Flaw::Missing, valid_after: 0 };
            assert_eq!((found.damage, found.torn, found.records.len()), (Some(damage), None, kept), "{cut}");
            let disk = SimDisk::new(0, Lies::default());
            if cut > 0 {
                let mut file = disk.create("journal").expect("a file");
                file.write_all_at(0, &whole[..cut]).expect("written");
            }
            assert_eq!(cut_damage(&disk, "journal", whole.len() as u64), Ok(Some("journal.damaged-1".to_owned())));
            assert_eq!(disk.read("journal"), Ok(whole[..end.min(cut)].to_vec()));
            assert_eq!(disk.read("journal.damaged-1"), Ok(whole[..cut].to_vec()));
        }
    }
}
