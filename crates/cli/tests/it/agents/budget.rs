//! Real agents that never end by themselves: a budget ends them, what the service served is what was counted, and what they
//! delivered stays.

use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{ScriptedModel, World};

use super::{Kind, Part, RUN, team, turns};
use crate::run::{column, folder, read};

/// What each reply costs.
const EACH: u64 = 1050;

/// Agents that write a file again and again, one in each role.
fn looping(parts: &[Part], kind: Kind) -> Option<(World, ScriptedModel)> {
    let (world, model) = team(parts, kind)?;
    let config = read(world.dir().join("team-executor.toml")).replace("converse = false\n", "");
    world.write("team-executor.toml", config);
    for Part { role, task, file, .. } in parts {
        let mut write = turns(Kind::Known, task, file).remove(0);
        write["usage"] = json!({"input": 1000, "cached": 400, "output": 50});
        world.write(&format!("scripts/{role}.json"), json!({"turns": [write], "loop": true}).to_string());
    }
    Some((world, model))
}

fn part(agent: &'static str) -> Part {
    Part { task: "WORK-001", role: "worker", agent, file: "work.md" }
}

/// How much the run says that it used.
fn counted(world: &World) -> Value {
    let status = world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap_or_else(|error| panic!("{error}: {status}"));
    status["usage"]["total"].clone()
}

fn tokens(counted: &Value) -> u64 {
    counted["tokens_in"].as_u64().unwrap_or(0) + counted["tokens_out"].as_u64().unwrap_or(0)
}

/// At most 1.5 times the budget was served, and 95 to 105 % of that were counted.
#[track_caller]
fn holds(budget: u64, served: u64, counted: u64, of: &str) {
    assert!(served <= budget * 3 / 2, "{of}: {served} were served");
    assert!(served >= budget / 2, "{of}: it was ended early, after {served}");
    assert!(counted * 100 >= served * 95 && counted * 100 <= served * 105, "{of}: {counted} of {served} counted");
}

/// R: A-10
#[test]
fn looping_agent_is_ended_by_the_budget_of_the_run() {
    for (agent, kind) in [("claude", Kind::Known), ("codex", Kind::Known), ("claude", Kind::Conversing)] {
        let Some((world, model)) = looping(&[part(agent)], kind) else { continue };
        let run = world.run(&[&RUN[..], &["--budget-tokens", "40000"]].concat());
        assert_eq!(run.code, Some(3), "{agent}: {run}");
        assert!(run.stdout.contains("the budget of the run is 40000 tokens: "), "{agent}: {run}");
        assert_eq!(column(&world, "status"), ["pending"], "{agent}: with more it goes on");
        assert_eq!(read(folder(&world).join("artifacts/WORK-001/work.md")), "# work.md\n", "{agent}: it is kept");
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), [], "{agent}");
        let counted = counted(&world);
        let served: Vec<u64> = model.served();
        // One that converses ends its turn well, and says a sum.
        let is_estimated = agent == "claude" && matches!(kind, Kind::Known);
        assert_eq!(counted["estimated"], is_estimated, "{agent}: {counted}");
        let turns = counted["turns"].as_u64().unwrap_or(0);
        assert!(turns.abs_diff(served.len() as u64) <= 2, "{agent}: {turns} of {} requests", served.len());
        holds(40_000, served.iter().sum(), tokens(&counted), agent);
    }
}

