//! `team-session.json` or `session.json` of the `tls` dialect.

use team_executor_core::{Artifact, Checkpoint, ExecMode, Position, Role, RoleKind, RunOn, Session, Task};

use super::elements::{Elements, Form};
use super::overlay::{Fields, New, object};
use super::patch::{Patch, Piece, patched};
use super::written;
use crate::fields::field;
use crate::finding::Findings;
use crate::json::{Kind, Value, Writer};
use crate::lifecycle::shape::{CHECKPOINT, CRITERIA, METADATA, OBJECT, ROLE, TASK};
use crate::lifecycle::{self as read, DEFAULT_PIPELINE, PIPELINES};
use crate::manifest;

/// What a run changes about a task.
const STATE: &[&str] = &[
    "title",
    "description",
    "status",
    "metadata",
    "findings",
    "planner_notes",
    "quality_score",
    "supervision_verdict",
];

/// The text of a lifecycle session. A pipeline that the format does not know is written as the default one. In a user's
/// text the roles stay as they are: those that it does not list follow from tasks and role-specs.
pub fn lifecycle(original: Option<&str>, session: &Session) -> String {
    let pipeline = session.pipeline.as_deref().filter(|name| PIPELINES.contains(name)).unwrap_or(DEFAULT_PIPELINE);
    let over = |text: &str| patched(text, |patch, root| over(patch, root, session));
    original.and_then(over).unwrap_or_else(|| {
        let task_fields = |at: usize| task(&session.tasks[at]);
        let tasks = tasks(session, &task_fields);
        let artifact_fields = |at: usize| artifact(&session.artifacts[at]);
        let artifacts = artifacts(&session.artifacts, &artifact_fields);
        let fields = Fields::default()
            .always("session_id", New::text(&session.id))
            .always("slug", New::text(&session.name))
            .always("created_at", New::time(session.created_at))
            .always("pipeline_type", New::text(pipeline))
            .unless(session.artifacts.is_empty(), "artifact_registry", New::with(|out| artifacts.write(out)))
            .always("task_list", New::with(|out| tasks.write(out)))
            .unless(
                session.checkpoints.is_empty(),
                "checkpoint_history",
                New::with(|out| {
                    out.begin_array();
                    session.checkpoints.iter().for_each(|checkpoint| decision(out, checkpoint));
                    out.end_array();
                }),
            )
            .unless(session.roles.is_empty(), "roles", New::with(|out| roles(out, &session.roles)))
            .unless(session.requirement.is_empty(), "requirement", New::text(&session.requirement));
        let fields = state(session, fields);
        written(|out| object(out, &OBJECT, &fields))
    })
}

/// What a run changes about a session.
fn state<'a>(session: &'a Session, fields: Fields<'a>) -> Fields<'a> {
    fields
        .always("updated_at", New::time(session.updated_at))
        .always("status", New::text(session.status.word()))
        .unless(session.injected_roles.is_empty(), "injected_roles", New::texts(&session.injected_roles))
}

/// Puts what changed into a user's text.
fn over(patch: &mut Patch<'_>, root: Value<'_, '_>, session: &Session) -> Option<()> {
    let task_list = field(root, &OBJECT, "task_list")?;
    let task_fields = |at: usize| task(&session.tasks[at]);
    tasks(session, &task_fields).patch(patch, task_list, |patch, at, value| {
        let now = &session.tasks[at];
        if let Some(was) = read::task_of(now.id.clone(), value) {
            patch.object(&TASK, value, &task(&was).only(STATE), &task(now).only(STATE));
        }
    });
    let artifact_fields = |at: usize| artifact(&session.artifacts[at]);
    let artifacts = artifacts(&session.artifacts, &artifact_fields);
    let mut before = Session { artifacts: Vec::new(), ..Session::new(session.id.clone()) };
    read::state(root, &mut before);
    let mut fields = state(session, Fields::default());
    match field(root, &OBJECT, "artifact_registry") {
        Some(registry) => artifacts.patch(patch, registry, |patch, at, value| {
            let was =
                manifest::understand(value, session.artifacts[at].id.as_str(), &"".into(), &mut Findings::default());
            if let Some(was) = was {
                patch.object(&manifest::OBJECT, value, &artifact(&was.artifact), &artifact_fields(at));
            }
        }),
        None if session.artifacts.is_empty() => {}
        None => fields = fields.always("artifact_registry", New::with(|out| artifacts.write(out))),
    }
    // A history only grows: each entry that can be read belongs to the model's entry of the same position.
    let more = session.checkpoints.get(before.checkpoints.len()..).unwrap_or_default();
    match field(root, &OBJECT, "checkpoint_history").filter(|history| history.kind() == Kind::Array) {
        Some(history) => {
            let more: Vec<_> = more.iter().map(|one| Piece::item(|out| decision(out, one))).collect();
            patch.splice(history, &[], &more);
        }
        None if more.is_empty() => {}
        None => {
            fields = fields.always(
                "checkpoint_history",
                New::with(|out| {
                    out.begin_array();
                    more.iter().for_each(|one| decision(out, one));
                    out.end_array();
                }),
            );
        }
    }
    patch.object(&OBJECT, root, &state(&before, Fields::default()), &fields);
    Some(())
}

fn tasks<'a, 'n>(session: &'a Session, fields: &'n dyn Fn(usize) -> Fields<'a>) -> Elements<'a, 'n> {
    let names = session.tasks.iter().map(|task| task.id.as_str()).collect();
    Elements { form: Form::List, shape: &TASK, key: "id", names, fields }
}

