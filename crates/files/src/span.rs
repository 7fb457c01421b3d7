//! Places in a text: byte ranges, and the line and column that a person sees.

use std::sync::OnceLock;

/// A range of bytes in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// A range of bytes. Files are far smaller than 4 GiB, by the limits of [`crate::limits`].
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: offset(start), end: offset(end) }
    }

    /// From offsets into a text that begins at `base` of a larger one.
    pub fn at(base: u32, start: usize, end: usize) -> Self {
        Self { start: base.saturating_add(offset(start)), end: base.saturating_add(offset(end)) }
    }

    /// The text that it covers, or nothing if it is not a range of this text.
    #[cfg(test)]
    pub(crate) fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// For slicing a text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text with other words in some places, which do not overlap. What is put into one place keeps its order.
pub(crate) fn spliced(text: &str, mut edits: Vec<(std::ops::Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in &edits {
        out.push_str(&text[at..range.start]);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What a person calls a place: both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which line.
    pub line: usize,
    /// Which character of the line.
    pub column: usize,
}

/// The text of one file, without its byte order mark, with its lines.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// Takes the text; lines are counted on the first question about them.
    pub fn new(text: String) -> Self {
        Self { text, lines: OnceLock::new() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where an offset is. An offset past the end is at the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let starts = self.line_starts();
        let line = starts.partition_point(|start| *start as usize <= offset);
        let start = starts[line - 1] as usize;
        let column = self.text.as_bytes()[start..offset].iter().filter(|b| **b & 0xC0 != 0x80).count() + 1;
        Position { line, column }
    }

    /// The bytes of a line, without its line end. Lines count from 1.
    pub fn line(&self, line: usize) -> Span {
        let starts = self.line_starts();
        let start = starts[line.clamp(1, starts.len()) - 1] as usize;
        let end = starts.get(line).map_or(self.text.len(), |next| *next as usize);
        let trimmed = self.text[start..end].trim_end_matches(['\n', '\r']).len();
        Span::new(start, start + trimmed)
    }

    fn line_starts(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(ends.map(|(at, _)| offset(at + 1))).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::new("ab\r\n日本x\n".to_owned());
        let at = |offset| {
            let p = source.position(offset);
            (p.line, p.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(1), (1, 2));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at(10), (2, 3));
        assert_eq!(at(12), (3, 1));
        assert_eq!(at(999), (3, 1));
        assert_eq!(&source.text()[source.line(1).range()], "ab");
        assert_eq!(&source.text()[source.line(2).range()], "日本x");
        assert_eq!(&source.text()[source.line(3).range()], "");
    }

    #[test]
    fn an_empty_text_has_one_empty_line() {
        let source = Source::new(String::new());
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.line(1), Span::new(0, 0));
    }
}