/// R: A-10
#[test]
fn agent_over_budget_ends_its_turn_by_protocol() {
    for (agent, kind, ended) in [
        ("claude", Kind::Conversing, r#""subtype":"error_during_execution""#),
        ("codex", Kind::Conversing, r#""status":"interrupted""#),
        ("gemini", Kind::Conversing, r#""stopReason":"cancelled""#),
        ("qwen", Kind::Acp, r#""stopReason":"cancelled""#),
    ] {
        let Some((world, model)) = looping(&[part(agent)], kind) else { continue };
        let budget = |tokens: &'static str| [&RUN[..], &["--budget-tokens", tokens]].concat();
        let run = world.run(&budget("20000"));
        assert_eq!(run.code, Some(3), "{agent}: {run}");
        assert_eq!(column(&world, "status"), ["pending"], "{agent}: {run}");
        let log = read(folder(&world).join("logs/WORK-001.1.out"));
        let wound_up = log.find(r#"{"by":"budget","team_executor":"wound up"}"#).expect(agent);
        assert!(log[wound_up..].contains(ended), "{agent} ended its turn well: {}", &log[wound_up..]);
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), [], "{agent}");
        if agent == "gemini" {
            continue; // it notices by itself that it does the same again and again
        }
        let run = world.run(&budget("60000"));
        assert_eq!(run.code, Some(3), "{agent}: {run}");
        let asked = model.rest();
        assert_eq!(asked.iter().filter(|asked| asked.turn == 0).count(), 1, "{agent} began once: {asked:?}");
    }
}

/// R: A-10
#[test]
fn several_looping_agents_share_the_budget_of_the_run() {
    let parts = [("A", "one"), ("B", "two"), ("C", "three")];
    let parts = parts.map(|(task, role)| Part { task, role, agent: "codex", file: "work.md" });
    let Some((world, model)) = looping(&parts, Kind::Known) else { return };
    let table = read(world.dir().join("S/tasks.csv")).replace(",A,A,", ",,,").replace(",B,B,", ",,,");
    world.write("S/tasks.csv", table);
    let run = world.run(&[&RUN[..], &["-c3", "--budget-tokens", "60000"]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    let counted = counted(&world);
    assert_eq!(counted["attempts"], 3, "they ran side by side: {counted}");
    holds(60_000, model.served().iter().sum(), tokens(&counted), "three of codex");
}

/// R: A-10
#[test]
fn looping_agent_is_ended_by_a_budget_in_dollars() {
    for (agent, prices) in [("claude", ""), ("codex", "[prices.scripted]\ninput = 4\ncached = 0.2\noutput = 20\n")] {
        let Some((world, model)) = looping(&[part(agent)], Kind::Known) else { continue };
        let config = read(world.dir().join("team-executor.toml"));
        world.write("team-executor.toml", format!("{config}{prices}"));
        let run = world.run(&[&RUN[..], &["--budget-usd", "0.10"]].concat());
        assert_eq!(run.code, Some(3), "{agent}: {run}");
        assert!(run.stdout.contains("the budget of the run is $0.10"), "{agent}: {run}");
        assert_eq!(column(&world, "status"), ["pending"], "{agent}");
        // 600 tokens for $4, 400 from a cache for $0.20 and 50 for $20 a million.
        let counted = counted(&world)["cost_usd"].as_f64().unwrap_or(0.0);
        let served = model.served().len() as u64 * 3480;
        assert!(served <= 150_000, "{agent}: {served}");
        assert!(counted <= 0.15 && counted > 0.05, "{agent}: {counted}");
    }
}

/// R: A-10
#[test]
fn usage_of_an_attempt_that_a_kill_cut_off_counts_once() {
    for agent in ["claude", "codex"] {
        let Some((world, mut model)) = looping(&[part(agent)], Kind::Known) else { continue };
        let budget = |tokens: &'static str| [&RUN[..], &["--budget-tokens", tokens]].concat();
        let executor = world.command(&budget("1000000")).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut executor = executor.expect("it starts");
        let before: Vec<u64> = (0..20).map(|_| model.asked()).map(|asked| asked.turn).collect();
        executor.kill().expect("it can be killed");
        executor.limited_wait();
        let run = world.run(&budget("10000"));
        assert_eq!(run.code, Some(3), "{agent}: {run}");
        let once = counted(&world);
        assert_eq!(once["attempts"], 1, "{agent}: nothing was started: {once}");
        world.run(&budget("10000"));
        assert_eq!(counted(&world), once, "{agent}: it counts once");
        let served = EACH * before.len() as u64 + model.served().iter().sum::<u64>();
        let counted = tokens(&once);
        // The last request may have been answered after the executor was gone.
        assert!(counted <= served && counted + 2 * EACH >= served * 95 / 100, "{agent}: {counted} of {served}");
    }
}
