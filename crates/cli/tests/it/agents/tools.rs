//! Agents that use the tools which the program offers them: what they report and discover is in the views, also over a kill.

use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use super::{Kind, Part, RUN, script, team, turns};
use crate::run::{column, folder, read};

const TEAM: [Part; 3] = [
    Part { task: "PLAN-001", role: "planner", agent: "claude", file: "" },
    Part { task: "BUILD-001", role: "builder", agent: "codex", file: "" },
    Part { task: "REVIEW-001", role: "reviewer", agent: "gemini", file: "" },
];

/// A discovery, then a result, then a last word.
fn calls(task: &str) -> Vec<Value> {
    let discovery = json!({"type": "test_result", "data": {"test_name": format!("test of {task}"), "status": "pass"}});
    let learnings = [format!("{task} has learned")];
    let report = json!({"status": "completed", "findings": format!("{task} by a tool"), "data": {"wisdom": {"learnings": learnings}}});
    vec![
        json!({"do": {"tool": {"name": "add_discovery", "arguments": discovery}}}),
        json!({"do": {"tool": {"name": "report_result", "arguments": report}}}),
        json!({"do": {"text": "Done."}}),
    ]
}

/// What a user writes into `~/.gemini/settings.json`: Gemini cannot be told when it is started.
fn tell_gemini(world: &World) {
    let home = world.dir().with_file_name("home-of-reviewer");
    let path = home.join(".gemini/settings.json");
    let mut settings: Value = serde_json::from_str(&read(&path)).expect("settings");
    let names = ["SESSION", "RUN", "TASK", "ATTEMPT", "RESULT"].map(|name| format!("TEAM_EXECUTOR_{name}"));
    let env: Map<_, _> = names.into_iter().map(|name| (name.clone(), format!("${{{name}}}").into())).collect();
    let entry = json!({"command": env!("CARGO_BIN_EXE_team-executor"), "args": ["mcp"], "env": env, "trust": true});
    settings["mcpServers"] = json!({ "executor": entry });
    std::fs::write(&path, settings.to_string()).expect("settings are written");
}

#[test]
fn agents_report_and_discover_with_their_tools() {
    let Some((world, _model)) = team(&TEAM, Kind::Known) else { return };
    tell_gemini(&world);
    TEAM.iter().for_each(|part| script(&world, part.role, &calls(part.task)));
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["BUILD-001 by a tool", "PLAN-001 by a tool", "REVIEW-001 by a tool"]);
    let board = read(world.dir().join("S/discoveries.ndjson"));
    let learned = read(world.dir().join("S/wisdom/learnings.md"));
    let report = read(folder(&world).join("context.md"));
    for Part { task, .. } in TEAM {
        assert!(board.contains(&format!("\"worker\":\"{task}\"")), "{board}");
        assert!(learned.contains(&format!("[{task}] {task} has learned")), "{learned}");
        assert!(report.contains(&format!("{task} by a tool")), "{report}");
    }
}

#[test]
fn report_by_tool_outlives_a_killed_executor() {
    for part in [&TEAM[0], &TEAM[1]] {
        let Some((world, mut model)) = team(std::slice::from_ref(part), Kind::Known) else { return };
        let mut turns = calls(part.task);
        turns[2]["hang"] = json!({});
        script(&world, part.role, &turns);
        let executor = world.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut executor = executor.expect("it starts");
        while model.asked().turn < 2 {}
        executor.kill().expect("it can be killed");
        executor.limited_wait();
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(column(&world, "findings"), [format!("{} by a tool", part.task)]);
        assert_eq!(read(world.dir().join("S/discoveries.ndjson")).lines().count(), 1);
        assert!(model.rest().is_empty(), "{} was done twice", part.task);
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
    }
}

