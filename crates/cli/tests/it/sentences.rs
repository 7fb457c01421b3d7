//! The sentences that the specification words exactly. They are written out here, so that no update of expectations
//! changes them.

use crate::fixtures::{validate, world};

/// What the output for a fixture begins with.
const FIRST_LINES: &[(&str, &str)] = &[
    ("tc-nothing-known", "Invalid session: team-session.json missing"),
    ("tc-missing-team-session", "Invalid session: team-session.json missing"),
    ("tc-corrupt-trailing-comma", "Invalid session: team-session.json corrupt"),
    ("tc-corrupt-comment", "Invalid session: team-session.json corrupt"),
    ("tc-corrupt-single-quotes", "Invalid session: team-session.json corrupt"),
    ("tc-corrupt-empty-file", "Invalid session: team-session.json corrupt"),
    ("tc-deep-nesting", "Invalid session: team-session.json corrupt"),
    ("tc-duplicate-key", "Invalid session: team-session.json corrupt"),
    ("tc-invalid-utf8", "Invalid session: team-session.json corrupt"),
    ("tc-session-fields-missing", "Invalid session: team-session.json missing required field 'session_id'"),
    ("tc-role-fields-missing", "Invalid session: team-session.json missing required field 'roles[0].prefix'"),
    ("tc-status-null", "Invalid session: team-session.json missing required field 'status'"),
    ("tc-status-unknown", "Invalid session: team-session.json invalid field 'status'"),
    ("tc-roles-empty", "Invalid session: team-session.json invalid field 'roles'"),
    ("tc-missing-task-analysis", "Invalid session: task-analysis.json missing"),
    ("tc-truncated", "Invalid session: task-analysis.json corrupt"),
    ("tc-corrupt-markdown", "Invalid session: task-analysis.json corrupt"),
    ("tc-analysis-is-an-array", "Invalid session: task-analysis.json corrupt"),
    ("tc-duplicate-task-key", "Invalid session: task-analysis.json corrupt"),
    ("tc-analysis-fields-missing", "Invalid session: task-analysis.json missing required field 'capabilities'"),
    ("tc-analysis-wrong-types", "Invalid session: task-analysis.json invalid field 'capabilities'"),
    ("tc-role-specs-missing", "Invalid session: role-specs/ directory missing"),
    ("tc-role-specs-empty", "Invalid session: no role-spec files in role-specs/"),
    ("tc-role-spec-not-found", "Role-spec file not found: role-specs/tester.md"),
    ("tc-role-spec-no-frontmatter", "Invalid role-spec: role-specs/builder.md missing frontmatter"),
    ("tc-role-spec-frontmatter-open", "Invalid role-spec: role-specs/builder.md missing frontmatter"),
    ("tc-role-spec-fields-missing", "Invalid role-spec: role-specs/builder.md missing required field 'role'"),
    ("tc-phase-in-code-fence", "Invalid role-spec: role-specs/builder.md missing Phase 3"),
    ("tc-phase-level-three", "Invalid role-spec: role-specs/builder.md missing Phase 4"),
];

