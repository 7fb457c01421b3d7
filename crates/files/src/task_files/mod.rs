//! The `task-files` dialect: a folder `.task/` or `tasks/` with a JSON file for each task, and beside them `plan.json`,
//! `waves.json` or `dependency-graph.json`.
//!
//! Reading order: this file (the tasks), `shape` (their fields), `beside` (the order that other files give).

mod beside;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use team_executor_core::{Priority, Session, Task, TaskId, TaskStatus};

pub use self::shape::{ABOUT, SHAPE};
use self::shape::{CONTEXT_OBJECT, META_OBJECT, SYNONYMS};
pub(crate) use self::shape::{REVIEWED, TASK};
use crate::code::Code;
use crate::details;
use crate::draft::{self, Draft, Drafts};
use crate::fields::{self, field, filled, text, text_of, whole};
use crate::finding::{Finding, Findings, Severity};
use crate::folder::Folder;
use crate::json::{self, Value};
use crate::reading::Reading;
use crate::roles;
use crate::span::{Source, Span};
use crate::{limits, words};

/// Where the files are; the first folder that holds some counts.
pub const FOLDERS: [&str; 2] = [".task", "tasks"];
/// Files that stand among the tasks, or beside their folder, and are none.
const BESIDE: [&str; 3] = ["plan.json", "waves.json", "dependency-graph.json"];
/// Fields that the model holds.
const TOLD: [&str; 11] = [
    "id",
    "title",
    "description",
    "role",
    "depends_on",
    "wave",
    "status",
    "priority",
    "findings",
    "error",
    "updated_at",
];
/// The role of a task that names none.
const ROLE: &str = "worker";

/// The folder of the tasks, if there is one: it has at least one file that could be a task.
pub fn folder_of(folder: &dyn Folder) -> Option<&'static str> {
    FOLDERS.into_iter().find(|name| {
        let first = names(folder, name).into_iter().next();
        let bytes = first.and_then(|file| folder.read(&format!("{name}/{file}"), limits::DISCOVERY_BYTES).ok());
        bytes.is_some_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            match json::parse(text.trim_start_matches('\u{FEFF}')) {
                Ok(document) => ["id", "task_id", "title"].iter().any(|key| document.root().get(key).is_some()),
                Err(_) => text.contains("\"id\"") || text.contains("\"task_id\""),
            }
        })
    })
}

/// The names of the files of tasks, sorted.
fn names(folder: &dyn Folder, of: &str) -> Vec<String> {
    let is_task = |name: &String| name.ends_with(".json") && !name.starts_with('.') && !BESIDE.contains(&name.as_str());
    folder.list(of).unwrap_or_default().into_iter().filter(is_task).collect()
}

/// The words of a planner for where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Not begun.
    pub pending: &'static str,
    /// Done.
    pub completed: &'static str,
}

impl Words {
    /// The words that go with those that stand in the files.
    fn used_in<'w>(statuses: impl Iterator<Item = &'w str>) -> Self {
        let (mut pending, mut completed) = (TaskStatus::Pending.word(), TaskStatus::Completed.word());
        for word in statuses {
            match word {
                "open" | "assigned" => (pending, completed) = ("open", "done"),
                "done" | "closed" | "pending_review" => completed = "done",
                _ => {}
            }
        }
        Self { pending, completed }
    }

    /// The word for a status.
    pub const fn word(self, status: TaskStatus) -> &'static str {
        match status {
            TaskStatus::Pending | TaskStatus::Ready => self.pending,
            TaskStatus::Completed => self.completed,
            status => status.word(),
        }
    }
}

/// The file of each task, in the order of the files: names in the folder of the tasks, with the ids that stand in them; and the
/// words that they use.
pub fn files(folder: &dyn Folder) -> (Vec<(String, String)>, Words) {
    let of = folder_of(folder);
    let read = |name: &String| {
        let bytes = folder.read(&format!("{}/{name}", of?), ABOUT.limit).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let document = json::parse(text.trim_start_matches('\u{FEFF}')).ok()?;
        let status = fields::text(document.root(), &TASK, "status").unwrap_or_default();
        Some((own_id(document.root(), name), status))
    };
    let names = of.map(|of| names(folder, of)).unwrap_or_default().into_iter();
    let read: Vec<_> = names.filter_map(|name| read(&name).map(|(id, status)| (name, id, status))).collect();
    let words = Words::used_in(read.iter().map(|(_, _, status)| status.as_str()));
    (read.into_iter().map(|(name, id, _)| (name, id)).collect(), words)
}

/// The id of a task: its own, or the name of its file.
fn own_id(root: Value<'_, '_>, name: &str) -> String {
    let own = text(root, &TASK, "id").filter(|id| !id.is_empty());
    own.unwrap_or_else(|| name.trim_end_matches(".json").to_owned())
}

