//! `team-session.json` or `session.json` of the `tls` dialect.

use team_executor_core::{Artifact, Checkpoint, ExecMode, Position, Role, RoleKind, RunOn, Session, Task};

use super::elements::{Elements, Form};
use super::over;
use super::overlay::{Fields, New, object};
use crate::json::{Value, Writer};
use crate::lifecycle::shape::{CHECKPOINT, CRITERIA, METADATA, OBJECT, ROLE, TASK};
use crate::lifecycle::{DEFAULT_PIPELINE, PIPELINES, checkpoint};
use crate::manifest;

/// The text of a lifecycle session. A pipeline that the format does not know is written as the default one. With an
/// original, only the roles that it lists are written; the others follow from tasks and role-specs.
pub fn lifecycle(original: Option<&str>, session: &Session) -> String {
    let pipeline = session.pipeline.as_deref().filter(|name| PIPELINES.contains(name)).unwrap_or(DEFAULT_PIPELINE);
    over(original, |out, root| {
        let fields = Fields::default()
            .always("session_id", New::text(&session.id))
            .always("slug", New::text(&session.name))
            .always("created_at", New::time(session.created_at))
            .always("updated_at", New::time(session.updated_at))
            .always("status", New::text(session.status.word()))
            .always("pipeline_type", New::text(pipeline))
            .unless(
                session.artifacts.is_empty(),
                "artifact_registry",
                New::with(|out, original| artifacts(out, original, &session.artifacts)),
            )
            .always("task_list", New::with(|out, original| tasks(out, original, &session.tasks)))
            .unless(session.injected_roles.is_empty(), "injected_roles", New::texts(&session.injected_roles))
            .unless(
                session.checkpoints.is_empty(),
                "checkpoint_history",
                New::with(|out, original| checkpoints(out, original, &session.checkpoints)),
            )
            .unless(
                root.is_some() || session.roles.is_empty(),
                "roles",
                New::with(|out, original| roles(out, original, &session.roles)),
            )
            .unless(session.requirement.is_empty(), "requirement", New::text(&session.requirement));
        object(out, &OBJECT, root, &fields);
    })
}

fn tasks(out: &mut Writer, original: Option<Value<'_, '_>>, tasks: &[Task]) {
    let names = tasks.iter().map(|task| task.id.as_str()).collect();
    let fields = |at: usize| task(&tasks[at]);
    Elements { form: Form::List, shape: &TASK, key: "id", names, fields: &fields }.write(out, original);
}

fn task(task: &Task) -> Fields<'_> {
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
        .text_or_gone("planner_notes", task.notes_beside())
}

/// `artifact-manifest.json`, which only workers write.
#[cfg(test)]
pub(crate) fn artifact_manifest(original: Option<&str>, one: &Artifact) -> String {
    over(original, |out, root| object(out, &manifest::OBJECT, root, &artifact(one)))
}

/// An artifact as a part of another text.
pub fn artifact_into(out: &mut Writer, one: &Artifact) {
    object(out, &manifest::OBJECT, None, &artifact(one));
}

/// Artifacts under their ids, as a session registers them.
pub fn artifact_registry(all: &[Artifact]) -> String {
    over(None, |out, original| artifacts(out, original, all))
}

fn artifacts(out: &mut Writer, original: Option<Value<'_, '_>>, artifacts: &[Artifact]) {
    let names = artifacts.iter().map(|artifact| artifact.id.as_str()).collect();
    let fields = |at: usize| artifact(&artifacts[at]);
    Elements { form: Form::Map, shape: &manifest::OBJECT, key: "artifact_id", names, fields: &fields }
        .write(out, original);
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

/// A history only grows: each entry that can be read belongs to the model's entry of the same position.
fn checkpoints(out: &mut Writer, original: Option<Value<'_, '_>>, checkpoints: &[Checkpoint]) {
    let mut left = checkpoints.iter();
    out.begin_array();
    for value in original.into_iter().flat_map(Value::items) {
        match checkpoint(value) {
            Some(_) => left.next().into_iter().for_each(|new| decision(out, Some(value), new)),
            None => out.raw(value.raw()),
        }
    }
    left.for_each(|new| decision(out, None, new));
    out.end_array();
}

fn decision(out: &mut Writer, original: Option<Value<'_, '_>>, checkpoint: &Checkpoint) {
    let fields = Fields::default()
        .unless(checkpoint.id.is_empty(), "checkpoint_id", New::text(&checkpoint.id))
        .always("timestamp", New::time(checkpoint.timestamp))
        .always("user_action", New::text(checkpoint.action.word()))
        .unless(checkpoint.context.is_empty(), "context", New::text(&checkpoint.context));
    object(out, &CHECKPOINT, original, &fields);
}

fn roles(out: &mut Writer, original: Option<Value<'_, '_>>, roles: &[Role]) {
    let listed: Option<Vec<_>> =
        original.map(|list| crate::fields::named(Some(list), &ROLE, "name").map(|entry| entry.name).collect());
    let is_written =
        |role: &&Role| listed.as_ref().is_none_or(|names| names.iter().any(|name| *name == role.name.as_str()));
    let roles: Vec<&Role> = roles.iter().filter(is_written).collect();
    let names = roles.iter().map(|role| role.name.as_str()).collect();
    let fields = |at: usize| role(roles[at]);
    Elements { form: Form::List, shape: &ROLE, key: "name", names, fields: &fields }.write(out, original);
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
