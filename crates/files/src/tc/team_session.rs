//! `team-session.json` of the `tc` dialect.

use std::sync::Arc;

use team_executor_core::{ActiveWorker, CompletionAction, RoleName, SessionId, SessionStatus, TaskId, Timestamp};

use super::task_analysis::GRAPH;
use crate::draft;
use crate::fields::{self, ID, INNER_LOOP, text};
use crate::finding::Findings;
use crate::json::{Kind, Value};
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Other, Type};
use crate::span::Span;

/// How findings name the file, and its limits.
pub static ABOUT: About = About {
    subject: "Invalid session: team-session.json",
    schema: "team-session",
    limit: limits::TASKS_BYTES,
    if_missing: "run team-coordinate again with the original task, or check the path",
    if_wrong: "or run team-coordinate again to make the file anew",
};

/// Its shape.
pub static SHAPE: Type = Type::Object(&OBJECT);

pub(crate) static OBJECT: Object = Object {
    about: "State of a team session and its roles",
    fields: &[
        Field::required("session_id", &Type::Name, "Unique name of the session"),
        Field::required("task_description", &Type::Text, "What the user asked for"),
        Field::required("status", &Type::Word(&["active", "paused", "completed"], &[]), "Status of the session"),
        Field::required("team_name", &Type::Name, "Name of the team"),
        Field::required("roles", &Type::Filled(&ROLES), "Who works"),
        Field::optional("pipeline", &Type::Object(&PIPELINE), "Progress of the pipeline"),
        Field::optional("active_workers", &Type::List(&Type::Anything), "Workers that are running"),
        Field::optional("completed_tasks", &Type::List(&ID), "Ids of the tasks that are done"),
        Field::optional(
            "completion_action",
            &Type::Word(
                CompletionAction::WORDS,
                &[("report_only", "auto_keep"), ("keep", "auto_keep"), ("archive", "auto_archive")],
            ),
            "What happens when the last task is over",
        ),
        Field::optional("created_at", &Type::Time, "When the session was planned"),
        Field::optional("injected_roles", &Type::List(&Type::Name), "Roles that joined by rule"),
    ],
};

static ROLES: Type = Type::Or(
    &Type::Object(&ROLE),
    &[Other { ty: &Type::Name, understood: "a role that is a string was read as its name" }],
);

pub(crate) static ROLE: Object = Object {
    about: "One role of the team",
    fields: &[
        Field::required("name", &Type::Name, "Name of the role, and of its file"),
        Field::required("prefix", &Type::Name, "Prefix of the ids of its tasks"),
        Field::optional("responsibility_type", &Type::Text, "What sort of work it does"),
        Field::optional("inner_loop", &INNER_LOOP, "Whether one worker does all its tasks, one after the other"),
        Field::expected(
            "role_spec",
            &Type::Path,
            "role-specs/<name>.md is used",
            "Its instructions, relative to the session folder",
        ),
    ],
};

pub(crate) static PIPELINE: Object = Object {
    about: "Progress of the pipeline",
    fields: &[
        Field::optional("dependency_graph", &Type::Map(&GRAPH), "The graph of task-analysis.json"),
        Field::optional("tasks_total", &Type::Whole(0), "How many tasks there are"),
        Field::optional("tasks_completed", &Type::Whole(0), "How many of them are done"),
    ],
};

static WORKER: Object = Object {
    about: "A worker that is running",
    fields: &[
        Field::optional("task_id", &Type::Text, "What it works on").or(&["task", "taskId", "id"]),
        Field::optional("agent_id", &Type::Text, "Id of the worker").or(&["agent", "worker", "name", "role"]),
    ],
};

/// What it says.
#[derive(Debug)]
pub struct TeamSession<'d, 's> {
    /// `session_id`
    pub id: Option<SessionId>,
    /// `task_description`
    pub requirement: String,
    /// `status`
    pub status: SessionStatus,
    /// `team_name`
    pub name: String,
    /// `roles`
    pub roles: Vec<SessionRole>,
    /// `completion_action`
    pub completion: CompletionAction,
    /// `created_at`
    pub created_at: Option<Timestamp>,
    /// `completed_tasks`
    pub completed_tasks: Vec<TaskId>,
    /// `active_workers`
    pub active_workers: Vec<ActiveWorker>,
    /// `injected_roles`
    pub injected_roles: Vec<RoleName>,
    /// `pipeline.dependency_graph`, if there is anything in it.
    pub graph: Option<Value<'d, 's>>,
}

