//! A task list of Claude Code: a folder with a file `N.json` for each task. `blockedBy` and `blocks` say the same from both
//! ends, so either makes a task wait.

use std::collections::HashMap;
use std::sync::Arc;

use team_executor_core::Priority;

use super::{Import, Imported, New, Tool, check, description, others, role};
use crate::code::Code;
use crate::fields::{self, ID, field, text, text_of};
use crate::finding::{Finding, Severity};
use crate::folder::Folder;
use crate::json::Value;
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Type};
use crate::span::{Source, Span};

static ABOUT: About = About {
    subject: "Invalid Claude Code task",
    schema: "tasks",
    limit: limits::DISCOVERY_BYTES,
    if_missing: "check the path",
    if_wrong: "or remove the file, if the task is not needed",
};

static TYPE: Type = Type::Object(&TASK);

static TASK: Object = Object {
    about: "One task",
    fields: &[
        Field::required("id", &ID, "Its number"),
        Field::required("subject", &Type::Name, "For people"),
        Field::optional("description", &Type::Nullable(&Type::Text), "What to do"),
        Field::optional("activeForm", &Type::Nullable(&Type::Text), "What is shown while it is done"),
        Field::optional("status", &Type::Word(&["pending", "in_progress", "completed", "deleted"], &[]), "Its status"),
        Field::optional("owner", &Type::Nullable(&Type::Text), "Role that does it"),
        Field::optional("blocks", &Type::List(&ID), "Ids of the tasks that wait for it"),
        Field::optional("blockedBy", &Type::List(&ID), "Ids of the tasks that it waits for"),
        Field::optional("metadata", &Type::Nullable(&Type::Map(&Type::Anything)), "What else is known"),
    ],
};

/// Reads a folder. Only files whose names are numbers are tasks.
pub fn read_list(folder: &dyn Folder, shown: &str) -> Imported {
    let mut import = Import::new(folder, shown);
    let names = folder.list(".").unwrap_or_default();
    let number = |name: &String| name.strip_suffix(".json").and_then(|stem| stem.parse::<u64>().ok());
    let mut files: Vec<(u64, String)> = names.iter().filter_map(|name| Some((number(name)?, name.clone()))).collect();
    files.sort_unstable();
    let mut tasks = Vec::new();
    for (_, name) in files {
        let file: Arc<str> = name.as_str().into();
        let Some(text) = import.reading.required_text(&file, &ABOUT) else { continue };
        tasks.extend(one(&mut import, &file, &text));
        import.reading.sources.insert(file, Source::new(text));
    }
    join(&mut import, tasks);
    import.finish(Tool::ClaudeTasks)
}

/// Reads the text of one task.
pub(super) fn read_one(import: &mut Import<'_>, text: &str) {
    let file = import.drafts.file.clone();
    let task = one(import, &file, text);
    join(import, task.into_iter().collect());
}

/// A task and the ids of those that wait for it.
type Read = (New, Vec<(String, Span)>);

fn one(import: &mut Import<'_>, file: &Arc<str>, source: &str) -> Option<Read> {
    let before = import.reading.findings.error_count();
    let document = import.reading.document(file, &ABOUT, Severity::Error, source)?;
    check(&mut import.reading, file, &ABOUT, &document, &TYPE);
    if import.reading.findings.error_count() > before {
        return None;
    }
    let root = document.root();
    let own = |name: &str| field(root, &TASK, name).and_then(fields::filled);
    let ids = |name: &str| -> Vec<(String, Span)> {
        let list = field(root, &TASK, name).into_iter().flat_map(Value::items);
        list.filter_map(|item| Some((text_of(item)?.trim().to_owned(), item.span()))).collect()
    };
    let id = text(root, &TASK, "id")?;
    let metadata = field(root, &TASK, "metadata");
    let is_internal = metadata.and_then(|metadata| metadata.get("_internal")).and_then(Value::as_bool);
    if own("status").as_deref() == Some("deleted") || is_internal == Some(true) {
        import.left.push(format!("task {id}: the tool's own, or deleted"));
        return None;
    }
    let others = others(root, &TASK);
    let mut more: Vec<(&str, Option<String>)> = Vec::new();
    more.extend(others.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))));
    let notes =
        metadata.filter(|metadata| metadata.entries().next().is_some()).map(|metadata| metadata.raw().to_owned());
    more.push(("Metadata", notes));
    let new = New {
        file: file.clone(),
        id,
        place: field(root, &TASK, "id").map_or(root.span(), Value::span),
        title: own("subject").unwrap_or_default(),
        description: description(&own("description").unwrap_or_default(), &more),
        role: role(own("owner")),
        is_done: own("status").as_deref() == Some("completed"),
        priority: Priority::P1,
        dependencies: ids("blockedBy"),
    };
    Some((new, ids("blocks")))
}

/// Takes the tasks over, with what both ends say. What a task blocks must be there.
fn join(import: &mut Import<'_>, tasks: Vec<Read>) {
    let at: HashMap<String, usize> = tasks.iter().enumerate().map(|(at, (task, _))| (task.id.clone(), at)).collect();
    let mut blocked: Vec<Vec<(String, Span)>> = vec![Vec::new(); tasks.len()];
    for (task, blocks) in &tasks {
        for (id, place) in blocks {
            match at.get(id) {
                Some(waiting) => blocked[*waiting].push((task.id.clone(), tasks[*waiting].0.place)),
                None => {
                    let message = format!("task '{}' blocks '{id}', which does not exist", task.id);
                    let finding = Finding::warning(Code::UnknownDependency, message).at(&task.file, *place, "");
                    import.reading.findings.push(finding);
                }
            }
        }
    }
    for ((mut task, _), blocked) in tasks.into_iter().zip(blocked) {
        task.dependencies.extend(blocked);
        import.take(task);
    }
}
