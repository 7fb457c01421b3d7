//! Findings about a text that is no table, or not quite one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cells::place;
use super::columns::Header;
use super::read::cell_of;
use crate::code::Code;
use crate::csv::{Cell, Malformed, MalformedKind, OddityKind, Table};
use crate::finding::{Finding, Findings};
use crate::span::Span;

/// One warning for each sort of oddity.
pub(super) fn oddities(table: &Table<'_>, file: &Arc<str>, findings: &mut Findings) {
    for odd in table.oddities() {
        let message = match odd.kind {
            OddityKind::SpacedQuote => "blanks around the quotes of a cell were dropped",
            OddityKind::TextAfterQuote => "text after a closing quote was read as part of its cell",
            OddityKind::EscapedQuote => "`\\\"` within a quoted cell was read as a quote",
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

/// The first quote of each row that has more cells than the header because of it: what the cells say behind such a quote
/// is not guessed.
pub(super) fn misquoted(subject: &str, table: &Table<'_>, file: &Arc<str>) -> Vec<Finding> {
    let is_quote = |kind| matches!(kind, OddityKind::TextAfterQuote | OddityKind::BareQuote);
    let mut quotes = table.oddities().iter().filter(|odd| is_quote(odd.kind)).peekable();
    let mut findings = Vec::new();
    for row in table.oddities() {
        let OddityKind::RaggedRow { expected, found } = row.kind else { continue };
        while quotes.next_if(|quote| quote.start < row.start).is_some() {}
        if let Some(quote) = quotes.peek().filter(|quote| found > expected && quote.start < row.end) {
            let place = match quote.kind {
                OddityKind::TextAfterQuote => Span { start: quote.start - 1, end: quote.start },
                _ => Span { start: quote.start, end: quote.end },
            };
            let label = format!("after this quote the row splits into {found} cells; the header has {expected}");
            let finding = Finding::error(Code::Corrupt, format!("{subject} corrupt")).at(file, place, label);
            findings.push(finding.help("put the cell in quotes, and write each quote within it twice: \"\""));
        }
    }
    findings
}

/// Rows in which another column for the dependencies names other tasks than the one that is read.
pub(super) fn contradictions(header: &Header<'_>, table: &Table<'_>, file: &Arc<str>, findings: &mut Findings) {
    let Some(own) = header.column("deps") else { return };
    let ids = |cell: &Cell<'_>| -> BTreeSet<String> {
        cell.value.split([';', ',']).map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
    };
    for other in header.others("deps") {
        for record in table.records() {
            let (own, again) = (cell_of(record, own), cell_of(record, other));
            if !ids(&again).is_empty() && ids(&own) != ids(&again) {
                let message = format!("a row names different tasks in `deps` and `{}`", header.names[other].trim());
                let finding =
                    Finding::error(Code::Contradiction, message).at(file, place(&again), "these tasks differ");
                let finding = finding.and(file, place(&own), "than these");
                findings.push(finding.help("let both name the same tasks, or remove one of the columns"));
            }
        }
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