/// One entry of `roles`.
#[derive(Debug)]
pub struct SessionRole {
    /// `name`
    pub name: RoleName,
    /// Where the name stands.
    pub span: Span,
    /// `prefix`
    pub prefix: Option<String>,
    /// `responsibility_type`
    pub responsibility: Option<String>,
    /// `inner_loop`
    pub inner_loop: Option<bool>,
    /// `role_spec`
    pub spec: Option<(String, Span)>,
}

/// Takes what is there; what is missing or wrong has been said by the shape.
pub fn read<'d, 's>(root: Value<'d, 's>, file: &Arc<str>, findings: &mut Findings) -> TeamSession<'d, 's> {
    let word = |name| fields::field(root, &OBJECT, name).and_then(Value::as_text).unwrap_or_default();
    let pipeline = fields::field(root, &OBJECT, "pipeline");
    let graph = pipeline.and_then(|pipeline| pipeline.get("dependency_graph"));
    let completed = fields::field(root, &OBJECT, "completed_tasks");
    TeamSession {
        id: text(root, &OBJECT, "session_id").and_then(|id| {
            let span = fields::field(root, &OBJECT, "session_id").map_or(root.span(), Value::span);
            draft::session_id(&id, file, span, findings)
        }),
        requirement: text(root, &OBJECT, "task_description").unwrap_or_default(),
        status: SessionStatus::from_word(&word("status")).unwrap_or(SessionStatus::Active),
        name: text(root, &OBJECT, "team_name").unwrap_or_default(),
        roles: fields::field(root, &OBJECT, "roles")
            .map(|roles| roles.items().filter_map(|role| session_role(role, file, findings)).collect())
            .unwrap_or_default(),
        completion: completion(&word("completion_action")),
        created_at: fields::timestamp(root, &OBJECT, "created_at"),
        completed_tasks: completed
            .map(|list| fields::ids(list, file, findings).into_iter().map(|(id, _)| id).collect())
            .unwrap_or_default(),
        active_workers: fields::field(root, &OBJECT, "active_workers")
            .map(|list| list.items().map(active_worker).collect())
            .unwrap_or_default(),
        injected_roles: fields::role_names(fields::field(root, &OBJECT, "injected_roles"), file, findings),
        graph: graph.filter(|graph| graph.kind() == Kind::Object && graph.entries().next().is_some()),
    }
}

fn completion(word: &str) -> CompletionAction {
    match word {
        "report_only" | "keep" => CompletionAction::AutoKeep,
        "archive" => CompletionAction::AutoArchive,
        word => CompletionAction::from_word(word).unwrap_or(CompletionAction::Interactive),
    }
}

fn session_role(value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<SessionRole> {
    let name = value.as_text().map(|name| (name.into_owned(), value.span())).or_else(|| {
        let name = fields::field(value, &ROLE, "name")?;
        Some((name.as_text()?.into_owned(), name.span()))
    });
    let (name, span) = name?;
    let spec = fields::field(value, &ROLE, "role_spec");
    Some(SessionRole {
        name: draft::role_name(&name, file, span, findings)?,
        span,
        prefix: text(value, &ROLE, "prefix"),
        responsibility: text(value, &ROLE, "responsibility_type"),
        inner_loop: fields::field(value, &ROLE, "inner_loop").and_then(Value::as_bool),
        spec: spec.and_then(|spec| Some((spec.as_text()?.into_owned(), spec.span()))),
    })
}

pub(crate) fn active_worker(value: Value<'_, '_>) -> ActiveWorker {
    let named = value.as_text().map(|text| text.into_owned());
    let task = text(value, &WORKER, "task_id").or_else(|| named.clone());
    let agent = text(value, &WORKER, "agent_id").or(named);
    ActiveWorker { task: task.and_then(|task| TaskId::parse(&task).ok()), agent: agent.unwrap_or_default() }
}
