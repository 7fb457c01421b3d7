//! Writes what a run changed into the table that a user wrote. Only the cells that say something else are replaced;
//! quoting, line ends, columns and rows stay as they are.

use std::collections::HashMap;
use std::ops::Range;

use team_executor_core::{Graph, RoleName, Session, Task, TaskIndex};

use super::ROW;
use super::columns::{DEFAULT_ROLE, Header};
use super::read::{cell_of, tasks};
use super::write::{cell, fit, write};
use crate::csv::{self, Record, Table, write_cell, write_record};
use crate::finding::Findings;
use crate::folder::MemoryFolder;
use crate::shape::Field;
use crate::span::spliced;

/// What a run changes about a task.
const STATE: &[&str] = &[
    "title",
    "description",
    "status",
    "findings",
    "error",
    "quality_score",
    "supervision_verdict",
    "attempt_count",
    "findings_full",
    "planner_notes",
];

/// A user's table with the state of a session. A text that is no table of tasks is written anew.
pub fn patch(original: &str, session: &Session, graph: &Graph) -> String {
    let bare = original.strip_prefix('\u{FEFF}').unwrap_or(original);
    let Ok(table) = csv::parse(bare) else { return write(None, session, graph) };
    let read = tasks(&table, &MemoryFolder::default(), &"tasks.csv".into(), &mut Findings::default());
    let Some(before) = read else { return write(None, session, graph) };
    let before = before.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let mut patch = Patch::new(bare, &table, session, graph, before);
    patch.header();
    for record in table.records() {
        patch.row(record);
    }
    patch.new_rows();
    format!("{}{}", &original[..original.len() - bare.len()], spliced(bare, patch.edits))
}

struct Patch<'a, 't, 's> {
    text: &'s str,
    table: &'t Table<'s>,
    header: Header<'s>,
    id: usize,
    session: &'a Session,
    graph: &'a Graph,
    /// The tasks of the session by their ids, and what the table says of each.
    tasks: HashMap<&'a str, (TaskIndex, Option<&'a Task>)>,
    /// Columns that the table needs and lacks.
    added: Vec<&'static Field>,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a, 't, 's> Patch<'a, 't, 's> {
    fn new(
        text: &'s str,
        table: &'t Table<'s>,
        session: &'a Session,
        graph: &'a Graph,
        before: HashMap<&'a str, &'a Task>,
    ) -> Self {
        let header = Header::read(table.header());
        let id = header.column("id").unwrap_or(0);
        let tasks = (0..).map(TaskIndex).zip(&session.tasks);
        let tasks = tasks.map(|(index, task)| (task.id.as_str(), (index, before.get(task.id.as_str()).copied())));
        let mut patch = Self {
            text,
            table,
            header,
            id,
            session,
            graph,
            tasks: tasks.collect(),
            added: Vec::new(),
            edits: Vec::new(),
        };
        let missing = ROW.fields.iter().filter(|field| patch.header.column(field.name).is_none());
        let needed = missing.filter(|field| {
            let mut tasks = patch.tasks.values();
            tasks.any(|(index, before)| patch.differs(field, *index, *before))
        });
        patch.added = needed.collect();
        patch
    }

    /// Whether a task says something else than its row; a task without a row, something else than a new task.
    fn differs(&self, field: &Field, index: TaskIndex, before: Option<&Task>) -> bool {
        let task = &self.session.tasks[index.get()];
        match before {
            Some(before) => {
                STATE.contains(&field.name) && self.cell(field, before, index) != self.cell(field, task, index)
            }
            None => {
                let role = RoleName::parse(DEFAULT_ROLE).unwrap_or_else(|_| task.role.clone());
                let blank = Task::new(task.id.clone(), role);
                field.name != "wave" && self.cell(field, &blank, index) != self.cell(field, task, index)
            }
        }
    }

    fn cell(&self, field: &Field, task: &Task, index: TaskIndex) -> String {
        fit(cell(field, task, index, self.graph, "".into())).into_owned()
    }

    fn header(&mut self) {
        let end = self.after_blanks(self.table.header().end() as usize);
        let names: String = self.added.iter().map(|field| format!(",{}", field.name)).collect();
        self.edits.push((end..end, names));
    }

    fn row(&mut self, record: Record<'_, 's>) {
        let known = self.tasks.get(cell_of(record, self.id).value.trim()).copied();
        let known = known.and_then(|(index, before)| Some((index, before?)));
        let changed = |field: &Field| {
            let (index, _) = known.filter(|(index, before)| self.differs(field, *index, Some(before)))?;
            let mut text = String::new();
            write_cell(&mut text, &self.cell(field, &self.session.tasks[index.get()], index));
            Some(text)
        };
        let mut edits = Vec::new();
        let mut beyond: Vec<Option<String>> = vec![None; self.header.len().saturating_sub(record.len())];
        for (column, field) in self.header.fields() {
            match (changed(field), record.get(column)) {
                (Some(text), Some(cell)) => edits.push((cell.start as usize..cell.end as usize, text)),
                (Some(text), None) => beyond[column - record.len()] = Some(text),
                (None, _) => {}
            }
        }
        let is_padded = !self.added.is_empty() || beyond.iter().any(Option::is_some);
        let mut tail = String::new();
        for cell in beyond.into_iter().filter(|_| is_padded) {
            tail.push(',');
            tail.push_str(&cell.unwrap_or_default());
        }
        for field in &self.added {
            tail.push(',');
            if let Some((index, _)) = known {
                write_cell(&mut tail, &self.cell(field, &self.session.tasks[index.get()], index));
            }
        }
        if !tail.is_empty() {
            let last = record.get(self.header.len().saturating_sub(1)).map_or(record.end(), |cell| cell.end);
            let end = self.after_blanks(last as usize);
            edits.push((end..end, tail));
        }
        self.edits.extend(edits);
    }

    fn new_rows(&mut self) {
        let last = self.table.records().last().unwrap_or(self.table.header());
        let end = self.after_blanks(last.end() as usize);
        let first = self.after_blanks(self.table.header().end() as usize);
        let line_end = ["\r\n", "\n", "\r"].into_iter().find(|end| self.text[first..].starts_with(end)).unwrap_or("\n");
        let mut text = String::new();
        for (index, task) in (0..).map(TaskIndex).zip(&self.session.tasks) {
            if self.tasks.get(task.id.as_str()) != Some(&(index, None)) {
                continue;
            }
            let columns = (0..self.header.len()).map(|column| self.header.meaning(column));
            let columns = columns.chain(self.added.iter().copied().map(Some));
            let cells: Vec<_> =
                columns.map(|field| field.map_or(String::new(), |field| self.cell(field, task, index))).collect();
            let mut row = String::new();
            write_record(&mut row, cells.iter().map(String::as_str));
            text.push_str(line_end);
            text.push_str(row.strip_suffix('\n').unwrap_or(&row));
        }
        self.edits.push((end..end, text));
    }

    fn after_blanks(&self, at: usize) -> usize {
        at + self.text[at..].len() - self.text[at..].trim_start_matches([' ', '\t']).len()
    }
}
