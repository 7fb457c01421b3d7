//! The `tls` dialect: `team-session.json` or `session.json` with a `task_list` and an `artifact_registry`.

mod artifacts;
mod roles;
pub(crate) mod shape;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{
    Checkpoint, CheckpointAction, Complexity, Detail, ExecMode, Phase, Position, Priority, RunOn, Session,
    SessionStatus, Task, TaskId, TaskStatus, Verdict,
};

use self::shape::{CHECKPOINT, METADATA, OBJECT, TASK};
pub use self::shape::{DEFAULT_PIPELINE, PIPELINES, SESSION, SHAPE, TEAM_SESSION};
use crate::code::Code;
use crate::context;
use crate::details;
use crate::dialect;
use crate::draft::{self, Draft, Drafts};
use crate::fields::{self, Named, field, filled, text, whole};
use crate::finding::{Finding, Findings, Severity};
use crate::json::Value;
use crate::reading::Reading;
use crate::span::{Source, Span};
use crate::words::in_words;

/// Fields that the model holds, and those that are no instruction.
const TOLD: [&str; 14] = [
    "delivers",
    "id",
    "role",
    "dependencies",
    "status",
    "metadata",
    "title",
    "description",
    "context_from",
    "findings",
    "planner_notes",
    "exec_mode",
    "quality_score",
    "supervision_verdict",
];

/// Reads and judges a session of this dialect.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let name = dialect::lifecycle_file(reading.folder);
    let about = if name == "session.json" { &SESSION } else { &TEAM_SESSION };
    let file: Arc<str> = name.into();
    let text = reading.required_text(&file, about)?;
    let mut draft = None;
    if let Some(document) = reading.document(&file, about, Severity::Error, &text) {
        let root = document.root();
        reading.check(&file, about, Severity::Error, &document, &SHAPE);
        let mut tasks = tasks(root, &file, &mut reading.findings);
        let listed = roles::read(field(root, &OBJECT, "roles"), about, &file, &mut reading.findings);
        let lists_roles = !listed.is_empty();
        let roles = crate::roles::with_listed(reading, &mut tasks, listed);
        let specialists = crate::roles::specialists(reading, &roles);
        let registry = field(root, &OBJECT, "artifact_registry");
        let artifacts =
            artifacts::read(registry, &tasks.tasks, lists_roles.then_some(&roles), &file, &mut reading.findings);
        let session = session(root, &file, &mut reading.findings);
        let session = session.map(|session| Session { roles, specialists, artifacts, ..session });
        context::give(reading.folder, &mut tasks);
        if let Some(session) = &session {
            rules(root, session, &tasks, &mut reading.findings);
        }
        draft = Some(Draft { session, tasks });
    }
    reading.sources.insert(file, Source::new(text));
    draft
}

