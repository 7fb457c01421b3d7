//! The published JSON Schemas, tested with another project's validator.

use jsonschema::Validator;
use serde_json::{Value, json};
use team_executor_testkit::World;

use crate::fixtures::world;

/// Every schema, with a fixture and a file of it that is written to the letter; behind `#` the part that is meant.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("team-session", "tc-spec-literal", "team-session.json"),
    ("task-analysis", "tc-spec-literal", "task-analysis.json"),
    ("role-spec", "tc-spec-literal", "role-specs/builder.md"),
    ("lifecycle", "tls-spec-literal", "team-session.json"),
    ("tasks", "tasks-json-spec-literal", "tasks.json"),
    ("tasks-list", "tasks-json-list", "tasks.json"),
    ("tasks-csv", "tasks-csv-spec-literal", "tasks.csv"),
    ("task-file", "task-files-spec-literal", ".task/IMPL-001.json"),
    ("chain", "chain-spec-literal", "session.json"),
    ("discovery", "tasks-json-spec-literal", "discoveries/BUILD-001.json"),
    ("board", "tasks-json-spec-literal", "discoveries.ndjson"),
    ("message", "tc-spec-literal", ".msg/messages.jsonl"),
    ("role-state", "tc-spec-literal", ".msg/meta.json"),
    ("registry", "tc-spec-literal", "agents/registry.json"),
    ("artifact", "tls-spec-literal", "team-session.json#/artifact_registry/gift-card-plan-v1"),
];

/// A schema, and a file that it must refuse although it is JSON.
const REFUSED: &[(&str, &str, &str)] = &[
    ("team-session", "tc-status-unknown", "team-session.json"),
    ("team-session", "tc-roles-empty", "team-session.json"),
    ("team-session", "tc-role-spec-outside", "team-session.json"),
    ("team-session", "tc-roles-as-strings", "team-session.json"),
    ("task-analysis", "tc-analysis-wrong-types", "task-analysis.json"),
    ("task-analysis", "tc-bare-array-nodes", "task-analysis.json"),
    ("task-analysis", "tc-blocked-by", "task-analysis.json"),
    ("lifecycle", "tls-pipeline-unknown", "team-session.json"),
    ("lifecycle", "tls-task-list-object", "team-session.json"),
    ("lifecycle", "tls-artifact-fields-missing", "team-session.json"),
    ("discovery", "tasks-json-discovery-as-written", "discoveries/BUILD-001.json"),
    ("message", "tc-messages-odd", ".msg/messages.jsonl"),
    ("tasks", "tasks-json-root-array", "tasks.json"),
    ("tasks-list", "tasks-json-spec-literal", "tasks.json"),
    ("chain", "chain-no-command", "session.json"),
    ("tasks", "tasks-json-tasks-array", "tasks.json"),
    ("tasks", "tasks-json-out-of-range", "tasks.json"),
    ("tasks", "tasks-json-status-unknown", "tasks.json"),
];

fn schema(name: &str) -> (Value, Validator) {
    let run = World::new(env!("CARGO_BIN_EXE_team-executor")).run(&["schema", name]);
    assert_eq!(run.code, Some(0), "{run}");
    let schema: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema);
    (schema, validator.unwrap_or_else(|error| panic!("{name} is no schema: {error}")))
}

fn file(fixture: &str, file: &str) -> Value {
    let world = world(fixture);
    let (file, part) = file.split_once('#').unwrap_or((file, ""));
    let path = world.dir().join(fixture).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value = match file.rsplit('.').next() {
        Some("md") => front_matter(&text),
        Some("csv") => row(&text),
        _ => serde_json::from_str(&text).expect("JSON"),
    };
    value.pointer(part).expect("the part is there").clone()
}

/// The front matter of the fixture, by hand: nothing of the program judges its own schema.
fn front_matter(text: &str) -> Value {
    let by_hand = "---\nrole: builder\nprefix: BUILD\ninner_loop: true\n\
                   message_types:\n  success: build_complete\n  error: error\n---\n";
    assert!(text.starts_with(by_hand));
    json!({
        "role": "builder",
        "prefix": "BUILD",
        "inner_loop": true,
        "message_types": { "success": "build_complete", "error": "error" },
    })
}

/// The second task of the fixture, by hand: its row has no quotes.
fn row(text: &str) -> Value {
    let mut lines = text.lines();
    let header = lines.next().expect("a header").split(',');
    let cells = lines.nth(1).expect("a row").split(',');
    let value = |name: &str, cell: &str| if name == "wave" { json!(cell.parse::<u32>().ok()) } else { json!(cell) };
    header.zip(cells).map(|(name, cell)| (name.to_owned(), value(name, cell))).collect()
}

/// R: M-04
#[test]
fn every_schema_has_an_example() {
    let run = World::new(env!("CARGO_BIN_EXE_team-executor")).run(&["schema"]);
    let names: Vec<_> = run.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let (of_session, others) = names.split_at(EXAMPLES.len());
    assert_eq!(of_session, EXAMPLES.iter().map(|(name, _, _)| *name).collect::<Vec<_>>());
    assert_eq!(others, ["result", "attention", "config"], "which `everyday` and `attention` judge");
}

/// R: M-04
#[test]
fn exact_format_is_accepted() {
    for (name, fixture, path) in EXAMPLES {
        let (_, validator) = schema(name);
        if let Err(error) = validator.validate(&file(fixture, path)) {
            panic!("{name} refuses {fixture}/{path}: {error}, at {}", error.instance_path());
        }
    }
}

/// R: M-04
#[test]
fn missing_required_field_is_refused() {
    for (name, fixture, path) in EXAMPLES {
        let (schema, validator) = schema(name);
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for field in required {
            let mut value = file(fixture, path);
            assert!(value.as_object_mut().expect("an object").remove(field).is_some(), "{fixture} has no {field}");
            assert!(!validator.is_valid(&value), "{name} does without {field}");
        }
    }
}

#[test]
fn departure_from_the_format_is_refused() {
    for (name, fixture, path) in REFUSED {
        assert!(!schema(name).1.is_valid(&file(fixture, path)), "{name} accepts {fixture}/{path}");
    }
}
