//! Comma-separated tables, read tolerantly and written strictly. Opens nothing: text in, values out.
//!
//! A text that people and programs edit in turns goes wrong in ways that RFC 4180 has no word for. What can be read in
//! one way only is read and reported as an [`Oddity`]; what cannot is [`Malformed`], at the place where it began. Every
//! cell knows its bytes, so that a report can point at it and a writer can replace it alone.

mod parse;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use parse::{MAX_CELL_BYTES, Malformed, MalformedKind, parse};
pub use table::{Cell, Oddity, OddityKind, Record, Table};
pub use write::{write_cell, write_record};
