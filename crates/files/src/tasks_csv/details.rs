//! What a row says that the model does not: every other column, and every cell that the model says differently. All of it
//! is for the worker.

use std::sync::Arc;

use team_executor_core::{Detail, Task, TaskId};

use super::ROW;
use super::columns::{Header, fold};
use crate::csv::Record;
use crate::shape::Field;

/// Columns that say which task a row is about, where it stands and what came of it: nothing of that is for its worker.
/// A planner's notes among them reach it as such.
const STATE: [&str; 9] = [
    "id",
    "status",
    "findings",
    "findings_full",
    "error",
    "quality_score",
    "supervision_verdict",
    "attempt_count",
    "planner_notes",
];

/// The names of the columns, shared by all rows.
pub(super) struct Labels(Vec<Arc<str>>);

impl Labels {
    /// A column without a name is called by its number.
    pub(super) fn read(header: &Header<'_>) -> Self {
        let label = |(at, name): (usize, &str)| if name.is_empty() { numbered(at) } else { name.into() };
        Self(header.names.iter().map(|name| name.trim()).enumerate().map(label).collect())
    }

    /// Whether a column has its field's own name.
    pub(super) fn is_exact(&self, column: usize, field: &Field) -> bool {
        self.0.get(column).is_some_and(|label| fold(label) == field.name)
    }

    /// What the model of a row's task leaves out.
    pub(super) fn details(&self, header: &Header<'_>, record: Record<'_, '_>, task: &Task) -> Vec<Detail> {
        let mut details = Vec::new();
        for (column, cell) in record.cells().enumerate() {
            let text = cell.value.trim();
            let is_told = || match header.meaning(column) {
                Some(field) => says(task, field.name, text),
                None => header.is_of_job(column) || self.0.get(column).is_some_and(|label| is_state(label)),
            };
            if !text.is_empty() && !is_told() {
                let name = self.0.get(column).cloned().unwrap_or_else(|| numbered(column));
                details.push(Detail { name, text: cell.value.into_owned() });
            }
        }
        details
    }
}

fn numbered(column: usize) -> Arc<str> {
    format!("column {}", column + 1).into()
}

fn is_state(label: &str) -> bool {
    ROW.field(&fold(label)).is_some_and(|(_, field, _)| STATE.contains(&field.name))
}

/// Whether the model says what a cell says.
fn says(task: &Task, field: &str, text: &str) -> bool {
    let ids = |ids: &[TaskId]| text.split(';').eq(ids.iter().map(TaskId::as_str));
    match field {
        "deps" => ids(&task.dependencies),
        "context_from" => ids(&task.context_from),
        "exec_mode" => task.exec_mode.word() == text,
        "wave" => task.declared_wave.is_some_and(|wave| text.parse() == Ok(wave)),
        // The model does not know whether the file says them or they are its defaults.
        "position" | "run_on" | "priority" | "min_complexity" => false,
        // Title, description, role and agent are taken as they are; the rest is state.
        _ => true,
    }
}
