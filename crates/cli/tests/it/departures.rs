//! What real files do otherwise than their format says: understood, with a warning that tells how.

use team_executor_testkit::World;

use crate::fixtures::validate;

/// A fixture, and how it was understood.
const UNDERSTOOD: &[(&str, &str)] = &[
    ("tc-bare-array-nodes", "a `dependency_graph` node that is a bare array was read as its list of dependencies"),
    ("tc-blocked-by", "`blockedBy` was read as `depends_on`"),
    ("tc-capabilities-strings", "a capability that is a string was read as its name"),
    ("tc-capabilities-with-tasks", "the `tasks` of a capability were read for the tasks' goals, steps and roles"),
    ("tasks-json-aliases", "`depends_on` was read as `deps`"),
    ("tasks-json-aliases", "`dependencies` was read as `deps`"),
    ("tasks-json-aliases", "`blockedBy` was read as `deps`"),
    ("tasks-json-tasks-array", "`tasks` that is an array was read with the ids inside its elements"),
    ("tc-roles-as-strings", "a role that is a string was read as its name"),
    ("tc-message-types-list", "`message_types` that is a list was read as names of messages"),
    ("tc-inner-loop-dynamic", "`inner_loop: dynamic` is left to the session, and is false where that does not say"),
    ("tasks-json-empty-error", "an empty `error` was read as none"),
    ("tasks-json-statuses", "`status` `done` was read as `completed`"),
    ("tasks-json-statuses", "`status` `pass` was read as `completed`"),
    ("tasks-json-statuses", "`status` `planned` was read as `pending`"),
    ("tasks-json-statuses", "`status` `blocked` was read as `pending`"),
    ("tasks-json-statuses", "`status` `warning` was read as `completed`"),
    ("tasks-json-statuses", "`status` `timed_out` was read as `failed`"),
    ("tasks-json-statuses", "an empty `status` was read as `pending`"),
    ("tasks-csv-blank-cells", "an empty `status` was read as `pending`"),
    ("tc-odd-times", "`created_at`: a date without a time was read as its midnight UTC"),
    ("tc-byte-order-mark", "a byte order mark at the start was skipped"),
    ("tc-lone-surrogate", "half of a surrogate pair was read as U+FFFD; the text is kept as it is"),
    ("tasks-csv-ragged-rows", "a row has fewer cells than the header: the missing ones were read as empty"),
    ("tasks-csv-duplicate-columns", "`status` stands in the header twice: the first was read"),
    ("tasks-csv-spaced-quotes", "blanks around the quotes of a cell were dropped"),
    ("tasks-csv-other-names", "`task` was read as `title`"),
    ("tasks-csv-other-names", "`owner` was read as `role`"),
    ("tasks-csv-other-names", "`wave_n` was read as `wave`"),
];

/// A fixture, and a default that the documentation names: used without a word.
const DEFAULTS: &[(&str, &str)] = &[
    ("tasks-json-missing-everything-optional", "`wave` is missing: it was computed from the dependencies"),
    ("tasks-json-missing-everything-optional", "`description` is missing: the title is used"),
    ("tasks-json-missing-everything-optional", "`skill` is missing: it is not needed to run"),
    ("tasks-json-missing-everything-optional", "`requirement` is missing: it is empty"),
    ("tasks-json-missing-everything-optional", "`created_at` is missing: it is unknown"),
    (
        "tasks-csv-no-exec-mode",
        "`exec_mode` is missing: it is `csv-wave`, unless the role's instructions say otherwise",
    ),
    ("tasks-csv-no-role", "`role` is missing: every task has the role `worker`"),
];

/// What no format forbids, though a literal reading of an example might.
const NOTHING_ODD: &[&str] =
    &["tc-odd-ids", "tc-seven-digit-time", "tc-line-ends", "tc-role-spec-more-keys", "tasks-csv-more-columns"];

/// Whether a text says something: as a finding, or as one more of its kind.
fn says(stdout: &str, severity: &str, how: &str) -> bool {
    let unwrapped = stdout.replace("\n      ", " ");
    unwrapped.lines().any(|line| line == format!("{severity}: {how}") || line.starts_with(&format!("also: {how}")))
}

/// R: M-05
#[test]
fn departures_are_understood_and_strict_refuses_them() {
    for (name, how) in UNDERSTOOD {
        let run = validate(name, &[]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(says(&run.stdout, "warning", how), "not said: {how}\n{run}");
        let strict = validate(name, &["--strict"]);
        assert_eq!(strict.code, Some(2), "{strict}");
        assert!(says(&strict.stdout, "error", how), "not said: {how}\n{strict}");
    }
    for name in NOTHING_ODD {
        let run = validate(name, &["--strict"]);
        assert_eq!(run.code, Some(0), "{run}");
    }
}

/// R: M-05
#[test]
fn named_defaults_are_silent_and_strict_refuses_them() {
    for (name, how) in DEFAULTS {
        let run = validate(name, &[]);
        assert!(run.code == Some(0) && !run.stdout.contains("warning"), "{run}");
        let strict = validate(name, &["--strict"]);
        assert!(strict.code == Some(2) && says(&strict.stdout, "error", how), "not said: {how}\n{strict}");
    }
}

/// R: M-05
#[test]
fn a_table_written_by_hand_gives_no_warning() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,description,deps,role\nA,Plan,Think,,planner\nB,Build,Do,A,builder\n");
    let run = world.run(&["validate", "--session=S"]);
    assert_eq!(run.stdout, "Session S is valid (tasks-csv): 2 tasks, 1 edge, 2 waves\n", "{run}");
}
