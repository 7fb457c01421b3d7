//! JSON with places: a flat tape over the text, so that every value knows its bytes, unknown fields can be written
//! back as they were, repeated keys are found and lone surrogates are survived. serde_json can do none of these four.

mod parse;
mod value;
mod write;

pub use parse::{Malformed, RepeatedKey, parse};
pub use value::{Document, Entries, Entry, Items, Kind, Value};
pub use write::{Layout, Writer, quote};
