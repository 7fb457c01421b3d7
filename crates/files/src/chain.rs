//! The `chain` dialect: `session.json` with a `chain` of steps, each a command for one worker. Steps follow each other.

use std::sync::Arc;

use team_executor_core::{Session, SessionStatus, Task, TaskId, TaskStatus};

use crate::details;
use crate::draft::{self, Draft, Drafts};
use crate::fields::{self, Named, STATUS_SYNONYMS, field, filled, text, text_of};
use crate::finding::{Findings, Severity};
use crate::json::{Kind, Value};
use crate::limits;
use crate::reading::{About, Reading};
use crate::roles;
use crate::shape::{Field, Object, Other, Type};
use crate::span::{Source, Span};

/// Its file.
pub const FILE: &str = "session.json";
/// The role of a step that names none.
pub(crate) const ROLE: &str = "worker";

/// Fields that the model holds.
const TOLD: [&str; 7] = ["step_id", "command", "args", "status", "role", "findings", "error"];

/// What is said about it.
pub static ABOUT: About = About {
    subject: "Invalid session: session.json",
    schema: "chain",
    limit: limits::TASKS_BYTES,
    if_missing: "check the path, or let the planner write the file again",
    if_wrong: "or let the planner write the file again",
};

/// Its shape.
pub static SHAPE: Type = Type::Object(&OBJECT);

/// The words for a session in real files.
const SESSION_WORDS: &[(&str, &str)] =
    &[("running", "active"), ("in_progress", "active"), ("pending", "created"), ("done", "completed")];

pub(crate) static OBJECT: Object = Object {
    about: "A chain of commands and its status",
    fields: &[
        Field::optional("session_id", &Type::Name, "Unique name of the session; else that of its folder").or(&["id"]),
        Field::optional("schema_version", &Type::Anything, "Which version of the format it is"),
        Field::optional("requirement", &Type::Text, "What the user asked for").or(&[
            "intent",
            "goal",
            "task_description",
            "description",
        ]),
        Field::optional("status", &Type::Word(SessionStatus::WORDS, SESSION_WORDS), "Status of the session"),
        Field::optional("created_at", &Type::Time, "When the session was planned"),
        Field::optional("updated_at", &Type::Time, "When it last changed"),
        Field::required("chain", &Type::List(&Type::Object(&STEP)), "Every step, in order"),
    ],
};

/// A number or a name.
static STEP_ID: Type = Type::Or(
    &Type::Name,
    &[Other { ty: &Type::Whole(0), understood: "a `step_id` that is a number was read as text" }],
);

pub(crate) static STEP: Object = Object {
    about: "One step and its state",
    fields: &[
        Field::expected("step_id", &STEP_ID, "its position is used", "Unique name of the step").or(&["id"]),
        Field::required("command", &Type::Name, "The command to run").or(&["skill"]),
        Field::optional("args", &Type::Anything, "The arguments of the command"),
        Field::expected(
            "status",
            &Type::Word(&["pending", "in_progress", "completed", "failed", "skipped"], STATUS_SYNONYMS),
            "`pending` is used",
            "Its status",
        ),
        Field::optional("role", &Type::Name, "Role that does it").or(&["agent"]),
        Field::optional("findings", &Type::Nullable(&Type::Text), "Findings of the task"),
        Field::optional("error", &Type::Nullable(&Type::Text), "Why it failed or was skipped"),
    ],
};

/// Whether a document is a chain.
pub(crate) fn is_one(root: Value<'_, '_>) -> bool {
    root.get("chain").is_some_and(|chain| chain.kind() == Kind::Array)
}

/// Reads and judges a session of this dialect.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let file: Arc<str> = FILE.into();
    let text = reading.required_text(&file, &ABOUT)?;
    let mut draft = None;
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Error, &text) {
        let root = document.root();
        reading.check(&file, &ABOUT, Severity::Error, &document, &SHAPE);
        let mut tasks = tasks(root, &file, &mut reading.findings);
        let session = session(root, &file, reading).map(|mut session| {
            session.roles = roles::of_tasks(reading, &mut tasks);
            session.specialists = roles::specialists(reading, &session.roles);
            session
        });
        draft = Some(Draft { session, tasks });
    }
    reading.sources.insert(file, Source::new(text));
    draft
}

