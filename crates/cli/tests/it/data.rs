//! Everything that a person reads can be had as JSON.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, World};

use crate::fixtures::world as holding;

/// What other programs read and is no text about a session: a script for a shell, a page for `man`, a protocol in JSON.
const DOCUMENTS: [&str; 3] = ["completions", "man", "mcp"];

const TABLE: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                     A,,Do it,,,csv-wave,worker,1,pending,,\nB,,Do it,,,csv-wave,worker,1,pending,,\n\
                     C,,Do it,B,,csv-wave,worker,2,pending,,\nD,,Do it,A,,csv-wave,writer,2,pending,,\n";
/// The second task fails, and the one behind it is skipped.
const WORKER: &str = r#"echo doing $TEAM_EXECUTOR_TASK
    printf '\033[31mloud\n' >&2
    echo x > "$TEAM_EXECUTOR_ARTIFACTS/out.txt"
    test $TEAM_EXECUTOR_TASK != B"#;
const RUN: [&str; 6] = ["--session=.workflow/.team/TC-x", "--agent-command", WORKER, "-y", "--retries", "0"];

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write(".workflow/.team/TC-x/tasks.csv", TABLE);
    world
}

/// The values on standard output: one, or one a line. Nothing else is printed anywhere.
fn values(run: &Run) -> Vec<Value> {
    assert_eq!(run.stderr, "", "{run}");
    assert!(run.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{run}");
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&run.stdout).into_iter().collect();
    let values = values.unwrap_or_else(|error| panic!("{error}: {run}"));
    assert!(!values.is_empty(), "{run}");
    assert!(values.iter().all(|value| value["version"] == 1), "{run}");
    values
}

