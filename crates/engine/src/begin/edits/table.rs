//! What a person changed in a table: cell by cell, against what it showed before.

use std::collections::{HashMap, HashSet};

use team_executor_files::csv::{self, Record, Table};
use team_executor_files::tasks_csv::ROW;

/// One cell that says something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The row.
    pub(super) task: String,
    /// The column.
    pub(super) column: &'static str,
    /// What it said.
    pub(super) from: String,
    /// What it says.
    pub(super) to: String,
}

/// The cells that differ from every table that may have been there before, the newest of which comes first. A row more or
/// less is no change that can be taken over, and neither is a table that cannot be read.
pub(super) fn changes(edited: &str, bases: &[String]) -> Result<Vec<Change>, Vec<String>> {
    let edited = edited.trim_start_matches('\u{FEFF}');
    let table = csv::parse(edited).map_err(|malformed| {
        let before = edited.get(..malformed.start as usize).unwrap_or_default();
        vec![format!("line {}: {}", before.matches('\n').count() + 1, malformed.kind)]
    })?;
    let tables: Vec<Table<'_>> = bases.iter().filter_map(|base| csv::parse(base).ok()).collect();
    let bases: Vec<Rows<'_, '_>> = tables.iter().filter_map(Rows::read).collect();
    let (Some(columns), Some(newest)) = (Columns::find(&table), bases.first()) else {
        return Err(vec!["the column `id` is missing".to_owned()]);
    };
    let (mut changes, mut refused, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for record in table.records() {
        let id = value(record, columns.id);
        if id.is_empty() && record.cells().all(|cell| cell.value.trim().is_empty()) {
            continue;
        }
        let Some(before) = newest.rows.get(&id) else {
            refused.push(format!("{id}: a row was added; a task can only be added to the session, for a new run"));
            continue;
        };
        if !seen.insert(id.clone()) {
            refused.push(format!("{id}: there are two rows of this task"));
            continue;
        }
        for (name, at) in &columns.known {
            let to = value(record, *at);
            let was = bases.iter().any(|base| base.cell(&id, name).is_some_and(|cell| cell == to));
            if !was && let Some(nth) = newest.column(name) {
                changes.push(Change { task: id.clone(), column: name, from: value(*before, nth), to });
            }
        }
    }
    let gone = newest.order.iter().filter(|id| !seen.contains(*id));
    refused.extend(gone.map(|id| format!("{id}: its row was removed; set its status to skipped instead")));
    if refused.is_empty() { Ok(changes) } else { Err(refused) }
}

/// Where the columns of the format stand in a table.
struct Columns {
    id: usize,
    known: Vec<(&'static str, usize)>,
}

impl Columns {
    fn find(table: &Table<'_>) -> Option<Self> {
        let names: Vec<_> = table.header().cells().map(|cell| cell.value.trim().to_owned()).collect();
        let at = |name: &str| names.iter().position(|own| own == name);
        let known = ROW.fields.iter().filter_map(|field| Some((field.name, at(field.name)?))).collect();
        Some(Self { id: at("id")?, known })
    }
}

/// A table by its ids.
struct Rows<'t, 's> {
    columns: Columns,
    rows: HashMap<String, Record<'t, 's>>,
    order: Vec<String>,
}

impl<'t, 's> Rows<'t, 's> {
    fn read(table: &'t Table<'s>) -> Option<Self> {
        let columns = Columns::find(table)?;
        let order: Vec<_> = table.records().map(|record| value(record, columns.id)).collect();
        let rows = order.iter().cloned().zip(table.records()).collect();
        Some(Self { columns, rows, order })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.known.iter().find(|(known, _)| *known == name).map(|(_, at)| *at)
    }

    fn cell(&self, id: &str, name: &str) -> Option<String> {
        Some(value(*self.rows.get(id)?, self.column(name)?))
    }
}

fn value(record: Record<'_, '_>, at: usize) -> String {
    record.cells().nth(at).map(|cell| cell.value.trim().replace("\r\n", "\n")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "id,title,status,mood\nA,one,completed,\nB,two,pending,\n";

    fn found(edited: &str) -> Result<Vec<String>, Vec<String>> {
        let older = BASE.replace("completed", "in_progress");
        let changes = changes(edited, &[BASE.to_owned(), older])?;
        Ok(changes.iter().map(|c| format!("{}.{}: {} -> {}", c.task, c.column, c.from, c.to)).collect())
    }

    #[test]
    fn only_cells_that_never_said_so_are_changes() {
        assert_eq!(found(BASE), Ok(vec![]));
        assert_eq!(found(&BASE.replace("completed", "in_progress")), Ok(vec![]), "it said so before");
        assert_eq!(
            found("\u{FEFF}mood,status,id\r\nfine,pending,A\r\n,,\r\n,skipped ,B\r\n"),
            Ok(vec!["A.status: completed -> pending".to_owned(), "B.status: pending -> skipped".to_owned(),])
        );
        assert_eq!(found(&BASE.replace("two", "\"t\"\"w, o\"")), Ok(vec!["B.title: two -> t\"w, o".to_owned()]));
    }

    #[test]
    fn rows_come_and_go_only_with_the_session() {
        let refused = |edited: &str| found(edited).unwrap_err().join("; ");
        assert!(refused(&format!("{BASE}C,three,pending,\n")).starts_with("C: a row was added"));
        assert!(refused("id,title,status\nA,one,completed\n").starts_with("B: its row was removed"));
        assert!(refused(&format!("{BASE}B,two,pending,\n")).starts_with("B: there are two rows"));
        assert!(refused("title\nx\n").starts_with("the column `id` is missing"));
        assert!(refused("id\n\"A").starts_with("line 2: "));
    }
}
