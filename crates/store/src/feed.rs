//! Journal lines that arrive piece by piece, from the file or through a socket. Each must follow the one before it.

use crate::line::{Head, Seq, decode};

/// Takes bytes and gives records.
#[derive(Debug, Default)]
pub struct Feed {
    last: Head,
    bytes: Vec<u8>,
    /// Where the first line begins that was not given.
    start: usize,
    /// How long all lines are that were given.
    offset: u64,
}

/// A line that does not follow the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line behind record {after} is not a journal line, or does not follow it")]
pub struct Strange {
    /// The last record that was good.
    pub after: Seq,
}

impl Feed {
    /// Adds what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.start));
        self.bytes.extend_from_slice(bytes);
    }

    /// The next record and its number; nothing until its whole line has come.
    pub fn next_record(&mut self) -> Result<Option<(Seq, &str)>, Strange> {
        let rest = &self.bytes[self.start..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let strange = Strange { after: self.last.seq };
        let line = decode(&rest[..end]).filter(|line| {
            line.intact && line.prev == self.last.crc && Some(line.head.seq) == self.last.seq.checked_add(1)
        });
        let line = line.ok_or(strange)?;
        let json = str::from_utf8(&rest[line.json.clone()]).map_err(|_| strange)?;
        self.last = line.head;
        self.start += end + 1;
        self.offset += end as u64 + 1;
        Ok(Some((self.last.seq, json)))
    }

    /// The number of the last record that was given.
    pub fn last(&self) -> Seq {
        self.last.seq
    }

    /// Where the next line begins in the journal.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Forgets a line that has not come whole: it will come again.
    pub fn forget_rest(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::encode;

    fn lines(records: &[&str]) -> String {
        let (mut text, mut last) = (String::new(), Head::default());
        for json in records {
            last = encode(&mut text, last, 0, 1, json);
        }
        text
    }

    #[test]
    fn records_are_whole_however_their_bytes_arrive() {
        let text = lines(&["1", "{\"a\":\"é\"}", "3"]);
        for size in 1..text.len() {
            let (mut feed, mut found) = (Feed::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                feed.push(piece);
                while let Some((seq, json)) = feed.next_record().unwrap() {
                    found.push((seq, json.to_owned()));
                }
            }
            let expected = [(1, "1"), (2, "{\"a\":\"é\"}"), (3, "3")].map(|(seq, json)| (seq, json.to_owned()));
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn line_that_does_not_follow_is_refused() {
        let text = lines(&["1", "2", "3"]);
        let second = text.find('\n').unwrap() + 1;
        for (bytes, after) in [(text[second..].to_owned(), 0), (text.replacen("2\n", "x\n", 1), 1)] {
            let mut feed = Feed::default();
            feed.push(bytes.as_bytes());
            while after > 0 && feed.last() < after {
                feed.next_record().unwrap();
            }
            assert_eq!(feed.next_record(), Err(Strange { after }));
        }
        let mut feed = Feed::default();
        feed.push(&text.as_bytes()[..second + 3]);
        feed.next_record().unwrap();
        assert_eq!(feed.next_record(), Ok(None));
        feed.forget_rest();
        assert_eq!(feed.offset(), second as u64);
        feed.push(&text.as_bytes()[second..]);
        assert_eq!(feed.next_record(), Ok(Some((2, "2"))));
    }
}
