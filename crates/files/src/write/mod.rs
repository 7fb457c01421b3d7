//! The model to the text of each JSON dialect.
//!
//! Given the text that a session was read from, only the values that differ from what that text says are replaced or
//! added; every other byte stays. A text that is no JSON counts as none, and what is written anew is strict.

mod elements;
mod lifecycle;
mod overlay;
mod patch;
mod planned;
mod replan;
mod task_analysis;
mod tasks_json;
mod team_session;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::lifecycle::artifact_manifest;
pub use self::lifecycle::{artifact_into, artifact_registry, lifecycle};
pub use self::planned::{chain, task_file, tasks_beside};
pub(crate) use self::replan::PLANNED;
pub use self::replan::replanned;
pub use self::task_analysis::{Capability, task_analysis, task_analysis_with};
pub use self::tasks_json::tasks_json;
pub use self::team_session::team_session;
use crate::json::{Layout, Writer};

/// A text of our own.
fn written(write: impl FnOnce(&mut Writer)) -> String {
    let mut out = Writer::new(Layout::Pretty);
    write(&mut out);
    out.finish()
}
