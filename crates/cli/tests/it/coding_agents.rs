//! Known coding agents, played by scripts of their names that print what the real ones do.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use crate::conversations::ACP;
use crate::run::{column, folder, json, read, rows, tasks};

pub(crate) const USER: &str = "home-of-config/team-executor/config.toml";
pub(crate) const CLAUDE: (&str, &str) = ("claude", "2.1.325 (Claude Code)");
pub(crate) const CODEX: (&str, &str) = ("codex", "codex-cli 0.166.0");
pub(crate) const GEMINI: (&str, &str) = ("gemini", "0.61.0");

/// A world with these tasks in which only scripts are coding agents.
pub(crate) fn world(all: &[(&str, &str)]) -> World {
    let mut world = tasks(all);
    let dir = world.dir().display().to_string();
    world
        .env("PATH", &format!("{dir}/bin:{dir}/../bin:/usr/bin:/bin"))
        .env("XDG_CONFIG_HOME", &format!("{dir}/home-of-config"));
    world
}

/// Puts a script into the world that says its version, or does this.
pub(crate) fn fake(world: &World, (name, version): (&str, &str), body: &str) {
    let text = format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit; fi\n{body}\n");
    let path = world.write(&format!("bin/{name}"), text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
}

/// What Claude prints at its end, with these fields.
pub(crate) fn claude_says(fields: &str) -> String {
    format!(
        "cat >/dev/null\necho '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"c-1\",\"model\":\"opus\"}}'\n\
         echo '{{\"type\":\"result\",\"session_id\":\"c-1\",\"permission_denials\":[],{fields}}}'"
    )
}

/// Without a report.
pub(crate) const CLAUDE_SAID: &str = r#""subtype":"success","is_error":false,"num_turns":2,"result":"All done.","total_cost_usd":0.25,"usage":{"input_tokens":1000,"cache_read_input_tokens":200,"output_tokens":30}"#;
pub(crate) const CLAUDE_OK: &str = r#""structured_output":{"status":"completed","findings":"All done."},"subtype":"success","is_error":false,"num_turns":2,"result":"All done.","total_cost_usd":0.25,"usage":{"input_tokens":1000,"cache_read_input_tokens":200,"output_tokens":30}"#;
pub(crate) const GEMINI_OK: &str = r#"cat >/dev/null
echo '{"type":"init","session_id":"g-1","model":"pro"}'
echo '{"type":"message","role":"assistant","content":"{\"status\":\"completed\",\"findings\":\"Gemini did it.\"}","delta":true}'
echo '{"type":"result","status":"success","stats":{"input_tokens":300,"cached":0,"output_tokens":7}}'"#;
pub(crate) const CODEX_OK: &str = r#"cat >/dev/null
echo '{"type":"thread.started","thread_id":"x-1"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"{\"status\":\"completed\",\"findings\":\"Codex did it.\",\"error\":null}"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":500,"cached_input_tokens":100,"output_tokens":9}}'"#;

fn run(world: &World, more: &[&str]) -> Run {
    world.run(&[&["run", "--session=S", "-y"], more].concat())
}

/// A world with a task of which the plan demands the file `plan.md`.
fn with_plan_file() -> World {
    let world = world(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,delivers\n\
         A,,Plan it,,,csv-wave,planner,1,pending,,,plan.md\n",
    );
    world
}

/// R: A-04
#[test]
fn agent_that_forgets_a_file_of_the_plan_is_sent_back() {
    let world = with_plan_file();
    let body = "[ -e once ] && echo x >\"$TEAM_EXECUTOR_ARTIFACTS/plan.md\"\ntouch once\n";
    fake(&world, CLAUDE, &format!("{body}{}", claude_says(CLAUDE_OK)));
    let demanded = run(&world, &["--agent", "claude"]);
    assert_eq!(demanded.code, Some(0), "{demanded}");
    let shown = world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(status["tasks"][0]["attempt_count"], 1, "the file was missing once: {status}");
    let prompt = world.run(&["prompt", "A", "--session=S"]);
    assert!(prompt.stdout.contains("deliver in the folder for artifacts: plan.md\n"), "{prompt}");
}

#[test]
fn exit_of_a_plain_command_decides_about_planned_files() {
    let world = with_plan_file();
    let plain = run(&world, &["--agent-command", "true"]);
    assert_eq!(plain.code, Some(0), "{plain}");
}

#[test]
fn agent_gets_its_own_arguments_and_its_report_counts() {
    let mut world = world(&[("A", "")]);
    for (name, value) in [("ANTHROPIC_API_KEY", "sk"), ("OPENAI_API_KEY", "so"), ("CLAUDECODE", "1")] {
        world.env(name, value);
    }
    let report = r#""structured_output":{"status":"completed","findings":"by schema","error":null,"data":{"key_findings":["k"],"critique":null}}"#;
    let keeps = "printf '%s\\n' \"$@\" >\"$TEAM_EXECUTOR_ARTIFACTS/args\"; env >\"$TEAM_EXECUTOR_ARTIFACTS/env\"\n\
                 tee \"$TEAM_EXECUTOR_ARTIFACTS/stdin\" </dev/stdin >/dev/null";
    fake(&world, CLAUDE, &format!("{keeps}\n{}", claude_says(&format!("{CLAUDE_OK},{report}"))));
    let run = run(&world, &["--agent", "claude"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["by schema"]);
    let at = folder(&world);
    let left = |name: &str| read(at.join("artifacts/A").join(name));
    let (args, env) = (left("args"), left("env"));
    assert!(args.starts_with("-p\n--output-format\nstream-json\n") && !args.contains("dangerously"), "{args}");
    let (stdin, paths) =
        (left("stdin"), format!("TEAM_EXECUTOR_ARTIFACTS is the folder {}/artifacts/A\n", at.display()));
    assert!(stdin.starts_with("## Role Assignment\n") && stdin.contains(&paths), "{stdin}");
    assert!(!args.contains("TEAM_EXECUTOR_ARTIFACTS is the folder"), "a next task would believe that: {args}");
    assert!(
        env.contains("\nANTHROPIC_API_KEY=sk\n") && !env.contains("OPENAI") && !env.contains("CLAUDECODE="),
        "{env}"
    );
    let kept = json(at.join("agents/A.1.result.json"));
    let expected = r#"{"status":"completed","findings":"by schema","data":{"key_findings":["k"]}}"#;
    assert_eq!(kept, serde_json::from_str::<Value>(expected).expect("JSON"), "for all who look there");
}

#[test]
fn each_role_has_its_agent_and_what_they_used_is_summed() {
    let world = world(&[("A", ""), ("B", "A"), ("C", "B")]);
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    fake(&world, CODEX, CODEX_OK);
    fake(&world, GEMINI, GEMINI_OK);
    world.write(
        USER,
        "[defaults]\nagent = \"claude\"\n[tasks.B]\nagent = \"fast\"\n[tasks.C]\nagent = \"gemini\"\n\
         [agents.fast]\nkind = \"codex\"\nmodel = \"mini\"\npermissions = \"read\"\nargs = [\"-c\", \"x=1\"]\n",
    );
    let run = run(&world, &["--format", "json"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["All done.", "Codex did it.", "Gemini did it."]);
    let status = world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let ended: Value = serde_json::from_str(run.stdout.lines().last().expect("an event")).expect("JSON");
    let usage = &status["usage"];
    assert_eq!(ended["usage"], *usage);
    let total = r#"{"attempts":3,"tokens_in":2000,"tokens_cached":300,"tokens_out":46,"cost_usd":0.25,"turns":4,
        "estimated":false,"attempts_unknown":0,"attempts_unpriced":2}"#;
    assert_eq!(usage["total"], serde_json::from_str::<Value>(total).expect("JSON"));
    assert_eq!((&usage["roles"]["worker"], &usage["tasks"]["B"]["tokens_in"]), (&usage["total"], &500.into()));
    let attempt = |nth: usize, key: &str| usage["attempts"][nth][key].clone();
    assert_eq!([attempt(0, "model"), attempt(1, "model"), attempt(2, "model")], ["opus", "mini", "pro"]);
    assert_eq!([attempt(0, "session_id"), attempt(1, "agent")], ["c-1", "fast"]);
    let words = "2000 tokens in (300 cached), 46 out, $0.25 (2 of 3 attempts without a price)";
    let shown = world.run(&["status", "--session=S"]);
    assert!(shown.stdout.contains(&format!("Usage: {words}\n  worker: {words}\n")), "{shown}");
    assert!(read(folder(&world).join("context.md")).contains(&format!("- usage: {words}\n")));
}

/// R: A-01
#[test]
fn an_agent_of_any_kind_is_chosen_for_a_role_or_a_task() {
    let world = world(&[("A", ""), ("B", ""), ("C", ""), ("D", ""), ("E", ""), ("F", "")]);
    let table = read(world.dir().join("S/tasks.csv"));
    world.write("S/tasks.csv", table.replacen("A,,Do it,,,csv-wave,worker", "A,,Do it,,,csv-wave,lead", 1));
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    fake(&world, CODEX, CODEX_OK);
    fake(&world, GEMINI, GEMINI_OK);
    let speaks = ACP.replace("LOADS", "true").replace("PROMPTED", "done_with 'Any agent did it.'");
    fake(&world, ("any", "1.2.3"), &speaks);
    world.write(
        USER,
        "[defaults]\nagent = \"own\"\n[agents.own]\ncommand = \"echo A command did it.\"\n\
         [agents.any]\nkind = \"acp\"\nprogram = \"any\"\n[roles.lead]\nagent = \"claude\"\n\
         [tasks.B]\nagent = \"codex\"\n[tasks.C]\nagent = \"gemini\"\n[tasks.D]\nagent = \"any\"\n\
         [tasks.E]\nagent = \"rehearsal\"\n\
         [agents.rehearsal]\nkind = \"rehearsal\"\nspeed = 100000\n",
    );
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    let findings = column(&world, "findings");
    assert_eq!(findings[..4], ["All done.", "Codex did it.", "Gemini did it.", "Any agent did it."]);
    assert!(findings[4].contains("rehears"), "{findings:?}");
    assert_eq!(findings[5], "A command did it.");
}

/// Every exit status here is 0 or says nothing, and none of it is success.
#[test]
fn the_exit_status_of_an_agent_does_not_decide() {
    let world = world(&[("denied", ""), ("ended", ""), ("fatal", ""), ("perhaps", ""), ("silent", ""), ("thrice", "")]);
    let error = r#""subtype":"success","is_error":true,"api_error_status":400,"result":"API Error: 400 no","usage":{}"#;
    let denied = CLAUDE_OK.replace("\"num_turns\"", "\"permission_denials\":[{\"tool_name\":\"Write\"}],\"num_turns\"");
    let denied = claude_says(&denied).replacen("\"permission_denials\":[],", "", 1);
    let silent = CLAUDE_SAID.replace("All done.", "");
    let perhaps = CLAUDE_SAID.replace("All done.", r#"{\"status\":\"perhaps\"}"#);
    let body = format!(
        "case $TEAM_EXECUTOR_TASK in\ndenied) {denied} ;;\n\
         ended) echo '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"c-2\"}}'; exit 0 ;;\n\
         fatal) {}; exit 0 ;;\nperhaps) {} ;;\nsilent) {} ;;\nthrice) {}; exit 3 ;;\nesac",
        claude_says(error),
        claude_says(&perhaps),
        claude_says(&silent),
        claude_says(CLAUDE_SAID)
    );
    fake(&world, CLAUDE, &body);
    let run = run(&world, &["--agent", "claude", "--retries", "0"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(
        column(&world, "error"),
        [
            "it may not use Write; `permissions` of the agent decides that",
            "it ended without reporting a result (exit code 0)",
            "API Error: 400 no",
            "its report cannot be used: `status` must be `completed` or `failed`",
            "it ended without a report, and said: nothing",
            "it ended without a report, and said: All done.",
        ]
    );
}

#[test]
fn agent_without_login_stops_the_run_with_help() {
    let world = world(&[("A", ""), ("B", ""), ("C", "B")]);
    fake(&world, CODEX, "cat >/dev/null; echo 'Error: not logged in' >&2; echo x >>tries; exit 1");
    let again = run(&world, &["--agent", "codex", "-c", "1"]);
    assert_eq!(again.code, Some(3), "{again}");
    let how = "(log in with `codex login`, or set OPENAI_API_KEY)";
    assert!(rows(&world)["B"]["error"].ends_with(how), "{again}");
    assert!(again.stdout.lines().any(|line| line.starts_with("Stopped  ") && line.ends_with(how)), "{again}");
    assert_eq!(read(world.dir().join("tries")), "x\n", "A would only fail too");
    fake(&world, CODEX, CODEX_OK);
    let done = run(&world, &["--agent", "codex"]);
    assert_eq!((done.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 3]), "{done}");
}

/// The first agent is not there, the second is not logged in, the third has no quota, and the fourth does it.
#[test]
fn first_usable_agent_does_a_task_and_is_recorded() {
    let world = world(&[("A", ""), ("B", "")]);
    let refused = r#""subtype":"success","is_error":true,"api_error_status":429,"result":"Rate limit reached, try again in 60s","usage":{}"#;
    fake(&world, CLAUDE, &claude_says(refused));
    fake(&world, CODEX, "cat >/dev/null; echo 'Error: not logged in' >&2; exit 1");
    fake(&world, GEMINI, GEMINI_OK);
    let wanted = "[defaults]\nretries = 0\nconcurrency = 1\nagents = [\"gone\", \"codex\", \"claude\", \"gemini\"]\n";
    world.write(USER, format!("{wanted}[agents.gone]\nkind = \"codex\"\nprogram = \"no-such-codex\"\n"));
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["Gemini did it."; 2]);
    let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing =
        "warning: the program 'no-such-codex' is not found in PATH (agent 'gone'), so the next agent is used; install";
    assert!(told.contains(missing), "{run}");
    for line in
        ["A (worker)", "A (worker, attempt 2, by claude)", "A (worker, attempt 3, by gemini)", "B (worker, by gemini)"]
    {
        assert!(run.stderr.contains(&format!("▶ {line}\n")), "{line}: {run}");
    }
    let status = world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let attempts = status["usage"]["attempts"].as_array().expect("a list");
    let by: Vec<_> = attempts.iter().map(|one| (one["attempt"].as_u64(), one["agent"].as_str())).collect();
    assert_eq!(by, [(Some(2), Some("claude")), (Some(3), Some("gemini")), (Some(1), Some("gemini"))]);
    world.write(USER, "[roles.worker]\nagent = \"claude\"\nagents = [\"stranger\"]\n");
    let wrong = world.run(&["config"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("[roles.worker] has both 'agent' and 'agents'"), "{wrong}");
}

/// R: A-06
#[test]
fn quota_holds_its_agents_tasks_and_costs_no_attempt() {
    let world = world(&[("A", ""), ("B", ""), ("C", "")]);
    let refused = r#""subtype":"success","is_error":true,"api_error_status":429,"result":"Rate limit reached, try again in 2s","usage":{}"#;
    let stamp = "echo $TEAM_EXECUTOR_TASK $(date +%s%3N) >>order";
    let body = format!(
        "{stamp}\nif mkdir refused 2>/dev/null; then\n{}\nexit 1\nfi\n{}",
        claude_says(refused),
        claude_says(CLAUDE_OK)
    );
    fake(&world, CLAUDE, &body);
    world.write(
        USER,
        format!(
            "[agents.other]\ncommand = \"{stamp}\"\n[tasks.C]\nagent = \"other\"\n[defaults]\nagent = \"claude\"\n"
        ),
    );
    let run = run(&world, &["--retries", "0", "-c", "1"]);
    assert_eq!(run.code, Some(0), "{run}");
    let order = read(world.dir().join("order"));
    let order: Vec<(&str, u64)> = order
        .lines()
        .filter_map(|line| line.split_once(' ').and_then(|(task, at)| Some((task, at.parse().ok()?))))
        .collect();
    let tasks: Vec<&str> = order.iter().map(|(task, _)| *task).collect();
    assert_eq!(tasks, ["A", "C", "A", "B"], "the other agent goes on meanwhile");
    assert!(order[2].1 >= order[0].1 + 2000, "{order:?}");
    assert!(run.stderr.contains("No quota for claude: its tasks wait "), "{run}");
    assert_eq!(column(&world, "status"), ["completed"; 3]);
}

/// R: A-02
#[test]
fn missing_or_old_agent_is_refused_with_the_fix() {
    let world = world(&[("A", "")]);
    fake(&world, ("claude", "1.0.9 (Claude Code)"), "touch started");
    fake(&world, ("gemini", "usage: gemini FILE"), "touch started");
    world.write(USER, "[agents.none]\nkind = \"codex\"\nprogram = \"no-such-codex\"\n");
    let before = world.tree();
    for (agent, error, help) in [
        (
            "claude",
            "bin/claude is version 1.0.9, but 2.1.0 or newer is required (agent 'claude')",
            "npm i -g @anthropic-ai/claude-code",
        ),
        (
            "gemini",
            "bin/gemini does not say its version: is it the right program? (agent",
            "npm i -g @google/gemini-cli",
        ),
        ("none", "the program 'no-such-codex' is not found in PATH (agent 'none')", "npm i -g @openai/codex"),
    ] {
        let run = run(&world, &["--agent", agent]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(error) && run.stderr.contains(", so nothing was started\n"), "{run}");
        assert!(run.stderr.contains("\nhelp: install ") && run.stderr.contains(help), "{run}");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn agents_are_listed_and_tested() {
    let world = world(&[("A", "")]);
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    fake(&world, CODEX, "echo 'no account' >&2; exit 1");
    fake(&world, ("gemini", "0.1.0"), "");
    world.write(USER, "[agents.own]\ncommand = \"sh -c true\"\n[agents.gone]\ncommand = \"no-such-program\"\n");
    insta::assert_snapshot!(world.run(&["agents"]));
    let tested = world.run(&["agents", "--test", "--format", "json"]);
    assert_eq!(tested.code, Some(1), "{tested}");
    let tested: Value = serde_json::from_str(&tested.stdout).expect("JSON");
    let agent =
        |name: &str| tested["agents"].as_array().expect("a list").iter().find(|one| one["name"] == name).expect(name);
    assert!(agent("claude")["answered_ms"].is_u64() && agent("claude")["version"] == "2.1.325", "{tested}");
    let why = "it ended without reporting a result (exit code 1): no account";
    assert_eq!((&agent("codex")["why"], &agent("codex")["usable"]), (&why.into(), &true.into()));
    assert_eq!((&agent("gemini")["usable"], &agent("gone")["usable"]), (&false.into(), &false.into()));
    assert_eq!(world.run(&["agents", "claude", "--test"]).code, Some(0));
    let unknown = world.run(&["agents", "claud"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("did you mean `claude`?"), "{unknown}");
}

/// Each of the two says its version only when the other one is being asked.
#[test]
fn agents_are_asked_side_by_side() {
    let world = world(&[("A", ""), ("B", "")]);
    for (agent, first, second) in [(CLAUDE, "echo >one", "cat two"), (CODEX, "cat one", "echo >two")] {
        fake(&world, agent, "");
        let path = world.dir().join("bin").join(agent.0);
        let waits = format!("then cd \"${{0%/*}}\" && {{ {first}; {second}; }} >/dev/null 2>&1; echo");
        std::fs::write(&path, read(path.clone()).replacen("then echo", &waits, 1)).expect("written");
    }
    let pipes =
        std::process::Command::new("mkfifo").args(["one", "two"]).current_dir(world.dir().join("bin")).limited_status();
    assert!(pipes.success());
    let listed = world.run(&["agents", "--format", "json", "claude", "codex"]);
    let listing: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(
        [&listing["agents"][0]["version"], &listing["agents"][1]["version"]],
        ["2.1.325", "0.166.0"],
        "{listed}"
    );
}

#[test]
fn untrusted_program_is_not_asked_for_its_version() {
    let world = world(&[("A", "")]);
    fake(&world, ("trap", "2.1.325"), &claude_says(CLAUDE_OK));
    let script = read(world.dir().join("bin/trap")).replace("#!/bin/sh\n", "#!/bin/sh\necho started >>asked\n");
    world.write("bin/trap", script);
    world.write(
        "team-executor.toml",
        "[defaults]\nagent = \"own\"\n[agents.own]\nkind = \"claude\"\nprogram = \"trap\"\n",
    );
    let refused = run(&world, &[]);
    assert!(refused.code == Some(2) && refused.stderr.contains("chooses what is run: trap (claude"), "{refused}");
    let listed = world.run(&["agents", "own", "--test"]);
    assert!(listed.code == Some(1) && listed.stdout.contains("help: look at team-executor.toml; then add"), "{listed}");
    assert!(!world.dir().join("asked").exists());
    assert_eq!(run(&world, &["--trust-project"]).code, Some(0));
    assert_eq!(read(world.dir().join("asked")), "started\nstarted\n");
    assert_eq!(world.run(&["agents", "own", "--test", "--trust-project"]).code, Some(0));
}

#[test]
fn error_about_an_agent_has_its_place() {
    let world = world(&[("A", "")]);
    world.write(
        USER,
        "[agents.a]\nkind = \"claude\"\npermissions = \"all\"\nspeed = 3\nmodel = \"\"\n\
         [agents.b]\ncommand = \"x\"\nmodel = \"opus\"\n[agents.c]\nkind = \"claud\"\n",
    );
    insta::assert_snapshot!(run(&world, &[]));
}
