//! `tasks.json` of Task Master: lists under tags, or one list without a tag, of tasks with subtasks.
//!
//! A task with subtasks is done after them, and they wait for what it waits for. Subtasks are `<task>.<subtask>`; a number
//! among their dependencies means another subtask of the same task.

use std::collections::BTreeSet;
use std::sync::Arc;

use team_executor_core::Priority;

use super::{Import, New, description, others};
use crate::code::Code;
use crate::fields::{self, field, text, text_of};
use crate::finding::{Finding, Severity};
use crate::json::{Kind, Value};
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Type};
use crate::span::Span;

static ABOUT: About = About {
    subject: "Invalid Task Master file",
    schema: "tasks",
    limit: limits::TASKS_BYTES,
    if_missing: "check the path",
    if_wrong: "or let Task Master write it again: task-master generate",
};

/// The tag that the tool begins with.
const MASTER: &str = "master";

static LIST: Object = Object {
    about: "One list of tasks",
    fields: &[Field::required("tasks", &Type::List(&Type::Object(&TASK)), "Its tasks")],
};
static LIST_TYPE: Type = Type::Object(&LIST);

static TASK: Object = Object {
    about: "One task",
    fields: &[
        Field::required("id", &Type::Anything, "Its number"),
        Field::required("title", &Type::Text, "For people"),
        Field::optional("description", &Type::Nullable(&Type::Text), "What to do"),
        Field::optional("details", &Type::Nullable(&Type::Text), "How"),
        Field::optional("testStrategy", &Type::Nullable(&Type::Text), "How to check it"),
        Field::optional("status", &Type::Text, "Its status"),
        Field::optional("priority", &Type::Text, "Priority: which ready task starts first"),
        Field::optional("dependencies", &Type::Nullable(&Type::List(&Type::Anything)), "Ids that it waits for"),
        Field::optional("subtasks", &Type::Nullable(&Type::List(&Type::Object(&SUBTASK))), "Its parts"),
    ],
};

static SUBTASK: Object = Object {
    about: "A part of a task",
    fields: &[
        Field::required("id", &Type::Anything, "Its number within the task"),
        Field::required("title", &Type::Text, "For people"),
        Field::optional("description", &Type::Nullable(&Type::Text), "What to do"),
        Field::optional("details", &Type::Nullable(&Type::Text), "How"),
        Field::optional("testStrategy", &Type::Nullable(&Type::Text), "How to check it"),
        Field::optional("status", &Type::Text, "Its status"),
        Field::optional("priority", &Type::Text, "Priority: which ready task starts first"),
        Field::optional("dependencies", &Type::Nullable(&Type::List(&Type::Anything)), "Ids that it waits for"),
        Field::optional("parentTaskId", &Type::Anything, "Its task again"),
        Field::optional("parentId", &Type::Anything, "Its task again"),
    ],
};

/// Whether a document is of this tool: lists under tags, or a list of tasks without roles and with what only this tool writes.
pub(super) fn is_one(root: Value<'_, '_>) -> bool {
    if lists(root).next().is_some() {
        return true;
    }
    let own = |task: Value<'_, '_>| {
        let has = |name: &str| task.get(name).is_some();
        let is_number = task.get("id").is_some_and(|id| id.kind() == Kind::Number);
        is_number || has("subtasks") || has("testStrategy")
    };
    let roles = ["role", "owner", "agent", "assignee"];
    let list = root.get("tasks").filter(|tasks| tasks.kind() == Kind::Array);
    list.is_some_and(|list| {
        list.items().any(own) && !list.items().any(|task| roles.iter().any(|role| task.get(role).is_some()))
    })
}

/// The lists under tags.
fn lists<'d, 's>(root: Value<'d, 's>) -> impl Iterator<Item = (String, Value<'d, 's>)> {
    let is_list = |value: Value<'_, '_>| value.get("tasks").is_some_and(|tasks| tasks.kind() == Kind::Array);
    let tags = root.entries().filter(move |entry| entry.value.kind() == Kind::Object && is_list(entry.value));
    tags.map(|entry| (entry.name().into_owned(), entry.value))
}

pub(super) fn read(import: &mut Import<'_>, source: &str, tag: Option<&str>) {
    let file = import.drafts.file.clone();
    let Some(document) = import.reading.document(&file, &ABOUT, Severity::Error, source) else { return };
    let root = document.root();
    let Some(list) = chosen(import, root, &file, tag) else { return };
    let before = import.reading.findings.error_count();
    let mut checker = crate::shape::Checker {
        subject: ABOUT.subject,
        file: &file,
        recovery: ABOUT.if_wrong,
        severity: Severity::Error,
        findings: &mut import.reading.findings,
    };
    checker.check(list, &LIST_TYPE);
    if import.reading.findings.error_count() > before {
        return;
    }
    import.requirement = list
        .get("metadata")
        .and_then(|metadata| ["description", "projectName"].iter().find_map(|name| metadata.get(name)))
        .and_then(fields::filled)
        .unwrap_or_default();
    let tasks: Vec<Value<'_, '_>> = list.get("tasks").into_iter().flat_map(Value::items).collect();
    let mut all = All { gone: BTreeSet::new(), file };
    for task in &tasks {
        let is_gone = all.note(*task, None, false);
        for part in parts(*task) {
            all.note(part, Some(&id_of(*task, None)), is_gone);
        }
    }
    for task in tasks {
        all.task(import, task);
    }
    let gone: Vec<String> = all.gone.iter().cloned().collect();
    import.leave("cancelled or deferred tasks; nothing waits for them any more", &gone);
}

