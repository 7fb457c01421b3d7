//! What real files do otherwise than their format says: understood, with a warning that tells how.

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
    ("tasks-json-missing-everything-optional", "`wave` is missing: it was computed from the dependencies"),
    ("tasks-json-missing-everything-optional", "`description` is missing: the title is used"),
    ("tasks-json-missing-everything-optional", "`skill` is missing: it is not needed to run"),
    ("tasks-json-missing-everything-optional", "`requirement` is missing: it is empty"),
    ("tasks-json-missing-everything-optional", "`created_at` is missing: it is unknown"),
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
    (
        "tasks-csv-no-exec-mode",
        "`exec_mode` is missing: it is `csv-wave`, unless the role's instructions say otherwise",
    ),
    ("tasks-csv-no-role", "`role` is missing: every task has the role `worker`"),
];

/// What no format forbids, though a literal reading of an example might.
const NOTHING_ODD: &[&str] =
    &["tc-odd-ids", "tc-seven-digit-time", "tc-line-ends", "tc-role-spec-more-keys", "tasks-csv-more-columns"];

/// R: M-05
#[test]
fn departures_are_understood_and_strict_refuses_them() {
    for (name, how) in UNDERSTOOD {
        let run = validate(name, &[]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.lines().any(|line| line == format!("warning: {how}")), "not said: {how}\n{run}");
        let strict = validate(name, &["--strict"]);
        assert_eq!(strict.code, Some(2), "{strict}");
        assert!(strict.stdout.lines().any(|line| line == format!("error: {how}")), "not said: {how}\n{strict}");
    }
    for name in NOTHING_ODD {
        let run = validate(name, &["--strict"]);
        assert_eq!(run.code, Some(0), "{run}");
    }
}
