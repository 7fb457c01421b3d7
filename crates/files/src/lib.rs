//! Every format in and out: text to values with findings, values to text.

#![forbid(unsafe_code)]

pub mod board;
pub mod chain;
mod code;
pub mod context;
pub mod csv;
pub mod csv_job;
mod details;
mod dialect;
pub mod discovery;
mod draft;
pub mod fence;
pub mod fields;
mod finding;
pub mod findings_text;
pub mod folder;
mod foreign;
pub mod front_matter;
pub mod import;
pub mod joining;
pub mod json;
pub mod lifecycle;
pub mod limits;
mod lines;
pub mod load;
pub mod manifest;
pub mod markdown;
pub mod messages;
pub mod ndjson;
pub mod paths;
pub mod picture;
pub mod pipeline;
pub mod reading;
pub mod registry;
mod reported;
pub mod role_state;
mod roles;
#[cfg(test)]
mod samples;
pub mod schemas;
mod shape;
mod side;
pub mod span;
pub mod task_files;
pub mod tasks_csv;
mod tasks_json;
pub mod tc;
pub mod time;
mod words;
pub mod write;

pub use code::Code;
pub use dialect::{Dialect, stated_id};
pub use finding::{Finding, Findings, Hidden, Place, Severity, Shown, Sources};
pub use folder::{Folder, MemoryFolder, ReadError};
pub use load::{Loaded, load, load_ignoring_results, load_tasks};
pub use span::{Position, Source, Span};
