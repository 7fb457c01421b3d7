//! Reads and judges `tasks.csv`. Guesses nothing: what can be understood in two ways is an error.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use team_executor_core::{
    Complexity, ExecMode, Position, Priority, RoleName, RunOn, Session, Task, TaskId, TaskIndex, TaskStatus, Verdict,
};

use super::cells::{Cells, place};
use super::columns::{DEFAULT_ROLE, Header};
use super::details::Labels;
use super::{ROW, odd};
use crate::code::Code;
use crate::context::Beside;
use crate::csv::{self, Cell, Record, Table};
use crate::draft::{self, Draft, Drafts};
use crate::finding::{Finding, Findings, Severity};
use crate::findings_text;
use crate::folder::Folder;
use crate::limits;
use crate::reading::{About, Reading};
use crate::shape::Field;
use crate::span::{Source, Span};
use crate::words::{self, in_words};
use crate::{roles, tasks_json};

/// What is said about it.
pub static ABOUT: About = About {
    subject: "Invalid session: tasks.csv",
    schema: "tasks-csv",
    limit: limits::CSV_BYTES,
    if_missing: "check the path, or let the planner write the file again",
    if_wrong: "or let the planner write the file again",
};

/// Reads and judges a session of this dialect.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let file: Arc<str> = "tasks.csv".into();
    let text = reading.required_text(&file, &ABOUT)?;
    let mut has_dependencies = false;
    let tasks = match csv::parse(&text) {
        Ok(table) => {
            has_dependencies = Header::read(table.header()).column("deps").is_some();
            tasks(&table, reading.folder, &file, &mut reading.findings)
        }
        Err(malformed) => {
            let help = format!("fix it by hand, {}", ABOUT.if_wrong);
            reading.findings.push(odd::corrupt(ABOUT.subject, malformed, &file).help(help));
            None
        }
    };
    reading.sources.insert(file.clone(), Source::new(text));
    let mut tasks = tasks?;
    let id = draft::session_id(&reading.name.clone(), &file, Span::new(0, 0), &mut reading.findings);
    let waves_are_barriers = !has_dependencies && tasks.tasks.iter().any(|task| task.declared_wave.is_some());
    let session = id.map(|id| {
        let roles = roles::of_tasks(reading, &mut tasks);
        words::check(&tasks, &roles, "write it into a column `description`", &mut reading.findings);
        let specialists = roles::specialists(reading, &roles);
        Session { specialists, roles, waves_are_barriers, ..Session::new(id) }
    });
    Some(Draft { session, tasks })
}

/// The first row of each id.
type Known<'t, 's> = HashMap<TaskId, Record<'t, 's>>;

pub(super) fn tasks(
    table: &Table<'_>,
    folder: &dyn Folder,
    file: &Arc<str>,
    findings: &mut Findings,
) -> Option<Drafts> {
    let misquoted = odd::misquoted(ABOUT.subject, table, file);
    if !misquoted.is_empty() {
        // Other problems of such rows only follow from it.
        misquoted.into_iter().for_each(|finding| findings.push(finding));
        return None;
    }
    odd::oddities(table, file, findings);
    let header = Header::read(table.header());
    header.judge(table.header(), ABOUT.subject, file, findings);
    let id_column = header.column("id")?;
    odd::contradictions(&header, table, file, findings);
    let default_role = RoleName::parse(DEFAULT_ROLE).ok()?;

    let mut cells = Cells { subject: ABOUT.subject, file, severity: Severity::Error, findings };
    let mut known = Known::new();
    let mut rows = Vec::new();
    for record in table.records() {
        if let Some((id, place)) = id(record, id_column, &mut known, &mut cells) {
            rows.push((id, place, record));
        }
    }
    let labels = Labels::read(&header);
    let mut reader = Rows { header, labels, strangers: Vec::new(), known, default_role, cells };
    let mut drafts = Drafts::with_capacity(file.clone(), rows.len());
    for (id, place, record) in rows {
        let noted = reader.strangers.len();
        let (task, places) = reader.task(id, record);
        reader.strangers[noted..].iter_mut().for_each(|stranger| stranger.task = drafts.tasks.len());
        drafts.push(task, place, places);
    }
    let has_verdicts = reader.header.column("supervision_verdict").is_some();
    let strangers = reader.strangers;
    give(folder, strangers, &mut drafts, findings);
    rules(&drafts, has_verdicts, findings);
    drafts.tasks.iter_mut().for_each(tasks_json::complete);
    Some(drafts)
}

