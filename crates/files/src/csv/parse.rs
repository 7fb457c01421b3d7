//! Reads a table in one pass over its bytes. Keeps no copy of the text and never looks back.
//!
//! RFC 4180, except: LF, CR LF and a lone CR all end a record; blank lines are skipped; and see [`OddityKind`].

use super::table::{Form, Oddity, OddityKind, RawCell, RawRecord, Table};

/// The longest cell that is accepted, as it is written between its quotes.
pub const MAX_CELL_BYTES: usize = 1 << 20;

/// Why a text is no table, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Malformed {
    /// What is wrong.
    pub kind: MalformedKind,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// What is wrong with a text that is no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedKind {
    /// A quote that is never closed, or that only the next quoted cell, lines later, would close. At the opening quote.
    #[error("this quote is never closed")]
    UnterminatedQuote,
    /// More than [`MAX_CELL_BYTES`]. At the cell.
    #[error("this cell is longer than {MAX_CELL_BYTES} bytes")]
    CellTooLong,
    /// More than offsets can count. At the start.
    #[error("the text is longer than {} bytes", u32::MAX - 1)]
    TextTooLong,
}

/// Reads a table. A byte order mark is part of the first cell: strip it before.
pub fn parse(text: &str) -> Result<Table<'_>, Malformed> {
    if text.len() >= u32::MAX as usize {
        return Err(Malformed { kind: MalformedKind::TextTooLong, start: 0, end: 0 });
    }
    let table = Table { text, cells: Vec::new(), records: Vec::new(), oddities: Vec::new() };
    let mut parser = Parser { bytes: text.as_bytes(), at: 0, line: 1, blank_from: None, columns: None, table };
    while parser.at < parser.bytes.len() {
        parser.line()?;
    }
    let mut table = parser.table;
    table.oddities.sort_by_key(|oddity| oddity.start); // a ragged row is known only after its cells
    Ok(table)
}

struct Parser<'s> {
    bytes: &'s [u8],
    at: usize,
    line: u32,
    /// Where the blank lines before `at` begin.
    blank_from: Option<usize>,
    /// How many cells the header has, once it is read.
    columns: Option<u32>,
    table: Table<'s>,
}

