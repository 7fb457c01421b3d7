//! One hand-written session folder per validation rule and per tolerated departure, in `fixtures/sessions/`. Each holds
//! `expected.txt`, what `validate` prints for it; `args.txt`, if there, holds further arguments. After a change that is
//! meant, `UPDATE_EXPECTED=1 cargo test -p team-executor fixtures` writes them anew: read the difference. What the
//! specification words exactly is held in `sentences.rs`, which no update changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;
use team_executor_testkit::{Run, World};

/// What a test adds to a fixture and no session has.
const OURS: [&str; 2] = ["expected.txt", "args.txt"];

/// A world that holds a fixture and nothing else.
pub(crate) fn world(name: &str) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let folder = world.copy_tree(root().join(name), name);
    for ours in OURS.iter().map(|ours| folder.join(ours)).filter(|ours| ours.exists()) {
        std::fs::remove_file(ours).expect("ours can be removed");
    }
    world
}

/// A run of `validate` on a fixture, which must leave everything as it was.
pub(crate) fn validate(name: &str, more: &[&str]) -> Run {
    let world = world(name);
    let before = world.tree();
    let session = format!("--session={name}");
    let args = std::fs::read_to_string(root().join(name).join("args.txt")).unwrap_or_default();
    let mut all = vec!["validate", session.as_str()];
    all.extend(args.split_whitespace().filter(|arg| !more.contains(arg)));
    all.extend(more);
    let run = world.run(&all);
    assert_eq!(world.tree(), before, "validate changed something in {name}");
    run
}

/// What `validate` says about one fixture.
struct Validated {
    name: String,
    text: Run,
    json: Value,
    strict: Value,
}

impl Validated {
    fn findings(&self) -> &[Value] {
        findings(&self.json)
    }
}

/// Every fixture is judged once for all tests.
static ALL: LazyLock<Vec<Validated>> = LazyLock::new(|| {
    let entries = std::fs::read_dir(root()).expect("the fixtures are there");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    let json = |name: &str, more: &[&str]| {
        let run = validate(name, &[&["--format", "json"], more].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{name}: {error}\n{run}"))
    };
    let judge = |name: String| Validated {
        text: validate(&name, &[]),
        json: json(&name, &[]),
        strict: json(&name, &["--strict"]),
        name,
    };
    names.into_iter().map(judge).collect()
});

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions")
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("findings")
}

/// R: S-08
#[test]
fn every_fixture_is_judged_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for Validated { name, text, .. } in ALL.iter() {
        let path = root().join(name).join("expected.txt");
        let found = text.to_string();
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
    let elsewhere = ["usage", "session-required", "session-not-found", "file-too-large", "too-many-tasks"];
    let strict = ALL.iter().flat_map(|judged| findings(&judged.strict));
    let seen: BTreeSet<_> = strict.filter_map(|finding| finding["code"].as_str()).collect();
    let codes = team_executor_files::Code::ALL.iter().map(|code| code.name());
    let shown = |code: &&str| seen.contains(*code) || elsewhere.contains(code);
    let missing: Vec<_> = codes.filter(|code| !shown(code)).collect();
    assert!(missing.is_empty(), "no fixture shows: {}", missing.join(", "));
}

/// Text and JSON hold the same findings in the same order, at the same places, and the exit code agrees.
///
/// R: S-07
#[test]
fn text_and_json_say_the_same() {
    for judged in ALL.iter() {
        let Validated { name, text, json, .. } = judged;
        assert_eq!(text.code, if json["errors"] == 0 { Some(0) } else { Some(2) }, "{name}");
        assert_eq!(json["valid"], json["errors"] == 0, "{name}");
        let mut lines = text.stdout.lines();
        for finding in judged.findings() {
            let title = format!("{}: {}", finding["severity"].as_str().unwrap(), finding["message"].as_str().unwrap());
            assert!(
                lines.any(|line| plain(line).starts_with(&plain(&title))),
                "{name}: not there, or not in order: {title}"
            );
            let Some(line) = finding["line"].as_u64() else { continue };
            let place = format!("--> {}:{line}:{}", finding["file"].as_str().unwrap(), finding["column"]);
            assert!(lines.next().is_some_and(|line| line.trim_start() == place), "{name}: no {place} below {title}");
        }
    }
}

/// Without what a text shows in another way: control characters, and what stands for them.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).collect()
}

/// R: S-07
#[test]
fn every_error_names_something_to_do() {
    for Validated { name, json, strict, .. } in ALL.iter() {
        let errors = findings(json).iter().chain(findings(strict)).filter(|finding| finding["severity"] == "error");
        for error in errors {
            assert!(!error["help"].as_array().unwrap().is_empty(), "{name}: no help for {}", error["message"]);
        }
    }
}

#[test]
fn strict_leaves_no_warning() {
    for judged in ALL.iter() {
        assert_eq!(judged.strict["warnings"], 0, "{}", judged.name);
        assert_eq!(judged.strict["valid"], findings(&judged.strict).is_empty(), "{}", judged.name);
        assert!(judged.findings().is_empty() || judged.strict["valid"] == false, "{}", judged.name);
    }
}

/// What a file says is data: it cannot steer the terminal.
#[test]
fn no_control_character_reaches_the_terminal() {
    for Validated { name, text, .. } in ALL.iter() {
        assert!(text.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{name}:\n{:?}", text.stdout);
    }
}

/// Sentences and source lines are never broken; everything else fits.
#[test]
fn everything_fits_into_80_columns() {
    for Validated { name, text, .. } in ALL.iter() {
        for line in text.stdout.lines() {
            let source = [" | ", "--> ", "::: "].iter().any(|mark| line.contains(mark));
            let sentence = line.starts_with("error: ") || line.starts_with("warning: ");
            assert!(source || sentence || line.chars().count() <= 80, "{name}: {line}");
        }
    }
}
