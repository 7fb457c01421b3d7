//! What docs/reference/mcp.md says about the tools of a worker is what they are: the part between two marks is made here.

use std::fmt::Write as _;
use std::path::Path;

use rmcp::model::JsonObject;
use serde_json::Value;
use team_executor_app::bus::Attempt;

use super::Worker;

/// A call of each tool.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "report_result",
        r#"{"status": "completed", "findings": "the login works", "data": {"files_modified": ["src/login.rs"]}}"#,
    ),
    ("add_discovery", r#"{"type": "test_result", "data": {"test_name": "login::expired", "status": "fail"}}"#),
    ("team_msg", r#"{"operation": "log", "summary": "the API is agreed", "to": "tester", "type": "decision"}"#),
    ("progress", r#"{"summary": "half of the endpoints are there", "percent": 50}"#),
    ("capability_gap", r#"{"gap": "no role in the team knows COBOL"}"#),
    (
        "TaskCreate",
        r#"{"id": "DOCS-001", "title": "Document the login", "assignee": "writer", "metadata": {"deps": ["IMPL-001"]}}"#,
    ),
    ("TaskUpdate", r#"{"status": "failed", "error": "there is no database here"}"#),
    ("TaskList", r#"{"status": "completed"}"#),
    ("TaskGet", r#"{"id": "IMPL-001"}"#),
    ("get_context", "{}"),
];

/// The section of each tool: what it is for, its arguments, and an example.
fn rendered() -> String {
    let mut text = String::new();
    for tool in Worker::tools() {
        write!(text, "\n### `{}`\n\n{}\n\n", tool.name, tool.description.unwrap_or_default()).unwrap();
        let mut rows = Vec::new();
        fields(&tool.input_schema, "", &mut rows);
        if !rows.is_empty() {
            write!(text, "| argument | type | |\n|---|---|---|\n{}\n", rows.concat()).unwrap();
        }
        let example = EXAMPLES.iter().find(|(name, _)| *name == tool.name).map(|(_, example)| *example);
        writeln!(text, "```json\n{}\n```", example.unwrap_or("NO EXAMPLE")).unwrap();
    }
    text
}

fn fields(schema: &JsonObject, before: &str, rows: &mut Vec<String>) {
    let required =
        |name: &str| schema.get("required").and_then(Value::as_array).is_some_and(|all| all.contains(&name.into()));
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(inner) = field.as_object().filter(|field| field.contains_key("properties")) {
            fields(inner, &format!("{before}{name}."), rows);
            continue;
        }
        let about = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        let must = if required(name) { " (required)" } else { "" };
        rows.push(format!("| `{before}{name}` | {} | {about}{must} |\n", kind(field)));
    }
}

/// What a value must be, for people.
fn kind(field: &Value) -> String {
    if let Some(words) = field["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null()).map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let kind = word(&field["type"]).or_else(|| word(&field["type"][0])).unwrap_or_else(|| "any".to_owned());
    if kind == "array" { format!("list of {}", kind_of_items(field)) } else { kind }
}

fn kind_of_items(field: &Value) -> &str {
    field["items"]["type"].as_str().unwrap_or("any")
}

#[test]
fn documentation_has_every_tool_schema_and_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mcp.md");
    let text = std::fs::read_to_string(path).unwrap();
    let made = rendered();
    assert!(
        text.contains(&format!("<!-- made from the tools -->\n{made}\n<!-- until here -->")),
        "put this between the marks in docs/reference/mcp.md:\n{made}"
    );
}

#[test]
fn every_example_is_understood() {
    let nowhere = Path::new("/nowhere").to_owned();
    let (task, key) = ("A".to_owned(), String::new());
    let worker = Worker::new(Attempt { session: nowhere.clone(), run: nowhere, task, number: 1, key, token: None }, 1);
    for (name, example) in EXAMPLES {
        let refused = worker.call(name, serde_json::from_str(example).unwrap()).unwrap().unwrap_err();
        assert_eq!(refused.what, "the session /nowhere cannot be opened", "{name}");
    }
    assert_eq!(EXAMPLES.len(), Worker::tools().len());
}