/// Each command with something to do, and with something that it must refuse. What only a running executor can be asked has a
/// test of its own.
///
/// R: X-05
#[test]
fn everything_that_is_printed_can_be_had_as_json() {
    let world = world();
    let session = RUN[0];
    let run = [&["run"], &RUN[..]].concat();
    let table = [&["csv", ".workflow/.team/TC-x/tasks.csv", "--instruction", "Do {id}"], &RUN[1..]].concat();
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("run", &run, &["run", "--session=nowhere"]),
        ("status", &["status", session], &["status", "--session=nowhere"]),
        ("logs", &["logs", "A", session], &["logs", "NOPE", session]),
        ("events", &["events", session], &["events", "--session=nowhere"]),
        ("prompt", &["prompt", "A", session], &["prompt", "NOPE", session]),
        ("msg", &["msg", "log", "hello", session], &["msg", "log", "hello", "--data", "{", session]),
        ("task", &["task", "get", "A", session], &["task", "get", "NOPE", session]),
        ("resume", &[&["resume"], &RUN[..]].concat(), &["resume", "--session=nowhere"]),
        ("retry", &["retry", "--failed", session], &["retry", "NOPE", session]),
        ("skip", &["skip", "B", session], &["skip", "NOPE", session]),
        ("cancel", &[], &["cancel", "NOPE", session]),
        ("restart", &[], &["restart", "NOPE", session]),
        ("limit", &[], &["limit", "2", "--session=nowhere"]),
        ("host", &[], &["host"]),
        ("hosts", &[], &["hosts", "--backend="]),
        ("backend", &[], &["backend", "check"]),
        ("ui", &[], &["ui", "--no-open", "--run", "EX-none"]),
        ("attach", &["attach", session], &["attach", "--session=nowhere"]),
        ("runs", &["runs", "--all"], &["runs", "nowhere"]),
        ("timeline", &["timeline", session], &["timeline", "--session=nowhere"]),
        ("report", &["report", session], &["report", "--session=nowhere"]),
        ("checkpoint", &["checkpoint", session], &["checkpoint", "revise", "NOPE", session]),
        ("pause", &[], &["pause", session]),
        ("stop", &[], &["stop", session]),
        ("artifacts", &["artifacts", "verify", session], &["artifacts", "show", "none", session]),
        ("changes", &[], &["changes", session]),
        ("merge", &[], &["merge", "land", session]),
        ("export", &["export", session, "--to", "out"], &["export", "--session=nowhere", "--to", "out"]),
        ("prune", &["prune", "--dry-run"], &["prune", "--session=nowhere"]),
        ("archive", &["archive", "--older-than", "999d"], &["archive", "EX-none"]),
        ("doctor", &["doctor", session], &["doctor", "--run", "EX-none"]),
        ("rehearse", &["rehearse", "--speed", "100000", session], &["rehearse", "--fail", "NOPE", session]),
        ("config", &["config"], &["config", "--session=nowhere"]),
        ("agents", &["agents", "rehearsal"], &["agents", "nope"]),
        ("init", &["init", "Do it"], &["init", " "]),
        ("csv", &table, &["csv", "nowhere.csv", "--instruction", "Do it"]),
        ("talk", &["talk", session], &["talk", "send", "A", "hello", session]),
        ("validate", &["validate", session], &["validate", "--session=nowhere"]),
        ("plan", &["plan", session], &["plan", "--session=nowhere"]),
        ("sessions", &["sessions"], &["sessions", "nowhere"]),
        ("schema", &["schema"], &["schema", "nope"]),
    ];
    let named: BTreeSet<String> = cases.iter().map(|(name, _, _)| *name).chain(DOCUMENTS).map(str::to_owned).collect();
    assert_eq!(crate::help::commands(&world).into_iter().collect::<BTreeSet<_>>(), named, "a command without a proof");
    let documented = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/events.md");
    let documented = std::fs::read_to_string(documented).expect("the documentation");
    for (name, done, refused) in cases {
        assert!(documented.contains(&format!("`{name}")), "docs/reference/events.md does not name {name}");
        if !done.is_empty() {
            let done = world.run(&[done, &["--format", "json"][..]].concat());
            assert_eq!(
                done.code,
                Some(if matches!(*name, "run" | "resume" | "attach" | "rehearse" | "csv") { 1 } else { 0 }),
                "{done}"
            );
            values(&done);
        }
        for refused in [*refused, &[name, "--no-such-flag"]] {
            let refused = world.run(&[refused, &["--format=json"]].concat());
            assert_eq!(refused.code, Some(2), "{refused}");
            let said = values(&refused);
            let help = said[0].get("help").or_else(|| said[0].pointer("/findings/0/help")).expect("what to do");
            assert!(help.as_array().is_some_and(|help| !help.is_empty()), "{refused}");
        }
    }
    let invalid = holding("tc-everything-wrong");
    for name in ["run", "rehearse", "status", "logs", "events", "prompt", "validate", "plan"] {
        let task = if matches!(name, "logs" | "prompt") { &["A"][..] } else { &[] };
        let said = invalid.run(&[&[name], task, &["--session=tc-everything-wrong", "--format", "json"]].concat());
        assert_eq!(said.code, Some(2), "{said}");
        values(&said);
    }
}