/// What a small change of `tc-spec-minimal` makes of it: file, text, what is put in its place, sentence.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    (SESSION, r#""session_id""#, r#""id""#, "Invalid session: team-session.json missing required field 'session_id'"),
    (
        SESSION,
        r#""task_description""#,
        r#""task""#,
        "Invalid session: team-session.json missing required field 'task_description'",
    ),
    (SESSION, r#""status""#, r#""state""#, "Invalid session: team-session.json missing required field 'status'"),
    (SESSION, r#""team_name""#, r#""team""#, "Invalid session: team-session.json missing required field 'team_name'"),
    (SESSION, r#""roles""#, r#""people""#, "Invalid session: team-session.json missing required field 'roles'"),
    (SESSION, r#""name""#, r#""title""#, "Invalid session: team-session.json missing required field 'roles[0].name'"),
    (SESSION, r#""prefix""#, r#""pre""#, "Invalid session: team-session.json missing required field 'roles[0].prefix'"),
    (SESSION, "active", "archived", "Invalid session: team-session.json invalid field 'status'"),
    (
        ANALYSIS,
        r#""capabilities""#,
        r#""skills""#,
        "Invalid session: task-analysis.json missing required field 'capabilities'",
    ),
    (
        ANALYSIS,
        r#""dependency_graph""#,
        r#""graph""#,
        "Invalid session: task-analysis.json missing required field 'dependency_graph'",
    ),
    (ANALYSIS, r#""roles""#, r#""people""#, "Invalid session: task-analysis.json missing required field 'roles'"),
    (ROLE_SPEC, "role:", "rolle:", "Invalid role-spec: role-specs/builder.md missing required field 'role'"),
    (ROLE_SPEC, "prefix:", "pre:", "Invalid role-spec: role-specs/builder.md missing required field 'prefix'"),
    (ROLE_SPEC, "inner_loop:", "loop:", "Invalid role-spec: role-specs/builder.md missing required field 'inner_loop'"),
    (
        ROLE_SPEC,
        "message_types:",
        "messages:",
        "Invalid role-spec: role-specs/builder.md missing required field 'message_types'",
    ),
    (ROLE_SPEC, "## Phase 2", "## Phase two", "Invalid role-spec: role-specs/builder.md missing Phase 2"),
    (ROLE_SPEC, "## Phase 3", "## Phase 33", "Invalid role-spec: role-specs/builder.md missing Phase 3"),
    (ROLE_SPEC, "## Phase 4", "    ## Phase 4", "Invalid role-spec: role-specs/builder.md missing Phase 4"),
];

const SESSION: &str = "team-session.json";
const ANALYSIS: &str = "task-analysis.json";
const ROLE_SPEC: &str = "role-specs/builder.md";

/// R: S-03, S-04, S-05, S-06
#[test]
fn the_first_line_is_the_sentence_of_the_specification() {
    for (name, sentence) in FIRST_LINES {
        let run = validate(name, &[]);
        assert_eq!(run.stdout.lines().next(), Some(&*format!("error: {sentence}")), "{name}");
        assert_eq!(run.code, Some(2), "{name}");
    }
}

/// R: S-03, S-04, S-06
#[test]
fn every_required_field_and_section_is_named_when_it_is_missing() {
    for (file, text, instead, sentence) in CHANGES {
        let world = world("tc-spec-minimal");
        let path = format!("tc-spec-minimal/{file}");
        let whole = std::fs::read_to_string(world.dir().join(&path)).expect("the file is there");
        assert!(whole.contains(text), "{file} has no {text}");
        world.write(&path, whole.replacen(text, instead, 1));
        let run = world.run(&["validate", "--session=tc-spec-minimal"]);
        let errors: Vec<_> = run.stdout.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors, [format!("error: {sentence}")], "nothing else is wrong:\n{run}");
    }
}

/// R: S-07
#[test]
fn everything_is_said_in_the_order_of_the_algorithm() {
    let run = validate("tc-everything-wrong", &[]);
    let errors: Vec<_> = run.stdout.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert_eq!(
        errors,
        [
            "Invalid session: team-session.json missing required field 'task_description'",
            "Invalid session: team-session.json invalid field 'status'",
            "Invalid session: team-session.json missing required field 'team_name'",
            "Invalid session: team-session.json missing required field 'roles[0].prefix'",
            "Invalid session: task-analysis.json missing required field 'capabilities'",
            "Invalid session: task-analysis.json missing required field 'dependency_graph'",
            "Invalid role-spec: role-specs/builder.md missing frontmatter",
            "Invalid role-spec: role-specs/builder.md missing Phase 2",
            "Invalid role-spec: role-specs/builder.md missing Phase 3",
            "Invalid role-spec: role-specs/builder.md missing Phase 4",
            "Role-spec file not found: role-specs/tester.md",
        ]
    );
}

/// A role is never made up: what is missing is named, with the program that makes roles.
///
/// R: S-11
#[test]
fn roles_are_reported_and_never_made() {
    for name in ["tc-unknown-role", "tc-unresolvable-role", "tc-role-spec-not-found", "tc-role-specs-missing"] {
        let run = validate(name, &[]);
        assert_eq!(run.code, Some(2), "{run}");
        let recovery = run.stdout.lines().any(|line| line.starts_with("help: ") && line.contains("team-coordinate"));
        assert!(recovery, "{run}");
    }
}

/// What the specifications themselves write is beyond reproach.
#[test]
fn a_session_to_the_letter_has_no_warning() {
    for name in
        ["tc-spec-literal", "tc-spec-minimal", "tls-spec-literal", "tasks-json-spec-literal", "tasks-csv-spec-literal"]
    {
        let run = validate(name, &["--strict"]);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(run.stdout.lines().filter(|line| line.starts_with("Session ")).count(), 1, "{run}");
        assert!(!run.stdout.contains("warning"), "{run}");
    }
}
