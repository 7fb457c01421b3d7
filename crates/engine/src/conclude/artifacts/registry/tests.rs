use team_executor_core::{ArtifactKind, SessionId};

use super::*;

pub(in crate::conclude::artifacts) fn task(id: &str) -> TaskId {
    TaskId::parse(id).unwrap()
}

pub(in crate::conclude::artifacts) fn artifact(id: &str, path: &str, of: &str) -> Artifact {
    Artifact {
        id: ArtifactId::parse(id).unwrap(),
        kind: ArtifactKind::Document,
        path: path.to_owned(),
        creator: RoleName::parse("dev").unwrap(),
        version: None,
        validation: Validation::Pending,
        validation_summary: None,
        dependencies: Vec::new(),
        task: Some(task(of)),
        priority: None,
        created_at: None,
        file_size: Some(1),
        checksum: None,
    }
}

fn registry(stated: Vec<Artifact>) -> Registry {
    Registry::replay(&stated, &[&RoleName::parse("dev").unwrap()], Vec::new())
}

fn found(artifact: Artifact, is_named: bool) -> FoundFile {
    FoundFile { place: Place::Run, artifact, is_named }
}

/// Delivers, and says what is wrong and what is registered of it, with versions.
fn deliver(registry: &mut Registry, of: &str, attempt: u32, all: Vec<FoundFile>, to: Validation) -> Vec<String> {
    let mut all = all;
    let wrong = registry.prepare(&task(of), attempt, &mut all);
    let artifacts = all.into_iter().map(|found| (found.place, Artifact { validation: to, ..found.artifact }));
    let artifacts = artifacts.collect();
    registry.record(Record { what: What::Checked, task: task(of), attempt, artifacts }).unwrap();
    wrong
}

fn shown(registry: &Registry) -> Vec<String> {
    let one = |entry: &Entry| {
        let Artifact { id, version, validation, .. } = &entry.artifact;
        format!("{id} {} {validation}", version.as_deref().unwrap_or("-"))
    };
    registry.entries().map(one).collect()
}

use Validation::{Failed, Passed};

/// R: D-04
#[test]
fn a_fix_awaits_its_turn_and_is_the_next_version() {
    let mut registry = registry(Vec::new());
    let one = || vec![found(artifact("A/x", "artifacts/A/x", "A"), false)];
    assert_eq!(deliver(&mut registry, "A", 1, one(), Failed), Vec::<String>::new());
    assert_eq!(shown(&registry), ["A/x 1.0 failed"]);
    // After a crash the same attempt is judged again.
    deliver(&mut registry, "A", 1, one(), Failed);
    assert_eq!(shown(&registry), ["A/x 1.0 failed"]);
    let begins = |attempt| Record { what: What::Begins, task: task("A"), attempt, artifacts: Vec::new() };
    registry.record(begins(2)).unwrap();
    assert_eq!(shown(&registry), ["A/x 1.0 pending"]);
    deliver(&mut registry, "A", 2, one(), Passed);
    assert_eq!(shown(&registry), ["A/x 1.1 passed"]);
    // What passed never leaves that state: another attempt makes another version of it.
    registry.record(begins(3)).unwrap();
    assert_eq!(shown(&registry), [""; 0]);
    deliver(&mut registry, "A", 3, one(), Passed);
    assert_eq!(shown(&registry), ["A/x 1.2 passed"]);
    deliver(&mut registry, "A", 4, Vec::new(), Passed);
    assert!(shown(&registry).is_empty() && !registry.has(&task("A")));
    assert_eq!(["1.9", "2.99", "odd"].map(next), ["1.10", "2.100", "1.0"]);
}

#[test]
fn broken_rule_has_its_error_and_is_not_registered() {
    let mut registry = registry(vec![artifact("plan", "docs/Plan.md", "B")]);
    let named = |id: &str, path: &str| found(artifact(id, path, "A"), true);
    let mut broken = |all: Vec<FoundFile>| deliver(&mut registry, "A", 1, all, Passed);
    assert_eq!(
        broken(vec![named("plan", "artifacts/A/x")]),
        ["artifacts/A/x: its id 'plan' already belongs to docs/Plan.md; choose another id"]
    );
    let path = broken(vec![named("other", "./docs/Plan.md")]);
    assert!(path[0].contains("artifact 'plan' has the same path"), "{path:?}");
    let twice = broken(vec![named("one", "artifacts/A/x"), named("one", "artifacts/A/y")]);
    assert!(twice[0].starts_with("artifacts/A/y: its id 'one' already belongs to artifacts/A/x"), "{twice:?}");
    let mut ghost = named("one", "artifacts/A/x");
    ghost.artifact.creator = RoleName::parse("ghost").unwrap();
    assert!(broken(vec![ghost])[0].contains("'ghost' is no role of the session"));
    let mut alone = named("one", "artifacts/A/x");
    alone.artifact.dependencies = vec![ArtifactId::parse("plan").unwrap(), ArtifactId::parse("none").unwrap()];
    assert!(broken(vec![alone])[0].contains("it builds on 'none', which does not exist"));
    assert_eq!(shown(&registry), ["plan - pending"]);
}

#[test]
fn registered_artifact_keeps_its_id() {
    let mut stated = artifact("plan", "artifacts/plan.md", "B");
    (stated.task, stated.version) = (None, Some("1.4".to_owned()));
    let mut registry = registry(vec![stated]);
    let mut session = Session::new(SessionId::parse("S").unwrap());
    registry.put_into(&mut session);
    assert_eq!(session.artifacts, [], "nothing changed");
    assert_eq!(
        deliver(&mut registry, "A", 1, vec![found(artifact("A/plan.md", "artifacts/plan.md", "A"), false)], Passed),
        [""; 0]
    );
    assert_eq!(shown(&registry), ["plan 1.5 passed"]);
    registry.put_into(&mut session);
    assert_eq!(session.artifacts.len(), 1);
}

#[test]
fn project_file_changed_by_another_task_is_a_new_version() {
    let mut registry = registry(Vec::new());
    let of = |task: &str| vec![found(artifact(&format!("{task}/src/lib.rs"), "src/lib.rs", task), false)];
    deliver(&mut registry, "A", 1, of("A"), Passed);
    assert_eq!(deliver(&mut registry, "B", 1, of("B"), Passed), [""; 0]);
    assert_eq!(shown(&registry), ["A/src/lib.rs 1.1 passed"]);
}
