//! The table that comes out of a job: every cell that went in, and behind them what became of each row.

use std::borrow::Cow;

use team_executor_core::{TaskStatus, Timestamp};

use super::rows::{Item, Rows};
use crate::csv::write_record;
use crate::tasks_csv::{JOB, harmless};
use crate::time;

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowState {
    /// Where its task stands.
    pub status: TaskStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// Why it is not done, as far as something went wrong.
    pub error: Option<String>,
    /// Its result, as JSON.
    pub result: Option<String>,
    /// When that was reported.
    pub reported_at: Option<Timestamp>,
    /// When it was over.
    pub completed_at: Option<Timestamp>,
}

impl RowState {
    /// Nothing has happened to it.
    pub const PENDING: Self = Self {
        status: TaskStatus::Pending,
        attempts: 0,
        error: None,
        result: None,
        reported_at: None,
        completed_at: None,
    };

    /// Where it stands, in the words of such tables.
    pub const fn word(&self) -> &'static str {
        match self.status {
            TaskStatus::Pending | TaskStatus::Ready => "pending",
            TaskStatus::InProgress => "running",
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Skipped => self.status.word(),
        }
    }
}

/// The table of a job whose rows stand so.
pub fn write(rows: &Rows<'_>, job_id: &str, states: &[RowState]) -> String {
    let mut out = String::new();
    write_record(&mut out, rows.header.iter().map(|name| &**name).chain(JOB));
    for (index, item) in rows.items.iter().enumerate() {
        let added = added(index, item, job_id, states.get(index).unwrap_or(&RowState::PENDING));
        write_record(&mut out, item.cells.iter().chain(&added).map(|cell| &**cell));
    }
    out
}

/// The cells of the columns in [`JOB`].
fn added<'a>(index: usize, item: &'a Item<'_>, job_id: &'a str, state: &'a RowState) -> [Cow<'a, str>; JOB.len()] {
    let text = |text: &'a Option<String>| Cow::Borrowed(text.as_deref().unwrap_or_default());
    let when = |at: Option<Timestamp>| Cow::Owned(at.map(time::format).unwrap_or_default());
    [
        Cow::Borrowed(job_id),
        Cow::Borrowed(item.id.as_str()),
        Cow::Owned(index.to_string()),
        text(&item.source_id),
        Cow::Borrowed(state.word()),
        Cow::Owned(state.attempts.to_string()),
        harmless(text(&state.error)),
        text(&state.result),
        when(state.reported_at),
        when(state.completed_at),
    ]
}
