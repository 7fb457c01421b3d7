//! What a front matter says and why it cannot: values and errors with their places. Reads nothing.

use crate::span::Span;

/// The longest front matter that is accepted.
pub const MAX_BYTES: usize = 64 << 10;

/// How deep lists and maps may be nested, the front matter itself included.
pub const MAX_DEPTH: usize = 64;

/// The entries of a front matter in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// No two have the same key.
    pub entries: Vec<Entry>,
}

impl FrontMatter {
    /// The entry with that key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Always text, whatever it looks like.
    pub key: String,
    /// Where the key is.
    pub key_span: Span,
    /// What it is set to.
    pub value: Node,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub value: Yaml,
    /// Where it is; empty, after its key or dash, for a value that is not there.
    pub span: Span,
    /// Whether it is text that was written in quotes or as a block, and so cannot have been meant as anything else.
    pub quoted: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Yaml {
    /// Anything that is nothing else: `yes` and `2026-02-27` too.
    Text(String),
    /// `true` or `false`, in exactly these letters.
    Bool(bool),
    /// A number as it is written, so that version `1.10` is not `1.1`.
    Number(String),
    /// `null`, `~` or nothing.
    Null,
    /// A list.
    List(Vec<Node>),
    /// A map; no two entries have the same key.
    Map(Vec<Entry>),
}

/// Why a front matter cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct YamlError {
    /// What is wrong.
    pub kind: YamlErrorKind,
    /// Where.
    pub span: Span,
}

/// What is wrong with a front matter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlErrorKind {
    /// More than [`MAX_BYTES`].
    #[error("the front matter has {bytes} bytes, the limit is {MAX_BYTES}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// More than [`MAX_DEPTH`] lists and maps within each other.
    #[error("lists and maps are nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// Something else than `key: value` at the top.
    #[error("the front matter is not a list of `key: value`")]
    NotAMap,
    /// A second document, which no mark of the file separates.
    #[error("the front matter has a second document")]
    SecondDocument,
    /// A list, a map or nothing as a key.
    #[error("a key must be text")]
    KeyNotText,
    /// The same key twice in one map.
    #[error("the key `{key}` is given twice")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it was given first.
        first: Span,
    },
    /// `&name` or `*name`.
    #[error("anchors and aliases (`&name`, `*name`) are not allowed; write the value out, or in quotes if it is text")]
    Anchor,
    /// `!name`.
    #[error("tags (`!name`) are not allowed; write the value in quotes if it is text")]
    Tag,
    /// A tab where YAML wants spaces.
    #[error("a tab cannot indent; use spaces")]
    Tab,
    /// Anything else that is no YAML, in the words of its parser.
    #[error("{0}")]
    Syntax(String),
}
