//! The lines of one log by their numbers, however long it is, and a search over all of them. What is kept grows with the
//! thousandth part of the lines.

use std::fs::File;
use std::io;
use std::path::Path;

use memchr::{memchr_iter, memmem};
use team_executor_beneath::open_regular;

use super::stream::read_at;

/// How much is read at a time.
const BLOCK: usize = 1 << 18;
/// The most places that are kept; with more lines they are farther apart.
const PLACES: usize = 1 << 14;
/// At first, every so-manyth line has its place kept.
const EVERY: u64 = 256;
/// The most bytes of a line that are read.
const LINE_BYTES: usize = 8 << 10;

/// One log, line by line.
#[derive(Debug)]
pub struct Lines {
    file: File,
    /// Where the lines 0, `every`, 2 × `every`, … begin.
    places: Vec<u64>,
    every: u64,
    /// How many lines have ended, and where the last of them did.
    ended: u64,
    end: u64,
    /// How much was looked at.
    seen: u64,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its bytes, without its end; at most 8 KiB of them.
    pub bytes: Vec<u8>,
    /// How many more there are.
    pub left_out: u64,
}

/// Where something stands in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// The numbers of the first lines, from 0.
    pub lines: Vec<u64>,
    /// How many lines there are in all.
    pub total: u64,
}

