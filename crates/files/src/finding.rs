//! Errors and warnings about a session, as data. Other crates decide how they look on a screen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::code::Code;
use crate::limits;
use crate::span::{Source, Span};

/// Whether the session can be run all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, and this is how it was understood.
    Warning,
}

/// A place in a file, and what to write below the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the session folder.
    pub file: Arc<str>,
    /// The bytes, unless the whole file is meant.
    pub span: Option<Span>,
    /// The label of this place; may be empty.
    pub label: String,
}

/// One thing that is wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether the session can be run all the same.
    pub severity: Severity,
    /// What sort of finding it is.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where; nothing if the session as a whole is meant.
    pub place: Option<Place>,
    /// Other places that belong to it.
    pub related: Vec<Place>,
    /// What to do about it, each line something to do or to type.
    pub help: Vec<String>,
    /// How often it was found in this file; the place is that of the first.
    pub times: u32,
}

impl Finding {
    /// Something that keeps the session from being run.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// Something that was understood all the same.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: Code, message: String) -> Self {
        Self { severity, code, message, place: None, related: Vec::new(), help: Vec::new(), times: 1 }
    }

    /// The file as a whole.
    pub fn file(mut self, file: &Arc<str>) -> Self {
        self.place = Some(Place { file: file.clone(), span: None, label: String::new() });
        self
    }

    /// The place, with its label.
    pub fn at(mut self, file: &Arc<str>, span: Span, label: impl Into<String>) -> Self {
        self.place = Some(Place { file: file.clone(), span: Some(span), label: label.into() });
        self
    }

    /// One more place.
    pub fn and(mut self, file: &Arc<str>, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Place { file: file.clone(), span: Some(span), label: label.into() });
        self
    }

    /// Whether it is a default that the documentation names: only `--strict` tells it.
    pub fn is_quiet(&self) -> bool {
        self.severity == Severity::Warning && self.code == Code::DefaultUsed
    }

    /// One more line of advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// What is shown as one: an error, or all warnings of one kind.
#[derive(Debug, Clone)]
pub struct Shown<'f> {
    /// The first.
    pub first: &'f Finding,
    /// The others of its kind.
    pub also: Vec<&'f Finding>,
}

/// Findings of one kind that are counted but not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// The kind.
    pub code: Code,
    /// The file.
    pub file: Option<Arc<str>>,
    /// How many more there are.
    pub count: u32,
}

/// Findings in the order in which they were made. The same warning in the same file is kept once, with a count; of one
/// kind of error in one file the first [`limits::SHOWN_PER_KIND`] are kept and the rest are counted.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    repeats: HashMap<(Code, Option<Arc<str>>, String), usize>,
    kinds: BTreeMap<(Option<Arc<str>>, Code), u32>,
}

impl Findings {
    /// Adds one, or counts it where it stands already.
    pub fn push(&mut self, finding: Finding) {
        let file = finding.place.as_ref().map(|place| place.file.clone());
        self.add(file, finding);
    }

    /// Adds one that is counted together with those of other files, as if all of them were one. Says whether it is kept.
    pub fn push_grouped(&mut self, group: &Arc<str>, finding: Finding) -> bool {
        self.add(Some(group.clone()), finding)
    }

    fn add(&mut self, file: Option<Arc<str>>, finding: Finding) -> bool {
        if finding.severity == Severity::Warning {
            let key = (finding.code, file, finding.message.clone());
            if let Some(at) = self.repeats.get(&key) {
                self.list[*at].times += finding.times;
                return false;
            }
            self.repeats.insert(key, self.list.len());
        } else {
            let count = self.kinds.entry((file, finding.code)).or_default();
            *count += 1;
            if *count as usize > limits::SHOWN_PER_KIND {
                return false;
            }
        }
        self.list.push(finding);
        true
    }

    /// Whether anything keeps the session from being run.
    pub fn has_errors(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// How many errors there are, kept or not.
    pub fn error_count(&self) -> usize {
        self.kinds.values().map(|count| *count as usize).sum()
    }

    /// How many kinds of warnings there are.
    pub fn warning_count(&self) -> usize {
        self.warnings().map(|finding| finding.code).collect::<BTreeSet<_>>().len()
    }

    fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter().filter(|finding| finding.severity == Severity::Warning && !finding.is_quiet())
    }