impl Parser<'_> {
    /// Reads the blank line or the record at `at`, with its line end.
    fn line(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        let after_blanks = self.skip_blanks(start);
        if self.is_line_end(after_blanks) {
            self.blank_from.get_or_insert(start);
            self.at = after_blanks;
        } else {
            if let Some(from) = self.blank_from.take() {
                self.odd(OddityKind::BlankLine, from, start);
            }
            self.record()?;
        }
        self.take_line_end();
        Ok(())
    }

    fn record(&mut self) -> Result<(), Malformed> {
        let (start, first_cell) = (self.at, self.table.cells.len());
        self.table.records.push(RawRecord { first_cell: first_cell as u32, start: start as u32, line: self.line });
        self.cell()?;
        while self.byte(self.at) == Some(b',') {
            self.at += 1;
            self.cell()?;
        }
        let found = (self.table.cells.len() - first_cell) as u32;
        let expected = *self.columns.get_or_insert(found);
        if found != expected {
            self.odd(OddityKind::RaggedRow { expected, found }, start, self.at);
        }
        Ok(())
    }

    /// Reads one cell, up to the comma or the line end after it.
    fn cell(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        let open = self.skip_blanks(start);
        if self.byte(open) == Some(b'"') {
            if open > start {
                self.odd(OddityKind::SpacedQuote, start, open);
            }
            return self.quoted_cell(open);
        }
        let (end, quote) = self.skip_literal(open);
        if let Some(quote) = quote {
            self.odd(OddityKind::BareQuote, quote, quote + 1);
        }
        self.at = end;
        self.push(start, end, Form::Bare)
    }

    fn quoted_cell(&mut self, open: usize) -> Result<(), Malformed> {
        let (first_line, oddities) = (self.line, self.table.oddities.len());
        let strict = self.skip_quoted(open);
        if !strict.is_ok_and(|(close, _)| self.ends_cell(close + 1))
            && let Some((close, first)) = self.skip_escaped(open)
        {
            self.table.oddities.truncate(oddities);
            self.line = first_line + self.lines_in(open, close);
            self.odd(OddityKind::EscapedQuote, first, first + 2);
            self.at = self.skip_blanks(close + 1);
            if self.at > close + 1 {
                self.odd(OddityKind::SpacedQuote, close + 1, self.at);
            }
            return self.push(open, close + 1, Form::Escaped);
        }
        let (close, doubled) = strict?;
        let end = close + 1;
        let after_blanks = self.skip_blanks(end);
        if self.ends_cell(end) {
            if after_blanks > end {
                self.odd(OddityKind::SpacedQuote, end, after_blanks);
            }
            self.at = after_blanks;
            return self.push(open, end, if doubled { Form::Composed } else { Form::Quoted });
        }
        if self.line > first_line {
            // The apparent end is the opening quote of a later cell: `a,"b⏎c,"d"`.
            return Err(malformed(MalformedKind::UnterminatedQuote, open, open + 1));
        }
        let (tail, _) = self.skip_literal(end);
        self.odd(OddityKind::TextAfterQuote, end, tail);
        self.at = tail;
        self.push(open, tail, Form::Composed)
    }

    /// From an opening quote to its closing one, and whether there were doubled quotes between them.
    fn skip_quoted(&mut self, open: usize) -> Result<(usize, bool), Malformed> {
        let mut at = open + 1;
        let mut doubled = false;
        let mut nul = None;
        loop {
            match self.byte(at) {
                None => return Err(malformed(MalformedKind::UnterminatedQuote, open, open + 1)),
                Some(b'"') if self.byte(at + 1) == Some(b'"') => {
                    doubled = true;
                    at += 1;
                }
                Some(b'"') => break,
                Some(b'\n') => self.line += 1,
                Some(b'\r') if self.byte(at + 1) != Some(b'\n') => self.line += 1,
                Some(0) => nul = nul.or(Some(at)),
                Some(_) => {}
            }
            at += 1;
        }
        if let Some(nul) = nul {
            self.odd(OddityKind::NulByte, nul, nul + 1);
        }
        Ok((at, doubled))
    }

    /// From an opening quote to its closing one where `\"` stands for a quote, and the first `\"` on the way. Nothing
    /// unless that ends the cell.
    fn skip_escaped(&self, open: usize) -> Option<(usize, usize)> {
        let (mut at, mut first) = (open + 1, None);
        loop {
            match (self.byte(at)?, self.byte(at + 1)) {
                (b'\\', Some(b'"')) => {
                    first = first.or(Some(at));
                    at += 2;
                }
                (b'\\', Some(b'\\')) | (b'"', Some(b'"')) => at += 2,
                (b'"', _) => break,
                _ => at += 1,
            }
        }
        first.filter(|_| self.ends_cell(at + 1)).map(|first| (at, first))
    }

    fn lines_in(&self, from: usize, to: usize) -> u32 {
        let is_end = |at: &usize| match self.bytes[*at] {
            b'\n' => true,
            b'\r' => self.byte(at + 1) != Some(b'\n'),
            _ => false,
        };
        u32::try_from((from..to).filter(is_end).count()).unwrap_or(u32::MAX)
    }

    /// Whether a cell can end here: there are only blanks up to a comma or the end of the line.
    fn ends_cell(&self, at: usize) -> bool {
        let after = self.skip_blanks(at);
        self.byte(after) == Some(b',') || self.is_line_end(after)
    }

    /// To the comma or the line end after `at`, and the first quote on the way.
    fn skip_literal(&mut self, mut at: usize) -> (usize, Option<usize>) {
        let (mut quote, mut nul) = (None, None);
        while let Some(byte) = self.byte(at) {
            match byte {
                b',' | b'\n' | b'\r' => break,
                b'"' => quote = quote.or(Some(at)),
                0 => nul = nul.or(Some(at)),
                _ => {}
            }
            at += 1;
        }
        if let Some(nul) = nul {
            self.odd(OddityKind::NulByte, nul, nul + 1);
        }
        (at, quote)
    }

    fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }

    fn take_line_end(&mut self) {
        if self.at < self.bytes.len() {
            self.at += if self.bytes[self.at..].starts_with(b"\r\n") { 2 } else { 1 };
            self.line += 1;
        }
    }

    fn is_line_end(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b'\n' | b'\r'))
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn push(&mut self, start: usize, end: usize, form: Form) -> Result<(), Malformed> {
        let quotes = if form == Form::Bare { 0 } else { 2 };
        if end - start > MAX_CELL_BYTES + quotes {
            return Err(malformed(MalformedKind::CellTooLong, start, end));
        }
        self.table.cells.push(RawCell { start: start as u32, end: end as u32, form });
        Ok(())
    }

    fn odd(&mut self, kind: OddityKind, start: usize, end: usize) {
        self.table.oddities.push(Oddity { kind, start: start as u32, end: end as u32 });
    }
}

const fn malformed(kind: MalformedKind, start: usize, end: usize) -> Malformed {
    Malformed { kind, start: start as u32, end: end as u32 }
}