/// The list of the tag that is wanted, of the first one, or of the only one.
fn chosen<'d, 's>(
    import: &mut Import<'_>,
    root: Value<'d, 's>,
    file: &Arc<str>,
    tag: Option<&str>,
) -> Option<Value<'d, 's>> {
    let mut all: Vec<(String, Value<'d, 's>)> = lists(root).collect();
    if all.is_empty() && tag.is_none() {
        return Some(root);
    }
    let wanted = tag.or_else(|| all.iter().map(|(name, _)| name.as_str()).find(|name| *name == MASTER));
    let only = (all.len() == 1).then_some(0).filter(|_| wanted.is_none());
    let at = wanted.and_then(|wanted| all.iter().position(|(name, _)| name == wanted)).or(only);
    let Some(at) = at else {
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        let message = match tag {
            Some(tag) => format!("no tag '{tag}'"),
            None => format!("there are {} lists of tasks and no tag '{MASTER}'", all.len()),
        };
        let finding = Finding::error(Code::Usage, message).file(file);
        let shown = names.join(", ");
        let help =
            names.first().map_or(String::new(), |first| format!("choose one with --tag, for instance: --tag {first}"));
        import.reading.findings.push(finding.help(format!("the tags are: {shown}")).help(help));
        return None;
    };
    let (_, list) = all.remove(at);
    let left: Vec<String> = all
        .iter()
        .map(|(name, list)| format!("{name} ({})", list.get("tasks").map_or(0, |tasks| tasks.items().count())))
        .collect();
    import.leave("other tags with their tasks", &left);
    Some(list)
}

/// Facts about all tasks, collected before each is read.
struct All {
    /// Ids of what will not be done.
    gone: BTreeSet<String>,
    file: Arc<str>,
}

impl All {
    /// Notes whether a task will not be done, and says so.
    fn note(&mut self, task: Value<'_, '_>, above: Option<&str>, is_gone_above: bool) -> bool {
        let is_gone = is_gone_above || is_gone(task);
        if is_gone {
            self.gone.insert(id_of(task, above));
        }
        is_gone
    }

    fn task(&self, import: &mut Import<'_>, task: Value<'_, '_>) {
        let id = id_of(task, None);
        let mut waits = self.dependencies(task, &[]);
        let siblings: Vec<String> = parts(task).map(|part| id_of(part, Some(&id))).collect();
        for part in parts(task) {
            let mut own = self.dependencies(part, &siblings);
            own.extend(waits.clone());
            self.one(import, part, Some(task), own, is_done(task));
        }
        waits.extend(parts(task).filter_map(|part| {
            let part_id = id_of(part, Some(&id));
            (!self.gone.contains(&part_id)).then(|| (part_id, place(part)))
        }));
        self.one(import, task, None, waits, false);
    }

    /// What a task waits for. A bare number in a list of a subtask is a sibling if there is one of that number.
    fn dependencies(&self, task: Value<'_, '_>, siblings: &[String]) -> Vec<(String, Span)> {
        let parent = siblings.first().and_then(|first| first.rsplit_once('.')).map(|(parent, _)| parent);
        let list = field(task, &TASK, "dependencies").into_iter().flat_map(Value::items);
        let ids = list.filter_map(|item| {
            let id = text_of(item)?.trim().to_owned();
            let sibling = parent.map(|parent| format!("{parent}.{id}")).filter(|id| siblings.contains(id));
            Some((sibling.unwrap_or(id), item.span()))
        });
        ids.filter(|(id, _)| !self.gone.contains(id)).collect()
    }

    fn one(
        &self,
        import: &mut Import<'_>,
        task: Value<'_, '_>,
        above: Option<Value<'_, '_>>,
        dependencies: Vec<(String, Span)>,
        is_done_above: bool,
    ) {
        let shape = if above.is_some() { &SUBTASK } else { &TASK };
        let id = id_of(task, above.map(|above| id_of(above, None)).as_deref());
        if self.gone.contains(&id) {
            return;
        }
        let own = |name: &str| field(task, shape, name).and_then(fields::filled);
        let others = others(task, shape);
        let mut more = vec![
            ("Details", own("details")),
            ("Test strategy", own("testStrategy")),
            ("Part of", above.and_then(|above| text(above, &TASK, "title"))),
        ];
        more.extend(others.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))));
        import.take(New {
            file: self.file.clone(),
            id,
            place: place(task),
            title: own("title").unwrap_or_default(),
            description: description(&own("description").unwrap_or_default(), &more),
            role: None,
            is_done: is_done_above || is_done(task),
            priority: priority(own("priority").as_deref()),
            dependencies,
        });
    }
}

fn parts<'d, 's>(task: Value<'d, 's>) -> impl Iterator<Item = Value<'d, 's>> {
    field(task, &TASK, "subtasks").into_iter().flat_map(Value::items)
}

/// The id of a task, or of a subtask with that of its task.
fn id_of(task: Value<'_, '_>, above: Option<&str>) -> String {
    let own = text(task, &TASK, "id").unwrap_or_default();
    match above {
        Some(above) if !own.starts_with(&format!("{above}.")) => format!("{above}.{own}"),
        _ => own,
    }
}

fn place(task: Value<'_, '_>) -> Span {
    field(task, &TASK, "id").map_or(task.span(), Value::span)
}

fn is_done(task: Value<'_, '_>) -> bool {
    text(task, &TASK, "status").is_some_and(|status| matches!(status.as_str(), "done" | "completed"))
}

fn is_gone(task: Value<'_, '_>) -> bool {
    text(task, &TASK, "status").is_some_and(|status| matches!(status.as_str(), "cancelled" | "deferred"))
}

fn priority(word: Option<&str>) -> Priority {
    match word {
        Some("high" | "critical") => Priority::P0,
        Some("low") => Priority::P2,
        _ => Priority::P1,
    }
}
