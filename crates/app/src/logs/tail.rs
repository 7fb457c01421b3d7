//! The end of a log, found without reading the rest of it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;

use team_executor_agents::adapters::transcript::{Kind, Transcript};

use super::What;
use super::stream::{Each, PIECE, read_at};

/// How much of the end of an agent's stream is decoded first.
pub(super) const WINDOW: u64 = 256 << 10;

/// Whether a log is the stream of a known agent, by its begin.
pub(super) fn is_known(file: &File) -> io::Result<Option<bool>> {
    let mut bytes = vec![0; PIECE];
    let length = read_at(file, &mut bytes, 0)?;
    let whole = bytes[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    Ok(Transcript::is_known(bytes[..whole].split(|byte| *byte == b'\n')))
}

/// Where the first line begins that does so at a place or behind it.
pub(super) fn line_begin(file: &File, place: u64) -> io::Result<u64> {
    let Some(mut before) = place.checked_sub(1) else { return Ok(0) };
    let mut bytes = vec![0; PIECE];
    loop {
        let length = read_at(file, &mut bytes, before)?;
        match bytes[..length].iter().position(|byte| *byte == b'\n') {
            Some(end) => return Ok(before + end as u64 + 1),
            None if length == 0 => return Ok(before),
            None => before += length as u64,
        }
    }
}

/// Where the last lines of a log begin, at most so many, and not before a place. It is read backwards.
pub(super) fn last_lines(file: &File, first: u64, most: usize) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let (mut end, mut left) = (length, most);
    let mut bytes = vec![0; PIECE];
    while end > first {
        let begin = end.saturating_sub(PIECE as u64).max(first);
        let count = usize::try_from(end - begin).unwrap_or(PIECE);
        let there = read_at(file, &mut bytes[..count], begin)?;
        for (nth, byte) in bytes[..there].iter().enumerate().rev() {
            let place = begin + nth as u64 + 1;
            // The end of the last line begins no other.
            if *byte == b'\n' && place < length {
                if left <= 1 {
                    return Ok(if most == 0 { length } else { place });
                }
                left -= 1;
            }
        }
        end = begin;
    }
    Ok(if most == 0 { length } else { first })
}

/// A line that was said: when, what it is, and whether it is the first of its part.
type Said = (Option<u64>, Kind, bool, Vec<u8>);

/// The last lines of what was told.
#[derive(Debug)]
pub(super) struct Last {
    most: usize,
    lines: VecDeque<Said>,
    has_more: bool,
}

impl Last {
    pub(super) fn new(most: usize) -> Self {
        Self { most, lines: VecDeque::new(), has_more: false }
    }

    pub(super) fn push(&mut self, at: Option<u64>, what: What<'_>, bytes: &[u8]) {
        let (kind, is_first) =
            if let What::Said(kind, is_first) = what { (kind, is_first) } else { (Kind::Plain, true) };
        self.lines.push_back((at, kind, is_first, bytes.to_vec()));
        if self.lines.len() > self.most {
            self.lines.pop_front();
            self.has_more = true;
        }
    }

    /// There are as many as are wanted, and another one before them.
    pub(super) const fn is_full(&self) -> bool {
        self.has_more
    }

    pub(super) fn tell(self, each: &mut Each<'_>) {
        for (at, kind, is_first, line) in self.lines {
            each(at, What::Said(kind, is_first), &line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn log(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn last_lines_begin_where_fewer_would_be_too_few() {
        let begin = |text: &str, first, most| last_lines(&log(text), first, most).unwrap();
        for (text, most, expected) in [
            ("a\nb\nc\n", 1, 4),
            ("a\nb\nc\n", 2, 2),
            ("a\nb\nc\n", 3, 0),
            ("a\nb\nc\n", 9, 0),
            ("a\nb\nc", 1, 4),
            ("a\n\n\n", 2, 2),
            ("a\nb\n", 0, 4),
            ("", 5, 0),
        ] {
            assert_eq!(begin(text, 0, most), expected, "{text:?} {most}");
        }
        assert_eq!(begin("a\nb\nc\n", 2, 9), 2, "not before a place");
        let long = "x".repeat(PIECE * 2);
        let text = format!("{long}\n{long}\nend\n");
        assert_eq!(begin(&text, 0, 2), long.len() as u64 + 1);
    }

    #[test]
    fn lines_begin_behind_the_end_of_another() {
        let file = log("ab\ncd\nef");
        let begins = [0, 1, 2, 3, 4, 6, 7].map(|place| line_begin(&file, place).unwrap());
        assert_eq!(begins, [0, 3, 3, 3, 6, 6, 8]);
    }
}
