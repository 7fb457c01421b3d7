//! Pieces of shapes and small readers that several formats share.

use std::borrow::Cow;
use std::sync::Arc;

use team_executor_core::{RoleName, TaskId, Timestamp};

use crate::draft;
use crate::finding::Findings;
use crate::json::{Kind, Value};
use crate::paths;
use crate::shape::{Object, Other, Type};
use crate::span::Span;
use crate::time;

/// An id: a string, in real files sometimes a number.
pub static ID: Type = Type::Or(
    &Type::Name,
    &[Other { ty: &Type::Number(f64::MIN, f64::MAX), understood: "an id that is a number was read as text" }],
);

/// A list of ids; in real files also one id, or several with `;` or `,` between them.
pub static IDS: Type = Type::Or(
    &Type::List(&ID),
    &[Other { ty: &Type::Text, understood: "a list of ids that is one string was split at `;` and `,`" }],
);

/// The files that a task must deliver.
pub static FILES: Type = Type::List(&Type::Path);

/// `true` or `false`; `dynamic` is left to the session.
pub static INNER_LOOP: Type = Type::Or(
    &Type::Bool,
    &[Other { ty: &Type::Word(&["dynamic"], &[]), understood: "`inner_loop: dynamic` was read as false" }],
);

/// Other names of a task's title in real files.
pub const TITLES: &[&str] = &["name", "subject", "task"];
/// Other names of its description.
pub const DESCRIPTIONS: &[&str] = &["prompt", "goal"];
/// Other names of its role, which may have an `@` before it there.
pub const ROLES: &[&str] = &["owner", "agent", "assignee"];
/// Other names of its wave.
pub const WAVES: &[&str] = &["wave_n"];
/// What the files are that a task delivers.
pub const DELIVERS: &str = "Files that it must deliver, as paths in its folder for artifacts";
/// What the notes of a planner are.
pub const PLANNER_NOTES: &str = "What the planner noted in `findings` before the task ran";

/// The synonyms of task statuses in real files.
pub const STATUS_SYNONYMS: &[(&str, &str)] = &[
    ("", "pending"),
    ("planned", "pending"),
    ("blocked", "pending"),
    ("todo", "pending"),
    ("queued", "pending"),
    ("ready", "pending"),
    ("running", "in_progress"),
    ("in-progress", "in_progress"),
    ("done", "completed"),
    ("complete", "completed"),
    ("pass", "completed"),
    ("passed", "completed"),
    ("success", "completed"),
    ("warning", "completed"),
    ("timed_out", "failed"),
    ("timeout", "failed"),
    ("error", "failed"),
    ("fail", "failed"),
    ("cancelled", "skipped"),
];

/// The canonical word for a status in a real file.
pub fn status_word(word: &str) -> &str {
    STATUS_SYNONYMS.iter().find(|(synonym, _)| *synonym == word).map_or(word, |(_, meaning)| meaning)
}

/// The value of a field of an object, whatever its spelling; `null` counts as absent.
pub fn field<'d, 's>(object: Value<'d, 's>, shape: &Object, name: &str) -> Option<Value<'d, 's>> {
    let (wanted, _, _) = shape.field(name)?;
    object
        .entries()
        .find(|entry| shape.field(&entry.name()).is_some_and(|(at, _, _)| at == wanted))
        .map(|entry| entry.value)
        .filter(|value| !value.is_null())
}

/// Whether an object has a field, whatever its spelling and its value.
pub fn has(object: Value<'_, '_>, shape: &Object, name: &str) -> bool {
    let wanted = shape.field(name).map(|(at, ..)| at);
    wanted.is_some() && object.entries().any(|entry| shape.field(&entry.name()).map(|(at, ..)| at) == wanted)
}

/// Each field of an object once, whatever its spelling. The first spelling counts; `null` counts as absent.
pub fn known<'d, 's>(
    object: Value<'d, 's>,
    shape: &'static Object,
) -> impl Iterator<Item = (&'static str, Value<'d, 's>)> {
    let mut seen = 0_u64;
    object.entries().filter_map(move |entry| {
        let (at, field, _) = shape.field(&entry.name())?;
        let is_first = seen & (1 << at) == 0;
        seen |= 1 << at;
        (is_first && !entry.value.is_null()).then_some((field.name, entry.value))
    })
}

