//! What a parsed table is: one flat list of cells, and views into it. Parses nothing.

use std::borrow::Cow;

/// The header and the records of a text, with everything odd about it.
#[derive(Debug, Clone)]
pub struct Table<'s> {
    pub(super) text: &'s str,
    pub(super) cells: Vec<RawCell>,
    pub(super) records: Vec<RawRecord>,
    pub(super) oddities: Vec<Oddity>,
}

impl<'s> Table<'s> {
    /// The first record; without cells if the text has none.
    pub fn header(&self) -> Record<'_, 's> {
        self.record(0)
    }

    /// Every record after the header.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_, 's>> {
        (1..self.records.len().max(1)).map(|index| self.record(index))
    }

    /// What was tolerated, in the order of the text.
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    fn record(&self, index: usize) -> Record<'_, 's> {
        let Some(raw) = self.records.get(index) else {
            return Record { text: self.text, cells: &[], start: 0, line: 1 };
        };
        let end = self.records.get(index + 1).map_or(self.cells.len(), |next| next.first_cell as usize);
        let cells = &self.cells[raw.first_cell as usize..end];
        Record { text: self.text, cells, start: raw.start, line: raw.line }
    }
}

/// One record of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub struct Record<'t, 's> {
    text: &'s str,
    cells: &'t [RawCell],
    start: u32,
    line: u32,
}

impl<'t, 's> Record<'t, 's> {
    /// How many cells it has.
    pub const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it has none, as only the header of an empty text.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cell of a column, counted from 0.
    pub fn get(&self, column: usize) -> Option<Cell<'s>> {
        self.cells.get(column).map(|raw| raw.view(self.text))
    }

    /// Its cells from left to right.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell<'s>> + use<'t, 's> {
        let text = self.text;
        self.cells.iter().map(move |raw| raw.view(text))
    }

    /// Its first byte.
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// The byte after its last cell.
    pub fn end(&self) -> u32 {
        self.cells.last().map_or(self.start, |cell| cell.end)
    }

    /// The line that it begins on, counted from 1.
    pub const fn line(&self) -> u32 {
        self.line
    }
}

/// One cell and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell<'s> {
    /// What it says; owned only where the text says it differently.
    pub value: Cow<'s, str>,
    /// Its first byte, which may be a quote.
    pub start: u32,
    /// The byte after its last, which may be a quote.
    pub end: u32,
}

/// Something in the text that RFC 4180 does not know and that was read all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oddity {
    /// What it is.
    pub kind: OddityKind,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// What was odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OddityKind {
    /// Blanks before or after the quotes of a cell; dropped.
    SpacedQuote,
    /// Text between a closing quote and the end of the cell; kept, `"a"b` says `ab`.
    TextAfterQuote,
    /// `\"` within a quoted cell that could not be read without it; it says `"`. Only the first of a cell is reported.
    EscapedQuote,
    /// A quote within a cell that does not begin with one; kept. Only the first of a cell is reported.
    BareQuote,
    /// A NUL character; kept. Only the first of a cell is reported.
    NulByte,
    /// Lines with nothing but blanks, followed by a record; skipped.
    BlankLine,
    /// A record with more or fewer cells than the header.
    RaggedRow {
        /// How many the header has.
        expected: u32,
        /// How many it has.
        found: u32,
    },
}

/// A cell as it is stored: 12 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawCell {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) form: Form,
}

/// How a cell's value is found between its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It is the bytes.
    Bare,
    /// It is the bytes between the quotes.
    Quoted,
    /// It has doubled quotes, or text after its closing quote.
    Composed,
    /// Between its quotes `\"` is a quote.
    Escaped,
}

/// A record as it is stored; its cells end where the next record's begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawRecord {
    pub(super) first_cell: u32,
    pub(super) start: u32,
    pub(super) line: u32,
}

impl RawCell {
    fn view(self, text: &str) -> Cell<'_> {
        let Self { start, end, form } = self;
        let bytes = &text[start as usize..end as usize];
        let value = match form {
            Form::Bare => Cow::Borrowed(bytes),
            Form::Quoted => Cow::Borrowed(&bytes[1..bytes.len() - 1]),
            Form::Composed => Cow::Owned(compose(&bytes[1..])),
            Form::Escaped => Cow::Owned(unescape(&bytes[1..bytes.len() - 1])),
        };
        Cell { value, start, end }
    }
}

/// The value of a cell, from after its opening quote: halves doubled quotes and drops the closing one.
fn compose(mut rest: &str) -> String {
    let mut value = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('"') {
        value.push_str(before);
        let Some(quoted) = after.strip_prefix('"') else {
            value.push_str(after);
            return value;
        };
        value.push('"');
        rest = quoted;
    }
    value
}

/// The text between the quotes of a cell with `\"`; other backslashes stay.
fn unescape(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '"']) {
        value.push_str(&rest[..at]);
        let pair = &rest[at..rest.floor_char_boundary(at + 2)];
        value.push_str(match pair {
            "\\\"" | "\"\"" => "\"",
            "\\\\" => pair,
            _ => &rest[at..=at],
        });
        rest = &rest[at + if matches!(pair, "\\\"" | "\"\"" | "\\\\") { 2 } else { 1 }..];
    }
    value.push_str(rest);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_small() {
        assert_eq!(size_of::<RawCell>(), 12);
        assert_eq!(size_of::<RawRecord>(), 12);
    }

    #[test]
    fn quotes_are_halved_and_the_closing_one_is_dropped() {
        assert_eq!(compose(r#"a""b""""c""#), r#"a"b""c"#);
        assert_eq!(compose(r#""""#), r#"""#);
        assert_eq!(compose(r#"a"b"c"#), r#"ab"c"#);
    }
}
