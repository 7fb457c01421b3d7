//! Compares a value with its shape and says everything that differs. Recursion follows the shape, not the file.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Field, Object, Other, Presence, Type};
use crate::code::Code;
use crate::finding::{Finding, Findings, Severity};
use crate::json::{Entry, Kind, Value};
use crate::span::Span;
use crate::{fields, paths, time};

/// Whether another spelling of a list of ids names other tasks; an empty one names none and says nothing.
fn contradicts(first: Entry<'_, '_>, again: Entry<'_, '_>, field: &Field) -> bool {
    let ids = |entry: Entry<'_, '_>| -> BTreeSet<String> {
        let findings = &mut Findings::default();
        fields::ids(entry.value, &"".into(), findings).into_iter().map(|(id, _)| id.to_string()).collect()
    };
    std::ptr::eq(field.ty, &raw const fields::IDS) && !ids(again).is_empty() && ids(first) != ids(again)
}

/// Compares the values of one file with their shapes.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    /// How sentences about this file begin, for instance `Invalid session: tasks.json`.
    pub subject: &'a str,
    /// The file.
    pub file: &'a Arc<str>,
    /// What to do about a file that is wrong as a whole.
    pub recovery: &'a str,
    /// Whether what cannot be understood is an error.
    pub severity: Severity,
    /// Where findings go.
    pub findings: &'a mut Findings,
}

/// Where in the document a value is, for messages. Built only as deep as the shape.
#[derive(Debug, Clone, Copy)]
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
    Entry(&'p Path<'p>, &'p str),
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Path::Root, key) => f.write_str(key),
            Self::Key(parent, key) | Self::Entry(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, nth) => write!(f, "{parent}[{nth}]"),
        }
    }
}

