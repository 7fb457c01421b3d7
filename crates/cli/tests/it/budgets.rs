//! Runs that may use only so much: what they start, how they stop, and how they go on.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::coding_agents::{CLAUDE, CLAUDE_OK, CODEX, USER, claude_says, fake, world};
use crate::run::{column, folder, read, tasks};

/// Each attempt of the fake agent uses 1230 tokens, 2 turns and 25 cents, and says which it is.
fn agent(world: &World) {
    let body = format!("echo $TEAM_EXECUTOR_TASK >>started\n{}", claude_says(CLAUDE_OK));
    fake(world, CLAUDE, &body);
    world.write(USER, "[defaults]\nagent = \"claude\"\nconcurrency = 1\n");
}

fn started(world: &World) -> Vec<String> {
    read(world.dir().join("started")).lines().map(str::to_owned).collect()
}

fn status(world: &World) -> Value {
    let status = world.run(&["status", "--session=S", "--format", "json"]);
    serde_json::from_str(&status.stdout).unwrap_or_else(|error| panic!("{error}: {status}"))
}

/// R: A-05
#[test]
fn run_stops_at_its_budget_and_continues_with_more() {
    let world = world(&[("A", ""), ("B", ""), ("C", ""), ("D", "")]);
    agent(&world);
    let run = world.run(&["run", "--session=S", "-y", "--budget-tokens", "3000"]);
    assert_eq!(run.code, Some(3), "{run}");
    assert_eq!(started(&world), ["A", "B"]);
    assert_eq!(column(&world, "status"), ["completed", "completed", "pending", "pending"]);
    let why = "the budget of the run is 3000 tokens: 2460 tokens used, and one more attempt takes about 1230 tokens";
    let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.ends_with(&format!("Stopped: {why}")), "{run}");
    let resume = "team-executor resume --session=S --budget-tokens 6000";
    assert!(run.stdout.contains(why) && run.stdout.ends_with(&format!("Resume with: {resume}\n")), "{run}");
    assert_eq!(
        (&status(&world)["reason"], &status(&world)["usage"]["total"]["tokens_in"]),
        (&json!(why), &json!(2400))
    );
    // As long as the budget is the same nothing is done.
    let again = world.run(&["resume", "--session=S", "-y", "--budget-tokens", "3000"]);
    assert_eq!((again.code, started(&world).len()), (Some(3), 2), "{again}");
    let more = world.run(&["resume", "--session=S", "-y", "--budget-tokens", "6000"]);
    assert_eq!(more.code, Some(0), "{more}");
    assert_eq!(started(&world), ["A", "B", "C", "D"]);
    assert_eq!(status(&world)["usage"]["total"]["tokens_in"], 4800);
}