/// As docs/reference/mcp.md says it for agents that are started by hand.
#[test]
fn unknown_agents_get_tools_by_configuration() {
    let team_of_two = [&TEAM[0], &TEAM[1]].map(|part| Part { ..*part });
    let Some((world, _model)) = team(&team_of_two, Kind::Command) else { return };
    let program = env!("CARGO_BIN_EXE_team-executor");
    let docs = include_str!("../../../../../docs/reference/mcp.md");
    let words_of = |agent: &str| -> Vec<String> {
        let line = docs.lines().find(|line| line.contains(agent)).expect("the docs have a line");
        let command = line.split('`').nth(1).expect("a command").replace("\"team-executor\"", &format!("{program:?}"));
        let words = Command::new("sh").arg("-c").arg(format!("printf '%s\\n' {command}")).limited_output();
        String::from_utf8_lossy(&words.stdout).lines().skip(2).map(str::to_owned).collect()
    };
    let mut config = read(world.dir().join("team-executor.toml"));
    for (agent, before) in [("| Claude Code, by hand |", "\"-p\""), ("| Codex, by hand |", "\"exec\"")] {
        let more: String = words_of(agent).iter().map(|word| format!(", {word:?}")).collect();
        config = config.replacen(before, &format!("{before}{more}"), 1);
    }
    world.write("team-executor.toml", config);
    team_of_two.iter().for_each(|part| script(&world, part.role, &calls(part.task)));
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["BUILD-001 by a tool", "PLAN-001 by a tool"]);
    assert_eq!(read(world.dir().join("S/discoveries.ndjson")).lines().count(), 2);
}

#[test]
fn agents_that_converse_have_the_tools_too() {
    let talkers = [&TEAM[0], &TEAM[1]].map(|part| Part { ..*part });
    let Some((world, _model)) = team(&talkers, Kind::Conversing) else { return };
    for part in &talkers {
        let report = turns(Kind::Conversing, part.task, "").pop().expect("a report");
        script(&world, part.role, &[calls(part.task).swap_remove(0), report]);
    }
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    let board = read(world.dir().join("S/discoveries.ndjson"));
    assert!(talkers.iter().all(|part| board.contains(&format!("\"worker\":\"{}\"", part.task))), "{board}");
}

/// R: A-11
#[test]
fn claude_that_used_report_result_reports_once() {
    for kind in [Kind::Known, Kind::Conversing] {
        let part = Part { ..TEAM[0] };
        let Some((world, model)) = team(std::slice::from_ref(&part), kind) else { return };
        script(&world, part.role, &calls(part.task));
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{run}");
        let turns: Vec<_> = model.rest().into_iter().map(|asked| asked.turn).collect();
        assert_eq!(turns, [0, 1, 2], "a discovery, a report, a last word");
    }
}

/// The server of the user is this program for clients.
/// R: A-08
#[test]
fn agents_use_a_server_of_the_user_beside_ours() {
    for part in [&TEAM[0], &TEAM[1]] {
        let Some((world, _model)) = team(std::slice::from_ref(part), Kind::Known) else { return };
        let mut config = read(world.dir().join("team-executor.toml"));
        let program = env!("CARGO_BIN_EXE_team-executor");
        config += &format!("[mcp_servers.teams]\ncommand = {program:?}\nargs = [\"mcp\", \"--serve\"]\n");
        config = config.replace(
            &format!("[roles.{}]\n", part.role),
            &format!("[roles.{}]\nmcp_servers = [\"teams\"]\n", part.role),
        );
        world.write("team-executor.toml", config);
        let mut turns = calls(part.task);
        turns[0] = json!({"do": {"tool": {"name": "validate", "arguments": {"session": "S"}}}});
        script(&world, part.role, &turns);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(column(&world, "findings"), [format!("{} by a tool", part.task)]);
        let log = read(folder(&world).join(format!("logs/{}.1.out", part.task)));
        assert!(log.contains("\\\"valid\\\":true") || log.contains("\"valid\":true"), "{log}");
    }
}
