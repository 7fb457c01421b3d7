//! Where the newest run of a planned session stands: `run` continues it, so the plan begins there.

use serde::Serialize;
use team_executor_core::{Session, TaskStatus};
use team_executor_engine::Status;

use crate::escape;

/// Where the newest run of a session stands.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// The run.
    id: String,
    /// All its tasks are over: `run` starts nothing.
    finished: bool,
    failed: usize,
    skipped: usize,
    /// The flag that names the session.
    #[serde(skip)]
    named: String,
}

impl Standing {
    /// Gives the tasks of a session the status that they have in the run.
    pub(super) fn take_over(status: &Status, session: &mut Session, path: &str) -> Self {
        for (task, status) in session.tasks.iter_mut().zip(&status.statuses) {
            // A plan begins with nothing at work, and says itself what is ready.
            task.status = match status {
                TaskStatus::InProgress | TaskStatus::Ready => TaskStatus::Pending,
                over => *over,
            };
        }
        let (id, counts) = (status.run.clone(), status.counts);
        let named = escape::session(path);
        Self { id, finished: status.finished, failed: counts.failed, skipped: counts.skipped, named }
    }

    /// The command that runs what failed again, if `run` would start nothing.
    pub fn help(&self) -> Option<String> {
        let is_stuck = self.finished && self.failed + self.skipped > 0;
        is_stuck.then(|| format!("team-executor retry --failed {}", self.named))
    }

    /// For people.
    pub fn words(&self) -> String {
        let Self { id, finished, failed, skipped, .. } = self;
        let trouble = match (failed, skipped) {
            (0, 0) => String::new(),
            (failed, 0) => format!(": {failed} failed"),
            (failed, skipped) => format!(": {failed} failed, {skipped} skipped"),
        };
        format!("{id} ({}{trouble})", if *finished { "finished" } else { "unfinished, `run` continues it" })
    }
}
