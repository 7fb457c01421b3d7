//! What is said about a text that is no table, or not quite one.

use std::sync::Arc;

use crate::code::Code;
use crate::csv::{Malformed, MalformedKind, OddityKind, Table};
use crate::finding::{Finding, Findings};
use crate::span::Span;

/// One warning for each sort of oddity.
pub(super) fn oddities(table: &Table<'_>, file: &Arc<str>, findings: &mut Findings) {
    for odd in table.oddities() {
        let message = match odd.kind {
            OddityKind::SpacedQuote => "blanks around the quotes of a cell were dropped",
            OddityKind::TextAfterQuote => "text after a closing quote was read as part of its cell",
            OddityKind::BareQuote => "a quote within a cell that has none around it was kept",
            OddityKind::NulByte => "a NUL character was kept",
            OddityKind::BlankLine => "blank lines were skipped",
            OddityKind::RaggedRow { expected, found } if found < expected => {
                "a row has fewer cells than the header: the missing ones were read as empty"
            }
            OddityKind::RaggedRow { .. } => "a row has more cells than the header: the surplus ones have no name",
        };
        let place = Span { start: odd.start, end: odd.end };
        findings.push(Finding::warning(Code::OddTable, message).at(file, place, ""));
    }
}

/// Why it cannot be read at all.
pub(crate) fn corrupt(subject: &str, malformed: Malformed, file: &Arc<str>) -> Finding {
    let place = Span { start: malformed.start, end: malformed.end };
    let finding = Finding::error(Code::Corrupt, format!("{subject} corrupt")).at(file, place, malformed.to_string());
    match malformed.kind {
        MalformedKind::UnterminatedQuote => {
            finding.help("close the quote; a quote within a quoted cell is written twice: \"\"")
        }
        MalformedKind::CellTooLong | MalformedKind::TextTooLong => finding.help("is it the right file?"),
    }
}