/// The id of a row; nothing if there is none, or if the row was read already.
fn id<'t, 's>(
    record: Record<'t, 's>,
    column: usize,
    known: &mut Known<'t, 's>,
    cells: &mut Cells<'_>,
) -> Option<(TaskId, Span)> {
    let cell = cell_of(record, column);
    if record.cells().all(|cell| cell.value.trim().is_empty()) {
        cells.warn(Code::OddTable, "a row without any value was skipped", place(&cell));
        return None;
    }
    let text = cells.trimmed(&ROW.fields[0], &cell);
    if text.is_empty() {
        let finding = Finding::error(Code::MissingField, format!("{} missing required field 'id'", cells.subject));
        let finding = finding.at(cells.file, place(&cell), "this row has no id");
        cells.findings.push(finding.help("write a unique name into the cell, or remove the row"));
        return None;
    }
    let id = draft::task_id(text, cells.file, place(&cell), cells.findings)?;
    match known.entry(id.clone()) {
        Entry::Occupied(first) if values(*first.get()).eq(values(record)) => {
            cells.warn(Code::DuplicateId, "a row that appears twice was read once", place(&cell));
            return None;
        }
        Entry::Occupied(_) => {} // sealing the tasks names both
        Entry::Vacant(free) => {
            free.insert(record);
        }
    }
    Some((id, place(&cell)))
}

fn values<'s>(record: Record<'_, 's>) -> impl Iterator<Item = Cow<'s, str>> {
    record.cells().map(|cell| cell.value)
}

/// A cell of a row; an empty one at its end, where the row is too short.
pub(super) fn cell_of<'s>(record: Record<'_, 's>, column: usize) -> Cell<'s> {
    let end = record.end();
    record.get(column).unwrap_or(Cell { value: Cow::Borrowed(""), start: end, end })
}

struct Rows<'a, 't, 's> {
    header: Header<'s>,
    labels: Labels,
    strangers: Vec<Stranger>,
    known: Known<'t, 's>,
    default_role: RoleName,
    cells: Cells<'a>,
}

impl Rows<'_, '_, '_> {
    /// The task of a row, and where its dependencies stand.
    fn task(&mut self, id: TaskId, record: Record<'_, '_>) -> (Task, Vec<Span>) {
        let mut task = Task::new(id, self.default_role.clone());
        let mut places = Vec::new();
        let mut whole = None;
        let Self { header, labels, known, cells, strangers, .. } = self;
        for (column, field) in header.fields() {
            let cell = cell_of(record, column);
            match field.name {
                "title" => task.title = cell.value.into_owned(),
                "description" => task.description = cell.value.into_owned(),
                "deps" => {
                    let list = cells.list(field, &cell, |id| known.contains_key(id));
                    let ids = list.into_iter().filter_map(|(entry, place)| {
                        draft::task_id(entry, cells.file, place, cells.findings).map(|id| (id, place))
                    });
                    (task.dependencies, places) = ids.unzip();
                }
                "context_from" => task.context_from = context(field, &cell, known, cells, strangers),
                "role" => task.role = role(field, &cell, labels.is_exact(column, field), cells).unwrap_or(task.role),
                "wave" => {
                    task.declared_wave = cells.number(field, &cell);
                    if cell.value.trim().is_empty() {
                        let message = "an empty `wave` was computed from the dependencies";
                        cells.warn(Code::DefaultUsed, message, place(&cell));
                    }
                }
                "status" => task.status = status(field, &cell, cells).unwrap_or(task.status),
                "findings" => task.findings = filled(cell),
                "findings_full" => whole = filled(cell.clone()).map(|text| (text, place(&cell))),
                "error" => task.error = filled(cell),
                "planner_notes" => task.planner_notes = filled(cell),
                "agent" => task.agent = filled(cell),
                "delivers" => task.delivers = cells.paths(field, &cell),
                "quality_score" => task.quality_score = cells.number(field, &cell),
                "attempt_count" => task.attempt_count = cells.number(field, &cell).unwrap_or(0),
                _ => word(field, &cell, cells, &mut task),
            }
        }
        if let Some((whole, place)) = whole {
            give_whole(&mut task, whole, place, cells);
        }
        task.take_planner_notes();
        task.details = labels.details(header, record, &task);
        in_words(&mut task);
        (task, places)
    }
}

/// The findings that `findings` holds the beginning of. A person who edits the short text means it.
fn give_whole(task: &mut Task, whole: String, place: Span, cells: &mut Cells<'_>) {
    if task.findings.as_deref() == Some(&*findings_text::cut(&whole)) {
        task.findings = Some(whole);
    } else {
        let message = "`findings_full` was ignored, because `findings` says something else";
        cells.warn(Code::Disagreement, message, place);
    }
}

/// The tasks that a list names; notes the other entries with their places.
fn context(
    field: &Field,
    cell: &Cell<'_>,
    known: &Known<'_, '_>,
    cells: &mut Cells<'_>,
    strangers: &mut Vec<Stranger>,
) -> Vec<TaskId> {
    let mut ids = Vec::new();
    for (entry, place) in cells.list(field, cell, |id| known.contains_key(id)) {
        let own = known.get_key_value(entry).map(|(id, _)| id.clone());
        let id = own.clone().or_else(|| TaskId::parse(entry).ok());
        if own.is_none() {
            strangers.push(Stranger { task: 0, entry: entry.to_owned(), place });
        }
        ids.extend(id);
    }
    ids
}