/// One element of a container whose elements have names.
#[derive(Debug, Clone)]
pub struct Named<'d, 's> {
    /// Its name; empty if it has none.
    pub name: Cow<'s, str>,
    /// Where the name stands, or the element where it has none.
    pub span: Span,
    /// The element.
    pub value: Value<'d, 's>,
}

/// The elements of an object by key, or those of an array by a field inside them. A string is its own name.
pub fn named<'d, 's>(
    container: Option<Value<'d, 's>>,
    shape: &'static Object,
    name: &'static str,
) -> impl Iterator<Item = Named<'d, 's>> {
    let by_key = container.into_iter().flat_map(Value::entries).map(|entry| Named {
        name: entry.name(),
        span: entry.key.span(),
        value: entry.value,
    });
    let by_field = container.into_iter().flat_map(Value::items).map(move |value| {
        let own = if value.kind() == Kind::Object { field(value, shape, name) } else { Some(value) };
        let head = Span { start: value.span().start, end: value.span().start + 1 };
        Named { name: own.and_then(text_of).unwrap_or_default(), span: own.map_or(head, Value::span), value }
    });
    by_key.chain(by_field)
}

/// A string, or a number as it is written.
pub fn text_of<'s>(value: Value<'_, 's>) -> Option<Cow<'s, str>> {
    if value.kind() == Kind::Number { Some(Cow::Borrowed(value.raw())) } else { value.as_text() }
}

/// The text of a field, or nothing.
pub fn text(object: Value<'_, '_>, shape: &Object, name: &str) -> Option<String> {
    field(object, shape, name).and_then(text_of).map(Cow::into_owned)
}

/// The text of a value, unless it is empty or no text.
pub fn filled(value: Value<'_, '_>) -> Option<String> {
    value.as_text().filter(|text| !text.is_empty()).map(Cow::into_owned)
}

/// The whole number of a value, if it fits.
pub fn whole<N: TryFrom<i64>>(value: Value<'_, '_>) -> Option<N> {
    N::try_from(value.as_i64()?).ok()
}

/// The time of a field, or nothing.
pub fn timestamp(object: Value<'_, '_>, shape: &Object, name: &str) -> Option<Timestamp> {
    field(object, shape, name)?.as_text().and_then(|text| time::parse(&text)).map(|read| read.time)
}

/// The strings of a list; one string counts as a list of one.
pub fn lines(object: Value<'_, '_>, shape: &Object, name: &str) -> Vec<String> {
    let Some(value) = field(object, shape, name) else { return Vec::new() };
    match value.as_text() {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![text.into_owned()],
        None => value.items().filter_map(text_of).map(Cow::into_owned).collect(),
    }
}

/// The role names of a list.
pub fn role_names(list: Option<Value<'_, '_>>, file: &Arc<str>, findings: &mut Findings) -> Vec<RoleName> {
    let names = list.into_iter().flat_map(Value::items);
    names.filter_map(|role| draft::role_name(&role.as_text()?, file, role.span(), findings)).collect()
}

/// The paths of a list; those that lead out of their folder are findings of the shape.
pub fn files(value: Value<'_, '_>) -> Vec<String> {
    let texts = value.items().filter_map(Value::as_text);
    texts.filter(|path| paths::inside(path).is_ok()).map(Cow::into_owned).collect()
}

/// The ids of a list with their places. One string is split at `;` and `,`.
pub fn ids(value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Vec<(TaskId, Span)> {
    let mut ids = Vec::new();
    if let Some(text) = value.as_text() {
        for part in text.split([';', ',']).map(str::trim).filter(|part| !part.is_empty()) {
            ids.extend(draft::task_id(part, file, value.span(), findings).map(|id| (id, value.span())));
        }
    }
    for item in value.items() {
        if let Some(text) = text_of(item) {
            ids.extend(draft::task_id(text.trim(), file, item.span(), findings).map(|id| (id, item.span())));
        }
    }
    ids
}
