//! An instruction with `{column}` where the cells of a row go. Two braces stand for one.

use std::borrow::Cow;
use std::sync::Arc;

use team_executor_core::letters_apart;

use crate::code::Code;
use crate::finding::{Finding, Findings};
use crate::json::quote;
use crate::span::Span;

/// How far a wrong name may be from the one that was probably meant.
const WRONG_LETTERS: usize = 3;

/// An instruction, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(usize),
}

impl Template {
    /// Takes an instruction apart. What names no column is an error: it is not guessed whether it was meant as one.
    pub fn parse(instruction: &str, columns: &[Cow<'_, str>], file: &Arc<str>, findings: &mut Findings) -> Self {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut at = 0;
        while let Some(found) = instruction[at..].find(['{', '}']) {
            text.push_str(&instruction[at..at + found]);
            let brace = at + found;
            let rest = &instruction[brace..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                text.push_str(&rest[..1]);
                at = brace + 2;
                continue;
            }
            let name = rest.strip_prefix('{').and_then(|inner| match inner.find(['{', '}', '\n']) {
                Some(end) if inner[end..].starts_with('}') => Some(&inner[..end]),
                _ => None,
            });
            let Some(name) = name else {
                let finding = Finding::error(Code::Usage, "unmatched brace in the instruction");
                let span = Span::new(brace, brace + 1);
                findings.push(finding.at(file, span, "").help("write {{ and }} for the characters { and }"));
                at = brace + 1;
                continue;
            };
            at = brace + name.len() + 2;
            match columns.iter().position(|column| *column == name.trim()) {
                Some(column) => {
                    parts.extend((!text.is_empty()).then(|| Part::Text(std::mem::take(&mut text))));
                    parts.push(Part::Column(column));
                }
                None => findings.push(unknown(name, columns).at(file, Span::new(brace, at), "no such column")),
            }
        }
        text.push_str(&instruction[at..]);
        parts.extend((!text.is_empty()).then_some(Part::Text(text)));
        Self(parts)
    }

    /// The instruction for one row. A cell is data: one that could be taken for more than a part of its line is written
    /// as a JSON text.
    pub fn fill(&self, row: &[Cow<'_, str>]) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Column(column) => out.push_str(&inline(row.get(*column).map_or("", |cell| cell))),
            }
        }
        out
    }
}

fn inline(cell: &str) -> Cow<'_, str> {
    let is_plain = !cell.contains(char::is_control) && !cell.contains("```") && !cell.trim_start().starts_with('#');
    if is_plain { Cow::Borrowed(cell) } else { Cow::Owned(quote(cell)) }
}

fn unknown(name: &str, columns: &[Cow<'_, str>]) -> Finding {
    let finding = Finding::error(Code::Usage, format!("the table has no column '{name}'"));
    let near = columns.iter().filter_map(|column| Some((letters_apart(name.trim(), column, WRONG_LETTERS)?, column)));
    let finding = match near.min_by_key(|(distance, _)| *distance) {
        Some((_, column)) => finding.help(format!("did you mean {{{column}}}?")),
        None => finding.help(format!("its columns are {}", columns.join(", "))),
    };
    finding.help("write {{ and }} for the characters { and }")
}
