//! Strict files made odd at random: other names for fields, unknown keys, other words.

use crate::json::{Kind, Layout, Value, Writer};
use crate::shape::{Object, Type};

/// Makes a strict text odd.
pub(super) fn disorder(root: Value<'_, '_>, ty: &Type, choices: &[u8]) -> String {
    let mut disorder = Disorder { out: Writer::new(Layout::Compact), choices: choices.iter().cycle(), keys: 0 };
    disorder.value(root, ty);
    disorder.out.finish()
}

/// Every unknown key with its raw value, in order of appearance. Unknown values hold no unknown keys.
pub(super) fn unknown_keys(root: Value<'_, '_>) -> Vec<String> {
    let mut found = Vec::new();
    for entry in root.entries() {
        if entry.name().starts_with("x-") {
            found.push(format!("{}: {}", entry.key.raw(), entry.value.raw()));
        } else {
            found.extend(unknown_keys(entry.value));
        }
    }
    for item in root.items() {
        found.extend(unknown_keys(item));
    }
    found
}

struct Disorder<'c> {
    out: Writer,
    choices: std::iter::Cycle<std::slice::Iter<'c, u8>>,
    keys: usize,
}

impl Disorder<'_> {
    fn choose(&mut self, among: usize) -> usize {
        self.choices.next().map_or(0, |choice| usize::from(*choice) % among)
    }

    fn value(&mut self, value: Value<'_, '_>, ty: &Type) {
        match ty {
            Type::Or(canonical, _) | Type::Nullable(canonical) => self.value(value, canonical),
            Type::Object(object) if value.kind() == Kind::Object => self.object(value, object),
            Type::Map(element) => {
                self.out.begin_object();
                for entry in value.entries() {
                    self.out.raw_key(entry.key.raw());
                    self.value(entry.value, element);
                }
                self.out.end_object();
            }
            Type::List(element) => {
                self.out.begin_array();
                for item in value.items() {
                    self.value(item, element);
                }
                self.out.end_array();
            }
            Type::Word(words, synonyms) => {
                let word = value.as_text().unwrap_or_default();
                let other: Vec<_> =
                    synonyms.iter().filter(|(other, meaning)| *meaning == word && !words.contains(other)).collect();
                match self.choose(2 * other.len() + 1).checked_sub(other.len() + 1) {
                    Some(at) => self.out.text(other[at].0),
                    None => self.out.raw(value.raw()),
                }
            }
            _ => self.out.raw(value.raw()),
        }
    }

    fn object(&mut self, value: Value<'_, '_>, object: &Object) {
        self.out.begin_object();
        for entry in value.entries() {
            if self.choose(3) == 0 {
                self.unknown();
            }
            let (_, field, _) = object.field(&entry.name()).unwrap();
            match self.choose(field.aliases.len() + 1).checked_sub(1) {
                Some(alias) => self.out.key(field.aliases[alias]),
                None => self.out.key(field.name),
            }
            self.value(entry.value, field.ty);
        }
        self.unknown();
        self.out.end_object();
    }

    fn unknown(&mut self) {
        const VALUES: [&str; 6] = ["1.50", "-0e1", "null", r#"{ "a":[1 ,2], "b" : {} }"#, r#""\u0041\/""#, "[\n ]"];
        self.keys += 1;
        self.out.key(&format!("x-{}", self.keys));
        let value = VALUES[self.choose(VALUES.len())];
        self.out.raw(value);
    }
}
