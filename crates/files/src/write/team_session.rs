//! `team-session.json` of the `tc` dialect.

use std::collections::HashSet;

use team_executor_core::{
    ActiveWorker, CompletionAction, Reconciliation, Role, RoleName, Session, SessionStatus, TaskId, TaskStatus,
};

use super::elements::{Elements, Form};
use super::overlay::{Fields, New, object};
use super::patch::{Patch, patched};
use super::written;
use crate::fields::field;
use crate::finding::Findings;
use crate::json::{Value, Writer};
use crate::tc::team_session::{OBJECT, PIPELINE, ROLE, active_worker, read};

/// The text of `team-session.json`. What is completed is told by the tasks and by the session's own list together, as
/// [`Reconciliation`] does. `pipeline.dependency_graph` stays as it is: the graph that counts is in
/// `task-analysis.json`. A team without a name is named after its session.
pub fn team_session(original: Option<&str>, session: &Session) -> String {
    let over = |text: &str| patched(text, |patch, root| over(patch, root, session));
    original.and_then(over).unwrap_or_else(|| {
        let completed = completed(session, &session.completed_tasks);
        let name = if session.name.trim().is_empty() { session.id.as_str() } else { &session.name };
        let fields = Fields::default()
            .always("session_id", New::text(&session.id))
            .always("task_description", New::text(&session.requirement))
            .always("team_name", New::text(name))
            .always("roles", New::with(|out| roles(&session.roles, &|at| role(&session.roles[at])).write(out)))
            .always("active_workers", New::with(|out| workers(out, &[], &session.active_workers)))
            .always("completed_tasks", New::texts(&completed))
            .unless(
                session.completion == CompletionAction::Interactive,
                "completion_action",
                New::text(session.completion.word()),
            )
            .always("created_at", New::time(session.created_at));
        let fields = state(session.status, &session.injected_roles, (session.tasks.len(), completed.len()), fields);
        written(|out| object(out, &OBJECT, &fields))
    })
}

/// What a run changes about a session.
fn state<'a>(
    status: SessionStatus,
    injected: &'a [RoleName],
    (total, completed): (usize, usize),
    fields: Fields<'a>,
) -> Fields<'a> {
    let pipeline = Fields::default()
        .always("tasks_total", New::Whole(total as u64))
        .always("tasks_completed", New::Whole(completed as u64));
    fields.always("status", New::text(word(status))).always("pipeline", New::Object(&PIPELINE, pipeline)).unless(
        injected.is_empty(),
        "injected_roles",
        New::texts(injected),
    )
}

/// Puts what changed into a user's text.
fn over(patch: &mut Patch<'_>, root: Value<'_, '_>, session: &Session) -> Option<()> {
    root.entries().next()?;
    let known = field(root, &OBJECT, "active_workers");
    let raw: Vec<_> =
        known.into_iter().flat_map(Value::items).map(|value| (active_worker(value), value.raw())).collect();
    let before = read(root, &"".into(), &mut Findings::default());
    let is_task: HashSet<&TaskId> = session.tasks.iter().map(|task| &task.id).collect();
    let listed: HashSet<&TaskId> = before.completed_tasks.iter().filter(|id| is_task.contains(id)).collect();
    let completed = completed(session, &before.completed_tasks);
    let counts = |completed: usize| (session.tasks.len(), completed);
    let mut fields = state(session.status, &session.injected_roles, counts(completed.len()), Fields::default());
    // A list with entries that name no task, or name one twice, is put right with what changes.
    let is_clean = listed.len() == before.completed_tasks.len() || session.completed_tasks == before.completed_tasks;
    if listed != completed.iter().copied().collect() || !is_clean {
        fields = fields.always("completed_tasks", New::texts(&completed));
    }
    if before.active_workers != session.active_workers {
        match known {
            Some(value) => patch.rewrite(value, |out| workers(out, &raw, &session.active_workers)),
            None => {
                fields = fields.always("active_workers", New::with(|out| workers(out, &raw, &session.active_workers)));
            }
        }
    }
    // Listed roles stay as the user wrote them; roles that joined are added.
    let joined: Vec<Role> =
        session.roles.iter().filter(|role| session.injected_roles.contains(&role.name)).cloned().collect();
    if let Some(list) = field(root, &OBJECT, "roles") {
        roles(&joined, &|at| role(&joined[at])).patch(patch, list, |_, _, _| {});
    }
    let was = state(before.status, &before.injected_roles, counts(listed.len()), Fields::default());
    patch.object(&OBJECT, root, &was, &fields);
    Some(())
}

/// The ids of completed tasks: first as a list has them, then in the order of the tasks.
fn completed<'a>(session: &'a Session, listed: &'a [TaskId]) -> Vec<&'a TaskId> {
    let statuses = Reconciliation::compare(session).statuses(session);
    let tasks = session.tasks.iter().zip(statuses).filter(|(_, status)| *status == TaskStatus::Completed);
    let mut left: HashSet<&TaskId> = tasks.map(|(task, _)| &task.id).collect();
    let tasks = session.tasks.iter().map(|task| &task.id);
    listed.iter().chain(tasks).filter(|id| left.remove(id)).collect()
}

/// The format has three words: a session never run counts as active, a failed one as paused, an archived one
/// as completed.
const fn word(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Created | SessionStatus::Active => "active",
        SessionStatus::Paused | SessionStatus::Failed => "paused",
        SessionStatus::Completed | SessionStatus::Archived => "completed",
    }
}

fn roles<'a, 'n>(roles: &'a [Role], fields: &'n dyn Fn(usize) -> Fields<'a>) -> Elements<'a, 'n> {
    let names = roles.iter().map(|role| role.name.as_str()).collect();
    Elements { form: Form::List, shape: &ROLE, key: "name", names, fields }
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

/// A worker that a user's text has stays as it stands there.
fn workers(out: &mut Writer, known: &[(ActiveWorker, &str)], workers: &[ActiveWorker]) {
    let mut known: Vec<&(ActiveWorker, &str)> = known.iter().collect();
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
