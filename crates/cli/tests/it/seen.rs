//! What can be seen of coding agents while they work, and of what they used afterwards.

use std::io::BufReader;
use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Run, Screen, World};

use crate::coding_agents::{CLAUDE, CLAUDE_OK, CODEX, CODEX_OK, USER, claude_says, fake, world};
use crate::mcp::calls;
use crate::run::{folder, read, tasks};

fn run(world: &World, more: &[&str]) -> Run {
    world.run(&[&["run", "--session=S", "-y"], more].concat())
}

/// A claude that edits a file, waits until the test has looked, and reports.
const CLAUDE_AT_WORK: &str = r#"cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"c-1","model":"opus"}'
echo '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"overloaded"}'
echo '{"type":"assistant","session_id":"c-1","message":{"content":[{"type":"tool_use","name":"mcp__executor__progress","input":{"summary":"half done","percent":50}}]}}'
echo '{"type":"assistant","session_id":"c-1","message":{"id":"m-1","model":"opus","usage":{"input_tokens":900,"cache_read_input_tokens":300,"output_tokens":20},"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"'$PWD'/src/lib.rs"}}]}}'
cat gate >/dev/null
"#;

/// R: E-05
#[test]
fn running_agent_is_seen_in_status_and_events() {
    let world = world(&[("A", "")]);
    fake(&world, CLAUDE, &format!("{CLAUDE_AT_WORK}\n{}", claude_says(CLAUDE_OK)));
    let gate = Gate::new(world.dir().join("gate"));
    let mut command = world.command(&["run", "--session=S", "-y", "--agent", "claude", "--format=json"]);
    let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(executor.stdout.take().expect("its events"));
    let mut event = || serde_json::from_str::<Value>(&lines.limited_line()?).ok();
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["type"] != "task_activity" || event["tokens_in"] == 0) {
        events.push(event().expect("one more event"));
    }
    let status = world.run(&["status", "--session=S", "--format=json"]);
    let json: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let running = &json["running"][0];
    for (key, expected) in [
        ("agent", "claude"),
        ("model", "opus"),
        ("doing", "edits src/lib.rs"),
        ("progress", "half done (50 %)"),
        ("session_id", "c-1"),
        ("attach", "claude --resume c-1"),
    ] {
        assert_eq!(running[key], expected, "{key}: {status}");
    }
    assert_eq!((&running["retries"], &running["tokens_in"]), (&1.into(), &1200.into()), "{status}");
    let shown = world.run(&["status", "--session=S"]).stdout;
    for line in ["      claude, opus, 12", "      progress: half done (50 %)\n", "      edits src/lib.rs\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(shown.contains("      join with: claude --resume c-1\n"), "{shown}");
    gate.open();
    events.extend(std::iter::from_fn(event));
    assert!(executor.limited_wait().success());
    assert!(events.iter().any(|event| event["type"] == "task_output" && event["text"] == "edits src/lib.rs"));
    let used = events.iter().rfind(|event| event["type"] == "task_activity").expect("an event of activity");
    assert_eq!((&used["session_id"], &used["retries"]), (&"c-1".into(), &1.into()));
    let ended = events.iter().find(|event| event["type"] == "run_ended").expect("it ended");
    assert_eq!(ended["usage"]["attempts"][0]["attach"], "claude --resume c-1");
}

/// Two plain commands that report their progress, one by the tool and one by the command, and then wait for the gate.
fn commands_at_work(world: &World) -> String {
    let tool = calls(world, "a", &[("progress", json!({"summary": "half\n done", "percent": 50}))]);
    let command = format!(
        "{} msg log --type progress 'a third' --data '{{\"percent\":33}}' >/dev/null",
        env!("CARGO_BIN_EXE_team-executor")
    );
    format!(
        "case $TEAM_EXECUTOR_TASK in A) {tool} ;; B) {command} || exit 9 ;; esac; cat gate.$TEAM_EXECUTOR_TASK >/dev/null; echo fine"
    )
}

/// R: E-05
#[test]
fn progress_of_a_plain_command_is_seen_in_status_and_events() {
    let world = tasks(&[("A", ""), ("B", "")]);
    let gates = ["gate.A", "gate.B"].map(|gate| Gate::new(world.dir().join(gate)));
    let worker = commands_at_work(&world);
    let mut command = world.command(&["run", "--session=S", "-y", "--agent-command", &worker, "--format=json"]);
    let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(executor.stdout.take().expect("its events"));
    let mut event = || serde_json::from_str::<Value>(&lines.limited_line()?).ok();
    let mut told = [None, None];
    while told.contains(&None) {
        let event = event().expect("one more event");
        if event["type"] == "task_activity" {
            assert_eq!(event["attempt"], 1);
            told[usize::from(event["task"] == "B")] = event["progress"].as_str().map(str::to_owned);
        }
    }
    assert_eq!(told.map(Option::unwrap), ["half done (50 %)", "a third (33 %)"]);
    let status = world.run(&["status", "--session=S", "--format=json"]);
    let json: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let shown = [0, 1].map(|nth| json["running"][nth]["progress"].clone());
    assert_eq!(shown, ["half done (50 %)", "a third (33 %)"], "{status}");
    let shown = world.run(&["status", "--session=S"]).stdout;
    for line in ["      progress: half done (50 %)\n", "      progress: a third (33 %)\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    gates.iter().for_each(Gate::open);
    std::iter::from_fn(event).for_each(drop);
    assert!(executor.limited_wait().success());
}

/// R: E-05
#[test]
fn live_view_shows_progress_of_a_plain_command() {
    let world = tasks(&[("A", ""), ("B", "")]);
    let gates = ["gate.A", "gate.B"].map(|gate| Gate::new(world.dir().join(gate)));
    let worker = commands_at_work(&world);
    let command = world.command(&["run", "--session=S", "-y", "--agent-command", &worker]);
    let mut terminal = Screen::start(command, 80, 24);
    terminal.wait_for("[half done (50 %)]");
    terminal.wait_for("[a third (33 %)]");
    gates.iter().for_each(Gate::open);
    assert_eq!(terminal.end().code(), Some(0));
}

/// R: E-05
#[test]
fn end_of_a_run_has_a_table_of_what_each_agent_used() {
    let world = world(&[("A", ""), ("B", "")]);
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    fake(&world, CODEX, CODEX_OK);
    world.write(USER, "[tasks.A]\nagent = \"claude\"\n[tasks.B]\nagent = \"codex\"\n");
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let row = |task: &str| run.stdout.lines().map(cells).find(|cells| cells.first().is_some_and(|one| one == task));
    let header = ["TASK", "AGENT", "MODEL", "TOKENS", "IN", "OUT", "COST", "TIME"];
    assert_eq!(row("TASK").expect("a header"), header, "{run}");
    assert_eq!(row("A").expect("a row")[1..6], ["claude", "opus", "1200", "30", "$0.25"], "{run}");
    assert_eq!(row("B").expect("a row")[1..6], ["codex", "-", "500", "9", "-"], "{run}");
    let report = read(folder(&world).join("context.md"));
    assert!(report.contains("| A | claude | opus | 1200 | 30 | $0.25 |"), "{report}");
    assert!(report.contains("- A, attempt 1: `claude --resume c-1`\n"), "{report}");
    assert!(report.contains("- B, attempt 1: `codex resume x-1`\n"), "{report}");
    let status = world.run(&["status", "--session=S"]);
    assert!(status.stdout.contains("  B (attempt 1): codex resume x-1\n"), "{status}");
}