/// A short name for people: the id without its `TLS-` and its date.
pub fn slug(id: &str) -> &str {
    let id = id.strip_prefix("TLS-").unwrap_or(id);
    match id.rsplit_once('-') {
        Some((slug, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => slug,
        _ => id,
    }
}

fn session(root: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<Session> {
    let id = field(root, &OBJECT, "session_id")?;
    let mut session = Session::new(draft::session_id(&id.as_text()?, file, id.span(), findings)?);
    session.name = text(root, &OBJECT, "slug").unwrap_or_else(|| slug(session.id.as_str()).to_owned());
    session.pipeline = Some(DEFAULT_PIPELINE.to_owned());
    state(root, &mut session);
    session.injected_roles = fields::role_names(field(root, &OBJECT, "injected_roles"), file, findings);
    Some(session)
}

/// What a file says about its session, whatever is wrong with it.
pub(crate) fn state(root: Value<'_, '_>, session: &mut Session) {
    for (name, value) in fields::known(root, &OBJECT) {
        match name {
            "status" => {
                let word = value.as_text().unwrap_or_default();
                session.status = SessionStatus::from_word(&word).unwrap_or(SessionStatus::Active);
            }
            "pipeline_type" => session.pipeline = filled(value),
            "requirement" => session.requirement = filled(value).unwrap_or_default(),
            "injected_roles" => {
                session.injected_roles = fields::role_names(Some(value), &"".into(), &mut Findings::default());
            }
            "checkpoint_history" => session.checkpoints = value.items().filter_map(checkpoint).collect(),
            _ => {}
        }
    }
    session.created_at = fields::timestamp(root, &OBJECT, "created_at");
    session.updated_at = fields::timestamp(root, &OBJECT, "updated_at");
}

/// One decision; nothing if it does not say which.
fn checkpoint(value: Value<'_, '_>) -> Option<Checkpoint> {
    Some(Checkpoint {
        id: text(value, &CHECKPOINT, "checkpoint_id").unwrap_or_default(),
        timestamp: fields::timestamp(value, &CHECKPOINT, "timestamp"),
        action: CheckpointAction::from_word(&field(value, &CHECKPOINT, "user_action")?.as_text()?)?,
        context: text(value, &CHECKPOINT, "context").unwrap_or_default(),
    })
}

fn tasks(root: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Drafts {
    let mut drafts = Drafts::new(file.clone());
    // A task without an id has been refused by its shape.
    let list = fields::named(field(root, &OBJECT, "task_list"), &TASK, "id").filter(|entry| !entry.name.is_empty());
    for Named { name, span, value } in list {
        let task = draft::task_id(&name, file, span, findings).and_then(|id| task(id, value, file, findings));
        if let Some((task, places)) = task {
            drafts.push(task, span, places);
        }
    }
    drafts
}

/// What a file says about one task, whatever is wrong with it.
pub(crate) fn task_of(id: TaskId, value: Value<'_, '_>) -> Option<Task> {
    task(id, value, &"".into(), &mut Findings::default()).map(|(task, _)| task)
}

fn task(id: TaskId, value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<(Task, Vec<Span>)> {
    let role = draft::role_or_stand_in(value, &TASK, &id, file, findings)?;
    let mut task = Task::new(id, role);
    let mut places = Vec::new();
    for (name, value) in fields::known(value, &TASK) {
        let word = || value.as_text().unwrap_or_default();
        match name {
            "phase" => task.phase = Phase::from_word(&word()),
            "dependencies" => (task.dependencies, places) = fields::ids(value, file, findings).into_iter().unzip(),
            "status" => {
                let status = TaskStatus::from_word(&word());
                let synonym = || TaskStatus::from_word(fields::status_word(&word()));
                task.status = status.or_else(synonym).unwrap_or(TaskStatus::Pending);
            }
            "priority" => task.priority = Priority::from_word(&word()).unwrap_or(task.priority),
            "metadata" => metadata(&mut task, value),
            "title" => task.title = word().into_owned(),
            "description" => task.description = word().into_owned(),
            "context_from" => {
                task.context_from = fields::ids(value, file, findings).into_iter().map(|(id, _)| id).collect();
            }
            "findings" => task.findings = filled(value),
            "planner_notes" => task.planner_notes = filled(value),
            "exec_mode" => task.exec_mode = ExecMode::from_word(&word()).unwrap_or(task.exec_mode),
            "position" => task.position = Position::from_word(&word()).unwrap_or(task.position),
            "run_on" => task.run_on = RunOn::from_word(&word()).unwrap_or(task.run_on),
            "quality_score" => task.quality_score = value.as_f64(),
            "supervision_verdict" => task.verdict = Verdict::from_word(&word()),
            "min_complexity" => task.min_complexity = Complexity::from_word(&word()),
            "delivers" => task.delivers = fields::files(value),
            _ => {}
        }
    }
    task.take_planner_notes();
    task.details = told_besides(value);
    in_words(&mut task);
    Some((task, places))
}

/// What a task and its metadata say that the model does not.
fn told_besides(task: Value<'_, '_>) -> Vec<Detail> {
    let mut told = details::collect(task, &TASK, &TOLD);
    let metadata = field(task, &TASK, "metadata");
    let known = ["created_at", "updated_at", "attempt_count", "error_message"];
    told.extend(metadata.into_iter().flat_map(|metadata| details::collect(metadata, &METADATA, &known)));
    told
}

fn metadata(task: &mut Task, value: Value<'_, '_>) {
    task.created_at = fields::timestamp(value, &METADATA, "created_at");
    task.updated_at = fields::timestamp(value, &METADATA, "updated_at");
    task.attempt_count = field(value, &METADATA, "attempt_count").and_then(whole).unwrap_or(0);
    task.error = field(value, &METADATA, "error_message").and_then(filled);
}

/// The rules that a shape cannot express and that the graph does not check.
fn rules(root: Value<'_, '_>, session: &Session, drafts: &Drafts, findings: &mut Findings) {
    let place = |name| field(root, &OBJECT, name).map_or(Span::new(0, 1), Value::span);
    if let (Some(created), Some(updated)) = (session.created_at, session.updated_at)
        && updated < created
    {
        let message = "`updated_at` is before `created_at`";
        findings.push(Finding::warning(Code::Disagreement, message).at(&drafts.file, place("updated_at"), ""));
    }
    if session.status == SessionStatus::Completed && drafts.tasks.iter().any(|task| !task.status.is_over()) {
        let message = "the session is completed but has unfinished tasks";
        findings.push(Finding::warning(Code::IncompleteState, message).at(&drafts.file, place("status"), ""));
    }
    let by_id: HashMap<&str, &Task> = drafts.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let registered: HashSet<&str> =
        session.artifacts.iter().flat_map(|artifact| [artifact.id.as_str(), artifact.path.as_str()]).collect();
    for entry in fields::named(field(root, &OBJECT, "task_list"), &TASK, "id") {
        for (name, place) in field(entry.value, &TASK, "metadata").into_iter().flat_map(artifacts::named_in) {
            if !registered.contains(&*name) {
                let message = "a task names an artifact that the registry lacks";
                findings.push(Finding::warning(Code::InvalidArtifact, message).at(&drafts.file, place, ""));
            }
        }
        if let Some(task) = by_id.get(&*entry.name)
            && let Some(place) = field(entry.value, &TASK, "context_from")
        {
            context::check(task, place, |id| by_id.contains_key(id), &drafts.file, findings);
        }
    }
}
