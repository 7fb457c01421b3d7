//! Single values of a configuration file: each is what it must be, or a finding with its place.

use std::ops::Range;
use std::sync::Arc;

use team_executor_core::letters_apart;
use team_executor_core::run::{AtCheckpoint, Cadence};
use team_executor_files::{Code, Finding, Findings, Source, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::time::EXPECTED;
use super::{Origin, Set, Spot, Time};

/// A value with its place.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Reads values of one file and notes what is wrong with them.
pub(super) struct Reader<'f> {
    pub(super) file: Arc<str>,
    pub(super) source: &'f Source,
    /// Whether it is the project's or the user's.
    pub(super) origin: fn(Spot) -> Origin,
    pub(super) findings: &'f mut Findings,
}

impl Reader<'_> {
    /// Notes what is wrong with a place.
    pub(super) fn wrong(&mut self, message: String, at: Range<usize>, label: &str, help: String) {
        let finding = Finding::error(Code::InvalidField, message);
        self.findings.push(finding.at(&self.file, Span::new(at.start, at.end), label).help(help));
    }

    /// Where a value comes from.
    pub(super) fn from(&self, at: Range<usize>) -> Origin {
        let span = Span::new(at.start, at.end);
        (self.origin)(Spot { file: self.file.clone(), span, line: self.source.position(span.start).line })
    }

    /// Notes each key that a section does not have.
    pub(super) fn only(&mut self, table: &DeTable<'_>, section: &str, keys: &[&str]) {
        for key in table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref();
            let of = if section.is_empty() { String::new() } else { format!(" in [{section}]") };
            let help = match nearest(name, keys.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known keys{of}: {}", keys.join(", ")),
            };
            self.wrong(format!("unknown key '{name}'{of}"), key.span(), "no such key", help);
        }
    }

    /// A table, if it is there and is one.
    pub(super) fn table<'t, 'd>(&mut self, table: &'t DeTable<'d>, key: &str) -> Option<&'t DeTable<'d>> {
        let value = get(table, key)?;
        self.as_table(key, value)
    }

    /// A value that must be a table.
    pub(super) fn as_table<'t, 'd>(&mut self, key: &str, value: &'t Value<'d>) -> Option<&'t DeTable<'d>> {
        let found = value.get_ref().as_table();
        if found.is_none() {
            self.mistyped(key, value, "a table");
        }
        found
    }

    /// A text.
    pub(super) fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<String>> {
        self.set(table, key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// True or false.
    pub(super) fn truth(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<bool>> {
        self.set(table, key, "true or false", |value| value.as_bool())
    }

    /// A whole number that is not less than `least`.
    pub(super) fn whole(&mut self, table: &DeTable<'_>, key: &str, least: u32) -> Option<Set<u32>> {
        let expected = format!("a whole number from {least} to {}", u32::MAX);
        self.set(table, key, &expected, |value| {
            let number = value.as_integer()?;
            u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| *number >= least)
        })
    }

    /// A length of time.
    pub(super) fn time(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<Time>> {
        self.set(table, key, EXPECTED, |value| match value {
            DeValue::String(text) => text.parse().ok(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        })
    }

    /// Beats or waves.
    pub(super) fn cadence(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<Cadence>> {
        let expected = format!("one of {}", Cadence::WORDS.join(", "));
        self.set(table, key, &expected, |value| Cadence::from_word(value.as_str()?))
    }

    /// What to do at a checkpoint without a decision.
    pub(super) fn at_checkpoint(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<AtCheckpoint>> {
        let expected = format!("one of {}", AtCheckpoint::WORDS.join(", "));
        self.set(table, key, &expected, |value| AtCheckpoint::from_word(value.as_str()?))
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<Vec<String>>> {
        self.set(table, key, "a list of texts", list)
    }

    /// A table of texts.
    pub(super) fn pairs(&mut self, table: &DeTable<'_>, key: &str) -> Option<Set<Vec<(String, String)>>> {
        self.set(table, key, "a table of texts", |value| {
            let pair = |(name, value): (&Spanned<_>, &Value<'_>)| -> Option<(String, String)> {
                let name: &std::borrow::Cow<'_, str> = name.get_ref();
                Some((name.to_string(), value.get_ref().as_str()?.to_owned()))
            };
            value.as_table()?.iter().map(pair).collect()
        })
    }

    /// Notes a text that nothing can be started with.
    pub(super) fn no_nul(&mut self, table: &DeTable<'_>, key: &str) {
        let has = |text: &str| text.contains('\0');
        let in_pair = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Value<'_>)| {
            has(name.get_ref()) || value.get_ref().as_str().is_some_and(has)
        };
        let Some(value) = get(table, key) else { return };
        let found = match value.get_ref() {
            DeValue::String(text) => has(text),
            DeValue::Array(all) => all.iter().any(|one| one.get_ref().as_str().is_some_and(has)),
            DeValue::Table(pairs) => pairs.iter().any(in_pair),
            _ => false,
        };
        if found {
            let message = format!("the value of '{key}' has a NUL character in it");
            self.wrong(message, value.span(), "the system cannot take it", "remove \\u0000 from it".to_owned());
        }
    }

    /// Notes that a value is not what it must be.
    pub(super) fn mistyped(&mut self, key: &str, value: &Value<'_>, expected: &str) {
        let label = format!("this is {}", found(value.get_ref()));
        self.wrong(format!("invalid value of '{key}'"), value.span(), &label, format!("write {expected}"));
    }

    /// A value that `read` understands, or a finding that it is not what was expected.
    pub(super) fn set<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Option<Set<T>> {
        let value = get(table, key)?;
        let read = read(value.get_ref());
        if read.is_none() {
            self.mistyped(key, value, expected);
        }
        Some(Set { value: read?, from: self.from(value.span()) })
    }
}

/// The value of a key.
pub(super) fn get<'t, 'd>(table: &'t DeTable<'d>, key: &str) -> Option<&'t Value<'d>> {
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

/// A list of texts, if it is one.
pub(super) fn list(value: &DeValue<'_>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|one| one.get_ref().as_str().map(str::to_owned)).collect()
}

/// The name that was probably meant. Of one letter nothing is left if that is another one.
pub fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let letters = wrong.chars().count();
    let limit = (letters.saturating_add(1) / 3).max(1).min(letters.saturating_sub(1));
    let near = names.filter_map(|name| Some((letters_apart(wrong, name, limit)?, name)));
    near.min().map(|(_, name)| name)
}

/// What a value is, for people.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{text}\""),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