/// R: A-05
#[test]
fn usage_in_a_command_s_result_counts_for_its_budget() {
    let world = world(&[("A", ""), ("B", ""), ("C", "")]);
    let usage = r#"{"model":"m","input_tokens":1000,"cached_tokens":400,"output_tokens":230,"cost_usd":0.25}"#;
    let result = format!(r#"{{"status":"completed","findings":"f","usage":{usage}}}"#);
    let command = format!("echo '{result}' >$TEAM_EXECUTOR_RESULT");
    let run =
        world.run(&["run", "--session=S", "-y", "-c1", "--budget-tokens", "3000", "--agent-command", command.as_str()]);
    assert_eq!(run.code, Some(3), "{run}");
    assert_eq!(column(&world, "status"), ["completed", "completed", "pending"]);
    let total = &status(&world)["usage"]["total"];
    assert_eq!((&total["tokens_in"], &total["tokens_cached"]), (&json!(2000), &json!(800)), "{total}");
    assert_eq!((&total["tokens_out"], &total["cost_usd"]), (&json!(460), &json!(0.5)), "{total}");
}

#[test]
fn few_workers_start_while_usage_is_unknown() {
    let ids = ["A", "B", "C", "D", "E", "F", "G", "H"];
    let world = world(&ids.map(|id| (id, "")));
    agent(&world);
    let run = world.run(&["run", "--session=S", "-y", "-c8", "--budget-tokens", "100000"]);
    assert_eq!(run.code, Some(0), "{run}");
    let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(told.matches("warning: only 4 workers at first: there is a budget").count(), 1, "{run}");
    let journal = read(folder(&world).join(".executor/journal"));
    let kinds: Vec<&str> = journal.lines().filter_map(|line| line.split('"').nth(3)).collect();
    let first = kinds.iter().position(|kind| *kind == "used").expect("it is said what was used");
    assert_eq!(kinds[..first].iter().filter(|kind| **kind == "claimed").count(), 4, "{kinds:?}");
}

#[test]
fn budget_stop_names_the_budget_and_the_next_command() {
    let world = world(&[("A", ""), ("B", "")]);
    agent(&world);
    let run = world.run(&["run", "--session=S", "-y", "--format", "json", "--budget-usd", "0.25"]);
    assert_eq!(run.code, Some(3), "{run}");
    let events: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let reason = "the budget of the run is $0.25: $0.25 used";
    assert!(events.iter().any(|event| event["type"] == "halted" && event["reason"] == reason), "{run}");
    let ended = events.last().expect("an event");
    let budget = json!({"of": "run", "name": null, "measure": "usd", "used": 250_000, "budget": 250_000, "next_attempt": 250_000});
    assert_eq!(ended["halted"], json!({"reason": reason, "not_logged_in": null, "no_room": false, "budget": budget}));
    assert_eq!((&ended["exit_code"], &ended["ending"]), (&json!(3), &json!("drained")));
    let resume = "team-executor resume --session=S --format=json --budget-usd 0.50";
    assert_eq!(ended["resume"], resume);
    assert_eq!(world.run(&resume.split(' ').skip(1).collect::<Vec<_>>()).code, Some(0));
}

#[test]
fn role_budget_holds_its_tasks_and_claude_gets_the_rest() {
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                 A,,Do it,,,csv-wave,writer,,pending,,\nB,,Do it,,,csv-wave,writer,,pending,,\n\
                 C,,Do it,,,csv-wave,tester,,pending,,\nD,,Do it,,,csv-wave,tester,,pending,,\n";
    for (budget, words, help) in [
        (
            "[roles.writer.budget]\nturns = 3\n",
            "the budget of role writer is 3 turns: 2 turns used, and one more attempt takes about 2 turns",
            "set more `turns` in [roles.writer.budget] of team-executor.toml",
        ),
        (
            "[tasks.B.budget]\nusd = 0.2\n",
            "the budget of task B is $0.20: $0.00 used, and one more attempt takes about $0.25",
            "set more `usd` in [tasks.B.budget] of team-executor.toml",
        ),
    ] {
        let world = world(&[]);
        world.write("S/tasks.csv", table);
        agent(&world);
        let body = format!("set -f; echo $TEAM_EXECUTOR_TASK $@ >>given\n{}", claude_says(CLAUDE_OK));
        fake(&world, CLAUDE, &format!("echo $TEAM_EXECUTOR_TASK >>started\n{body}"));
        let config = |budget: &str| format!("[defaults]\nagent = \"claude\"\nconcurrency = 1\n{budget}");
        world.write(USER, config(budget));
        let run = world.run(&["run", "--session=S", "-y"]);
        assert_eq!(run.code, Some(3), "{run}");
        assert_eq!(started(&world), ["A", "C", "D"], "{run}");
        assert!(run.stdout.contains(words) && run.stdout.contains(&format!("\nhelp: {help}\n")), "{run}");
        world.write(USER, config(&budget.replace("= 3", "= 30").replace("= 0.2", "= 2.5")));
        let run = world.run(&["resume", "--session=S", "-y"]);
        assert_eq!(run.code, Some(0), "{run}");
        let left = if budget.contains("turns") { " --max-turns 28" } else { " --max-budget-usd 2.500000" };
        let given = read(world.dir().join("given"));
        let given: Vec<_> = given.lines().filter(|line| line.starts_with("B ")).collect();
        assert!(given.len() == 1 && given[0].ends_with(left), "{given:?}");
    }
}

/// The agent of B says what it used and is killed with its executor; its next attempt is done.
#[test]
fn usage_of_a_killed_attempt_counts_once() {
    let world = world(&[("A", ""), ("B", "A"), ("C", "B")]);
    agent(&world);
    for pipe in ["said", "never"] {
        let made = Command::new("mkfifo").arg(world.dir().join(pipe)).limited_status();
        assert!(made.success());
    }
    let ok = claude_says(CLAUDE_OK);
    let hangs = "[ $TEAM_EXECUTOR_TASK = B ] && mkdir once 2>/dev/null";
    fake(
        &world,
        CLAUDE,
        &format!("echo $TEAM_EXECUTOR_TASK >>started\n{ok}\nif {hangs}; then echo >said; cat never; fi"),
    );
    let run = ["run", "--session=S", "-y", "--budget-tokens", "3690"];
    let executor = world.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut executor = executor.expect("it starts");
    read(world.dir().join("said"));
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    for _ in 0..2 {
        let run = world.run(&run);
        assert_eq!(run.code, Some(3), "{run}");
        assert_eq!(started(&world), ["A", "B", "B"]);
        let used = &status(&world)["usage"];
        let attempts: Vec<_> = used["attempts"].as_array().expect("a list").iter().collect();
        let named: Vec<_> = attempts.iter().map(|one| (one["task"].as_str(), one["attempt"].as_u64())).collect();
        assert_eq!(named, [(Some("A"), Some(1)), (Some("B"), Some(1)), (Some("B"), Some(2))]);
        assert_eq!((&used["total"]["tokens_in"], &used["total"]["attempts"]), (&json!(3600), &json!(3)));
    }
    let journal = read(folder(&world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"used\"").count(), 3, "{journal}");
}

#[test]
fn time_is_a_budget_for_any_worker() {
    let world = world(&[("A", ""), ("B", "A")]);
    let run = ["run", "--session=S", "-y", "--agent-command", "sleep 0.01", "--budget-wall"];
    let stopped = world.run(&[&run[..], &["1ms"]].concat());
    assert_eq!(stopped.code, Some(3), "{stopped}");
    assert!(stopped.stdout.contains("the budget of the run is 0.0 s of work: "), "{stopped}");
    assert_eq!(column(&world, "status"), ["completed", "pending"]);
    let done = world.run(&[&run[..], &["1h"]].concat());
    assert_eq!((done.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 2]), "{done}");
}

