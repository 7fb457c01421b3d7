//! Elements with names, such as tasks: in a text of our own, or in the container that a user wrote, whatever its form.

use std::borrow::Cow;
use std::collections::HashMap;

use super::overlay::{Fields, New, object};
use super::patch::{Patch, Piece};
use crate::fields;
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

impl<'a> Elements<'a, '_> {
    /// Writes all of them.
    pub(super) fn write(&self, out: &mut Writer) {
        let by_name = self.by_name();
        match self.form {
            Form::Map => out.begin_object(),
            Form::List => out.begin_array(),
        }
        for (at, name) in self.names.iter().enumerate().filter(|(at, name)| by_name.get(*name) == Some(at)) {
            if self.form == Form::Map {
                out.key(name);
            }
            object(out, self.shape, &(self.fields)(at));
        }
        match self.form {
            Form::Map => out.end_object(),
            Form::List => out.end_array(),
        }
    }

    /// Changes those that a user's container has, and adds the others. `change` is given the name of an element, its
    /// position in the model, and what the user wrote. An element that only the user's container has stays.
    pub(super) fn patch(
        &self,
        patch: &mut Patch<'_>,
        container: Value<'_, '_>,
        mut change: impl FnMut(&mut Patch<'_>, usize, Value<'_, '_>),
    ) {
        let by_name = self.by_name();
        let mut is_there = vec![false; self.names.len()];
        for entry in fields::named(Some(container), self.shape, self.key) {
            if let Some(at) = by_name.get(&*entry.name) {
                is_there[*at] = true;
                if entry.value.kind() == Kind::Object {
                    change(patch, *at, entry.value);
                }
            }
        }
        let is_map = container.kind() == Kind::Object;
        let missing = (0..self.names.len()).filter(|at| !is_there[*at] && by_name.get(self.names[*at]) == Some(at));
        let added: Vec<Piece<'_>> = missing
            .map(|at| {
                let name = self.names[at];
                let own = (self.fields)(at);
                let fields = if is_map { own } else { own.with(self.key, New::text(name)) };
                let key = is_map.then_some(Cow::Borrowed(name));
                Piece { key, write: Box::new(move |out| object(out, self.shape, &fields)) }
            })
            .collect();
        patch.splice(container, &[], &added);
    }

    /// The first element of each name.
    fn by_name(&self) -> HashMap<&'a str, usize> {
        let mut by_name = HashMap::with_capacity(self.names.len());
        for (at, name) in self.names.iter().enumerate() {
            by_name.entry(*name).or_insert(at);
        }
        by_name
    }
}