    /// Those that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// What is shown: the errors, then one warning of each kind; within each, in the order in which they were made.
    pub fn shown(&self) -> Vec<Shown<'_>> {
        let errors = self.list.iter().filter(|finding| finding.severity == Severity::Error);
        let mut shown: Vec<_> = errors.map(|first| Shown { first, also: Vec::new() }).collect();
        let mut kinds: BTreeMap<Code, usize> = BTreeMap::new();
        for first in self.warnings() {
            match kinds.get(&first.code) {
                Some(at) => shown[*at].also.push(first),
                None => {
                    kinds.insert(first.code, shown.len());
                    shown.push(Shown { first, also: Vec::new() });
                }
            }
        }
        shown
    }

    /// Those that are only counted.
    pub fn hidden(&self) -> impl Iterator<Item = Hidden> {
        let shown = u32::try_from(limits::SHOWN_PER_KIND).unwrap_or(u32::MAX);
        self.kinds.iter().filter(move |(_, count)| **count > shown).map(move |((file, code), count)| Hidden {
            code: *code,
            file: file.clone(),
            count: count - shown,
        })
    }

    /// Makes every warning an error.
    pub fn make_strict(&mut self) {
        for finding in &mut self.list {
            if finding.severity == Severity::Warning {
                if finding.help.is_empty() {
                    let lenient = if finding.is_quiet() { "the default is used" } else { "this is only a warning" };
                    finding.help.push(format!("without --strict {lenient}"));
                }
                finding.severity = Severity::Error;
                let file = finding.place.as_ref().map(|place| place.file.clone());
                *self.kinds.entry((file, finding.code)).or_default() += 1;
            }
        }
    }
}

/// The texts that places point into, by path.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<Arc<str>, Source>);

impl Sources {
    /// Remembers a text.
    pub fn insert(&mut self, file: Arc<str>, source: Source) {
        self.0.insert(file, source);
    }

    /// Forgets the texts that nothing points into.
    pub fn keep_those_of(&mut self, findings: &Findings) {
        let places = findings.iter().flat_map(|finding| finding.place.iter().chain(finding.related.iter()));
        let named: BTreeSet<_> = places.map(|place| place.file.clone()).collect();
        self.0.retain(|file, _| named.contains(file));
    }

    /// The text of a file, if it was read.
    pub fn get(&self, file: &str) -> Option<&Source> {
        self.0.get(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_one_kind_are_counted_and_errors_are_capped() {
        let file: Arc<str> = "a.json".into();
        let mut findings = Findings::default();
        for n in 0..250 {
            findings.push(Finding::warning(Code::FieldAlias, "odd").at(&file, Span::new(n, n + 1), ""));
            findings.push(Finding::error(Code::UnknownDependency, format!("bad {n}")).file(&file));
        }
        assert_eq!(findings.iter().count(), 1 + 100);
        assert_eq!(findings.iter().next().map(|f| f.times), Some(250));
        assert_eq!(findings.error_count(), 250);
        assert_eq!(findings.hidden().map(|h| h.count).collect::<Vec<_>>(), [150]);
    }

    #[test]
    fn a_group_of_files_counts_as_one() {
        let group: Arc<str> = "notes".into();
        let mut findings = Findings::default();
        let kept: Vec<bool> = ["notes/a.json", "notes/b.json"]
            .map(|file| findings.push_grouped(&group, Finding::warning(Code::FieldAlias, "odd").file(&file.into())))
            .into();
        assert_eq!(kept, [true, false]);
        assert_eq!(findings.iter().map(|f| f.times).collect::<Vec<_>>(), [2]);
    }

    /// R: M-05
    #[test]
    fn warnings_of_one_kind_are_one_and_defaults_are_silent() {
        let mut findings = Findings::default();
        for (code, message) in [
            (Code::FieldAlias, "a"),
            (Code::DefaultUsed, "b"),
            (Code::OddTime, "c"),
            (Code::FieldAlias, "d"),
            (Code::FieldAlias, "a"),
        ] {
            findings.push(Finding::warning(code, message));
        }
        let shown: Vec<_> = findings
            .shown()
            .into_iter()
            .map(|kind| (kind.first.message.clone(), kind.first.times, kind.also.len()))
            .collect();
        assert_eq!(shown, [("a".to_owned(), 2, 1), ("c".to_owned(), 1, 0)]);
        assert_eq!(findings.warning_count(), 2);
        findings.make_strict();
        assert_eq!((findings.error_count(), findings.shown().len()), (4, 4));
    }

    #[test]
    fn strict_makes_errors_of_warnings() {
        let mut findings = Findings::default();
        findings.push(Finding::warning(Code::FieldAlias, "odd"));
        assert!(!findings.has_errors());
        findings.make_strict();
        assert!(findings.has_errors());
        assert_eq!((findings.error_count(), findings.warning_count()), (1, 0));
    }
}
