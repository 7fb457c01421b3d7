//! Files of planners that only take the state of their tasks: the steps of a chain, and a file for each task.

use std::collections::{HashMap, HashSet};

use team_executor_core::{Graph, Session, SessionStatus, Task, TaskStatus};

use super::overlay::{Fields, New};
use super::patch::patched;
use super::tasks_json::tasks_json;
use crate::json;
use crate::task_files::{self, Words};
use crate::{chain as format, fields, tasks_json};

/// `session.json` of a chain, with the state of its steps.
pub fn chain(original: &str, session: &Session) -> String {
    let by_id: HashMap<&str, &Task> = session.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let text = patched(original, |patch, root| {
        for step in format::steps(root) {
            let Some(now) = by_id.get(&*step.name) else { continue };
            if let Some(was) = format::task_of(now.id.clone(), step.value) {
                patch.object(&format::STEP, step.value, &step_state(&was), &step_state(now));
            }
        }
        let mut before = Session::new(session.id.clone());
        format::state(root, &mut before);
        patch.object(&format::OBJECT, root, &session_state(&before), &session_state(session));
        Some(())
    });
    text.unwrap_or_else(|| original.to_owned())
}

fn step_state(task: &Task) -> Fields<'_> {
    let status = if task.status == TaskStatus::Ready { TaskStatus::Pending } else { task.status };
    result(task, Fields::default().always("status", New::Text(status.word().into())))
}

fn session_state(session: &Session) -> Fields<'_> {
    Fields::default()
        .unless(session.status == SessionStatus::Active, "status", New::text(session.status.word()))
        .unless(true, "updated_at", New::time(session.updated_at))
}

/// The file of one task, with its state in the words of its planner.
pub fn task_file(original: &str, task: &Task, words: Words) -> String {
    let state = |task: &'_ Task| -> Fields<'static> {
        let status = words.word(task.status);
        Fields::default().always("status", New::Text(status.into()))
    };
    let text = patched(original, |patch, root| {
        let was = task_files::task_of(task.id.clone(), root)?;
        let (before, after) = (rest(&was, state(&was)), rest(task, state(task)));
        patch.object(&task_files::TASK, root, &before, &after);
        Some(())
    });
    text.unwrap_or_else(|| original.to_owned())
}

fn rest<'a>(task: &'a Task, fields: Fields<'a>) -> Fields<'a> {
    let fields = fields
        .unless(task.title.is_empty(), "title", New::text(&task.title))
        .unless(task.description.is_empty(), "description", New::text(&task.description))
        .unless(true, "updated_at", New::time(task.updated_at));
    result(task, fields)
}

/// What came out of a task.
fn result<'a>(task: &'a Task, fields: Fields<'a>) -> Fields<'a> {
    let said = |text: &'a Option<String>| text.as_deref().filter(|text| !text.is_empty());
    fields.text_or_null("findings", said(&task.findings)).text_or_null("error", said(&task.error))
}

/// `tasks.json` beside `team-session.json`: only the tasks that stand in it, in its own form.
pub fn tasks_beside(original: &str, session: &Session, graph: &Graph) -> String {
    let Ok(document) = json::parse(original.trim_start_matches('\u{FEFF}')) else { return original.to_owned() };
    let container = tasks_json::container(document.root());
    let there: HashSet<String> =
        fields::named(container, &tasks_json::TASK, "id").map(|entry| entry.name.into_owned()).collect();
    let tasks = session.tasks.iter().filter(|task| there.contains(task.id.as_str())).cloned().collect();
    tasks_json(Some(original), &Session { tasks, ..session.clone() }, graph)
}
