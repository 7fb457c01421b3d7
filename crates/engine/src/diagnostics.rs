//! What the log of the program says about a run. It names tasks, attempts and records, and quotes no text of a session, a
//! person or an agent: a log may be shared.

use std::path::Path;

use team_executor_core::TaskIndex;
use team_executor_core::run::{Event, Work};
use tracing::{Level, debug, debug_span, enabled, info, info_span, span::EnteredSpan};

/// The span of a run, as long as it is held.
pub(crate) fn run(id: &str, folder: &Path) -> EnteredSpan {
    let span = info_span!("run", id).entered();
    info!(run_folder = folder.to_str(), "opened");
    span
}

/// An event has become this record.
pub(crate) fn recorded<'i>(event: &Event, record: &str, id: impl Fn(TaskIndex) -> &'i str) {
    let kind = || record.split('"').nth(3).unwrap_or_default();
    match event {
        Event::Claimed { work, .. }
        | Event::Used { work, .. }
        | Event::Completed { work, .. }
        | Event::Failed { work, .. }
        | Event::Interrupted { work, .. } => {
            if enabled!(Level::DEBUG) {
                let Work { task, attempt } = *work;
                let _task = debug_span!("task", id = id(task)).entered();
                let _attempt = debug_span!("attempt", number = attempt).entered();
                debug!(record = kind(), "recorded");
            }
        }
        Event::Skipped { task, .. } => {
            if enabled!(Level::DEBUG) {
                let _task = debug_span!("task", id = id(*task)).entered();
                debug!(record = kind(), "recorded");
            }
        }
        Event::Intended { works, .. } => debug!(record = kind(), attempts = works.len(), "recorded"),
        _ => info!(record = kind(), "recorded"),
    }
}
