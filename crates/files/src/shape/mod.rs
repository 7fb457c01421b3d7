//! The shape of every JSON file, as data: which fields it has, which departures are understood, and how. One table
//! serves the readers ([`Checker`]), the published JSON Schemas ([`schema()`]) and the documentation.

mod check;
mod schema;

pub(crate) use check::Checker;
pub(crate) use schema::schema;

/// An object with known fields. Fields that are not listed are kept and not judged.
#[derive(Debug)]
pub struct Object {
    /// What it is.
    pub about: &'static str,
    /// What it holds.
    pub fields: &'static [Field],
}

/// One field of an object.
#[derive(Debug)]
pub struct Field {
    /// How the format spells it.
    pub name: &'static str,
    /// How else real files spell it.
    pub aliases: &'static [&'static str],
    /// Whether it can be done without.
    pub presence: Presence,
    /// What it may hold.
    pub ty: &'static Type,
    /// What it is for.
    pub about: &'static str,
}

/// Whether a field can be done without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Not at all.
    Required,
    /// The format requires it; real files lack it, and this is what is done then.
    Expected(&'static str),
    /// It can.
    Optional,
    /// The format does not know it; real files have it, and this is how it is read.
    Known(&'static str),
}

/// What a value may be.
#[derive(Debug)]
pub enum Type {
    /// Any string.
    Text,
    /// A string with at least one visible character.
    Name,
    /// A path below the session folder.
    Path,
    /// `true` or `false`.
    Bool,
    /// A whole number, at least this.
    Whole(i64),
    /// A number between these.
    Number(f64, f64),
    /// RFC 3339; other spellings are understood or ignored, never refused.
    Time,
    /// One of some words; others stand for them.
    Word(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A list.
    List(&'static Type),
    /// A list with something in it.
    Filled(&'static Type),
    /// Keys that are data.
    Map(&'static Type),
    /// An object with known fields.
    Object(&'static Object),
    /// It, or `null`.
    Nullable(&'static Type),
    /// It, or in real files one of the other forms.
    Or(&'static Type, &'static [Other]),
    /// Whatever it is.
    Anything,
}

/// A form that the format does not know and that is understood all the same.
#[derive(Debug)]
pub struct Other {
    /// The form.
    pub ty: &'static Type,
    /// How it is understood, as a sentence.
    pub understood: &'static str,
}

impl Field {
    /// A field that must be there.
    pub const fn required(name: &'static str, ty: &'static Type, about: &'static str) -> Self {
        Self { name, aliases: &[], presence: Presence::Required, ty, about }
    }

    /// A field that the format requires and that real files lack.
    pub const fn expected(name: &'static str, ty: &'static Type, without: &'static str, about: &'static str) -> Self {
        Self { name, aliases: &[], presence: Presence::Expected(without), ty, about }
    }

    /// A field that may be there.
    pub const fn optional(name: &'static str, ty: &'static Type, about: &'static str) -> Self {
        Self { name, aliases: &[], presence: Presence::Optional, ty, about }
    }

    /// A field that the format does not know and that is read all the same.
    pub const fn known(name: &'static str, ty: &'static Type, understood: &'static str, about: &'static str) -> Self {
        Self { name, aliases: &[], presence: Presence::Known(understood), ty, about }
    }

    /// Other spellings of its name.
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

impl Object {
    /// The field that a key means, and whether it is spelled as the format does.
    pub fn field(&self, key: &str) -> Option<(usize, &'static Field, bool)> {
        let by_name = self.fields.iter().position(|field| field.name == key).map(|at| (at, true));
        let by_alias = || self.fields.iter().position(|field| field.aliases.contains(&key)).map(|at| (at, false));
        by_name.or_else(by_alias).map(|(at, exact)| (at, &self.fields[at], exact))
    }
}

impl Type {
    /// What to say when something else was found.
    pub fn expectation(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Name => "a string that is not empty".to_owned(),
            Self::Path => "a path below the session folder".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Whole(min) => format!("a whole number of at least {min}"),
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::Time => "a time such as 2026-02-27T10:00:00Z".to_owned(),
            Self::Word(words, _) => format!("one of {}", words.join(", ")),
            Self::List(_) => "an array".to_owned(),
            Self::Filled(_) => "an array with at least one element".to_owned(),
            Self::Map(_) | Self::Object(_) => "an object".to_owned(),
            Self::Nullable(inner) => format!("{}, or null", inner.expectation()),
            Self::Or(inner, _) => inner.expectation(),
            Self::Anything => "anything".to_owned(),
        }
    }
}
