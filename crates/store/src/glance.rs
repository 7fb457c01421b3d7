//! Looks at the ends of a journal without reading all of it, for callers that ask often and need little: what
//! it began with, and what it said last about something. Nothing is judged here; lines that are not whole are
//! passed over.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::line::decode;
use team_executor_beneath::open_regular;

/// How much of the end is looked at, at first.
const END: u64 = 64 << 10;

/// The first record of a journal, if it is whole.
pub fn first(journal: &Path) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    BufReader::new(open_regular(journal)?).read_until(b'\n', &mut line)?;
    Ok(line.strip_suffix(b"\n").and_then(record).map(str::to_owned))
}

/// The latest value found, searching records from the end. No more is read than that takes, up to a factor.
pub fn last<T>(journal: &Path, find: impl Fn(&str) -> Option<T>) -> std::io::Result<Option<T>> {
    last_within(journal, END, find)
}

fn last_within<T>(journal: &Path, mut most: u64, find: impl Fn(&str) -> Option<T>) -> std::io::Result<Option<T>> {
    let mut file = open_regular(journal)?;
    let length = file.metadata()?.len();
    loop {
        let from = length.saturating_sub(most);
        let mut end = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.by_ref().take(length - from).read_to_end(&mut end)?;
        // The bytes after the last line end are incomplete; those before the first one may be.
        let mut lines = end.rsplit(|byte| *byte == b'\n').skip(1);
        if let Some(found) = lines.find_map(|line| find(record(line)?)) {
            return Ok(Some(found));
        }
        if from == 0 {
            return Ok(None);
        }
        most = most.saturating_mul(8);
    }
}

fn record(line: &[u8]) -> Option<&str> {
    let found = decode(line).filter(|line| line.intact)?;
    str::from_utf8(line.get(found.json)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Journal;
    use crate::real_disk::RealDisk;

    #[test]
    fn both_ends_of_a_journal_are_seen_however_far_back_it_is() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        let path = dir.path().join("journal");
        assert_eq!(first(&path).expect("readable"), None);
        for nth in 0..100 {
            journal.append(&format!("{{\"nth\":{nth}}}")).expect("appended");
        }
        journal.commit().expect("committed");
        assert_eq!(first(&path).expect("readable").as_deref(), Some("{\"nth\":0}"));
        let mut bytes = std::fs::read(&path).expect("readable");
        bytes.extend(b"00000000 00000000 101 1 {\"nth\":7}\n00000000 torn \"nth\":7");
        std::fs::write(&path, bytes).expect("written");
        for most in [1, 40, 1 << 20] {
            let nth = |wanted: &str| last_within(&path, most, |json| json.ends_with(wanted).then(|| json.to_owned()));
            assert_eq!(nth("0}").expect("readable").as_deref(), Some("{\"nth\":90}"), "{most}");
            assert_eq!(nth(":0}").expect("readable").as_deref(), Some("{\"nth\":0}"), "{most}");
            assert_eq!(
                nth(":7}").expect("readable").as_deref(),
                Some("{\"nth\":7}"),
                "a line that is not whole is none"
            );
            assert_eq!(nth(":100}").expect("readable"), None);
        }
        assert!(first(&dir.path().join("none")).is_err());
    }
}
