//! Agents that may only ask: by a command, at a terminal, and where no answer comes.

use std::process::Stdio;

use serde_json::Value;
use team_executor_testkit::{Gate, Terminal, World, fake_agent};

use super::{RUN, configure, log, start, talk, world};
use crate::run::ends::{end, wait_for};
use crate::run::{column, read, rows};

pub(crate) const ASKS: &str = "permissions = \"ask\"";

/// A world in which the agent asks for this before it reports.
pub(crate) fn asking(act: &str, limits: &str, settings: &str) -> World {
    let world = world(&["A"], &format!("ask {act} 'Writing to a.md'"), "");
    configure(&world, limits, settings);
    world
}

#[test]
fn permission_is_answered_by_command_and_no_is_no_failure() {
    for (verb, did, finding) in [("allow", "A: allowed: edit\n", "allowed"), ("deny", "A: denied: edit\n", "denied")] {
        let world = asking("edit", "", ASKS);
        let mut executor = start(&world);
        wait_for(&mut executor, "A asks to use edit: Writing to a.md");
        let listed = talk(&world, &["list"]);
        let words = "A (attempt 1): waits for an answer\n  asks to use edit: Writing to a.md (question 1)\n";
        assert_eq!(listed.stdout, words, "{listed}");
        let other = talk(&world, &[verb, "A", "--question", "7"]);
        assert!(other.code == Some(2) && other.stderr.contains("it has not asked this question"), "{other}");
        let answered = talk(&world, &[verb, "A"]);
        assert_eq!(answered.stdout, did, "{answered}");
        assert_eq!(end(executor).0, Some(0));
        assert_eq!(column(&world, "findings"), [finding]);
    }
}

/// It goes to the socket of its conversation itself, with nothing in its environment.
/// R: A-14
#[test]
fn agent_cannot_allow_itself_what_it_asks_for() {
    let door = "$(echo .workflow/.csv-wave/EX-*/.executor/talk/A.1)";
    let word = r#"{"answer":{"question":null,"allow":true}}"#;
    let agent = fake_agent().display();
    let asks = format!("ask edit 'Writing to a.md'; env -i {agent} say \"{door}\" '{word}' >said; cat gate");
    let world = world(&["A"], &asks, "");
    configure(&world, "", ASKS);
    let gate = Gate::new(world.dir().join("gate"));
    let mut executor = start(&world);
    wait_for(&mut executor, "A asks to use edit: Writing to a.md");
    gate.open();
    let listed = talk(&world, &["list"]);
    assert!(listed.stdout.contains("waits for an answer"), "{listed}");
    assert_eq!(talk(&world, &["deny", "A"]).code, Some(0));
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(&world, "findings"), ["denied"]);
    let said = read(world.dir().join("said"));
    assert_eq!(said, "{\"Err\":\"a worker may not speak to the agents of its own run\"}\n");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let world = asking("execute", "", ASKS);
    let mut command = world.command(&["run", "--session=S", "--no-progress", "--on-complete", "auto_keep"]);
    command.stdin(Stdio::null());
    let mut terminal = Terminal::start(command);
    terminal.wait_for("Start?").say("y").wait_for("A asks to use execute: Writing to a.md").wait_for("and Enter");
    terminal.say("perhaps").wait_for("not understood").say("y").wait_for("Pipeline complete: 1/1");
    let (code, shown) = terminal.end();
    assert_eq!((code, column(&world, "findings")), (Some(0), vec!["allowed".to_owned()]), "{shown}");
}

#[test]
fn unanswered_permission_is_denied() {
    let world = asking("edit", "answer = \"200ms\"", ASKS);
    let run = world.run(&[RUN.as_slice(), &["--format", "json"]].concat());
    assert_eq!(run.code, Some(1), "{run}");
    let error = &rows(&world)["A"]["error"];
    assert_eq!(error, "it may not use edit (Writing to a.md); `permissions` of the agent decides that");
    let events = run.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let asks: Vec<Value> = events.filter(|event| event["type"] == "asks").collect();
    assert_eq!((asks.len(), &asks[0]["tool"], &asks[0]["question"]), (1, &"edit".into(), &1.into()), "{run}");
    assert!(log(&world, "A").contains(r#""by":"none","team_executor":"denied""#));

    for (act, permissions, finding, code) in
        [("edit", "edit", "allowed", 0), ("execute", "full", "allowed", 0), ("execute", "edit", "", 1)]
    {
        let world = asking(act, "", &format!("permissions = {permissions:?}"));
        let run = world.run(&RUN);
        assert_eq!((run.code, column(&world, "findings")), (Some(code), vec![finding.to_owned()]), "{run}");
    }
}

/// R: A-14
#[test]
fn status_says_what_an_agent_asks_in_text_and_json() {
    let world = asking("edit", "", ASKS);
    let mut executor = start(&world);
    wait_for(&mut executor, "A asks to use edit: Writing to a.md");
    let shown = world.run(&["status", "--session=S"]);
    assert!(shown.stdout.contains("      asks to use edit: Writing to a.md\n"), "{shown}");
    assert!(shown.stdout.contains("    Allow: team-executor talk allow A --session=S --question=1\n"), "{shown}");
    let shown = world.run(&["status", "--session=S", "--format=json"]);
    let status: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let asked =
        serde_json::json!([{"task": "A", "attempt": 1, "question": 1, "tool": "edit", "what": "Writing to a.md"}]);
    assert_eq!(status["asks"], asked, "{shown}");
    assert_eq!(status["running"][0]["doing"], "asks to use edit: Writing to a.md", "{shown}");
    assert_eq!(talk(&world, &["allow", "A"]).code, Some(0));
    assert_eq!(end(executor).0, Some(0));
    let shown = world.run(&["status", "--session=S", "--format=json"]);
    assert!(shown.stdout.contains("\"asks\": []"), "{shown}");
}