impl Checker<'_> {
    /// Says everything about a document that differs from its shape.
    pub(crate) fn check(&mut self, root: Value<'_, '_>, ty: &Type) {
        self.value(root, ty, Path::Root);
    }

    fn value(&mut self, value: Value<'_, '_>, ty: &Type, path: Path<'_>) {
        match ty {
            Type::Or(canonical, others) => self.either(value, canonical, others, path),
            Type::Nullable(_) if value.is_null() => {}
            Type::Nullable(inner) => self.value(value, inner, path),
            _ if accepts(ty, value) => self.inside(value, ty, path),
            _ => self.invalid(value, ty, path),
        }
    }

    /// What is inside a value that has the outer form of its type.
    fn inside(&mut self, value: Value<'_, '_>, ty: &Type, path: Path<'_>) {
        match ty {
            Type::Or(..) | Type::Nullable(_) => self.value(value, ty, path),
            Type::List(element) | Type::Filled(element) => {
                for (nth, item) in value.items().enumerate() {
                    self.value(item, element, Path::Index(&path, nth));
                }
            }
            Type::Map(element) => {
                for entry in value.entries() {
                    self.value(entry.value, element, Path::Entry(&path, &entry.name()));
                }
            }
            Type::Object(object) => self.object(value, object, path),
            Type::Word(words, synonyms) => self.word(value, words, synonyms, path),
            Type::Time => self.time(value, path),
            Type::Path => self.path(value, path),
            _ => {}
        }
    }

    fn either(&mut self, value: Value<'_, '_>, canonical: &Type, others: &[Other], path: Path<'_>) {
        if accepts(canonical, value) {
            return self.inside(value, canonical, path);
        }
        match others.iter().find(|other| accepts(other.ty, value)) {
            Some(other) => {
                self.departure(Code::OtherForm, other.understood.to_owned(), head(value));
                self.inside(value, other.ty, path);
            }
            None => self.invalid(value, canonical, path),
        }
    }

    fn object(&mut self, value: Value<'_, '_>, object: &Object, path: Path<'_>) {
        let mut found = vec![None; object.fields.len()];
        for entry in value.entries() {
            let name = entry.name();
            let Some((at, field, exact)) = object.field(&name) else { continue };
            let message = match found[at] {
                None => {
                    found[at] = Some((entry, exact));
                    continue;
                }
                Some((_, true)) if exact => continue, // the same key twice, which has been said
                Some((_, false)) if exact => {
                    format!("`{name}` was ignored, because another spelling of it comes first")
                }
                Some(_) => format!("`{name}` was ignored, because `{}` is there too", field.name),
            };
            if let Some((first, _)) = found[at].filter(|(first, _)| contradicts(*first, entry, field)) {
                self.contradiction(first, entry);
                continue;
            }
            self.departure(Code::FieldAlias, message, entry.key.span());
        }
        // In the order of the shape, which is that of the specification, whatever the order in the file.
        for (field, found) in object.fields.iter().zip(found) {
            match found {
                Some((entry, exact)) => self.field(entry, field, exact, path),
                None => self.absent(field, head(value), path),
            }
        }
    }

    /// Two spellings of one list name different tasks: which of them counts would be a guess.
    fn contradiction(&mut self, first: Entry<'_, '_>, again: Entry<'_, '_>) {
        let message = format!("`{}` and `{}` of one task name different tasks", first.name(), again.name());
        let finding = Finding { severity: self.severity, ..Finding::error(Code::Contradiction, message) };
        let finding = finding.at(self.file, again.value.span(), "these tasks differ").and(
            self.file,
            first.value.span(),
            "than these",
        );
        self.findings.push(finding.help("let both name the same tasks, or remove one of them"));
    }

    fn field(&mut self, Entry { key, value }: Entry<'_, '_>, field: &Field, exact: bool, path: Path<'_>) {
        if !exact {
            let message = format!("`{}` was read as `{}`", key.as_text().unwrap_or_default(), field.name);
            self.departure(Code::FieldAlias, message, key.span());
        }
        if let Presence::Known(understood) = field.presence {
            self.departure(Code::OtherForm, understood.to_owned(), key.span());
        }
        if value.is_null() && !matches!(field.ty, Type::Nullable(_)) {
            self.absent(field, value.span(), path);
        } else {
            self.value(value, field.ty, Path::Key(&path, field.name));
        }
    }

    fn absent(&mut self, field: &Field, span: Span, path: Path<'_>) {
        match field.presence {
            Presence::Required => {
                let place = Path::Key(&path, field.name);
                let finding = Finding {
                    severity: self.severity,
                    ..Finding::error(Code::MissingField, format!("{} missing required field '{place}'", self.subject))
                };
                let label = format!("`{}` belongs in this object", field.name);
                let help = format!("add \"{}\" ({}): {}", field.name, field.ty.expectation(), lowercase(field.about));
                self.findings.push(finding.at(self.file, span, label).help(help).help(self.recovery));
            }
            Presence::Expected(without) => {
                let message = format!("`{}` is missing: {without}", field.name);
                self.departure(Code::DefaultUsed, message, span);
            }
            Presence::Optional | Presence::Known(_) => {}
        }
    }

    fn invalid(&mut self, value: Value<'_, '_>, ty: &Type, path: Path<'_>) {
        let message = match path {
            Path::Root => format!("{} corrupt", self.subject),
            _ => format!("{} invalid field '{path}'", self.subject),
        };
        let found = match (ty, value.kind()) {
            (Type::Filled(_), Kind::Array) => "an empty array",
            (Type::Name, Kind::Text | Kind::EscapedText) => "an empty string",
            (_, Kind::Number) if value.raw().len() <= 20 => value.raw(),
            (_, kind) => kind.name(),
        };
        let label = format!("expected {}, found {found}", ty.expectation());
        let finding = Finding { severity: self.severity, ..Finding::error(Code::InvalidField, message) };
        let finding = finding.at(self.file, head(value), label);
        self.findings.push(finding.help(format!("write {}", ty.expectation())).help(self.recovery));
    }

    fn word(&mut self, value: Value<'_, '_>, words: &[&str], synonyms: &[(&str, &str)], path: Path<'_>) {
        let word = value.as_text().unwrap_or_default();
        if words.contains(&&*word) {
            return;
        }
        if let Some((_, meaning)) = synonyms.iter().find(|(synonym, _)| *synonym == word) {
            let field = field_name(path);
            let message = match &*word {
                "" => format!("an empty `{field}` was read as `{meaning}`"),
                word => format!("`{field}` `{word}` was read as `{meaning}`"),
            };
            return self.departure(Code::OtherWord, message, value.span());
        }
        let message = format!("{} invalid field '{path}'", self.subject);
        let finding = Finding { severity: self.severity, ..Finding::error(Code::InvalidField, message) };
        let finding = finding.at(self.file, value.span(), format!("expected one of {}", words.join(", ")));
        self.findings.push(finding.help(format!("write one of {}", words.join(", "))).help(self.recovery));
    }

    fn time(&mut self, value: Value<'_, '_>, path: Path<'_>) {
        let field = field_name(path);
        let message = match time::parse(&value.as_text().unwrap_or_default()) {
            Some(read) => match read.departure {
                Some(departure) => format!("`{field}`: {departure}"),
                None => return,
            },
            None => format!("`{field}` is not a time and was ignored"),
        };
        self.departure(Code::OddTime, message, value.span());
    }

    fn path(&mut self, value: Value<'_, '_>, path: Path<'_>) {
        if let Err(reason) = paths::inside(&value.as_text().unwrap_or_default()) {
            let message = format!("{} field '{path}' leaves the session folder", self.subject);
            let finding = Finding { severity: self.severity, ..Finding::error(Code::LeavesSession, message) };
            let finding = finding.at(self.file, value.span(), reason.to_string());
            self.findings.push(finding.help("write a path relative to the session folder, without `..`"));
        }
    }

    /// Something that was understood all the same.
    fn departure(&mut self, code: Code, message: String, span: Span) {
        self.findings.push(Finding::warning(code, message).at(self.file, span, ""));
    }
}