/// An entry of a task's `context_from` that names no task.
struct Stranger {
    task: usize,
    entry: String,
    place: Span,
}

/// Gives tasks the rows and files that they name; names without either are counted.
fn give(folder: &dyn Folder, strangers: Vec<Stranger>, drafts: &mut Drafts, findings: &mut Findings) {
    let mut beside = Beside::new(folder);
    for Stranger { task, entry, place } in strangers {
        if !beside.give(&mut drafts.tasks[task], &entry) {
            let message = "an entry of `context_from` was ignored: no task, no row of a table beside it and no file has that name";
            findings.push(Finding::warning(Code::UnknownContext, message).at(&drafts.file, place, ""));
        }
    }
}

/// The role that a cell names. A column of another name may put an `@` before it, and leave it out.
fn role(field: &Field, cell: &Cell<'_>, is_exact: bool, cells: &mut Cells<'_>) -> Option<RoleName> {
    let name = cells.trimmed(field, cell);
    let name = if is_exact { name } else { name.strip_prefix('@').unwrap_or(name) };
    if name.is_empty() && !is_exact {
        return None;
    }
    if name.is_empty() {
        let finding = Finding::error(Code::MissingField, format!("{} missing required field 'role'", cells.subject));
        let finding = finding.at(cells.file, place(cell), "this task has no role");
        cells.findings.push(finding.help("write the name of the role that does the task into the cell"));
        return None;
    }
    draft::role_name(name, cells.file, place(cell), cells.findings)
}

/// Where a task stands. Whether it can start is computed, so `ready` is no more than `pending`.
pub(super) fn status(field: &Field, cell: &Cell<'_>, cells: &mut Cells<'_>) -> Option<TaskStatus> {
    let status = TaskStatus::from_word(cells.word(field, cell)?)?;
    if status == TaskStatus::Ready {
        cells.warn(Code::OtherWord, "`status` `ready` was read as `pending`", place(cell));
        return Some(TaskStatus::Pending);
    }
    Some(status)
}

/// The columns that hold one of some words.
fn word(field: &Field, cell: &Cell<'_>, cells: &mut Cells<'_>, task: &mut Task) {
    let Some(word) = cells.word(field, cell) else { return };
    match field.name {
        "exec_mode" => task.exec_mode = ExecMode::from_word(word).unwrap_or(task.exec_mode),
        "position" => task.position = Position::from_word(word).unwrap_or(task.position),
        "run_on" => task.run_on = RunOn::from_word(word).unwrap_or(task.run_on),
        "priority" => task.priority = Priority::from_word(word).unwrap_or(task.priority),
        "supervision_verdict" => task.verdict = Verdict::from_word(word),
        "min_complexity" => task.min_complexity = Complexity::from_word(word),
        _ => {}
    }
}

/// The findings of each row of a table that has ids and findings.
pub(crate) fn findings_by_id(table: &Table<'_>) -> Option<HashMap<String, String>> {
    let header = Header::read(table.header());
    let (id, findings) = (header.column("id")?, header.column("findings")?);
    let cell = |record, column| cell_of(record, column).value.trim().to_owned();
    Some(table.records().map(|record| (cell(record, id), cell(record, findings))).collect())
}

/// What a cell says, if it says anything.
pub(super) fn filled(cell: Cell<'_>) -> Option<String> {
    (!cell.value.is_empty()).then(|| cell.value.into_owned())
}

/// The rules about more than one cell: waves that contradict the dependencies, and fields that a status
/// requires.
fn rules(drafts: &Drafts, has_verdicts: bool, findings: &mut Findings) {
    let file = &drafts.file;
    let waves: HashMap<&TaskId, u32> =
        drafts.tasks.iter().filter_map(|task| task.declared_wave.map(|wave| (&task.id, wave))).collect();
    for (index, task) in (0..).map(TaskIndex).zip(&drafts.tasks) {
        for (nth, dependency) in (0..).zip(&task.dependencies) {
            let (Some(wave), Some(&before)) = (task.declared_wave, waves.get(dependency)) else { continue };
            if before >= wave && *dependency != task.id {
                let message = format!(
                    "task '{}' of wave {wave} depends on '{dependency}' of wave {before}: waves were computed anew",
                    task.id
                );
                let label = format!("wave {before} is not before wave {wave}");
                let place = drafts.dependency_place(index, nth);
                findings.push(Finding::warning(Code::WaveOrder, message).at(file, place, label));
            }
        }
        let incomplete = tasks_json::incomplete(task);
        for what in incomplete.filter(|what| has_verdicts || !what.contains("supervision_verdict")) {
            findings.push(Finding::warning(Code::IncompleteState, what).at(file, drafts.place(index), ""));
        }
    }
}
