//! Tests of the artifact manifests.

use std::sync::Arc;

use proptest::prelude::*;
use team_executor_core::{Artifact, ArtifactId, ArtifactKind, Priority, RoleName, Validation};

use super::*;
use crate::code::Code;
use crate::finding::Severity;
use crate::folder::MemoryFolder;
use crate::reading::Reading;
use crate::samples;

fn read_one(text: &str) -> (Option<Manifest>, Vec<String>) {
    let file: Arc<str> = "artifacts/T-1/artifact-manifest.json".into();
    let folder = MemoryFolder::default().with(&file, text);
    let mut reading = Reading::new(&folder, "s");
    let manifest = read(&mut reading, &file);
    (manifest, samples::said(&reading.findings))
}

/// The findings of `check` about one file for each text, with the text at each place.
fn checked(texts: &[&str]) -> Vec<(Severity, Code, String)> {
    let name = |nth| format!("artifacts/{nth}/artifact-manifest.json");
    let folder = (0..).zip(texts).fold(MemoryFolder::default(), |folder, (nth, text)| folder.with(&name(nth), *text));
    let mut reading = Reading::new(&folder, "s");
    let manifests = read_all(&mut reading);
    assert_eq!(manifests.len(), texts.len());
    let before = reading.findings.iter().count();
    check(&manifests, Some(&[RoleName::parse("dev").expect("a role")]), &mut reading.findings);
    let found = reading.findings.iter().skip(before).map(|finding| {
        let place = finding.place.as_ref().expect("a place");
        let text = reading.sources.get(&place.file).expect("a source").text();
        (finding.severity, finding.code, place.span.map_or("", |span| span.slice(text)).to_owned())
    });
    found.collect()
}

fn manifest(id: &str, path: &str, more: &str) -> String {
    format!(
        r#"{{"artifact_id":"{id}","artifact_type":"code","path":"{path}","creator_role":"dev","validation_status":"passed"{more}}}"#
    )
}

#[test]
fn other_spellings_are_understood() {
    let (read, said) = read_one(
        r#"{"type":"docs","file":"a.md","role":"dev","version":1.0,"status":"approved","deps":"x","metadata":{"task_id":7}}"#,
    );
    let artifact = read.expect("an artifact").artifact;
    assert_eq!(
        (artifact.id.as_str(), artifact.kind, artifact.validation),
        ("T-1", ArtifactKind::Document, Validation::Passed)
    );
    assert_eq!((artifact.version.as_deref(), artifact.dependencies[0].as_str()), (Some("1.0"), "x"));
    assert_eq!(artifact.task.map(|task| task.to_string()).as_deref(), Some("7"));
    assert!(said.iter().all(|line| line.starts_with("Warning")));
    assert!(said.iter().any(|line| line.ends_with("`artifact_id` is missing: its key or its folder's name is used")));
}

#[test]
fn invalid_manifest_is_a_warning() {
    let padded = manifest(" a", "p", "");
    for text in ["", "[]", "{}", padded.as_str()] {
        let (manifest, said) = read_one(text);
        assert_eq!(manifest, None, "{text}");
        assert!(!said.is_empty() && said.iter().all(|line| line.starts_with("Warning")), "{said:?}");
    }
}

/// R: D-01
#[test]
fn words_are_those_of_the_format() {
    for (field, words) in [("artifact_type", ArtifactKind::WORDS), ("validation_status", Validation::WORDS)] {
        let text = |word: &str| {
            let kind = if field == "artifact_type" { word } else { "code" };
            let status = if field == "validation_status" { word } else { "passed" };
            format!(
                r#"{{"artifact_id":"a","artifact_type":"{kind}","path":"p","creator_role":"r","validation_status":"{status}"}}"#
            )
        };
        for word in words {
            let (manifest, said) = read_one(&text(word));
            assert!(manifest.is_some() && said.is_empty(), "{word} {said:?}");
        }
        let (manifest, said) = read_one(&text("song"));
        assert!(manifest.is_none());
        let expected = format!("Warning invalid-field artifact-manifest.json invalid field '{field}'");
        assert_eq!(said, [expected]);
    }
}