/// What the text says about a run is in the events too: what happened, and how it came out.
///
/// R: X-05
#[test]
fn run_is_printed_as_events() {
    let world = world();
    let events = values(&world.run(&[&RUN[..], &["--format", "json"]].concat()));
    assert!(events.iter().all(|event| event["at"].as_str().is_some_and(|at| at.ends_with('Z'))));
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let tasks = |kind: &str| of(kind).iter().map(|event| event["task"].as_str().expect("a task").to_owned()).collect();
    let [started, completed, failed, skipped]: [BTreeSet<String>; 4] =
        ["task_started", "task_completed", "task_failed", "task_skipped"].map(tasks);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        [started, completed, failed, skipped],
        [set(&["A", "B", "D"]), set(&["A", "D"]), set(&["B"]), set(&["C"])]
    );
    assert_eq!(of("task_failed")[0]["error"], "exit code 1: loud");
    assert_eq!(of("task_skipped")[0]["reason"], "dependency B failed");
    assert_eq!(events[0]["type"], "run_started");
    let last = events.last().expect("an end");
    assert_eq!((&last["type"], &last["ending"]), (&"run_ended".into(), &"completed_with_failures".into()));
    let counts = serde_json::json!({"total": 4, "completed": 2, "failed": 1, "skipped": 1, "running": 0, "ready": 0, "waiting": 0});
    assert_eq!(last["counts"], counts);
    assert_eq!(last["waves"][1], serde_json::json!({"wave": 2, "tasks": 2, "completed": 1, "failed": 0, "skipped": 1}));
    assert_eq!(last["roles"][0], serde_json::json!({"name": "worker", "tasks": 3, "completed": 1}));
    let deliverables = last["deliverables"].as_array().expect("a list");
    assert_eq!(deliverables.len(), 2);
    assert_eq!((&deliverables[1]["task"], &deliverables[1]["role"]), (&"D".into(), &"writer".into()));
    assert!(deliverables.iter().all(|one| Path::new(one["path"].as_str().expect("a path")).is_file()));
    assert_eq!((&last["resume"], &last["exit_code"]), (&Value::Null, &1.into()));

    let again = values(&world.run(&[&RUN[..], &["--format", "json"]].concat()));
    assert_eq!((again.len(), &again[0]["already"]), (1, &true.into()));
}

#[test]
fn every_event_is_documented_and_no_other() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/events.md");
    let docs = std::fs::read_to_string(docs).expect("the documentation is there");
    let variants = |source: &'static str, begin: &str| {
        let (_, variants) = source.split_once(begin).expect("the events");
        variants.split_once("\n}").expect("their end").0
    };
    let ours = variants(include_str!("../../src/face/events.rs"), "enum Event<'a> {");
    let of_runs = variants(include_str!("../../../engine/src/event.rs"), "enum Kind {");
    let snake = |name: &str| {
        let parts =
            name.char_indices().map(|(at, c)| if at > 0 && c.is_uppercase() { format!("_{c}") } else { c.into() });
        parts.collect::<String>().to_lowercase()
    };
    let name = |line: &str| {
        let name: String = line.strip_prefix("    ")?.chars().take_while(char::is_ascii_alphabetic).collect();
        (!name.is_empty()).then(|| snake(&name))
    };
    let mut written: BTreeSet<String> = ours.lines().chain(of_runs.lines()).filter_map(name).collect();
    written.insert("log_line".to_owned());
    let (_, tables) = docs.split_once("| type |").expect("the tables");
    let documented = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned);
    assert_eq!(documented.collect::<BTreeSet<_>>(), written);
}

#[test]
fn logs_and_watching_as_data() {
    let world = world();
    world.run(&RUN);
    let lines = values(&world.run(&["logs", "A", RUN[0], "--format", "json"]));
    let shown: Vec<_> = lines.iter().map(|line| (line["stream"].as_str(), line["text"].as_str())).collect();
    assert_eq!(shown, [(Some("stdout"), Some("doing A")), (Some("stderr"), Some("\u{1b}[31mloud"))]);
    let watched = values(&world.run(&["status", "--watch", RUN[0], "--format", "json"]));
    assert_eq!((watched.len(), &watched[0]["finished"]), (1, &true.into()));
}

/// R: X-05
#[test]
fn running_executor_answers_requests_as_json() {
    let world = world();
    let (mut alive, gate) = (Pulse::new(world.dir().join("alive")), Gate::new(world.dir().join("gate")));
    let worker = format!("printf x > {}; cat {}", alive.arg(), gate.arg());
    let mut executor = world.command(&["run", RUN[0], "--agent-command", &worker, "-y", "-c1"]);
    let mut executor = executor.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    alive.wait_alive(1);
    for (command, stage) in [("pause", "paused"), ("resume", "going on"), ("stop", "draining")] {
        let said = values(&world.run(&[command, RUN[0], "--format", "json"]));
        assert_eq!(said[0]["stage"], stage, "{said:?}");
    }
    gate.open();
    assert_eq!(executor.limited_wait().code(), Some(3));
}