/// The steps with their ids: their own, or their positions.
pub(crate) fn steps<'d, 's>(root: Value<'d, 's>) -> impl Iterator<Item = Named<'d, 's>> {
    let list = field(root, &OBJECT, "chain").into_iter().flat_map(Value::items);
    list.enumerate().map(|(at, value)| {
        let own = field(value, &STEP, "step_id").and_then(|id| Some((text_of(id)?, id.span())));
        let head = Span { start: value.span().start, end: value.span().start + 1 };
        let (name, span) = own.unwrap_or_else(|| (format!("step-{}", at + 1).into(), head));
        Named { name, span, value }
    })
}

fn tasks(root: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Drafts {
    let mut drafts = Drafts::new(file.clone());
    let mut before: Option<TaskId> = None;
    for Named { name, span, value } in steps(root) {
        let Some(id) = draft::task_id(&name, file, span, findings) else { continue };
        let Some(mut task) = task(id, value, file, findings) else { continue };
        task.dependencies.extend(before.replace(task.id.clone()));
        task.context_from.clone_from(&task.dependencies);
        drafts.push(task, span, [span]);
    }
    drafts
}

/// What a file says about one step, whatever is wrong with it.
pub(crate) fn task_of(id: TaskId, value: Value<'_, '_>) -> Option<Task> {
    task(id, value, &FILE.into(), &mut Findings::default())
}

fn task(id: TaskId, value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<Task> {
    let role = match field(value, &STEP, "role").and_then(|role| Some((role.as_text()?, role.span()))) {
        Some((role, span)) => draft::role_name(role.trim_start_matches('@'), file, span, findings)?,
        None => draft::role_name(ROLE, file, Span::new(0, 0), findings)?,
    };
    let mut task = Task::new(id, role);
    task.title = text(value, &STEP, "command").unwrap_or_default();
    let args = field(value, &STEP, "args").map(|args| args.as_text().unwrap_or_else(|| args.raw().into()));
    let args = args.map(|args| args.trim().to_owned()).filter(|args| !args.is_empty());
    task.description = args.map_or_else(|| task.title.clone(), |args| format!("{} {args}", task.title));
    let status = text(value, &STEP, "status").unwrap_or_default();
    task.status = TaskStatus::from_word(fields::status_word(&status)).unwrap_or(TaskStatus::Pending);
    task.findings = field(value, &STEP, "findings").and_then(filled);
    task.error = field(value, &STEP, "error").and_then(filled);
    task.details = details::collect(value, &STEP, &TOLD);
    Some(task)
}

fn session(root: Value<'_, '_>, file: &Arc<str>, reading: &mut Reading<'_>) -> Option<Session> {
    let id = field(root, &OBJECT, "session_id").and_then(|id| Some((id.as_text()?.into_owned(), id.span())));
    let (id, span) = id.unwrap_or_else(|| (reading.name.clone(), Span::new(0, 0)));
    let mut session = Session::new(draft::session_id(&id, file, span, &mut reading.findings)?);
    session.name = session.id.to_string();
    state(root, &mut session);
    Some(session)
}

/// What a file says about its session.
pub(crate) fn state(root: Value<'_, '_>, session: &mut Session) {
    session.requirement = text(root, &OBJECT, "requirement").unwrap_or_default();
    session.created_at = fields::timestamp(root, &OBJECT, "created_at");
    session.updated_at = fields::timestamp(root, &OBJECT, "updated_at");
    let word = text(root, &OBJECT, "status").unwrap_or_default();
    let word = SESSION_WORDS.iter().find(|(other, _)| *other == word).map_or(word.as_str(), |(_, meaning)| meaning);
    session.status = SessionStatus::from_word(word).unwrap_or(SessionStatus::Active);
}
