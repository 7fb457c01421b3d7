//! When a worker printed what is in its log: beside the log a file of notes, at most one a second. A worker whose output comes
//! within a second has none: the time of its log says enough.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use team_executor_beneath::{Dir, io_error, read_regular};

/// How many milliseconds lie at least between two notes.
const APART: u64 = 1000;

/// Notes that are being made.
#[derive(Debug, Default)]
pub(crate) struct Noting {
    file: Option<File>,
    first: Option<u64>,
    last: u64,
}

impl Noting {
    /// More is printed behind the first `length` bytes of a log in a folder, at this time in milliseconds since 1970.
    pub(crate) fn note(&mut self, (folder, log): (&Dir, &str), length: u64, now: u64) -> io::Result<()> {
        let Some(first) = self.first else {
            (self.first, self.last) = (Some(now), now);
            return Ok(());
        };
        // A clock that was set back notes nothing until it is later again.
        if now < self.last.saturating_add(APART) {
            return Ok(());
        }
        self.last = now;
        let mut text = String::new();
        if self.file.is_none() {
            self.file = Some(folder.append_or_set_aside(&name_of(log)).map_err(io_error)?);
            text = format!("{first} 0\n");
        }
        text.push_str(&format!("{now} {length}\n"));
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(text.as_bytes()))
    }
}

fn name_of(log: &str) -> String {
    format!("{log}.times")
}

/// When the bytes of a log were printed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LogTimes {
    /// From which byte on, and when, in order.
    notes: Vec<(u64, u64)>,
    /// When the log was written to last, if there are no notes.
    last: Option<u64>,
}

impl LogTimes {
    /// What is known about a log that was changed last at a time, in milliseconds since 1970.
    pub fn read(log: &Path, changed: Option<u64>) -> Self {
        let mut path = log.as_os_str().to_owned();
        path.push(name_of(""));
        let bytes = read_regular(&PathBuf::from(path)).unwrap_or_default();
        let note = |line: &str| {
            let (at, from) = line.split_once(' ')?;
            Some((from.parse().ok()?, at.parse().ok()?))
        };
        // Its last line may not be whole yet.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let notes: Vec<(u64, u64)> = String::from_utf8_lossy(&bytes[..whole]).lines().filter_map(note).collect();
        let last = changed.filter(|_| notes.is_empty());
        Self { notes, last }
    }

    /// When the byte at a place was printed, to about a second.
    pub fn at(&self, place: u64) -> Option<u64> {
        let nth = self.notes.partition_point(|(from, _)| *from <= place);
        nth.checked_sub(1).map(|nth| self.notes[nth].1).or(self.last)
    }

    /// From which byte on everything was printed at this time or later; nothing if nothing was.
    pub fn since(&self, time: u64) -> Option<u64> {
        if self.notes.is_empty() {
            return self.last.is_none_or(|last| last >= time).then_some(0);
        }
        self.notes.iter().find(|(_, at)| at.saturating_add(APART) > time).map(|(from, _)| *from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(notes: &[(u64, u64)]) -> (tempfile::TempDir, LogTimes) {
        let dir = tempfile::tempdir().unwrap();
        let (mut noting, folder) = (Noting::default(), Dir::open(dir.path()).unwrap());
        notes.iter().for_each(|(length, now)| noting.note((&folder, "A.1.out"), *length, *now).unwrap());
        let times = LogTimes::read(&dir.path().join("A.1.out"), Some(77));
        (dir, times)
    }

    #[test]
    fn notes_say_when_each_byte_was_printed() {
        let (dir, times) = noted(&[(0, 10_000), (5, 10_500), (9, 11_000), (20, 60_000), (30, 60_999)]);
        let at = [0, 8, 9, 19, 20, 1000].map(|place| times.at(place).unwrap());
        assert_eq!(at, [10_000, 10_000, 11_000, 11_000, 60_000, 60_000]);
        let since = [0, 10_999, 12_000, 60_999, 61_000].map(|time| times.since(time));
        assert_eq!(since, [Some(0), Some(0), Some(20), Some(20), None]);
        let text = std::fs::read_to_string(dir.path().join("A.1.out.times")).unwrap();
        assert_eq!(text, "10000 0\n11000 9\n60000 20\n");
    }

    #[test]
    fn short_output_leaves_no_notes() {
        let (dir, times) = noted(&[(0, 10_000), (5, 10_999)]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!((times.at(3), times.since(77), times.since(78)), (Some(77), Some(0), None));
    }

    #[test]
    fn damaged_notes_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("l.times"), "x\n5 0\n-3 4\n9 7").unwrap();
        let times = LogTimes::read(&dir.path().join("l"), None);
        assert_eq!(times.at(100), Some(5));
        assert_eq!(LogTimes::read(&dir.path().join("none"), None).at(0), None);
    }
}
