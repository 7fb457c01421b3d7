//! The published JSON Schemas, judged by somebody else's validator.

use jsonschema::Validator;
use serde_json::{Value, json};
use team_executor_testkit::World;

use crate::fixtures::world;

/// Every schema, with a fixture and a file of it that is written to the letter.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("team-session", "tc-spec-literal", "team-session.json"),
    ("task-analysis", "tc-spec-literal", "task-analysis.json"),
    ("role-spec", "tc-spec-literal", "role-specs/builder.md"),
    ("tasks", "tasks-json-spec-literal", "tasks.json"),
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
    ("tasks", "tasks-json-root-array", "tasks.json"),
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
    let path = world.dir().join(fixture).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if file.ends_with(".md") { front_matter(&text) } else { serde_json::from_str(&text).expect("JSON") }
}

/// The front matter of the fixture, by hand: nothing of the program judges its own schema.
fn front_matter(text: &str) -> Value {
    assert!(text.starts_with("---\nrole: builder\nprefix: BUILD\ninner_loop: true\nmessage_types:\n  success: build_complete\n  error: error\n---\n"));
    json!({
        "role": "builder",
        "prefix": "BUILD",
        "inner_loop": true,
        "message_types": { "success": "build_complete", "error": "error" },
    })
}

#[test]
fn every_schema_has_an_example() {
    let run = World::new(env!("CARGO_BIN_EXE_team-executor")).run(&["schema"]);
    let names: Vec<_> = run.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, EXAMPLES.iter().map(|(name, _, _)| *name).collect::<Vec<_>>());
}

#[test]
fn what_is_written_to_the_letter_is_accepted() {
    for (name, fixture, path) in EXAMPLES {
        let (_, validator) = schema(name);
        if let Err(error) = validator.validate(&file(fixture, path)) {
            panic!("{name} refuses {fixture}/{path}: {error}, at {}", error.instance_path());
        }
    }
}

#[test]
fn what_lacks_a_required_field_is_refused() {
    for (name, fixture, path) in EXAMPLES {
        let (schema, validator) = schema(name);
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert!(!required.is_empty(), "{name}");
        for field in required {
            let mut value = file(fixture, path);
            assert!(value.as_object_mut().expect("an object").remove(field).is_some(), "{fixture} has no {field}");
            assert!(!validator.is_valid(&value), "{name} does without {field}");
        }
    }
}

#[test]
fn what_departs_from_the_format_is_refused() {
    for (name, fixture, path) in REFUSED {
        assert!(!schema(name).1.is_valid(&file(fixture, path)), "{name} accepts {fixture}/{path}");
    }
}
