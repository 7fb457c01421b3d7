//! The model to the text of each JSON dialect: tolerant in, strict out.
//!
//! Given the text that a session was read from, what the format does not know survives byte for byte and in its place,
//! and what did not change keeps its spelling. A text that is no JSON counts as none.

mod elements;
mod lifecycle;
mod overlay;
mod task_analysis;
mod tasks_json;
mod team_session;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::lifecycle::artifact_manifest;
pub use self::lifecycle::{artifact_into, artifact_registry, lifecycle};
pub use self::task_analysis::{Capability, task_analysis};
pub use self::tasks_json::tasks_json;
pub use self::team_session::team_session;
use crate::json::{self, Layout, Value, Writer};

/// Writes a file over the root of its original.
fn over(original: Option<&str>, write: impl FnOnce(&mut Writer, Option<Value<'_, '_>>)) -> String {
    let original = original.map(|text| text.trim_start_matches('\u{FEFF}'));
    let document = original.and_then(|text| json::parse(text).ok());
    let mut out = Writer::new(Layout::Pretty);
    write(&mut out, document.as_ref().map(|document| document.root()));
    out.finish()
}
