//! `context_from`: a task takes context from other tasks, from rows of tables beside its own, and from files.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{Given, Task};

use crate::code::Code;
use crate::csv;
use crate::draft::Drafts;
use crate::fields;
use crate::finding::{Finding, Findings};
use crate::findings_text::cut_to;
use crate::folder::{Folder, ReadError};
use crate::json::Value;
use crate::paths;
use crate::tasks_csv;

/// Characters that are given of one file.
const FILE_CHARS: usize = 4000;
/// Longer files are only named.
const FILE_BYTES: u64 = 256 << 10;
/// Bytes of a table whose rows are given.
const TABLE_BYTES: u64 = 8 << 20;
/// Tables in which rows are looked for.
const TABLES: usize = 16;
/// Characters of everything that one task is given; what comes later is only named.
const TASK_CHARS: usize = 32_000;

/// Files and rows beside the tasks of a session.
pub(crate) struct Beside<'f> {
    folder: &'f dyn Folder,
    /// For each table its name, and the findings of its rows; read when something is first looked for.
    tables: Option<Vec<(String, HashMap<String, String>)>>,
    found: HashMap<String, Option<Arc<str>>>,
}

impl<'f> Beside<'f> {
    /// Nothing was looked for yet.
    pub(crate) fn new(folder: &'f dyn Folder) -> Self {
        Self { folder, tables: None, found: HashMap::new() }
    }

    /// Gives a task what an entry of its `context_from` names that is no task. Says whether there is such a thing.
    pub(crate) fn give(&mut self, task: &mut Task, entry: &str) -> bool {
        if !self.found.contains_key(entry) {
            let text = self.row(entry).or_else(|| self.file(entry));
            self.found.insert(entry.to_owned(), text.map(Arc::from));
        }
        let Some(Some(text)) = self.found.get(entry) else { return false };
        let room = TASK_CHARS.saturating_sub(task.given.iter().map(|given| given.text.len()).sum());
        let text = if text.len() > room {
            format!("[{entry}] too long to include here: read it there").into()
        } else {
            text.clone()
        };
        task.given.push(Given { entry: entry.into(), text });
        true
    }

    /// A row of a table, by its id alone or behind the name of the table and `#` or `:`.
    fn row(&mut self, entry: &str) -> Option<String> {
        let (table, id) = match entry.split_once(['#', ':']) {
            Some((table, id)) if table.ends_with(".csv") => (Some(table), id),
            _ => (None, entry),
        };
        let folder = self.folder;
        let tables = self.tables.get_or_insert_with(|| tables(folder));
        let mut named = tables.iter().filter(|(name, _)| table.is_none_or(|table| table == name));
        let (name, findings) = named.find_map(|(name, rows)| Some((name, rows.get(id)?)))?;
        let said = if findings.is_empty() { "no findings" } else { findings };
        Some(format!("[Row {id} of {name}] {}", cut_to(said, FILE_CHARS)))
    }

    /// A file of the session, or of the project around it.
    fn file(&self, entry: &str) -> Option<String> {
        paths::inside(entry).ok()?;
        let read = match self.folder.read(entry, FILE_BYTES) {
            Err(ReadError::Missing) => self.folder.read_in_project(entry, FILE_BYTES),
            read => read,
        };
        match read.map(String::from_utf8) {
            Ok(Ok(text)) => Some(format!("[File {entry}]\n{}", cut_to(text.trim(), FILE_CHARS))),
            Ok(Err(_)) => Some(format!("[File {entry}] not text: open it there")),
            Err(ReadError::TooLarge { bytes, .. }) => {
                Some(format!("[File {entry}] {bytes} bytes, too long to include here: read it there"))
            }
            Err(_) => None,
        }
    }
}

/// The findings of the rows of every table beside the tasks, by their ids.
fn tables(folder: &dyn Folder) -> Vec<(String, HashMap<String, String>)> {
    let is_ours = |name: &str| matches!(name, "tasks.csv" | "results.csv") || name.starts_with("wave-");
    let names = folder.list(".").unwrap_or_default().into_iter();
    let names = names.filter(|name| name.ends_with(".csv") && !is_ours(name)).take(TABLES);
    let rows = |name: String| {
        let bytes = folder.read(&name, TABLE_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let table = csv::parse(text.trim_start_matches('\u{FEFF}')).ok()?;
        Some((name, tasks_csv::findings_by_id(&table)?))
    };
    names.filter_map(rows).collect()
}

/// Gives each task what its `context_from` names that is no task.
pub(crate) fn give(folder: &dyn Folder, drafts: &mut Drafts) {
    if drafts.tasks.iter().all(|task| task.context_from.is_empty()) {
        return;
    }
    let ids: HashSet<_> = drafts.tasks.iter().map(|task| task.id.clone()).collect();
    let mut beside = Beside::new(folder);
    for task in &mut drafts.tasks {
        let strangers: Vec<_> = task.context_from.iter().filter(|id| !ids.contains(*id)).cloned().collect();
        for entry in strangers {
            beside.give(task, entry.as_str());
        }
    }
}

/// Says which entries of a task's `context_from`, which stands at `place`, name nothing that there is.
pub(crate) fn check(
    task: &Task,
    place: Value<'_, '_>,
    exists: impl Fn(&str) -> bool,
    file: &Arc<str>,
    findings: &mut Findings,
) {
    let is_given = |id: &str| task.given.iter().any(|given| &*given.entry == id);
    for unknown in task.context_from.iter().filter(|id| !exists(id.as_str()) && !is_given(id.as_str())) {
        let item = place.items().find(|item| fields::text_of(*item).is_some_and(|id| id.trim() == unknown.as_str()));
        let message = format!("task '{}' takes context from '{unknown}', which does not exist", task.id);
        let finding = Finding::error(Code::UnknownContext, message);
        let finding = finding.at(file, item.unwrap_or(place).span(), "no task, no row beside it and no file");
        findings.push(finding.help(format!("remove '{unknown}' from `context_from`, or add the task")));
    }
}

/// The context of a task that comes from rows and files, as blocks of text.
pub fn blocks(task: &Task) -> impl Iterator<Item = Cow<'_, str>> {
    task.given.iter().map(|given| Cow::Borrowed(&*given.text))
}
