//! The artifact registry of a lifecycle session: manifests under their ids, and what ties them to the session.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use team_executor_core::{Artifact, Role, Task};

use crate::code::Code;
use crate::fields::{self, Named, field, text_of};
use crate::finding::{Finding, Findings};
use crate::json::Value;
use crate::manifest::{self, Manifest, OBJECT};
use crate::span::Span;

/// Every artifact of the registry; what breaks a rule is said. Where the session lists its roles, makers are among them.
pub(super) fn read(
    registry: Option<Value<'_, '_>>,
    tasks: &[Task],
    roles: Option<&[Role]>,
    file: &Arc<str>,
    findings: &mut Findings,
) -> Vec<Artifact> {
    let mut manifests = Vec::new();
    for Named { name, span, value } in fields::named(registry, &OBJECT, "artifact_id") {
        let Some(manifest) = manifest::understand(value, &name, file, findings) else { continue };
        if let Some(own) =
            field(value, &OBJECT, "artifact_id").filter(|own| text_of(*own).is_some_and(|own| own != name))
        {
            let message = format!("artifact '{name}' is called '{}' in its own manifest", manifest.artifact.id);
            let finding = Finding::error(Code::InvalidArtifact, message).at(file, own.span(), "differs from its key");
            findings.push(finding.help("give both the same name"));
        }
        manifests.push(Manifest { id: span, ..manifest });
    }
    manifest::check(&manifests, roles.map(|roles| roles.iter().map(|role| &role.name)), findings);
    let tasks: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    for Manifest { artifact, id, .. } in &manifests {
        if let Some(task) = artifact.task.as_ref().filter(|task| !tasks.contains(task.as_str())) {
            let message = format!("artifact '{}' was made by task '{task}', which does not exist", artifact.id);
            let finding = Finding::error(Code::InvalidArtifact, message).at(file, *id, "this artifact");
            findings.push(finding.help("write the id of a task, or remove `task_id`"));
        }
    }
    manifests.into_iter().map(|manifest| manifest.artifact).collect()
}

/// The artifacts that the metadata of a task names, by id or by path.
pub(super) fn named_in<'s>(metadata: Value<'_, 's>) -> impl Iterator<Item = (Cow<'s, str>, Span)> {
    let names = |name: &str| matches!(name, "artifact" | "artifact_id" | "artifacts" | "artifact_ids");
    let values = metadata.entries().filter(move |entry| names(&entry.name())).map(|entry| entry.value);
    let texts = values.flat_map(|value| std::iter::once(value).chain(value.items()));
    texts.filter_map(|value| Some((text_of(value)?, value.span())))
}
