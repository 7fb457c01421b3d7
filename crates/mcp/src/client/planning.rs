//! The tools that change what a session's tasks are, also while it is run: each does what the command of its name does.

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use team_executor_app::Reading;
use team_executor_app::bus::{self, NewTask, Refusal, ShownTask};

use super::Call;
use crate::tool::{self, Effect, tool};

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[|| {
    tool::<Create>(
        "create_task",
        "Add a task to a session, and to its run if that goes on: it starts when its dependencies are completed",
        Effect::Adds,
    )
}];

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
}

/// Carries out a call; nothing if it is another file's tool.
pub(super) async fn call(call: &Call<'_>, name: &str, given: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
    if name != "create_task" {
        return Ok(None);
    }
    let Create { session, task, title, description, assignee, deps } = tool::arguments(name, given)?;
    let created = call.with(&session, move |app, session| {
        let caller = app.caller(session)?;
        caller.must_not_steer()?;
        let opened = caller.open(Reading::default())?;
        let (planned, _) = opened.runnable()?;
        let (role, dependencies) = (assignee.as_str(), deps.as_slice());
        let new = NewTask { id: &task, title: &title, description: &description, role, dependencies, wave: None };
        bus::create(planned, opened.dialect, caller.folder(), caller.current(), &new)?;
        let opened = caller.open(Reading::default())?;
        let (session, graph, index) = opened.task(&task)?;
        Ok(json!({"version": 1, "task": ShownTask::from_task(&session.tasks[index.get()], graph)}))
    });
    created.await.map(Some)
}
