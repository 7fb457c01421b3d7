//! Writes `tasks.csv` and `results.csv`: strict in what the format knows, faithful in everything else.

use std::borrow::Cow;
use std::collections::HashMap;

use team_executor_core::{Graph, Position, Priority, RunOn, Session, Task, TaskId, TaskIndex, TaskStatus};

use super::ROW;
use super::cells::{accepts, entries};
use super::columns::{CANONICAL, Header};
use super::read::cell_of;
use crate::csv::{self, MAX_CELL_BYTES, Record, Table, write_record};
use crate::findings_text;
use crate::shape::Field;
use crate::tasks_json::{NO_FINDINGS, NO_REASON};

/// The master table. Where there is an original, its columns keep their order, and its extra columns, surplus cells and
/// references to things that are no tasks survive.
pub fn write(original: Option<&str>, session: &Session, graph: &Graph) -> String {
    table(original, session, graph, |cell| cell, (&[], &|_| Vec::new()))
}

/// Columns behind all others: their names, and the cells of a task.
type Behind<'a> = (&'a [&'a str], &'a dyn Fn(TaskIndex) -> Vec<String>);

/// The table for people and their spreadsheets, in which no cell can be taken for a formula, with more columns at its end.
pub fn write_results(session: &Session, graph: &Graph, behind: Behind<'_>) -> String {
    table(None, session, graph, harmless, behind)
}

fn table(
    original: Option<&str>,
    session: &Session,
    graph: &Graph,
    shown: impl Fn(Cow<'_, str>) -> Cow<'_, str>,
    (names, more): Behind<'_>,
) -> String {
    let text = original.map(|text| text.strip_prefix('\u{FEFF}').unwrap_or(text));
    let table = text.and_then(|text| csv::parse(text).ok());
    let original = table.as_ref().and_then(Original::index);
    let mut columns = original.as_ref().map(Original::columns).unwrap_or_default();
    let missing = ROW.fields.iter().enumerate().filter(|(nth, field)| {
        let is_needed = || *nth < CANONICAL || session.tasks.iter().any(|task| departure(task, field).is_some());
        original.as_ref().is_none_or(|original| original.header.column(field.name).is_none()) && is_needed()
    });
    columns.extend(missing.map(|(_, field)| Column { name: Cow::Borrowed(field.name), field: Some(field), at: None }));

    let mut out = String::new();
    write_record(&mut out, columns.iter().map(|column| &*column.name).chain(names.iter().copied()));
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        let row = original.as_ref().and_then(|original| original.rows.get(task.id.as_str()).copied());
        let mut cells: Vec<Cow<'_, str>> = Vec::with_capacity(columns.len());
        for column in &columns {
            let before = match (row, column.at) {
                (Some(row), Some(at)) => cell_of(row, at).value,
                _ => Cow::Borrowed(""),
            };
            cells.push(shown(match column.field {
                Some(field) => fit(cell(field, task, index, graph, before)),
                None => before,
            }));
        }
        if let (Some(row), Some(original)) = (row, &original) {
            cells.extend(row.cells().skip(original.header.len()).map(|cell| cell.value));
        }
        cells.extend(more(index).into_iter().map(Cow::Owned));
        write_record(&mut out, cells.iter().map(|cell| &**cell));
    }
    out
}

/// The text of a canonical column. `before` is what stood there.
pub(super) fn cell<'a>(
    field: &Field,
    task: &'a Task,
    index: TaskIndex,
    graph: &Graph,
    before: Cow<'a, str>,
) -> Cow<'a, str> {
    match field.name {
        "id" => Cow::Borrowed(task.id.as_str()),
        "title" => Cow::Borrowed(&task.title),
        "description" => Cow::Borrowed(description(task)),
        "deps" => Cow::Owned(join(&task.dependencies)),
        "context_from" => context(task, graph, before),
        "exec_mode" => Cow::Borrowed(task.exec_mode.word()),
        "role" => Cow::Borrowed(task.role.as_str()),
        "wave" => Cow::Owned(graph.wave(index).to_string()),
        "status" if task.status == TaskStatus::Ready => Cow::Borrowed(TaskStatus::Pending.word()),
        "status" => Cow::Borrowed(task.status.word()),
        "findings" if task.notes_as_findings().is_some() => Cow::Borrowed(task.notes_as_findings().unwrap_or_default()),
        "findings" => findings_text::cut(said(task.findings.as_deref(), unsaid(task.status).0)),
        "error" => Cow::Borrowed(said(task.error.as_deref(), unsaid(task.status).1)),
        _ => optional(field, task, before),
    }
}

/// Texts for the findings or the error that a status requires and that were not given, so that the table is
/// complete.
const fn unsaid(status: TaskStatus) -> (&'static str, &'static str) {
    match status {
        TaskStatus::Completed => (NO_FINDINGS, ""),
        TaskStatus::Failed | TaskStatus::Skipped => ("", NO_REASON),
        _ => ("", ""),
    }
}