/// Reads and judges a session of this dialect.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let Some(of) = folder_of(reading.folder).or_else(|| FOLDERS.into_iter().find(|name| reading.folder.has(name)))
    else {
        let finding = Finding::error(Code::FileMissing, "Invalid session: no task files");
        reading
            .findings
            .push(finding.help("put a file for each task into .task/ or tasks/, such as .task/IMPL-001.json"));
        return None;
    };
    let mut read: Vec<Read> = Vec::new();
    for name in names(reading.folder, of) {
        let file: Arc<str> = format!("{of}/{name}").into();
        let Some(text) = reading.required_text(&file, &ABOUT) else { continue };
        if let Some(document) = reading.document(&file, &ABOUT, Severity::Error, &text) {
            reading.check(&file, &ABOUT, Severity::Error, &document, &SHAPE);
            read.extend(one(document.root(), &file, &name, &mut reading.findings));
        }
        reading.sources.insert(file, Source::new(text));
    }
    let session =
        Session::new(draft::session_id(&reading.name.clone(), &of.into(), Span::new(0, 0), &mut reading.findings)?);
    let requirement = beside::join(reading, of, &mut read);
    let mut tasks = Drafts::new(of.into());
    for Read { file, task, id, places, .. } in read {
        tasks.push_in(file, task, id, places);
    }
    let mut session = Session { name: session.id.to_string(), requirement, ..session };
    session.roles = roles::of_tasks(reading, &mut tasks);
    words::check(&tasks, &session.roles, "write it into its \"description\"", &mut reading.findings);
    session.specialists = roles::specialists(reading, &session.roles);
    session.waves_are_barriers = tasks.tasks.iter().any(|task| task.declared_wave.is_some())
        && tasks.tasks.iter().all(|task| task.dependencies.is_empty());
    Some(Draft { session: Some(session), tasks })
}

/// A task as its file says it.
struct Read {
    file: Arc<str>,
    task: Task,
    /// Where its id stands, and each of its dependencies.
    id: Span,
    places: Vec<Span>,
    /// Whether its file says what it waits for.
    says_order: bool,
}

/// What a file says about its task; nothing if it only groups others.
fn one(root: Value<'_, '_>, file: &Arc<str>, name: &str, findings: &mut Findings) -> Option<Read> {
    let status = text(root, &TASK, "status").unwrap_or_default();
    if status == "container" {
        return None;
    }
    let own = field(root, &TASK, "id");
    let span = own.map_or(Span::new(0, 1), Value::span);
    let id = own_id(root, name);
    if own.and_then(text_of).is_some_and(|own| name.trim_end_matches(".json") != own) {
        let message = "an `id` inside a task file differs from the file's name; the id counts";
        findings.push(Finding::warning(Code::Disagreement, message).at(file, span, ""));
    }
    let id = draft::task_id(&id, file, span, findings)?;
    let task = task_of(id, root)?;
    let list = dependencies(root);
    let (dependencies, places) =
        list.map(|list| fields::ids(list, file, findings)).unwrap_or_default().into_iter().unzip();
    let task = Task { dependencies, ..task };
    Some(Read { file: file.clone(), task, id: span, places, says_order: list.is_some() })
}

/// What a task waits for, where its file says it.
fn dependencies<'d, 's>(root: Value<'d, 's>) -> Option<Value<'d, 's>> {
    let nested = || field(root, &TASK, "context").and_then(|context| field(context, &CONTEXT_OBJECT, "depends_on"));
    field(root, &TASK, "depends_on").or_else(nested)
}

/// What a file says about the state and the words of its task.
pub(crate) fn task_of(id: TaskId, root: Value<'_, '_>) -> Option<Task> {
    let own = |name: &str| field(root, &TASK, name).and_then(filled);
    let meta = || field(root, &TASK, "meta").and_then(|meta| field(meta, &META_OBJECT, "agent")).and_then(filled);
    let role = own("role").or_else(meta).map(|role| role.trim().trim_start_matches('@').to_owned());
    let role = role.filter(|role| !role.is_empty()).unwrap_or_else(|| ROLE.to_owned());
    let role = team_executor_core::RoleName::parse(&role).ok()?;
    let mut task = Task::new(id, role);
    task.title = own("title").unwrap_or_default();
    task.description = own("description").unwrap_or_default();
    task.declared_wave = field(root, &TASK, "wave").and_then(whole);
    task.status = status(&own("status").unwrap_or_default());
    task.priority = priority(field(root, &TASK, "priority").and_then(text_of).as_deref());
    task.findings = own("findings");
    task.error = own("error");
    task.updated_at = fields::timestamp(root, &TASK, "updated_at");
    task.details = details::collect(root, &TASK, &TOLD);
    Some(task)
}

/// What a word for a status means.
pub(crate) fn status(word: &str) -> TaskStatus {
    let meaning =
        REVIEWED.iter().chain(SYNONYMS).find(|(other, _)| *other == word).map_or(word, |(_, meaning)| meaning);
    TaskStatus::from_word(meaning).unwrap_or(TaskStatus::Pending)
}

fn priority(word: Option<&str>) -> Priority {
    match word {
        Some("P0" | "high" | "critical" | "urgent") => Priority::P0,
        Some("P2" | "low") => Priority::P2,
        _ => Priority::P1,
    }
}