impl Lines {
    /// Opens a log; nothing if there is none.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Some(Self { file, places: vec![0], every: EVERY, ended: 0, end: 0, seen: 0 }))
    }

    /// Whether it is the stream of a known agent, which is read decoded instead.
    pub fn is_stream(&self) -> io::Result<bool> {
        Ok(super::tail::is_known(&self.file)? == Some(true))
    }

    /// Takes in what was printed since the last time.
    pub fn grow(&mut self) -> io::Result<()> {
        let mut block = vec![0; BLOCK];
        loop {
            let length = read_at(&self.file, &mut block, self.seen)?;
            if length == 0 {
                return Ok(());
            }
            for at in memchr_iter(b'\n', &block[..length]) {
                self.ended += 1;
                self.end = self.seen + at as u64 + 1;
                if self.ended.is_multiple_of(self.every) {
                    self.keep(self.end);
                }
            }
            self.seen += length as u64;
        }
    }

    fn keep(&mut self, place: u64) {
        self.places.push(place);
        if self.places.len() > PLACES {
            let mut nth = 0;
            self.places.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// How many lines there are; one that has not ended counts.
    pub const fn count(&self) -> u64 {
        self.ended + (self.seen > self.end) as u64
    }

    /// How many bytes there are.
    pub const fn bytes(&self) -> u64 {
        self.seen
    }

    /// Lines from a number on, at most so many.
    pub fn read(&self, from: u64, most: usize) -> io::Result<Vec<Line>> {
        let mut lines = Vec::new();
        let near = usize::try_from(from / self.every).unwrap_or(usize::MAX).min(self.places.len() - 1);
        let mut skip = from - near as u64 * self.every;
        let mut at = self.places[near];
        let (mut block, mut line) = (vec![0; BLOCK], Line { bytes: Vec::new(), left_out: 0 });
        while at < self.seen && lines.len() < most {
            let length = read_at(&self.file, &mut block, at)?;
            if length == 0 {
                break;
            }
            let mut rest = &block[..length];
            while !rest.is_empty() && lines.len() < most {
                let end = memchr::memchr(b'\n', rest);
                let (part, more) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
                rest = more;
                if skip == 0 {
                    let room = LINE_BYTES - line.bytes.len();
                    let part = if end.is_some() { &part[..part.len() - 1] } else { part };
                    line.bytes.extend_from_slice(&part[..part.len().min(room)]);
                    line.left_out += part.len().saturating_sub(room) as u64;
                }
                if end.is_some() {
                    match skip {
                        0 => lines.push(std::mem::replace(&mut line, Line { bytes: Vec::new(), left_out: 0 })),
                        _ => skip -= 1,
                    }
                }
            }
            at += length as u64;
        }
        if lines.len() < most && (line.left_out > 0 || !line.bytes.is_empty()) {
            lines.push(line);
        }
        Ok(lines)
    }

    /// The lines that have one of these texts in them, whatever the case of ASCII letters; the numbers of the first of them.
    pub fn search(&self, texts: &[&str], most: usize) -> io::Result<Hits> {
        let needles: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        let finders: Vec<_> = needles.iter().map(|needle| memmem::Finder::new(needle.as_bytes())).collect();
        let (mut hits, mut number, mut at) = (Hits::default(), 0, 0);
        let mut block: Vec<u8> = Vec::with_capacity(2 * BLOCK);
        while at < self.seen {
            let begun = block.len();
            block.resize(begun + BLOCK, 0);
            let length = read_at(&self.file, &mut block[begun..], at)?;
            block.truncate(begun + length);
            at += length as u64;
            // Only whole lines are looked at, unless one is very long or nothing follows.
            let is_last = length == 0 || at >= self.seen;
            let end = match memchr::memrchr(b'\n', &block) {
                _ if is_last => block.len(),
                Some(end) => end + 1,
                None if block.len() >= 4 * BLOCK => block.len(),
                None => continue,
            };
            block[..end].make_ascii_lowercase();
            number = look(&block[..end], &finders, number, most, &mut hits);
            block.drain(..end);
            if length == 0 {
                break;
            }
        }
        Ok(hits)
    }
}

/// Looks for texts in whole lines, of which the first has this number; returns the number of the next line.
fn look(lines: &[u8], finders: &[memmem::Finder<'_>], first: u64, most: usize, hits: &mut Hits) -> u64 {
    let (mut number, mut from) = (first, 0);
    while let Some(found) = finders.iter().filter_map(|finder| finder.find(&lines[from..])).min() {
        number += memchr_iter(b'\n', &lines[from..from + found]).count() as u64;
        hits.total += 1;
        if hits.lines.len() < most {
            hits.lines.push(number);
        }
        let Some(end) = memchr::memchr(b'\n', &lines[from + found..]) else { return number };
        from += found + end + 1;
        number += 1;
    }
    number + memchr_iter(b'\n', &lines[from..]).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> (tempfile::TempDir, Lines) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, text).unwrap();
        let mut lines = Lines::open(&path).unwrap().unwrap();
        lines.grow().unwrap();
        (dir, lines)
    }

    fn texts(lines: &Lines, from: u64, most: usize) -> Vec<String> {
        let read = lines.read(from, most).unwrap();
        read.into_iter().map(|line| String::from_utf8(line.bytes).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_by_number_and_the_last_need_not_end() {
        let (_dir, lines) = log("a\n\nc\nlast");
        assert_eq!(lines.count(), 4);
        assert_eq!(texts(&lines, 0, 9), ["a", "", "c", "last"]);
        assert_eq!(texts(&lines, 2, 1), ["c"]);
        assert_eq!(texts(&lines, 9, 1), Vec::<String>::new());
        assert_eq!(log("").1.count(), 0);
        assert_eq!(texts(&log("").1, 0, 5), Vec::<String>::new());
    }

    #[test]
    fn lines_of_a_large_log_are_found_at_their_place() {
        const MANY: u64 = 5_000_000;
        let mut text = String::new();
        for nth in 0..MANY {
            text.push_str(&(nth % 10).to_string());
            text.push('\n');
        }
        let (_dir, lines) = log(&text);
        assert_eq!(lines.count(), MANY);
        assert!(lines.places.len() <= PLACES, "{}", lines.places.len());
        for from in [0, 255, 256, 257, 999_999, MANY - 3] {
            let wanted: Vec<_> = (from..MANY.min(from + 3)).map(|nth| (nth % 10).to_string()).collect();
            assert_eq!(texts(&lines, from, 3), wanted, "{from}");
        }
    }

    #[test]
    fn search_finds_lines_across_blocks_in_any_case() {
        let filler = "x".repeat(BLOCK - 3);
        let (_dir, lines) = log(&format!("{filler}\nAn ERROR, an error\nfine\n{filler}\nlast error"));
        assert_eq!(lines.search(&["error"], 9).unwrap(), Hits { lines: vec![1, 4], total: 2 });
        assert_eq!(lines.search(&["Fine", "last"], 1).unwrap(), Hits { lines: vec![2], total: 2 });
        assert_eq!(lines.search(&["nowhere"], 9).unwrap(), Hits::default());
        assert_eq!(lines.read(0, 1).unwrap()[0].left_out, (BLOCK - 3 - LINE_BYTES) as u64);
    }

    #[test]
    fn growing_log_gets_more_lines() {
        use std::io::Write as _;
        let (dir, mut lines) = log("one\ntw");
        assert_eq!((lines.count(), texts(&lines, 1, 1)), (2, vec!["tw".to_owned()]));
        let mut file = std::fs::OpenOptions::new().append(true).open(dir.path().join("log")).unwrap();
        file.write_all(b"o\nthree\n").unwrap();
        lines.grow().unwrap();
        assert_eq!((lines.count(), texts(&lines, 1, 5)), (3, vec!["two".to_owned(), "three".to_owned()]));
    }
}
