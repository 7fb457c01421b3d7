//! Reads a journal after anything that may have happened to it, in one pass.
//!
//! A power cut may break whatever was not durable, anywhere: parts of it lost, old or no bytes in their place, later parts
//! whole. It cannot touch what was durable. So a bad line is the *torn* end of the journal, to be cut, unless a line behind it
//! proves that it was durable: each says up to where everything was when it was written. Then the journal is *damaged* and
//! refused. A last line without its line end is torn even if its checksum is right: what is acknowledged has all its bytes.
//! Nothing is repaired or skipped here.
//!
//! Bits that rot in lines that nothing behind them proves look the same as a power cut: they are cut too, and the caller told.

use std::fmt;
use std::ops::Range;

use crate::line::{Head, Line, Seq, decode};

/// What can be relied on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The records in their order.
    pub records: Vec<Found>,
    /// How many bytes of the journal are good.
    pub end: usize,
    /// What follows them, if anything.
    pub tail: Option<Torn>,
    /// Where the lines of the last epoch begin.
    pub(crate) last_epoch: usize,
    /// What the next line must follow.
    pub(crate) last: Head,
}

/// A record and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub seq: Seq,
    /// The incarnation that wrote it.
    pub epoch: u64,
    /// Its bytes in the journal.
    pub json: Range<usize>,
}

/// A commit that was never acknowledged, or the part of it that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Where it begins.
    pub at: usize,
    /// How long it is.
    pub bytes: usize,
}

/// Something that no crash leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, at byte {offset}, {flaw}; {valid_after} intact lines follow")]
pub struct Damage {
    /// The first bad line, counted from 1.
    pub line: usize,
    /// Where it begins.
    pub offset: usize,
    /// What is wrong with it.
    pub flaw: Flaw,
    /// How many lines behind it have a right checksum.
    pub valid_after: usize,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It has not the shape of a line.
    Shape,
    /// Its checksum is wrong.
    Checksum,
    /// It does not follow the line before it.
    Chain,
    /// Its number is not the next one.
    Number,
    /// Its epoch is lower than the one before, or changes within a commit.
    Epoch,
    /// It is not there, and was.
    Missing,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => "is not a journal line",
            Self::Checksum => "has a wrong checksum",
            Self::Chain => "does not follow the line before it",
            Self::Number => "has not the next number",
            Self::Epoch => "has an epoch out of order",
            Self::Missing => "is missing, although it was durable",
        })
    }
}

/// Reads the bytes of a journal.
pub fn recover(bytes: &[u8]) -> Result<Recovered, Damage> {
    recover_with(bytes, Checks::ALL)
}

/// The checks of a line. Tests switch them off, to see that each is needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    pub(crate) checksum: bool,
    pub(crate) chain: bool,
    pub(crate) every_line: bool,
}

impl Checks {
    pub(crate) const ALL: Self = Self { checksum: true, chain: true, every_line: true };

    fn flaw(self, line: &Line, last: Head) -> Option<Flaw> {
        let in_order = line.head.epoch == last.epoch || line.open == 0 && line.head.epoch > last.epoch;
        if self.checksum && !line.intact {
            Some(Flaw::Checksum)
        } else if !self.every_line {
            None
        } else if self.chain && line.prev != last.crc {
            Some(Flaw::Chain)
        } else if Some(line.head.seq) != last.seq.checked_add(1) {
            Some(Flaw::Number)
        } else if !in_order {
            Some(Flaw::Epoch)
        } else {
            None
        }
    }
}

pub(crate) fn recover_with(bytes: &[u8], checks: Checks) -> Result<Recovered, Damage> {
    let mut found = Recovered::default();
    let mut start = 0;
    for (number, raw) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let line = whole(raw);
        let flaw = line.as_ref().map_or(Some(Flaw::Shape), |line| checks.flaw(line, found.last));
        match (line, flaw) {
            (Some(line), None) => {
                if line.head.epoch != found.last.epoch {
                    found.last_epoch = start;
                }
                let json = start + line.json.start..start + line.json.end;
                found.records.push(Found { seq: line.head.seq, epoch: line.head.epoch, json });
                found.last = line.head;
                found.end = start + raw.len();
            }
            (_, Some(_)) if !checks.every_line => {}
            (line, flaw) => {
                let flaw = flaw.unwrap_or(Flaw::Shape);
                let valid_after = judge(line.as_ref(), &bytes[start + raw.len()..], found.last);
                if let Some(valid_after) = valid_after {
                    return Err(Damage { line: number, offset: start, flaw, valid_after });
                }
                break;
            }
        }
        start += raw.len();
    }
    let bytes = bytes.len() - found.end;
    found.tail = (bytes > 0).then_some(Torn { at: found.end, bytes });
    Ok(found)
}

