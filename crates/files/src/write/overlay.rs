//! The fields of an object as the model has them, and how they are written into a new text.

use std::borrow::Cow;

use team_executor_core::Timestamp;

use crate::fields;
use crate::json::{Value, Writer};
use crate::shape::Object;
use crate::time;

/// Writes a value.
type Write<'a> = Box<dyn Fn(&mut Writer) + 'a>;

/// What the model says about one field.
pub(super) enum New<'a> {
    /// Nothing: the value in the file stays.
    Kept,
    /// That it has no value: the value in the file is removed.
    Gone,
    Null,
    Bool(bool),
    Whole(u64),
    Number(f64),
    Text(Cow<'a, str>),
    Time(String, Timestamp),
    List(Vec<Self>),
    Object(&'static Object, Fields<'a>),
    /// Whatever this writes.
    With(Write<'a>),
}

impl<'a> New<'a> {
    pub(super) fn text(text: &'a (impl AsRef<str> + ?Sized)) -> Self {
        Self::Text(Cow::Borrowed(text.as_ref()))
    }

    pub(super) fn texts<T: AsRef<str> + 'a>(texts: &'a [T]) -> Self {
        Self::List(texts.iter().map(Self::text).collect())
    }

    pub(super) fn with(write: impl Fn(&mut Writer) + 'a) -> Self {
        Self::With(Box::new(write))
    }

    /// An unknown time keeps the value in the file, which may be a time that cannot be read.
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

    /// The same with another value for one of them, which is always written.
    pub(super) fn with(mut self, name: &'static str, new: New<'a>) -> Self {
        self.0.retain(|(own, ..)| *own != name);
        self.always(name, new)
    }

    /// The same without the others.
    pub(super) fn only(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, ..)| names.contains(name));
        self
    }

    pub(super) fn get(&self, name: &str) -> Option<(&New<'a>, bool)> {
        self.0.iter().find(|(field, _, _)| *field == name).map(|(_, new, is_added)| (new, *is_added))
    }
}

/// Writes an object in the order of its shape.
pub(super) fn object(out: &mut Writer, shape: &'static Object, fields: &Fields<'_>) {
    out.begin_object();
    for field in shape.fields {
        match fields.get(field.name) {
            None | Some((_, false) | (New::Kept | New::Gone, _)) => {}
            Some((new, true)) => {
                out.key(field.name);
                plain(out, new);
            }
        }
    }
    out.end_object();
}

/// Writes a value of which the depth is that of the shape.
pub(super) fn plain(out: &mut Writer, new: &New<'_>) {
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
                plain(out, item);
            }
            out.end_array();
        }
        New::Object(shape, fields) => object(out, shape, fields),
        New::With(write) => write(out),
    }
}

/// Whether two states of the model say the same about a field.
pub(super) fn same(old: &New<'_>, new: &New<'_>) -> bool {
    match (old, new) {
        (New::Kept | New::Gone | New::Null, New::Kept | New::Gone | New::Null) => true,
        (New::Bool(old), New::Bool(new)) => old == new,
        (New::Whole(old), New::Whole(new)) => old == new,
        (New::Number(old), New::Number(new)) => old == new,
        (New::Text(old), New::Text(new)) => old == new,
        (New::Time(_, old), New::Time(_, new)) => old == new,
        (New::List(old), New::List(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (New::Object(_, old), New::Object(_, new)) => {
            new.0.iter().all(|(name, new, _)| old.get(name).is_some_and(|(old, _)| same(old, new)))
        }
        _ => false,
    }
}

/// Whether a value says already what the model says.
pub(super) fn says(original: Value<'_, '_>, new: &New<'_>) -> bool {
    match new {
        New::Null => original.is_null(),
        New::Bool(value) => original.as_bool() == Some(*value),
        New::Whole(value) => fields::whole::<u64>(original) == Some(*value),
        New::Number(value) => original.as_f64() == Some(*value),
        New::Text(text) => fields::text_of(original).is_some_and(|original| original.trim() == *text),
        _ => false,
    }
}
