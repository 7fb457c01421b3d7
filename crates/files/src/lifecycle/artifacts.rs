//! The artifact registry of a lifecycle session: manifests, and the rules that hold between them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{Artifact, ArtifactId, ArtifactKind, Priority, Task, Validation};

use super::shape::{ARTIFACT, ARTIFACT_METADATA};
use crate::code::Code;
use crate::draft;
use crate::fields::{self, Named, field, text, text_of, whole};
use crate::finding::{Finding, Findings};
use crate::json::Value;
use crate::span::Span;

/// An artifact, and where its id stands.
#[derive(Debug)]
struct Placed {
    artifact: Artifact,
    span: Span,
}

/// Every artifact of the registry; what breaks a rule is said.
pub(super) fn read(
    registry: Option<Value<'_, '_>>,
    tasks: &[Task],
    file: &Arc<str>,
    findings: &mut Findings,
) -> Vec<Artifact> {
    let placed: Vec<Placed> =
        fields::named(registry, &ARTIFACT, "artifact_id").filter_map(|entry| one(&entry, file, findings)).collect();
    rules(&placed, tasks, file, findings);
    placed.into_iter().map(|placed| placed.artifact).collect()
}

/// One manifest. Without a required field the session is refused by its shape, and there is no artifact.
fn one(entry: &Named<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<Placed> {
    let Named { name, span, value } = entry;
    let id = artifact_id(name, file, *span, findings)?;
    if let Some(own) = field(*value, &ARTIFACT, "artifact_id")
        && let Some(own_name) = text_of(own).filter(|own_name| own_name != name)
    {
        let finding = invalid(format!("artifact '{id}' is called '{own_name}' in its own manifest"));
        findings.push(finding.at(file, own.span(), "differs from its key").help("give both the same name"));
    }
    let creator = field(*value, &ARTIFACT, "creator_role")?;
    let metadata = field(*value, &ARTIFACT, "metadata");
    let of_metadata = |name| metadata.and_then(|metadata| field(metadata, &ARTIFACT_METADATA, name));
    let artifact = Artifact {
        kind: ArtifactKind::from_word(&text(*value, &ARTIFACT, "artifact_type")?)?,
        path: text(*value, &ARTIFACT, "path")?,
        creator: draft::role_name(&creator.as_text()?, file, creator.span(), findings)?,
        version: version(*value, file, findings),
        validation: Validation::from_word(&text(*value, &ARTIFACT, "validation_status")?)?,
        validation_summary: text(*value, &ARTIFACT, "validation_summary"),
        dependencies: field(*value, &ARTIFACT, "dependencies")
            .into_iter()
            .flat_map(Value::items)
            .filter_map(|id| artifact_id(&text_of(id)?, file, id.span(), findings))
            .collect(),
        task: of_metadata("task_id").and_then(|id| draft::task_id(&text_of(id)?, file, id.span(), findings)),
        priority: of_metadata("priority").and_then(|word| Priority::from_word(&word.as_text()?)),
        created_at: metadata.and_then(|metadata| fields::timestamp(metadata, &ARTIFACT_METADATA, "created_at")),
        file_size: of_metadata("file_size").and_then(whole),
        checksum: of_metadata("checksum").and_then(fields::filled),
        id,
    };
    Some(Placed { artifact, span: *span })
}

/// An id, or a finding that says why not.
fn artifact_id(text: &str, file: &Arc<str>, span: Span, findings: &mut Findings) -> Option<ArtifactId> {
    let id = ArtifactId::parse(text).map_err(|error| {
        let shown: String = text.chars().take(40).collect();
        let finding = Finding::error(Code::InvalidId, format!("'{shown}' cannot be an artifact id"));
        findings.push(finding.at(file, span, error.to_string()).help("use letters, digits, `-`, `_` and `.`"));
    });
    id.ok()
}

fn version(value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<String> {
    let value = field(value, &ARTIFACT, "version")?;
    let version = value.as_text()?.into_owned();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !version.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor)) {
        let message = "a `version` that is not like `1.0` was kept as it is";
        findings.push(Finding::warning(Code::OtherForm, message).at(file, value.span(), ""));
    }
    Some(version)
}

/// Ids and paths are unique; what an artifact refers to exists.
fn rules(placed: &[Placed], tasks: &[Task], file: &Arc<str>, findings: &mut Findings) {
    let tasks: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let mut ids: HashMap<&str, Span> = HashMap::new();
    let mut paths: HashMap<&str, Span> = HashMap::new();
    for Placed { artifact, span } in placed {
        if let Some(first) = ids.insert(artifact.id.as_str(), *span) {
            let finding = invalid(format!("artifact id '{}' is not unique", artifact.id));
            let finding = finding.at(file, *span, "defined again").and(file, first, "first defined here");
            findings.push(finding.help("rename or remove one of the two"));
        }
        if let Some(first) = paths.insert(&artifact.path, *span) {
            let finding = invalid(format!("two artifacts have the path '{}'", artifact.path));
            let finding = finding.at(file, *span, "this artifact").and(file, first, "and this one");
            findings.push(finding.help("give each artifact a file of its own"));
        }
    }
    for Placed { artifact, span } in placed {
        for unknown in artifact.dependencies.iter().filter(|id| !ids.contains_key(id.as_str())) {
            let message = format!("artifact '{}' depends on '{unknown}', which does not exist", artifact.id);
            let finding = invalid(message).at(file, *span, "this artifact");
            findings.push(finding.help(format!("register '{unknown}', or remove it from the dependencies")));
        }
        if let Some(task) = artifact.task.as_ref().filter(|id| !tasks.contains(id.as_str())) {
            let message = format!("artifact '{}' was made by task '{task}', which does not exist", artifact.id);
            let finding = invalid(message).at(file, *span, "this artifact");
            findings.push(finding.help("write the id of a task, or remove `task_id`"));
        }
    }
}

fn invalid(message: String) -> Finding {
    Finding::error(Code::InvalidArtifact, message)
}