/// Whether a bad line had been committed; then, how many lines with a right checksum are behind it.
fn judge(bad: Option<&Line>, behind: &[u8], last: Head) -> Option<usize> {
    let bad = bad.filter(|line| line.intact);
    // Whole, but out of order: only someone who does not keep to the protocol writes that.
    let foreign = bad.is_some_and(|line| {
        line.prev == last.crc || line.head.epoch == last.epoch && line.head.seq > last.seq.saturating_add(1)
    });
    // Leftovers of an earlier crash have lower numbers: everything since was committed.
    let later = |line: &Line| line.durable() > last.seq;
    let mut proved = foreign || bad.is_some_and(later);
    let mut valid_after = 0;
    for raw in behind.split_inclusive(|byte| *byte == b'\n') {
        if let Some(line) = whole(raw).filter(|line| line.intact) {
            valid_after += 1;
            proved = proved || later(&line);
        }
    }
    proved.then_some(valid_after)
}

fn whole(raw: &[u8]) -> Option<Line> {
    decode(raw.strip_suffix(b"\n")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::encode;

    /// A journal of commits, each of some records; and where each line begins.
    fn journal(commits: &[&[&str]]) -> (String, Vec<usize>) {
        let (mut text, mut last, mut starts) = (String::new(), Head::default(), Vec::new());
        for commit in commits {
            for (nth, json) in commit.iter().enumerate() {
                starts.push(text.len());
                last = encode(&mut text, last, nth as u64, 1, json);
            }
        }
        starts.push(text.len());
        (text, starts)
    }

    /// Lines of these numbers and epochs, each with how many before it are open.
    fn lines(all: &[(u64, u64, u64)]) -> String {
        let mut text = String::new();
        let mut last = Head::default();
        for (seq, epoch, open) in all {
            last = encode(&mut text, Head { seq: seq - 1, ..last }, *open, *epoch, "{}");
        }
        text
    }

    fn records(bytes: &[u8]) -> usize {
        recover(bytes).expect("not damaged").records.len()
    }

    fn flaw(bytes: &[u8]) -> Option<(usize, Flaw, usize)> {
        recover(bytes).err().map(|damage| (damage.line, damage.flaw, damage.valid_after))
    }

    #[test]
    fn a_whole_journal_is_read() {
        let (text, starts) = journal(&[&["{}", "[1, 2]"], &["\"a b\""]]);
        let found = recover(text.as_bytes()).expect("whole");
        let json: Vec<_> = found.records.iter().map(|record| &text[record.json.clone()]).collect();
        assert_eq!(json, ["{}", "[1, 2]", "\"a b\""]);
        assert_eq!((found.end, found.tail, found.records[2].seq), (starts[3], None, 3));
        assert_eq!(recover(b"").expect("whole").records, []);
    }

    #[test]
    fn wherever_the_last_line_is_torn_the_rest_is_kept() {
        let (text, starts) = journal(&[&["{}"], &["{\"a\":1}"]]);
        for cut in starts[1]..text.len() {
            let found = recover(&text.as_bytes()[..cut]).expect("not damaged");
            let tail = (cut > starts[1]).then_some(Torn { at: starts[1], bytes: cut - starts[1] });
            assert_eq!((found.records.len(), found.end, found.tail), (1, starts[1], tail));
        }
    }

    #[test]
    fn any_tail_that_is_no_line_is_torn() {
        let (text, _) = journal(&[&["{}"]]);
        for tail in ["\0\0\0\0", "\n", "\n\n\n", "x\ny\nz", "00000000 00000000 2 1 {}\n"] {
            assert_eq!(records(format!("{text}{tail}").as_bytes()), 1, "{tail:?}");
        }
        assert_eq!(records(&[text.as_bytes(), &[0xFF, b'\n', 0xFE]].concat()), 1);
    }

    #[test]
    fn a_hole_in_the_last_commit_is_torn_and_in_an_older_one_damage() {
        let (text, starts) = journal(&[&["{}"], &["1", "2", "3"]]);
        let mut holed = text.into_bytes();
        holed[starts[1]..starts[2]].fill(0);
        assert_eq!(records(&holed), 1);
        let (text, starts) = journal(&[&["{}"], &["1", "2", "3"], &["4"]]);
        let mut holed = text.into_bytes();
        holed[starts[1]..starts[2]].fill(0);
        assert_eq!(flaw(&holed), Some((2, Flaw::Shape, 2)));
        let message = recover(&holed).map_err(|damage| damage.to_string());
        assert_eq!(
            message,
            Err(format!("line 2, at byte {}, is not a journal line; 2 intact lines follow", starts[1]))
        );
    }

    /// Syncs that go on beside the writing: there is always something open, and still it is known what was durable.
    #[test]
    fn a_hole_is_damage_as_soon_as_a_line_says_that_it_was_durable() {
        let text = lines(&[(1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 1, 2), (5, 1, 1)]);
        let starts: Vec<_> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        let holed = |line: usize, end: usize| {
            let mut bytes = text.as_bytes()[..starts[end - 1]].to_vec();
            bytes[line.checked_sub(2).map_or(0, |before| starts[before])..starts[line - 1] - 1].fill(0);
            recover(&bytes).map(|found| found.records.len()).map_err(|damage| damage.line)
        };
        assert_eq!(
            [holed(1, 2), holed(1, 3), holed(1, 4)],
            [Ok(0), Ok(0), Err(1)],
            "line 4 says that line 1 was durable"
        );
        assert_eq!([holed(2, 4), holed(3, 4), holed(2, 5)], [Ok(1), Ok(2), Err(2)]);
        assert_eq!([holed(3, 5), holed(4, 5)], [Err(3), Ok(3)]);
    }

    #[test]
    fn every_kind_of_damage_is_refused() {
        let (text, starts) = journal(&[&["1"], &["2"], &["3"], &["4"]]);
        let mut flipped = text.clone().into_bytes();
        flipped[starts[2] - 2] ^= 1;
        assert_eq!(flaw(&flipped), Some((2, Flaw::Checksum, 2)));
        let removed = [&text[..starts[1]], &text[starts[2]..]].concat();
        assert_eq!(flaw(removed.as_bytes()), Some((2, Flaw::Chain, 1)));
        let (first, _) = journal(&[&["1"]]);
        let next_epoch = lines(&[(1, 1, 0), (2, 1, 0), (3, 2, 0)]);
        let without_second = [first.as_str(), next_epoch.lines().last().unwrap_or_default(), "\n"].concat();
        assert_eq!(flaw(without_second.as_bytes()), Some((2, Flaw::Chain, 0)));
        let doubled = [&text[..starts[2]], &text[starts[1]..]].concat();
        assert_eq!(flaw(doubled.as_bytes()), Some((3, Flaw::Chain, 2)));
        let swapped =
            [&text[..starts[1]], &text[starts[2]..starts[3]], &text[starts[1]..starts[2]], &text[starts[3]..]];
        assert_eq!(flaw(swapped.concat().as_bytes()), Some((2, Flaw::Chain, 2)));
        let (other, others) = journal(&[&["x"], &["y"], &["z"], &["w"]]);
        let spliced = [&text[..starts[2]], &other[others[2]..]].concat();
        assert_eq!(flaw(spliced.as_bytes()), Some((3, Flaw::Chain, 1)));
    }

    #[test]
    fn gaps_and_epochs_that_fall_are_damage_even_at_the_end() {
        assert_eq!(flaw(lines(&[(1, 1, 0), (3, 1, 0)]).as_bytes()), Some((2, Flaw::Number, 0)));
        assert_eq!(flaw(lines(&[(1, 1, 0), (1, 1, 0)]).as_bytes()), Some((2, Flaw::Number, 0)));
        assert_eq!(flaw(lines(&[(1, 2, 0), (2, 1, 0)]).as_bytes()), Some((2, Flaw::Epoch, 0)));
        assert_eq!(flaw(lines(&[(1, 2, 0), (2, 3, 1)]).as_bytes()), Some((2, Flaw::Epoch, 0)));
        assert_eq!(records(lines(&[(1, 2, 0), (2, 2, 1), (3, 7, 0)]).as_bytes()), 3);
        let (text, starts) = journal(&[&["1", "2", "3"]]);
        let removed = [&text[..starts[1]], &text[starts[2]..]].concat();
        assert_eq!(flaw(removed.as_bytes()), Some((2, Flaw::Chain, 0)));
    }

    #[test]
    fn the_last_epoch_is_found() {
        let text = lines(&[(1, 1, 0), (2, 4, 0), (3, 4, 1), (4, 4, 0)]);
        let found = recover(text.as_bytes()).expect("whole");
        assert_eq!(found.last_epoch, text.find('\n').map_or(0, |at| at + 1));
    }
}
