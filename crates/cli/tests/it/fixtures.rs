//! One hand-written session folder per validation rule and per tolerated departure, in `fixtures/sessions/`. Each holds
//! `expected.txt`, what `validate` prints for it; `args.txt`, if there, holds further arguments. After a change that is
//! meant, `UPDATE_EXPECTED=1 cargo test -p team-executor fixtures` writes them anew: read the difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use team_executor_testkit::World;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions")
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(root()).expect("the fixtures are there");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

/// What `validate` prints for a fixture, given where it can see nothing else.
fn validate(name: &str, more: &[&str]) -> String {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let folder = world.copy_tree(root().join(name), name);
    for ours in ["expected.txt", "args.txt"] {
        // Fixtures hold what the planner would not write; the session must not see it.
        if folder.join(ours).exists() {
            std::fs::remove_file(folder.join(ours)).expect("ours can be removed");
        }
    }
    let before = world.tree();
    let session = format!("--session={name}");
    let args = std::fs::read_to_string(root().join(name).join("args.txt")).unwrap_or_default();
    let mut all = vec!["validate", session.as_str()];
    all.extend(args.split_whitespace());
    all.extend(more);
    let run = world.run(&all);
    assert_eq!(world.tree(), before, "validate changed something in {name}");
    run.to_string()
}

/// R: S-03, S-04, S-05, S-06, S-07, S-08, S-11, M-05
#[test]
fn every_fixture_is_judged_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for name in names() {
        let path = root().join(&name).join("expected.txt");
        let found = validate(&name, &[]);
        if update {
            std::fs::write(&path, &found).expect("the expectation can be written");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "not as in expected.txt:\n\n{}", wrong.join("\n\n"));
}

/// Every sort of finding has a fixture that shows it, except those that no folder in a repository can hold.
#[test]
fn every_code_is_shown_by_a_fixture() {
    let elsewhere =
        ["usage", "session-required", "session-not-found", "file-unreadable", "file-too-large", "too-many-tasks"];
    let mut seen = BTreeSet::new();
    for name in names() {
        let text = validate(&name, &["--format", "json"]);
        for part in text.split("\"code\": \"").skip(1) {
            seen.extend(part.split('"').next().map(str::to_owned));
        }
    }
    let codes = team_executor_files::Code::ALL.iter().map(|code| code.name());
    let missing: Vec<_> = codes.filter(|code| !seen.contains(*code) && !elsewhere.contains(code)).collect();
    assert!(missing.is_empty(), "no fixture shows: {}", missing.join(", "));
}

/// Errors name their place and what to do; warnings become errors under `--strict`.
///
/// R: S-07
#[test]
fn every_error_has_help_and_strict_leaves_no_warning() {
    for name in names() {
        let text = validate(&name, &["--format", "json"]);
        for finding in text.split("\"severity\": \"error\"").skip(1) {
            let finding = finding.split("\"severity\"").next().unwrap_or_default();
            assert!(!finding.contains("\"help\": []"), "{name}: an error without help:{finding}");
        }
        let strict = validate(&name, &["--format", "json", "--strict"]);
        assert!(!strict.contains("\"severity\": \"warning\""), "{name}");
        if text.contains("\"severity\":") {
            assert!(strict.contains("[exit status: 2]"), "{name}");
        }
    }
}
