//! The parsed document and a view of each value in it.

use std::borrow::Cow;

use super::parse::RepeatedKey;
use crate::span::Span;

/// What sort of value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, kept as it is written.
    Number,
    /// A string without escapes.
    Text,
    /// A string with escapes.
    EscapedText,
    /// A list.
    Array,
    /// Keys with values.
    Object,
}

impl Kind {
    /// What to call it when something else was expected.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::True | Self::False => "a boolean",
            Self::Number => "a number",
            Self::Text | Self::EscapedText => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// Twelve bytes a value: what sort it is, its first byte tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The index of the node behind this one and everything inside it; of a string with escapes, [`Node::ESCAPED`].
    pub(super) after: u32,
}

impl Node {
    /// Marks a string with escapes; no document has that many values.
    pub(super) const ESCAPED: u32 = u32::MAX;

    pub(super) fn kind(self, text: &str) -> Kind {
        match text.as_bytes()[self.start as usize] {
            b'"' if self.after == Self::ESCAPED => Kind::EscapedText,
            b'"' => Kind::Text,
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b't' => Kind::True,
            b'f' => Kind::False,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }
}

/// A JSON text and where each of its values is.
#[derive(Debug)]
pub struct Document<'s> {
    pub(super) text: &'s str,
    pub(super) nodes: Vec<Node>,
    pub(super) repeated: Vec<RepeatedKey>,
    pub(super) lone_surrogates: Vec<Span>,
}

impl<'s> Document<'s> {
    /// The outermost value.
    pub fn root(&self) -> Value<'_, 's> {
        Value { document: self, index: 0 }
    }

    /// Keys that stand twice in one object, with both places.
    pub fn repeated_keys(&self) -> &[RepeatedKey] {
        &self.repeated
    }

    /// Strings with half a surrogate pair in an escape; it is read as U+FFFD.
    pub fn lone_surrogates(&self) -> &[Span] {
        &self.lone_surrogates
    }
}

/// One value of a document.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d, 's> {
    document: &'d Document<'s>,
    index: u32,
}

impl<'d, 's> Value<'d, 's> {
    fn node(self) -> Node {
        self.document.nodes[self.index as usize]
    }

    /// What sort of value it is.
    pub fn kind(self) -> Kind {
        self.node().kind(self.document.text)
    }

    /// The index of the node behind this value and everything inside it.
    fn after(self) -> u32 {
        let after = self.node().after;
        if after == Node::ESCAPED { self.index + 1 } else { after }
    }

    /// Its bytes.
    pub fn span(self) -> Span {
        let node = self.node();
        Span { start: node.start, end: node.end }
    }

    /// Its text as it is written.
    pub fn raw(self) -> &'s str {
        &self.document.text[self.span().range()]
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The string, if it is one.
    pub fn as_text(self) -> Option<Cow<'s, str>> {
        let raw = self.raw();
        match self.kind() {
            Kind::Text => Some(Cow::Borrowed(&raw[1..raw.len() - 1])),
            Kind::EscapedText => Some(Cow::Owned(unescape(&raw[1..raw.len() - 1]))),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The number, if it is one that fits.
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() == Kind::Number { self.raw().parse().ok().filter(|n: &f64| n.is_finite()) } else { None }
    }

    /// The whole number, if it is one that fits.
    pub fn as_i64(self) -> Option<i64> {
        if self.kind() == Kind::Number { self.raw().parse().ok() } else { None }
    }

    /// The elements, if it is an array; nothing otherwise.
    pub fn items(self) -> Items<'d, 's> {
        let end = if self.kind() == Kind::Array { self.after() } else { self.index + 1 };
        Items { document: self.document, next: self.index + 1, end }
    }

    /// The keys with their values, if it is an object; nothing otherwise.
    pub fn entries(self) -> Entries<'d, 's> {
        let end = if self.kind() == Kind::Object { self.after() } else { self.index + 1 };
        Entries(Items { document: self.document, next: self.index + 1, end })
    }

    /// The value of the first key with that name, if it is an object that has one and it is not `null`.
    pub fn get(self, name: &str) -> Option<Value<'d, 's>> {
        self.entries().find(|entry| entry.is(name)).map(|entry| entry.value).filter(|value| !value.is_null())
    }
}

/// A key and its value.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'d, 's> {
    /// The key, always a string.
    pub key: Value<'d, 's>,
    /// What belongs to it.
    pub value: Value<'d, 's>,
}

impl<'s> Entry<'_, 's> {
    /// The key's text.
    pub fn name(&self) -> Cow<'s, str> {
        self.key.as_text().unwrap_or_default()
    }

    /// Whether that is the key's text.
    fn is(&self, name: &str) -> bool {
        let node = self.key.node();
        let raw = &self.key.document.text.as_bytes()[node.start as usize + 1..node.end as usize - 1];
        if node.after == Node::ESCAPED { self.name() == name } else { raw == name.as_bytes() }
    }
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub struct Items<'d, 's> {
    document: &'d Document<'s>,
    next: u32,
    end: u32,
}

impl<'d, 's> Iterator for Items<'d, 's> {
    type Item = Value<'d, 's>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let value = Value { document: self.document, index: self.next };
        self.next = value.after();
        Some(value)
    }
}

/// The keys and values of an object.
#[derive(Debug, Clone)]
pub struct Entries<'d, 's>(Items<'d, 's>);

impl<'d, 's> Iterator for Entries<'d, 's> {
    type Item = Entry<'d, 's>;

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.0.next()?;
        let value = self.0.next()?;
        Some(Entry { key, value })
    }
}

/// Resolves escapes that the parser has already checked. Half a surrogate pair becomes U+FFFD.
pub(super) fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or_default();
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let high = hex4(rest.as_bytes()).unwrap_or(0xFFFD);
                rest = rest.get(4..).unwrap_or_default();
                let low = rest.strip_prefix("\\u").and_then(|low| hex4(low.as_bytes()));
                match (high, low) {
                    (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => {
                        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        rest = rest.get(6..).unwrap_or_default();
                    }
                    _ => out.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)),
                }
            }
            literal => out.push(char::from(literal)),
        }
    }
    out.push_str(rest);
    out
}

/// The number that four hexadecimal digits stand for.
pub(super) fn hex4(bytes: &[u8]) -> Option<u32> {
    bytes.get(..4)?.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}