pub(super) fn task(task: &Task) -> Fields<'_> {
    let metadata = Fields::default()
        .always("created_at", New::time(task.created_at))
        .always("updated_at", New::time(task.updated_at))
        .unless(task.attempt_count == 0, "attempt_count", New::Whole(task.attempt_count.into()))
        .text_or_gone("error_message", task.error.as_deref());
    Fields::default()
        .always("id", New::text(&task.id))
        .always("role", New::text(&task.role))
        .always("phase", task.phase.map_or(New::Kept, |phase| New::text(phase.word())))
        .always("dependencies", New::texts(&task.dependencies))
        .always("status", New::text(task.status.word()))
        .always("priority", New::text(task.priority.word()))
        .unless(metadata.add_nothing(), "metadata", New::Object(&METADATA, metadata))
        .unless(task.title.is_empty(), "title", New::text(&task.title))
        .unless(task.description.is_empty(), "description", New::text(&task.description))
        .unless(task.context_from.is_empty(), "context_from", New::texts(&task.context_from))
        .text_or_null("findings", task.findings.as_deref().or(task.notes_as_findings()))
        .unless(task.exec_mode == ExecMode::CsvWave, "exec_mode", New::text(task.exec_mode.word()))
        .unless(task.position == Position::PostWave, "position", New::text(task.position.word()))
        .unless(task.run_on == RunOn::Success, "run_on", New::text(task.run_on.word()))
        .unless(task.quality_score.is_none(), "quality_score", New::number(task.quality_score))
        .text_or_null("supervision_verdict", task.verdict.map(|verdict| verdict.word()))
        .text_or_gone("min_complexity", task.min_complexity.map(|level| level.word()))
        .unless(task.delivers.is_empty(), "delivers", New::texts(&task.delivers))
        .text_or_gone("planner_notes", task.notes_beside())
}

/// `artifact-manifest.json`, which only workers write.
#[cfg(test)]
pub(crate) fn artifact_manifest(one: &Artifact) -> String {
    written(|out| artifact_into(out, one))
}

/// An artifact as a part of another text.
pub fn artifact_into(out: &mut Writer, one: &Artifact) {
    object(out, &manifest::OBJECT, &artifact(one));
}

/// Artifacts under their ids, as a session registers them.
pub fn artifact_registry(all: &[Artifact]) -> String {
    let fields = |at: usize| artifact(&all[at]);
    written(|out| artifacts(all, &fields).write(out))
}

fn artifacts<'a, 'n>(artifacts: &'a [Artifact], fields: &'n dyn Fn(usize) -> Fields<'a>) -> Elements<'a, 'n> {
    let names = artifacts.iter().map(|artifact| artifact.id.as_str()).collect();
    Elements { form: Form::Map, shape: &manifest::OBJECT, key: "artifact_id", names, fields }
}

fn artifact(artifact: &Artifact) -> Fields<'_> {
    let metadata = Fields::default()
        .always("created_at", New::time(artifact.created_at))
        .text_or_gone("task_id", artifact.task.as_ref().map(|task| task.as_str()))
        .text_or_gone("priority", artifact.priority.map(|priority| priority.word()))
        .always("file_size", artifact.file_size.map_or(New::Gone, New::Whole))
        .text_or_gone("checksum", artifact.checksum.as_deref());
    Fields::default()
        .always("artifact_id", New::text(&artifact.id))
        .always("artifact_type", New::text(artifact.kind.word()))
        .always("path", New::text(&artifact.path))
        .always("creator_role", New::text(&artifact.creator))
        .text_or_gone("version", artifact.version.as_deref())
        .always("validation_status", New::text(artifact.validation.word()))
        .text_or_gone("validation_summary", artifact.validation_summary.as_deref())
        .unless(artifact.dependencies.is_empty(), "dependencies", New::texts(&artifact.dependencies))
        .unless(metadata.add_nothing(), "metadata", New::Object(&manifest::METADATA, metadata))
}

fn decision(out: &mut Writer, checkpoint: &Checkpoint) {
    let fields = Fields::default()
        .unless(checkpoint.id.is_empty(), "checkpoint_id", New::text(&checkpoint.id))
        .always("timestamp", New::time(checkpoint.timestamp))
        .always("user_action", New::text(checkpoint.action.word()))
        .unless(checkpoint.context.is_empty(), "context", New::text(&checkpoint.context));
    object(out, &CHECKPOINT, &fields);
}

fn roles(out: &mut Writer, roles: &[Role]) {
    let names = roles.iter().map(|role| role.name.as_str()).collect();
    let fields = |at: usize| role(&roles[at]);
    Elements { form: Form::List, shape: &ROLE, key: "name", names, fields: &fields }.write(out);
}

fn role(role: &Role) -> Fields<'_> {
    let criteria = Fields::default()
        .unless(role.keywords.is_empty(), "keywords", New::texts(&role.keywords))
        .text_or_gone("complexity_threshold", role.complexity_threshold.map(|threshold| threshold.word()));
    let prefix = if role.prefix.is_empty() { New::Kept } else { New::Text(format!("{}-*", role.prefix).into()) };
    let phases = role.phase_execution.iter().map(|phase| New::Whole((*phase).into())).collect();
    Fields::default()
        .always("name", New::text(&role.name))
        .always("type", New::text(role.kind.unwrap_or(RoleKind::Pipeline).word()))
        .always("task_prefix", prefix)
        .always("injection_trigger", New::text(role.trigger.word()))
        .unless(criteria.add_nothing(), "injection_criteria", New::Object(&CRITERIA, criteria))
        .unless(role.capabilities.is_empty(), "capabilities", New::texts(&role.capabilities))
        .unless(!role.inner_loop, "inner_loop", New::Bool(role.inner_loop))
        .unless(role.phase_execution.is_empty(), "phase_execution", New::List(phases))
}
