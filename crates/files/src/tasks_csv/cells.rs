//! What single cells say: words, numbers, lists of ids. Each says how it was understood, and where.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use crate::code::Code;
use crate::csv::Cell;
use crate::finding::{Finding, Findings, Severity};
use crate::paths;
use crate::shape::{Field, Type};
use crate::span::Span;

/// Columns that other programs may use for other things: what cannot be read there is kept and ignored.
const ADVISORY: &[&str] = &["wave", "priority", "quality_score", "supervision_verdict", "attempt_count"];

/// Reads the cells of one file.
pub(super) struct Cells<'a> {
    /// How sentences about this file begin, for instance `Invalid session: tasks.csv`.
    pub(super) subject: &'a str,
    /// The file.
    pub(super) file: &'a Arc<str>,
    /// Whether what cannot be understood is an error.
    pub(super) severity: Severity,
    /// Where findings go.
    pub(super) findings: &'a mut Findings,
}

impl Cells<'_> {
    /// A value without the blanks around it.
    pub(super) fn trimmed<'c>(&mut self, field: &Field, cell: &'c Cell<'_>) -> &'c str {
        let value = cell.value.trim();
        if value.len() < cell.value.len() && !value.is_empty() {
            let message = format!("blanks around a value of `{}` were dropped", field.name);
            self.warn(Code::OddTable, message, place(cell));
        }
        value
    }

    /// The word of the format that a cell stands for.
    pub(super) fn word(&mut self, field: &Field, cell: &Cell<'_>) -> Option<&'static str> {
        let Type::Word(words, synonyms) = field.ty else { return None };
        let value = self.trimmed(field, cell);
        let exact = words.iter().find(|word| **word == value);
        if exact.is_some() {
            return exact.copied();
        }
        let synonym = synonyms.iter().find(|(synonym, _)| synonym.eq_ignore_ascii_case(value));
        let same = words.iter().find(|word| word.eq_ignore_ascii_case(value));
        if let Some(meaning) = same.or(synonym.map(|(_, meaning)| meaning)) {
            let message = match value {
                "" => format!("an empty `{}` was read as `{meaning}`", field.name),
                value => format!("`{}` `{value}` was read as `{meaning}`", field.name),
            };
            self.warn(Code::OtherWord, message, place(cell));
            return Some(*meaning);
        }
        if !value.is_empty() {
            self.invalid(field, cell);
        }
        None
    }

    /// A number of the field's type; an empty cell is none.
    pub(super) fn number<N: FromStr>(&mut self, field: &Field, cell: &Cell<'_>) -> Option<N> {
        let value = self.trimmed(field, cell);
        let number = accepts(field.ty, value).then(|| value.parse().ok()).flatten();
        if number.is_none() && !value.is_empty() {
            self.invalid(field, cell);
        }
        number
    }

    /// The entries of a list with their places. An entry with commas is split there, unless a task has that very id.
    pub(super) fn list<'c>(
        &mut self,
        field: &Field,
        cell: &'c Cell<'_>,
        is_task: impl Fn(&str) -> bool,
    ) -> Vec<(&'c str, Span)> {
        let entries = entries(&cell.value, is_task);
        if entries.iter().any(|(_, _, comma)| *comma) {
            let message = format!("`{}` with `,` between its ids was split there", field.name);
            self.warn(Code::OtherForm, message, place(cell));
        }
        entries.into_iter().map(|(entry, at, _)| (entry, place_within(cell, at, entry.len()))).collect()
    }

    /// The paths of a cell, with `;` between them. One that leads out of its folder is invalid.
    pub(super) fn paths(&mut self, field: &Field, cell: &Cell<'_>) -> Vec<String> {
        let all = cell.value.split(';').map(str::trim).filter(|path| !path.is_empty());
        let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|path| paths::inside(path).is_ok());
        if !outside.is_empty() {
            self.invalid(field, cell);
        }
        inside.into_iter().map(str::to_owned).collect()
    }

    /// Something that was understood all the same.
    pub(super) fn warn(&mut self, code: Code, message: impl Into<String>, place: Span) {
        self.findings.push(Finding::warning(code, message).at(self.file, place, ""));
    }

    fn invalid(&mut self, field: &Field, cell: &Cell<'_>) {
        let expectation = field.ty.expectation();
        if ADVISORY.contains(&field.name) {
            let message = format!("a value of `{}` was ignored: it is not {expectation}", field.name);
            return self.warn(Code::InvalidField, message, place(cell));
        }
        let finding = Finding::error(Code::InvalidField, format!("{} invalid field '{}'", self.subject, field.name));
        let finding = finding.at(self.file, place(cell), format!("expected {expectation}"));
        let finding = Finding { severity: self.severity, ..finding };
        self.findings.push(finding.help(format!("write {expectation}")));
    }
}