fn said<'a>(text: Option<&'a str>, otherwise: &'a str) -> &'a str {
    text.filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

/// What a task is about: its description, else its goal.
fn description(task: &Task) -> &str {
    let goal = || task.brief.as_ref().and_then(|brief| brief.goal.as_deref()).unwrap_or_default();
    if task.description.is_empty() { goal() } else { &task.description }
}

/// A text that the reader accepts as one cell: one that is far too long is cut.
pub(super) fn fit(text: Cow<'_, str>) -> Cow<'_, str> {
    let quotes = || text.bytes().filter(|byte| *byte == b'"').count();
    if text.len() <= MAX_CELL_BYTES / 2 || text.len() + quotes() <= MAX_CELL_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(MAX_CELL_BYTES / 2 - '…'.len_utf8());
    Cow::Owned(format!("{}…", &text[..end]))
}

/// A table that is about to be replaced.
struct Original<'t, 's> {
    header: Header<'s>,
    /// The first row of each id.
    rows: HashMap<String, Record<'t, 's>>,
}

impl<'t, 's> Original<'t, 's> {
    /// Nothing if its rows cannot be told apart.
    fn index(table: &'t Table<'s>) -> Option<Self> {
        let header = Header::read(table.header());
        let id = header.column("id")?;
        let mut rows = HashMap::with_capacity(table.records().len());
        for record in table.records() {
            rows.entry(cell_of(record, id).value.trim().to_owned()).or_insert(record);
        }
        Some(Self { header, rows })
    }

    fn columns(&self) -> Vec<Column<'_>> {
        let columns = self.header.names.iter().enumerate().map(|(at, name)| {
            let field = self.header.meaning(at);
            Column { name: Cow::Borrowed(field.map_or(name, |field| field.name)), field, at: Some(at) }
        });
        columns.collect()
    }
}

/// A column of the new table.
struct Column<'h> {
    name: Cow<'h, str>,
    /// What it means; nothing if it is an extra one.
    field: Option<&'static Field>,
    /// Where it stands in the original.
    at: Option<usize>,
}

fn join(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(";")
}

/// The tasks of the model, and whatever stood there that is no task.
fn context<'a>(task: &'a Task, graph: &Graph, before: Cow<'a, str>) -> Cow<'a, str> {
    let is_task = |id: &str| graph.index_of(id).is_some();
    let ours = || task.context_from.iter().map(TaskId::as_str).filter(|id| is_task(id));
    let entries = entries(&before, is_task);
    let others: Vec<_> = entries.iter().map(|(entry, _, _)| *entry).filter(|entry| !is_task(entry)).collect();
    if others.is_empty() {
        return Cow::Owned(join(&task.context_from));
    }
    if entries.iter().map(|(entry, _, _)| *entry).filter(|entry| is_task(entry)).eq(ours()) {
        return before;
    }
    Cow::Owned(ours().chain(others).collect::<Vec<_>>().join(";"))
}

/// The text of a column that the format does not demand. What stood there and cannot be read is kept.
fn optional<'a>(field: &Field, task: &'a Task, before: Cow<'a, str>) -> Cow<'a, str> {
    match departure(task, field) {
        Some(text) => text,
        None if !accepts(field.ty, &before) => before,
        None => Cow::Borrowed(match field.name {
            "position" => Position::PostWave.word(),
            "run_on" => RunOn::Success.word(),
            "priority" => Priority::P1.word(),
            "attempt_count" => "0",
            _ => "",
        }),
    }
}

/// The text of such a column, where the task departs from the default.
fn departure<'a>(task: &'a Task, field: &Field) -> Option<Cow<'a, str>> {
    let word = |departs: bool, word: &'static str| departs.then_some(Cow::Borrowed(word));
    match field.name {
        "position" => word(task.position != Position::PostWave, task.position.word()),
        "run_on" => word(task.run_on != RunOn::Success, task.run_on.word()),
        "priority" => word(task.priority != Priority::P1, task.priority.word()),
        "supervision_verdict" => task.verdict.map(|verdict| Cow::Borrowed(verdict.word())),
        "min_complexity" => task.min_complexity.map(|level| Cow::Borrowed(level.word())),
        "quality_score" => task.quality_score.map(|score| Cow::Owned(score.to_string())),
        "agent" => task.agent.as_deref().map(Cow::Borrowed),
        "delivers" => (!task.delivers.is_empty()).then(|| Cow::Owned(task.delivers.join(";"))),
        "planner_notes" => task.notes_beside().map(Cow::Borrowed),
        "attempt_count" => (task.attempt_count > 0).then(|| Cow::Owned(task.attempt_count.to_string())),
        "findings_full" => {
            let whole = task.findings.as_deref().filter(|text| matches!(findings_text::cut(text), Cow::Owned(_)));
            whole.map(Cow::Borrowed)
        }
        _ => None,
    }
}

/// A cell that no spreadsheet takes for a formula.
pub(crate) fn harmless(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { Cow::Owned(format!("'{text}")) } else { text }
}
