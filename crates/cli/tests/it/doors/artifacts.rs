//! The four invariants of artifacts. No command adds or changes one: what there is comes from files and from workers.

use serde_json::{Value, json};
use team_executor_testkit::World;

use super::{SESSION, cells, claimed, invalid, lifecycle, run_with, two, with};
use crate::run::{folder, json as file};

/// A manifest in which these fields differ.
fn manifest(id: &str, other: &Value) -> Value {
    let path = format!("artifacts/{id}.md");
    let whole = json!({
        "artifact_id": id, "artifact_type": "code", "path": path, "creator_role": "executor", "validation_status": "passed"
    });
    with(whole, other)
}

/// The registry of a session breaks a rule, and so do manifests that lie in its folder.
#[track_caller]
fn files_refused(manifests: &[Value], why: &str) {
    let id = |manifest: &Value| manifest["artifact_id"].as_str().expect("an id").to_owned();
    let registry: serde_json::Map<_, _> = manifests.iter().map(|one| (id(one), one.clone())).collect();
    let roles = json!([{"name": "executor", "type": "pipeline"}]);
    let world = lifecycle(&[("A", "", json!({}))], &json!({"artifact_registry": registry, "roles": roles}));
    if registry.len() == manifests.len() {
        invalid(&world, "S", why);
    }
    let world = World::new(super::BIN);
    world.run(&["init", "--pipeline", "impl-only", "--dir", "S", "Do it"]);
    for (nth, manifest) in manifests.iter().enumerate() {
        let manifest = with(manifest.clone(), &json!({"creator_role": role_of(manifest)}));
        world.write(&format!("S/artifacts/{nth}/artifact-manifest.json"), manifest.to_string());
    }
    invalid(&world, "S", why);
}

/// A role that the other session has too, unless it is made up.
fn role_of(manifest: &Value) -> &str {
    match manifest["creator_role"].as_str() {
        Some("executor") => "planner",
        role => role.unwrap_or_default(),
    }
}

/// `A` delivers `shared.md` as `a`, and `B` delivers `b.md` with a manifest that breaks a rule: `B` failed, and what is
/// registered keeps all four rules.
#[track_caller]
fn worker_refused(other: &Value, why: &str) {
    let world = two();
    world.write("shared.md", "text");
    let deliver = |manifest: &Value| {
        format!(
            "echo text > \"$TEAM_EXECUTOR_ARTIFACTS/b.md\"; cat > \"$TEAM_EXECUTOR_ARTIFACTS/artifact-manifest.json\" <<'END'\n{manifest}\nEND\n"
        )
    };
    let first = manifest("a", &json!({"path": "shared.md", "creator_role": "worker"}));
    let second = manifest("b", &with(json!({"path": "b.md", "creator_role": "worker"}), other));
    world.write("B.sh", deliver(&second));
    let script = deliver(&first).replace("b.md", "a.md");
    let done = run_with(&world, &script, &["--rounds", "0", "--at-checkpoint", "resume"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert_eq!(cells(&world, "status"), ["completed", "failed"], "{done}");
    assert!(cells(&world, "error")[1].contains(why), "{why}: {done}");
    keeps_the_rules(&world, "worker");
}

/// The registry that a run leaves.
#[track_caller]
fn keeps_the_rules(world: &World, role: &str) {
    let registry = file(folder(world).join("artifacts.json"));
    let registry = registry.as_object().expect("a registry");
    let mut paths: Vec<_> = registry.values().map(|one| one["path"].as_str().expect("a path").to_lowercase()).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), registry.len(), "{registry:?}");
    for (id, one) in registry {
        assert_eq!((&one["artifact_id"], &one["creator_role"]), (&id.as_str().into(), &role.into()));
        for builds_on in one["dependencies"].as_array().into_iter().flatten() {
            assert!(registry.contains_key(builds_on.as_str().expect("an id")), "{registry:?}");
        }
    }
    assert!(registry.contains_key("a"), "{registry:?}");
    assert_eq!(world.run(&["artifacts", "verify", SESSION]).code, Some(0));
}

/// R: D-06
#[test]
fn artifact_invariant_1_artifact_ids_are_unique() {
    let twice = [manifest("a", &json!({})), manifest("a", &json!({"path": "artifacts/other.md"}))];
    files_refused(&twice, "artifact id 'a' is not unique");
    worker_refused(&json!({"artifact_id": "a"}), "its id 'a' already belongs to shared.md");
    claimed(&json!({"artifact_id": "a", "artifact_registry": {"a": {}, "b": {"artifact_id": "a"}}}));
}

/// R: D-06
#[test]
fn artifact_invariant_2_the_creator_is_a_role() {
    files_refused(&[manifest("a", &json!({"creator_role": "ghost"}))], "was made by 'ghost', which is no role");
    worker_refused(&json!({"creator_role": "ghost"}), "'ghost' is no role of the session");
    claimed(&json!({"creator_role": "ghost", "role": "ghost"}));
}

/// R: D-06
#[test]
fn artifact_invariant_3_paths_are_unique() {
    let same = [manifest("a", &json!({})), manifest("b", &json!({"path": "artifacts/./a.md"}))];
    files_refused(&same, "artifacts 'a' and 'b' have one path");
    worker_refused(&json!({"path": "shared.md"}), "shared.md: artifact 'a' has the same path");
    // Two results that name one file: it is one artifact, and its last maker's.
    let world = two();
    world.write("shared.md", "text");
    let names = json!({"status": "completed", "findings": "f", "artifacts_produced": ["shared.md"]});
    world.write("B.sh", super::reports(&names));
    let done = run_with(&world, &super::reports(&names), &[]);
    assert_eq!(cells(&world, "status"), ["completed", "completed"], "{done}");
    let registry = file(folder(&world).join("artifacts.json"));
    assert_eq!(registry.as_object().map(serde_json::Map::len), Some(1), "{registry}");
    claimed(&json!({"path": "shared.md", "artifact_registry": {"x": {"path": "p"}, "y": {"path": "p"}}}));
}

/// R: D-06
#[test]
fn artifact_invariant_4_what_an_artifact_builds_on_exists() {
    files_refused(&[manifest("a", &json!({"dependencies": ["none"]}))], "builds on 'none', which does not exist");
    worker_refused(&json!({"dependencies": ["a", "none"]}), "it builds on 'none', which does not exist");
    claimed(&json!({"dependencies": ["none"], "artifact_registry": {"x": {"dependencies": ["none"]}}}));
}
