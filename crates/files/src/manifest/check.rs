//! The rules that artifacts of one session must keep together: names, paths, creators and what they build on.

use std::collections::{HashMap, HashSet};

use team_executor_core::RoleName;

use super::format::Manifest;
use crate::code::Code;
use crate::finding::{Finding, Findings};
use crate::paths;

/// Says everything that is wrong with the artifacts of a session whose roles have these names.
pub fn check<'r>(
    manifests: &[Manifest],
    roles: Option<impl IntoIterator<Item = &'r RoleName>>,
    findings: &mut Findings,
) {
    let roles: Option<HashSet<&str>> = roles.map(|roles| roles.into_iter().map(RoleName::as_str).collect());
    let mut ids: HashMap<&str, &Manifest> = HashMap::new();
    let mut paths: HashMap<String, &Manifest> = HashMap::new();
    for manifest in manifests {
        let artifact = &manifest.artifact;
        let id = &artifact.id;
        if let Some(first) = ids.get(id.as_str()) {
            let finding = Finding::error(Code::InvalidArtifact, format!("artifact id '{id}' is not unique"));
            let finding =
                finding.at(&manifest.file, manifest.id, "used again").and(&first.file, first.id, "first here");
            findings.push(finding.help("rename one of the two; every artifact id must be unique"));
        } else {
            ids.insert(id.as_str(), manifest);
        }
        if let Err(reason) = paths::inside(&artifact.path) {
            let message = format!("the path of artifact '{id}' leaves the session folder");
            let finding = Finding::error(Code::LeavesSession, message);
            let finding = finding.at(&manifest.file, manifest.path, reason.to_string());
            findings.push(finding.help("write a path relative to the session folder, without `..`"));
        } else {
            let path = comparable(&artifact.path);
            if let Some(first) = paths.get(&path) {
                let message = format!("artifacts '{}' and '{id}' have one path", first.artifact.id);
                let finding = Finding::error(Code::InvalidArtifact, message);
                let finding = finding.at(&manifest.file, manifest.path, "the same file");
                let finding = finding.and(&first.file, first.path, "first here");
                findings.push(finding.help("give each artifact its own path"));
            } else {
                paths.insert(path, manifest);
            }
        }
        if roles.as_ref().is_some_and(|roles| !roles.contains(artifact.creator.as_str())) {
            let message = format!("artifact '{id}' was made by '{}', which is no role", artifact.creator);
            let finding = Finding::error(Code::InvalidArtifact, message);
            let finding = finding.at(&manifest.file, manifest.creator, "no role has this name");
            findings.push(finding.help("write the name of a role of this session"));
        }
        if artifact.version.as_deref().is_some_and(|version| !is_version(version)) {
            let message = "a version not written as `1.0` was kept unchanged";
            let place = manifest.version.unwrap_or(manifest.id);
            findings.push(Finding::warning(Code::OtherForm, message).at(&manifest.file, place, ""));
        }
    }
    for manifest in manifests {
        let id = &manifest.artifact.id;
        for (dependency, place) in manifest.artifact.dependencies.iter().zip(&manifest.dependencies) {
            if !ids.contains_key(dependency.as_str()) {
                let message = format!("artifact '{id}' builds on '{dependency}', which does not exist");
                let finding = Finding::error(Code::InvalidArtifact, message);
                let finding = finding.at(&manifest.file, *place, "no artifact has this id");
                findings.push(finding.help(format!("remove '{dependency}' from `dependencies`, or add its manifest")));
            }
        }
    }
}

/// Whether a version is two numbers with a point between them.
pub fn is_version(version: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    version.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// A path without what makes no difference. Upper and lower case make one: the file systems that workers write to tell them
/// apart.
pub fn comparable(path: &str) -> String {
    let parts: Vec<_> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}
