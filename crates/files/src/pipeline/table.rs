//! The table of a pipeline: its tasks, and when each is needed.

use team_executor_core::{Complexity, Phase, Priority, RoleName, TaskId};

use crate::csv::{self, Record};

/// One task of a pipeline.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: TaskId,
    pub(super) role: RoleName,
    pub(super) phase: Option<Phase>,
    pub(super) priority: Priority,
    pub(super) min_complexity: Option<Complexity>,
    /// Only if its role joins.
    pub(super) joined: bool,
    /// What it delivers.
    pub(super) artifact: String,
    pub(super) dependencies: Vec<TaskId>,
    pub(super) context_from: Vec<TaskId>,
    pub(super) title: String,
    pub(super) description: String,
}

/// The rows of a table. A test holds the built-in ones to having only rows that are understood.
pub(super) fn rows(text: &str) -> Vec<Row> {
    let Ok(table) = csv::parse(text) else { return Vec::new() };
    let names: Vec<_> = table.header().cells().map(|cell| cell.value).collect();
    let row = |record: Record<'_, '_>| {
        let cell = |name: &str| {
            let column = names.iter().position(|known| known == name)?;
            record.get(column).map(|cell| cell.value.into_owned())
        };
        let ids = |name: &str| -> Option<Vec<TaskId>> {
            cell(name)?.split(';').filter(|id| !id.is_empty()).map(|id| TaskId::parse(id).ok()).collect()
        };
        Some(Row {
            id: TaskId::parse(&cell("id")?).ok()?,
            role: RoleName::parse(&cell("role")?).ok()?,
            phase: Phase::from_word(&cell("phase")?),
            priority: Priority::from_word(&cell("priority")?)?,
            min_complexity: Complexity::from_word(&cell("min_complexity")?),
            joined: cell("joined")? == "yes",
            artifact: cell("artifact")?,
            dependencies: ids("deps")?,
            context_from: ids("context_from")?,
            title: cell("title")?,
            description: cell("description")?,
        })
    };
    table.records().filter_map(row).collect()
}
