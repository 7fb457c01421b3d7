//! `team-session.json` of the `tc` dialect.

use std::collections::HashSet;

use team_executor_core::{
    ActiveWorker, CompletionAction, Reconciliation, Role, Session, SessionStatus, TaskId, TaskStatus,
};

use super::elements::{Elements, Form};
use super::over;
use super::overlay::{Fields, New, object};
use crate::json::{Value, Writer};
use crate::tc::team_session::{OBJECT, PIPELINE, ROLE, active_worker};

/// The text of `team-session.json`. What is completed is told by the tasks and by the session's own list together, as
/// [`Reconciliation`] does. `pipeline.dependency_graph` stays as it is: the graph that counts is in
/// `task-analysis.json`. A team without a name is named after its session.
pub fn team_session(original: Option<&str>, session: &Session) -> String {
    let completed = completed(session);
    let name = if session.name.trim().is_empty() { session.id.as_str() } else { &session.name };
    let pipeline = Fields::default()
        .always("tasks_total", New::Whole(session.tasks.len() as u64))
        .always("tasks_completed", New::Whole(completed.len() as u64));
    let fields = Fields::default()
        .always("session_id", New::text(&session.id))
        .always("task_description", New::text(&session.requirement))
        .always("status", New::text(status(session.status)))
        .always("team_name", New::text(name))
        .always("roles", New::with(|out, original| roles(out, original, &session.roles)))
        .always("pipeline", New::Object(&PIPELINE, pipeline))
        .always("active_workers", New::with(|out, original| workers(out, original, &session.active_workers)))
        .always("completed_tasks", New::texts(&completed))
        .unless(
            session.completion == CompletionAction::Interactive,
            "completion_action",
            New::text(session.completion.word()),
        )
        .always("created_at", New::time(session.created_at))
        .unless(session.injected_roles.is_empty(), "injected_roles", New::texts(&session.injected_roles));
    over(original, |out, root| object(out, &OBJECT, root, &fields))
}

/// The ids of completed tasks: first as the session lists them, then in the order of the tasks.
fn completed(session: &Session) -> Vec<&TaskId> {
    let statuses = Reconciliation::of(session).statuses(session);
    let tasks = session.tasks.iter().zip(statuses).filter(|(_, status)| *status == TaskStatus::Completed);
    let mut left: HashSet<&TaskId> = tasks.map(|(task, _)| &task.id).collect();
    let tasks = session.tasks.iter().map(|task| &task.id);
    session.completed_tasks.iter().chain(tasks).filter(|id| left.remove(id)).collect()
}

/// The format has three words. What was never run can be run, what failed waits for a person, what was put away is done.
const fn status(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Created | SessionStatus::Active => "active",
        SessionStatus::Paused | SessionStatus::Failed => "paused",
        SessionStatus::Completed | SessionStatus::Archived => "completed",
    }
}

fn roles(out: &mut Writer, original: Option<Value<'_, '_>>, roles: &[Role]) {
    let names = roles.iter().map(|role| role.name.as_str()).collect();
    let fields = |at: usize| role(&roles[at]);
    Elements { form: Form::List, shape: &ROLE, key: "name", names, fields: &fields }.write(out, original);
}

fn role(role: &Role) -> Fields<'_> {
    let default_spec = || format!("role-specs/{}.md", role.name);
    let spec = role.spec.as_ref().map_or_else(|| New::Text(default_spec().into()), New::text);
    Fields::default()
        .always("name", New::text(&role.name))
        .always("prefix", if role.prefix.is_empty() { New::Kept } else { New::text(&role.prefix) })
        .text_or_gone("responsibility_type", role.responsibility.as_deref())
        .unless(!role.inner_loop, "inner_loop", New::Bool(role.inner_loop))
        .always("role_spec", spec)
}

/// A worker that stands in the original stays as it stands there.
fn workers(out: &mut Writer, original: Option<Value<'_, '_>>, workers: &[ActiveWorker]) {
    let mut known: Vec<(ActiveWorker, &str)> =
        original.into_iter().flat_map(Value::items).map(|value| (active_worker(value), value.raw())).collect();
    out.begin_array();
    for worker in workers {
        if let Some(at) = known.iter().position(|(known, _)| known == worker) {
            out.raw(known.remove(at).1);
            continue;
        }
        out.begin_object();
        if let Some(task) = &worker.task {
            out.key("task_id");
            out.text(task.as_str());
        }
        out.key("agent_id");
        out.text(&worker.agent);
        out.end_object();
    }
    out.end_array();
}