/// The bytes of a cell.
pub(super) fn place(cell: &Cell<'_>) -> Span {
    Span { start: cell.start, end: cell.end }
}

/// Whether a text is a value of a type; an empty one never is.
pub(super) fn accepts(ty: &Type, text: &str) -> bool {
    let text = text.trim();
    match ty {
        Type::Word(words, synonyms) => {
            let mut known = words.iter().chain(synonyms.iter().map(|(synonym, _)| synonym));
            !text.is_empty() && known.any(|word| word.eq_ignore_ascii_case(text))
        }
        Type::Whole(min) => text.parse::<u32>().is_ok_and(|number| i64::from(number) >= *min),
        Type::Number(min, max) => text.parse::<f64>().is_ok_and(|number| (*min..=*max).contains(&number)),
        _ => !text.is_empty(),
    }
}

/// The entries of a list, where each begins, and whether a comma set it apart.
pub(super) fn entries(list: &str, is_task: impl Fn(&str) -> bool) -> Vec<(&str, usize, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in list.split(';') {
        if part.contains(',') && !is_task(part.trim()) {
            let mut at = at;
            for piece in part.split(',') {
                found.push((piece.trim(), at + blanks_before(piece), true));
                at += piece.len() + 1;
            }
        } else {
            found.push((part.trim(), at + blanks_before(part), false));
        }
        at += part.len() + 1;
    }
    found.retain(|(entry, _, _)| !entry.is_empty());
    found
}

fn blanks_before(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Where a part of a cell's value stands in the file; the whole cell, where its value is written differently.
fn place_within(cell: &Cell<'_>, at: usize, len: usize) -> Span {
    match &cell.value {
        Cow::Owned(_) => place(cell),
        Cow::Borrowed(value) => {
            let quote = u32::from((cell.end - cell.start) as usize > value.len());
            Span::at(cell.start + quote, at, at + len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_semicolons_and_reluctantly_at_commas() {
        let is_task = |id: &str| id == "x,y";
        assert_eq!(entries("", is_task), []);
        assert_eq!(entries(" a ;;b; ", is_task), [("a", 1, false), ("b", 5, false)]);
        assert_eq!(entries("a, b;x,y", is_task), [("a", 0, true), ("b", 3, true), ("x,y", 5, false)]);
    }

    #[test]
    fn an_empty_text_is_no_value() {
        for ty in [&Type::Text, &Type::Whole(0), &Type::Number(0.0, 1.0), &Type::Word(&["a"], &[("", "a")])] {
            assert!(!accepts(ty, " "));
        }
        assert!(accepts(&Type::Number(0.0, 100.0), "99.5") && !accepts(&Type::Number(0.0, 100.0), "NaN"));
        assert!(accepts(&Type::Whole(1), "1") && !accepts(&Type::Whole(1), "0") && !accepts(&Type::Whole(1), "1.0"));
        assert!(accepts(&Type::Word(&["a"], &[]), "A") && !accepts(&Type::Word(&["a"], &[]), "b"));
    }
}