#[test]
fn a_wrong_budget_is_an_error_with_its_place() {
    let world = world(&[("A", "")]);
    for (text, message) in [
        ("[budget]\nusd = -1\n", "invalid value of 'usd'"),
        ("[budget]\ntokens = 0\n", "invalid value of 'tokens'"),
        ("[roles.worker.budget]\ntoken = 5\n", "unknown key 'token' in [roles.worker.budget]"),
        ("[tasks.A.budget]\nwall = \"soon\"\n", "invalid value of 'wall'"),
    ] {
        world.write(USER, text);
        let run = world.run(&["config", "--session=S"]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(message) && run.stderr.contains("config.toml:2:"), "{run}");
    }
    world.write(USER, "[budget]\nusd = 2.5\ntokens = 1_000_000\nwall = \"2h\"\n[tasks.A.budget]\nturns = 9\n");
    let shown = world.run(&["config", "--session=S", "--budget-usd", "3"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    for line in ["budget.usd", "budget.tokens", "budget.wall", "tasks.A.budget.turns"] {
        assert!(shown.stdout.contains(line), "{line}: {shown}");
    }
    assert!(shown.stdout.contains("3.00") && shown.stdout.contains("--budget-usd"), "{shown}");
}

#[test]
fn plan_shows_agents_models_and_budgets() {
    let world = world(&[("A", ""), ("B", "")]);
    world.write(
        USER,
        "[defaults]\nagents = [\"deep\", \"codex\"]\n[agents.deep]\nkind = \"claude\"\nmodel = \"opus\"\n\
         [budget]\nusd = 2.5\ntokens = 1000\n[roles.worker.budget]\nwall = \"2h\"\n[tasks.B.budget]\nturns = 9\n",
    );
    let plan = world.run(&["plan", "--session=S"]);
    assert_eq!(plan.code, Some(0), "{plan}");
    let agents = "Agents          worker: deep (opus), else codex\n";
    let budgets = "Budgets         the run $2.50 and 1000 tokens\n                role worker 2 h 0 min of work\n                task B 9 turns\n";
    assert!(plan.stdout.contains(&format!("{agents}{budgets}")), "{plan}");
    let plan = world.run(&["plan", "--session=S", "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let chain = json!([{"agent": "deep", "model": "opus"}, {"agent": "codex", "model": null}]);
    assert_eq!(plan["agents"], json!([{"role": "worker", "agents": [chain]}]));
    let run =
        json!({"of": "run", "name": null, "usd_micros": 2_500_000, "tokens": 1000, "turns": null, "wall_ms": null});
    assert_eq!((&plan["budgets"][0], &plan["budgets"][2]["name"]), (&run, &json!("B")));
}

/// R: A-10
#[test]
fn budget_that_does_not_count_an_agent_says_so_before_the_start() {
    let agents = "[agents.worker]\ncommand = \"true\"\n[agents.odd]\nkind = \"codex\"\nmodel = \"odd-1\"\n";
    let priced = "[prices.\"odd-1\"]\ninput = 1.25\noutput = 10\n";
    for (config, flag, told) in [
        (
            "agent = \"worker\"",
            "--budget-usd=1",
            "the budget counts worker only by `usage` in result files: a command reports nothing else",
        ),
        (
            "agent = \"odd\"",
            "--budget-usd=1",
            "the budget in dollars does not count odd: its model `odd-1` has no price",
        ),
        ("agent = \"codex\"", "--budget-usd=1", "the budget in dollars counts codex only if the model"),
        ("agent = \"worker\"", "--budget-wall=1h", ""),
        ("agent = \"odd\"", "--budget-tokens=1000", ""),
    ] {
        let world = codex_world();
        world.write(USER, format!("[defaults]\n{config}\nretries = 0\n{agents}"));
        let run = world.run(&["run", "--session=S", "-y", flag]);
        let (before, _) = run.stderr.split_once("Run EX-").unwrap_or_default();
        let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(before.contains(told) && before.is_empty() == told.is_empty(), "{config} {flag}: {run}");
    }
    let world = codex_world();
    world.write(USER, format!("[defaults]\nagent = \"odd\"\nretries = 0\n{agents}{priced}"));
    let run = world.run(&["run", "--session=S", "-y", "--budget-usd=1"]);
    assert!(!run.stderr.contains("has no price"), "{run}");
}

#[test]
fn commands_that_a_budget_does_not_count_share_one_warning() {
    let world = tasks(&[("A", ""), ("B", ""), ("C", "")]);
    let agents = ["a", "b", "c"].map(|name| {
        format!("[agents.{name}]\ncommand = \"true\"\n[tasks.{}]\nagent = \"{name}\"\n", name.to_uppercase())
    });
    world.write("team-executor.toml", agents.concat());
    let run = world.run(&["run", "--session=S", "-y", "--trust-project", "--budget-usd=1", "--budget-tokens=5"]);
    let told: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(told.len(), 1, "{run}");
    assert!(told[0].starts_with("warning: the budget counts a, b, c only by `usage` in result files: "), "{run}");
}

/// R: A-10
#[test]
fn price_that_is_incomplete_is_an_error_with_its_place() {
    let world = world(&[("A", "")]);
    world.write(USER, "[prices.m]\ninput = 1\n[prices.n]\ninput = \"1\"\noutput = 2\nout = 3\n");
    let run = world.run(&["config"]);
    assert_eq!(run.code, Some(2), "{run}");
    for told in ["[prices.m] has no `output`", "invalid value of 'input'", "unknown key 'out' in [prices.n]"] {
        assert!(run.stderr.contains(told), "{told}: {run}");
    }
}

fn codex_world() -> World {
    let world = world(&[("A", "")]);
    fake(&world, CODEX, "exit 1");
    world
}
