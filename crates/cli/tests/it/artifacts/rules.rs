//! The four rules of artifacts, broken through each door there is.

use serde_json::{Map, Value, json};

use super::{again, delivers, one, registered, run, tasks};
use crate::fixtures::world as fixture;
use crate::run::{column, read};

/// A manifest in which these fields differ.
fn entry(id: &str, path: &str, role: &str, other: &Value) -> Value {
    let mut all = json!({
        "artifact_id": id, "artifact_type": "code", "path": path, "creator_role": role, "validation_status": "passed"
    });
    for (name, value) in other.as_object().expect("an object") {
        all[name] = value.clone();
    }
    all
}

/// A worker that delivers `b.md` with a manifest in which these fields differ.
fn manifest(other: &Value) -> String {
    let text = entry("b", "b.md", "worker", other);
    format!("cd $TEAM_EXECUTOR_ARTIFACTS; echo text > b.md; echo '{text}' > artifact-manifest.json")
}

#[test]
fn a_worker_cannot_break_a_rule() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("shared.md", "text");
    let first = entry("a", "shared.md", "worker", &json!({}));
    let to = "$TEAM_EXECUTOR_ARTIFACTS/artifact-manifest.json";
    run(&world, &format!("[ $TEAM_EXECUTOR_TASK = B ] && exit 1; echo '{first}' > {to}"));
    assert_eq!(registered(&world), one("a", "passed 1.0"));
    for (worker, wrong) in [
        (manifest(&json!({"artifact_id": "a"})), "its id 'a' already belongs to shared.md"),
        (manifest(&json!({"path": "shared.md"})), "shared.md: artifact 'a' has the same path"),
        (manifest(&json!({"creator_role": "ghost"})), "'ghost' is no role of the session"),
        (manifest(&json!({"dependencies": ["a", "none"]})), "it builds on 'none', which does not exist"),
        (manifest(&json!({"path": "../../x"})), "../../x: named by artifact-manifest.json, but the path goes up"),
        (format!("echo '{{' > {to}"), "artifacts/B/artifact-manifest.json: "),
        (
            format!(r#"echo '{{"artifact_id":"x","type":"report","path":"f"}}' > {to}"#),
            "missing required field 'creator_role'",
        ),
    ] {
        let ran = again(&world, "B", &worker);
        assert_eq!(ran.code, Some(1), "{worker} {ran}");
        let error = column(&world, "error").remove(1);
        assert!(error.contains(wrong), "{wrong}: {error}");
        assert_eq!(registered(&world)["a"], "passed 1.0");
    }
    assert_eq!(again(&world, "B", &manifest(&json!({"dependencies": ["a"]}))).code, Some(0));
    assert_eq!(registered(&world)["b"], "passed 1.2", "b.md was delivered twice before");
    assert_eq!(again(&world, "A", &delivers(&[("x.md", "1")])).code, Some(0));
    assert_eq!(registered(&world).into_keys().collect::<Vec<_>>(), ["A/x.md", "B/x.md"]);
}

#[test]
fn a_file_cannot_break_a_rule() {
    let stated = |id: &str, other: Value| format!("\"{id}\":{}", entry(id, &format!("src/{id}"), "executor", &other));
    for (registry, wrong) in [
        (format!("{0},{0}", stated("a", json!({}))), "appears twice in this object"),
        (format!("{},{}", stated("a", json!({})), stated("b", json!({"path": "src/./a"}))), "have one path"),
        (stated("a", json!({"creator_role": "ghost"})), "which is no role"),
        (stated("a", json!({"dependencies": ["none"]})), "which does not exist"),
    ] {
        let world = fixture("tls-spec-literal");
        let path = world.dir().join("tls-spec-literal/team-session.json");
        let mut own: Map<String, Value> = serde_json::from_str(&read(&path)).expect("JSON");
        own.remove("artifact_registry");
        own.insert("roles".to_owned(), json!([{"name": "executor", "type": "pipeline"}]));
        let text = serde_json::to_string(&own).expect("JSON");
        std::fs::write(&path, format!("{{\"artifact_registry\":{{{registry}}},{}", &text[1..])).expect("written");
        let refused = world.run(&["run", "--session=tls-spec-literal", "--agent-command", "true", "-y"]);
        assert!(refused.stderr.contains(wrong), "{wrong}: {refused}");
        assert_eq!(refused.code, Some(2), "{refused}");
    }
}