/// R: D-01
#[test]
fn the_version_pattern_is_a_lint() {
    for (version, fine) in
        [("1.0", true), ("12.34", true), ("1", false), ("v1.0", false), ("1.0.0", false), ("1.", false), ("", false)]
    {
        let found = checked(&[&manifest("a", "p", &format!(r#","version":"{version}""#))]);
        let expected = (Severity::Warning, Code::OtherForm, format!("\"{version}\""));
        assert_eq!(found, if fine { Vec::new() } else { vec![expected] }, "{version}");
    }
}

/// R: S-09
#[test]
fn a_path_that_leaves_the_session_is_an_error() {
    for path in ["/etc/passwd", "../x", "a/../../b", "C:/x", "~/x"] {
        let expected = (Severity::Error, Code::LeavesSession, format!("\"{path}\""));
        assert_eq!(checked(&[&manifest("a", path, "")]), [expected]);
    }
    assert_eq!(checked(&[&manifest("a", "artifacts/a.md", "")]), []);
}

#[test]
fn ids_and_paths_are_unique_and_references_exist() {
    let error = |text: &str| (Severity::Error, Code::InvalidArtifact, text.to_owned());
    let (one, two) = (manifest("a", "docs/Plan.md", ""), manifest("a", "b", ""));
    assert_eq!(checked(&[&one, &two]), [error("\"a\"")]);
    let two = manifest("b", "./docs//Plan.md", r#","dependencies":["a","c"]"#);
    assert_eq!(checked(&[&one, &two]), [error("\"./docs//Plan.md\""), error("\"c\"")]);
    assert_eq!(checked(&[&one, &manifest("b", "docs/plan.md", "")]), []);
    assert_eq!(checked(&[&manifest("a", "p", "").replace("dev", "ghost")]), [error("\"ghost\"")]);
}

fn any_artifact() -> impl Strategy<Value = Artifact> {
    let ids = prop::collection::vec(samples::id(), 1..4);
    let words = (prop::sample::select(ArtifactKind::ALL), prop::sample::select(Validation::ALL));
    let details = (
        prop::option::of(samples::task_id()),
        prop::option::of(prop::sample::select(Priority::ALL)),
        prop::option::of(samples::time()),
        prop::option::of(0..i64::MAX as u64),
        prop::option::of(any::<String>()),
    );
    (ids, words, details, "[a-z]\\PC{0,20}").prop_filter_map("ids", |(ids, words, details, path)| {
        let ids: Vec<ArtifactId> = ids.iter().filter_map(|id| ArtifactId::parse(id).ok()).collect();
        let (task, priority, created_at, file_size, checksum) = details;
        Some(Artifact {
            creator: RoleName::parse(ids[0].as_str()).ok()?,
            id: ids[0].clone(),
            kind: words.0,
            path,
            version: checksum.clone(),
            validation: words.1,
            validation_summary: checksum.clone(),
            dependencies: ids,
            task,
            priority,
            created_at,
            file_size,
            checksum,
        })
    })
}

/// R: D-01
#[test]
fn the_published_schema_demands_what_the_format_demands() {
    assert_eq!(
        samples::required(&SHAPE),
        ["artifact_id", "artifact_type", "path", "creator_role", "validation_status"]
    );
}

proptest! {
    #[test]
    fn written_file_reads_back_without_findings(artifact in any_artifact()) {
        let text = crate::write::artifact_manifest(&artifact);
        let (read, said) = read_one(&text);
        prop_assert_eq!(read.map(|manifest| manifest.artifact), Some(artifact));
        prop_assert!(said.is_empty(), "{:?}", said);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}", json in samples::json()) {
        read_one(&text);
        read_one(&format!("{{\"path\":{json},\"creator_role\":\"r\",\"dependencies\":{json},\"metadata\":{json}}}"));
    }
}
