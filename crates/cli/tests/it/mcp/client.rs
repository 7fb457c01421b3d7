//! The official SDK for TypeScript as the client of a worker: every tool is listed and can be called.

use std::path::Path;

use serde_json::{Value, json};

use super::{BIN, logged};
use crate::run::{column, json as json_of, run, tasks};

/// Where `cargo xtask agents` has put it; none if it is not there, which is said.
pub(crate) fn sdk() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents/node_modules/@modelcontextprotocol/sdk");
    if folder.exists() {
        return Some(folder.display().to_string());
    }
    team_executor_testkit::lacks("sdk", "a client with the official SDK");
    None
}

#[test]
fn official_sdk_client_lists_and_calls_every_tool() {
    let Some(sdk) = sdk() else { return };
    let world = tasks(&[("A", ""), ("B", "A")]);
    let calls = json!([
        ["get_context", {}],
        ["team_msg", {"operation": "log", "summary": "hello", "to": "worker"}],
        ["team_msg", {"operation": "list"}],
        ["progress", {"summary": "half", "percent": 50}],
        ["capability_gap", {"gap": "no one knows COBOL"}],
        ["add_discovery", {"type": "pattern", "data": {"pattern_name": "facade"}}],
        ["TaskList", {"status": "completed"}],
        ["TaskGet", {"id": "B"}],
        ["TaskCreate", {"id": "D", "title": "Docs", "assignee": "worker", "metadata": {"deps": ["A"]}}],
        ["TaskUpdate", {"status": "in_progress"}],
        ["report_result", {"status": "completed", "findings": "by the SDK"}],
    ]);
    world.write("calls.json", calls.to_string());
    let client = world.write("client.mjs", include_str!("client.mjs"));
    let out = world.dir().join("answers.json");
    let node = format!("node {} {sdk} {BIN} calls.json > {}", client.display(), out.display());
    let done = run(&world, &format!("test $TEAM_EXECUTOR_TASK = A && exit 0; {node}"), &["--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    let told = json_of(out);
    assert_eq!(told["server"]["name"], "team-executor");
    let names = |values: &Value, key: &str| -> Vec<String> {
        let mut names: Vec<_> = values
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one[key].as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let called = Value::Array(calls.as_array().expect("calls").iter().map(|call| json!({"name": call[0]})).collect());
    assert_eq!(names(&told["tools"], "name"), names(&called, "name"), "every tool is called");
    for (call, answer) in calls.as_array().expect("calls").iter().zip(told["answers"].as_array().expect("answers")) {
        assert_eq!(answer["isError"], false, "{call}: {answer}");
    }
    let answers: Vec<_> =
        told["answers"].as_array().expect("answers").iter().map(|answer| &answer["structuredContent"]).collect();
    assert_eq!(answers[0]["upstream"][0]["id"], "A");
    assert_eq!(answers[2]["messages"][0]["from"], "worker", "a worker speaks as its role");
    assert_eq!((&answers[6]["tasks"][0]["id"], &answers[7]["task"]["status"]), (&"A".into(), &"in_progress".into()));
    assert_eq!(column(&world, "findings")[1], "by the SDK");
    let said = logged(&world.dir().join("S"), ".msg/messages.jsonl");
    assert_eq!(names(&Value::Array(said), "type"), ["capability_gap", "message", "progress"]);
    assert!(done.stderr.contains("worker reports a capability gap: no one knows COBOL"), "{done}");
}
