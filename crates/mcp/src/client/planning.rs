//! The tools that change what a session's tasks are, also while it is run: each does what the command of its name does.

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use team_executor_app::Reading;
use team_executor_app::bus::{self, NewTask, Refusal, ShownTask, TaskEdit};
use team_executor_core::Priority;

use super::Call;
use crate::tool::{self, Effect, tool};

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[
    || {
        tool::<Create>(
            "create_task",
            "Add a task to a session, and to its run if that goes on: it starts when its dependencies are completed",
            Effect::Adds,
        )
    },
    || {
        tool::<Edit>(
            "edit_task",
            "Change what is planned of a task that has not begun, in the session and in its run if that goes on",
            Effect::Adds,
        )
    },
    || {
        tool::<Remove>(
            "remove_task",
            "Remove a task that has not begun, from the session and from its run if that goes on",
            Effect::Adds,
        )
    },
];

/// The task that is added.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// The session's folder
    session: String,
    /// Its id, unique in the session
    task: String,
    /// Its title
    title: String,
    /// The work, in words
    #[serde(default)]
    description: String,
    /// The role that does it
    assignee: String,
    /// Tasks to complete first
    #[serde(default)]
    deps: Vec<String>,
    /// Tasks that wait for it
    #[serde(default)]
    before: Vec<String>,
}

/// What is changed of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The session's folder
    session: String,
    /// The task's id
    task: String,
    /// Its title
    title: Option<String>,
    /// The work, in words
    description: Option<String>,
    /// The role that does it
    assignee: Option<String>,
    /// P0, P1 or P2
    priority: Option<String>,
    /// Tasks to complete first too
    #[serde(default)]
    after: Vec<String>,
    /// Tasks that it waits for no longer
    #[serde(default)]
    not_after: Vec<String>,
    /// Tasks that wait for it too
    #[serde(default)]
    before: Vec<String>,
    /// Tasks that wait for it no longer
    #[serde(default)]
    not_before: Vec<String>,
}

/// The task that is removed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remove {
    /// The session's folder
    session: String,
    /// The task's id
    task: String,
}

/// Carries out a call; nothing if it is another file's tool.
pub(super) async fn call(call: &Call<'_>, name: &str, given: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
    match name {
        "create_task" => create(call, tool::arguments(name, given)?).await.map(Some),
        "edit_task" => {
            let (session, edit) = edit(tool::arguments(name, given)?)?;
            change(call, &session, edit).await.map(Some)
        }
        "remove_task" => {
            let Remove { session, task } = tool::arguments(name, given)?;
            change(call, &session, TaskEdit { task, remove: true, ..TaskEdit::default() }).await.map(Some)
        }
        _ => Ok(None),
    }
}

/// The edit of the arguments.
fn edit(given: Edit) -> Result<(String, TaskEdit), Refusal> {
    let Edit { session, task, title, description, assignee, priority, after, not_after, before, not_before } = given;
    let unknown = |word: &String| Refusal::new(format!("unknown priority '{word}'"), "one of: P0, P1, P2");
    let priority = priority.map(|word| Priority::from_word(&word).ok_or_else(|| unknown(&word))).transpose()?;
    let edit = TaskEdit {
        task,
        remove: false,
        title,
        description,
        role: assignee,
        priority,
        after,
        not_after,
        before,
        not_before,
    };
    Ok((session, edit))
}

async fn change(call: &Call<'_>, session: &str, edit: TaskEdit) -> Result<Value, Refusal> {
    call.with(session, move |app, session| {
        let caller = app.caller(session)?;
        caller.must_not_steer()?;
        let opened = caller.open(Reading::default())?;
        bus::change(opened.runnable()?, opened.dialect, (caller.folder(), caller.current()), &edit)?;
        if edit.remove {
            return Ok(json!({"version": 1, "removed": edit.task}));
        }
        let opened = caller.open(Reading::default())?;
        let (session, graph, index) = opened.task(&edit.task)?;
        Ok(json!({"version": 1, "task": ShownTask::from_task(&session.tasks[index.get()], graph)}))
    })
    .await
}

async fn create(call: &Call<'_>, given: Create) -> Result<Value, Refusal> {
    let Create { session, task, title, description, assignee, deps, before } = given;
    let created = call.with(&session, move |app, session| {
        let caller = app.caller(session)?;
        caller.must_not_steer()?;
        let opened = caller.open(Reading::default())?;
        let (planned, _) = opened.runnable()?;
        let (role, dependencies, before) = (assignee.as_str(), deps.as_slice(), before.as_slice());
        let (title, description) = (title.as_str(), description.as_str());
        let new = NewTask { id: &task, title, description, role, dependencies, before, wave: None };
        bus::create(planned, opened.dialect, caller.folder(), caller.current(), &new)?;
        let opened = caller.open(Reading::default())?;
        let (session, graph, index) = opened.task(&task)?;
        Ok(json!({"version": 1, "task": ShownTask::from_task(&session.tasks[index.get()], graph)}))
    });
    created.await
}
