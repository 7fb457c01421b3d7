//! How elements with names, such as tasks, are laid over the container that they were read from, whatever its form.

use std::collections::HashMap;

use super::overlay::{Fields, New, object};
use crate::fields::{self, Named};
use crate::json::{Kind, Value, Writer};
use crate::shape::Object;

/// Whether elements are known by their keys or by a field inside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// By their keys.
    Map,
    /// By a field.
    List,
}

/// The elements of a container, as the model knows them.
pub(super) struct Elements<'a, 'n> {
    /// How the format holds them.
    pub(super) form: Form,
    /// The shape of each.
    pub(super) shape: &'static Object,
    /// The field of the shape by which each is known.
    pub(super) key: &'static str,
    /// The names of the model's elements.
    pub(super) names: Vec<&'a str>,
    /// What the model says about the element with that position.
    pub(super) fields: &'n dyn Fn(usize) -> Fields<'a>,
}

impl Elements<'_, '_> {
    /// Writes the elements of the original in their order, then those that it lacks. An element that only the
    /// original has stays: somebody may just have added it.
    pub(super) fn write(&self, out: &mut Writer, original: Option<Value<'_, '_>>) {
        let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(self.names.len());
        for (at, name) in self.names.iter().enumerate() {
            by_name.entry(name).or_insert(at);
        }
        let mut written = vec![false; self.names.len()];
        self.begin(out);
        for entry in fields::named(original, self.shape, self.key) {
            match by_name.get(&*entry.name) {
                Some(at) if written[*at] => {}
                Some(at) => {
                    written[*at] = true;
                    self.element(out, &entry.name, Some(entry.value), &(self.fields)(*at));
                }
                None => self.stays(out, &entry),
            }
        }
        for (at, name) in self.names.iter().enumerate() {
            if !written[at] && by_name.get(name) == Some(&at) {
                self.element(out, name, None, &(self.fields)(at));
            }
        }
        self.end(out);
    }

    fn begin(&self, out: &mut Writer) {
        match self.form {
            Form::Map => out.begin_object(),
            Form::List => out.begin_array(),
        }
    }

    fn end(&self, out: &mut Writer) {
        match self.form {
            Form::Map => out.end_object(),
            Form::List => out.end_array(),
        }
    }

    fn element(&self, out: &mut Writer, name: &str, original: Option<Value<'_, '_>>, fields: &Fields<'_>) {
        if self.form == Form::Map {
            out.key(name);
        }
        object(out, self.shape, original, fields);
    }

    fn stays(&self, out: &mut Writer, entry: &Named<'_, '_>) {
        if entry.value.kind() == Kind::Object {
            let key = Fields::default().always(self.key, New::text(&*entry.name));
            let fields = if self.form == Form::List { key } else { Fields::default() };
            self.element(out, &entry.name, Some(entry.value), &fields);
        } else {
            if self.form == Form::Map {
                out.key(&entry.name);
            }
            out.raw(entry.value.raw());
        }
    }
}