/// Whether a value has the outer form of a type.
fn accepts(ty: &Type, value: Value<'_, '_>) -> bool {
    let kind = value.kind();
    let is_text = matches!(kind, Kind::Text | Kind::EscapedText);
    match ty {
        Type::Text | Type::Time | Type::Path => is_text,
        Type::Name => value.as_text().is_some_and(|text| !text.trim().is_empty()),
        Type::Bool => value.as_bool().is_some(),
        Type::Whole(min) => value.as_i64().is_some_and(|number| number >= *min),
        Type::Number(min, max) => value.as_f64().is_some_and(|number| (*min..=*max).contains(&number)),
        Type::Word(_, _) => is_text,
        Type::List(_) => kind == Kind::Array,
        Type::Filled(_) => value.items().next().is_some(),
        Type::Map(_) | Type::Object(_) => kind == Kind::Object,
        Type::Nullable(inner) => value.is_null() || accepts(inner, value),
        Type::Or(canonical, others) => accepts(canonical, value) || others.iter().any(|other| accepts(other.ty, value)),
        Type::Anything => true,
    }
}

/// The start of a value, so that a caret does not underline a whole file.
fn head(value: Value<'_, '_>) -> Span {
    let span = value.span();
    match value.kind() {
        Kind::Array | Kind::Object => Span { start: span.start, end: span.start + 1 },
        _ => span,
    }
}

/// The innermost key of the format on the way to a value. Positions and ids are left out, so that equal departures
/// are counted as one.
fn field_name(path: Path<'_>) -> &str {
    match path {
        Path::Root => "the whole file",
        Path::Key(_, key) => key,
        Path::Index(parent, _) | Path::Entry(parent, _) => field_name(*parent),
    }
}

fn lowercase(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
