//! Every format in and out: text to values with findings, values to text.

pub mod code;
pub mod csv;
pub mod finding;
pub mod folder;
pub mod front_matter;
pub mod json;
pub mod limits;
mod lines;
pub mod markdown;
pub mod paths;
pub mod shape;
pub mod span;
pub mod time;

pub use code::Code;
pub use finding::{Finding, Findings, Hidden, Place, Severity, Sources};
pub use folder::{Folder, MemoryFolder, ReadError};
pub use span::{Position, Source, Span};
