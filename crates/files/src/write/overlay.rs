//! How a value of the model is laid over the text that it was read from. An object keeps its own order; a key that the
//! format knows is written once, under its own name, with the value of the model; any other key stays as it is. A value
//! that says already, in the form that the format demands, what the model says keeps its bytes.

use std::borrow::Cow;

use team_executor_core::Timestamp;

use crate::fields;
use crate::json::{Kind, Value, Writer};
use crate::shape::Object;
use crate::time;

/// Writes a value over the original.
type Write<'a> = Box<dyn Fn(&mut Writer, Option<Value<'_, '_>>) + 'a>;

/// What the model says about one field.
pub(super) enum New<'a> {
    /// Nothing: what stands there stays.
    Kept,
    /// That it has no value: what stands there goes.
    Gone,
    Null,
    Bool(bool),
    Whole(u64),
    Number(f64),
    Text(Cow<'a, str>),
    Time(String, Timestamp),
    List(Vec<Self>),
    Object(&'static Object, Fields<'a>),
    /// Whatever this writes over the original.
    With(Write<'a>),
}

impl<'a> New<'a> {
    pub(super) fn text(text: &'a (impl AsRef<str> + ?Sized)) -> Self {
        Self::Text(Cow::Borrowed(text.as_ref()))
    }

    pub(super) fn texts<T: AsRef<str> + 'a>(texts: &'a [T]) -> Self {
        Self::List(texts.iter().map(Self::text).collect())
    }

    pub(super) fn with(write: impl Fn(&mut Writer, Option<Value<'_, '_>>) + 'a) -> Self {
        Self::With(Box::new(write))
    }

    /// A time that is not known leaves what stands there, which may be a time that nobody can read.
    pub(super) fn time(time: Option<Timestamp>) -> Self {
        match time.map(|time| (time::format(time), time)) {
            Some((text, time)) if !text.is_empty() => Self::Time(text, time),
            _ => Self::Kept,
        }
    }

    /// A number; JSON has none that is not finite.
    pub(super) fn number(number: Option<f64>) -> Self {
        number.filter(|number| number.is_finite()).map_or(Self::Null, Self::Number)
    }
}

/// What the model says about the fields of one object.
#[derive(Default)]
pub(super) struct Fields<'a>(Vec<(&'static str, New<'a>, bool)>);

impl<'a> Fields<'a> {
    /// A field that is always written.
    pub(super) fn always(mut self, name: &'static str, new: New<'a>) -> Self {
        self.0.push((name, new, true));
        self
    }

    /// A field that is written where it stands already, and added unless it says nothing new.
    pub(super) fn unless(mut self, says_nothing: bool, name: &'static str, new: New<'a>) -> Self {
        self.0.push((name, new, !says_nothing));
        self
    }

    /// A text, or no field.
    pub(super) fn text_or_gone(self, name: &'static str, text: Option<&'a str>) -> Self {
        self.always(name, text.map_or(New::Gone, New::text))
    }

    /// A text, or `null` where the field stands already.
    pub(super) fn text_or_null(self, name: &'static str, text: Option<&'a str>) -> Self {
        self.unless(text.is_none(), name, text.map_or(New::Null, New::text))
    }

    /// Whether nothing is added to an object that is not there.
    pub(super) fn add_nothing(&self) -> bool {
        self.0.iter().all(|(_, new, is_added)| !is_added || matches!(new, New::Kept | New::Gone))
    }

    fn get(&self, name: &str) -> Option<(&New<'a>, bool)> {
        self.0.iter().find(|(field, _, _)| *field == name).map(|(_, new, is_added)| (new, *is_added))
    }
}

/// Writes an object over the original, then what the original lacks, in the order of the shape.
pub(super) fn object(out: &mut Writer, shape: &'static Object, original: Option<Value<'_, '_>>, fields: &Fields<'_>) {
    let mut written = 0_u64;
    out.begin_object();
    for entry in original.into_iter().flat_map(Value::entries) {
        let Some((at, field, _)) = shape.field(&entry.name()) else {
            out.raw_key(entry.key.raw());
            out.raw(entry.value.raw());
            continue;
        };
        if written & (1 << at) == 0 {
            let new = fields.get(field.name).map_or(&New::Kept, |(new, _)| new);
            value(out, field.name, Some(entry.value), new);
        }
        written |= 1 << at;
    }
    for (_, field) in shape.fields.iter().enumerate().filter(|(at, _)| written & (1 << at) == 0) {
        if let Some((new, true)) = fields.get(field.name) {
            value(out, field.name, None, new);
        }
    }
    out.end_object();
}

/// Writes one field, unless there is nothing to write.
fn value(out: &mut Writer, name: &str, original: Option<Value<'_, '_>>, new: &New<'_>) {
    match (new, original) {
        (New::Gone, _) | (New::Kept, None) => {}
        (New::Kept, Some(original)) => {
            out.key(name);
            out.raw(original.raw());
        }
        (new, original) => {
            out.key(name);
            plain(out, original, new);
        }
    }
}

/// Writes a value of which the depth is that of the shape.
fn plain(out: &mut Writer, original: Option<Value<'_, '_>>, new: &New<'_>) {
    if let Some(original) = original.filter(|original| says(*original, new)) {
        return out.raw(original.raw());
    }
    match new {
        New::Kept | New::Gone | New::Null => out.null(),
        New::Bool(value) => out.plain(value),
        New::Whole(value) => out.plain(value),
        New::Number(value) => out.plain(value),
        New::Text(text) => out.text(text),
        New::Time(text, _) => out.text(text),
        New::List(items) => {
            out.begin_array();
            for item in items {
                plain(out, None, item);
            }
            out.end_array();
        }
        New::Object(shape, fields) => object(out, shape, original, fields),
        New::With(write) => write(out, original),
    }
}

/// Whether a value says already what the model says, in the form that the format demands.
fn says(original: Value<'_, '_>, new: &New<'_>) -> bool {
    match new {
        New::Kept => true,
        New::Null => original.is_null(),
        New::Bool(value) => original.as_bool() == Some(*value),
        New::Whole(value) => fields::whole::<u64>(original) == Some(*value),
        New::Number(value) => original.as_f64() == Some(*value),
        New::Text(text) => original.as_text().is_some_and(|original| original == *text),
        New::Time(_, time) => {
            let read = original.as_text().and_then(|text| time::parse(&text));
            read.is_some_and(|read| read.time == *time && read.departure.is_none())
        }
        New::List(items) => {
            original.kind() == Kind::Array
                && original.items().count() == items.len()
                && original.items().zip(items).all(|(original, item)| says(original, item))
        }
        New::Gone | New::Object(_, _) | New::With(_) => false,
    }
}
