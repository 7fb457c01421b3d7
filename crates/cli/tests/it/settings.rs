//! Settings of coding agents by agent, role and task: model, effort, servers of tools, instructions.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use team_executor_testkit::{Run, World};

use crate::coding_agents::{CLAUDE, CLAUDE_OK, CODEX, CODEX_OK, GEMINI, GEMINI_OK, USER, claude_says, fake, world};
use crate::conversations::ACP;
use crate::run::{folder, read, rows};

/// Agents that keep their arguments, one a line, with the lines of an argument joined.
const KEEPS: &str = "for arg in \"$@\"; do printf '%s\\n' \"$(printf %s \"$arg\" | tr '\\n' ' ')\"; done >\"$TEAM_EXECUTOR_ARTIFACTS/args\"";

fn three_agents(tasks: &[(&str, &str)], config: &str) -> (World, Run) {
    let world = world(tasks);
    fake(&world, CLAUDE, &format!("{KEEPS}\n{}", claude_says(CLAUDE_OK)));
    fake(&world, CODEX, &format!("{KEEPS}\n{CODEX_OK}"));
    fake(&world, GEMINI, &format!("{KEEPS}\n{GEMINI_OK}"));
    world.write(USER, config);
    let run = world.run(&["run", "--session=S", "-y", "--retries=0"]);
    (world, run)
}

fn args(world: &World, task: &str) -> Vec<String> {
    let text = read(folder(world).join("artifacts").join(task).join("args"));
    text.lines().map(str::to_owned).collect()
}

/// The argument behind another one.
fn behind(args: &[String], flag: &str) -> Option<String> {
    args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1)).cloned()
}

/// R: A-01
#[test]
fn model_and_effort_are_set_by_agent_role_and_task() {
    let config = "[agents.claude]\nkind = \"claude\"\nmodel = \"haiku\"\neffort = \"low\"\n\
                  [roles.worker]\nagent = \"claude\"\nmodel = \"opus\"\n\
                  [tasks.B]\neffort = \"high\"\n\
                  [tasks.C]\nagent = \"codex\"\nmodel = \"gpt\"\neffort = \"xhigh\"\n\
                  [tasks.D]\nagent = \"gemini\"\nmodel = \"pro\"\n";
    let (world, run) = three_agents(&[("A", ""), ("B", ""), ("C", ""), ("D", "")], config);
    assert_eq!(run.code, Some(0), "{run}");
    let of = |task, flag| behind(&args(&world, task), flag);
    assert_eq!((of("A", "--model"), of("A", "--effort")), (Some("opus".into()), Some("low".into())), "{run}");
    assert_eq!((of("B", "--model"), of("B", "--effort")), (Some("opus".into()), Some("high".into())), "{run}");
    let codex = args(&world, "C");
    assert_eq!(behind(&codex, "--model"), Some("gpt".into()), "{codex:?}");
    assert!(codex.contains(&"model_reasoning_effort=\"xhigh\"".to_owned()), "{codex:?}");
    assert_eq!(of("D", "-m"), Some("pro".into()), "{run}");
}

/// R: A-01
#[test]
fn setting_that_an_agent_lacks_is_reported_with_its_place() {
    let (_world, run) = three_agents(&[("A", "")], "[agents.g]\nkind = \"gemini\"\neffort = \"high\"\n");
    assert!(run.code == Some(2) && run.stderr.contains("is of a kind that has no 'effort'"), "{run}");
    let (_world, run) = three_agents(&[("A", "")], "[roles.worker]\nagent = \"gemini\"\neffort = \"high\"\n");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains(":3: agent 'gemini' is a gemini, which has no effort: 'high' is"), "{run}");
    let command = "[agents.c]\ncommand = \"true\"\n[roles.worker]\nagent = \"c\"\nmodel = \"opus\"\n";
    let (_world, run) = three_agents(&[("A", "")], command);
    assert!(run.stderr.contains(":5: agent 'c' is a command, which has no 'model'"), "{run}");
}

/// R: A-08
#[test]
fn servers_of_a_role_and_of_mcp_json_stand_beside_ours() {
    let config = "[mcp_servers.docs]\ncommand = \"docs-server\"\nargs = [\"-x\"]\n[mcp_servers.web]\nurl = \"http://127.0.0.1:1/\"\n\
                  [roles.worker]\nagent = \"claude\"\nmcp_servers = [\"docs\", \"web\"]\n\
                  [tasks.B]\nagent = \"codex\"\nmcp_servers = [\"docs\"]\n\
                  [tasks.C]\nuse_mcp_json = true\nmcp_servers = []\n";
    let world = world(&[("A", ""), ("B", ""), ("C", "")]);
    fake(&world, CLAUDE, &format!("{KEEPS}\n{}", claude_says(CLAUDE_OK)));
    fake(&world, CODEX, &format!("{KEEPS}\n{CODEX_OK}"));
    world.write(USER, config);
    world.write(".mcp.json", json!({"mcpServers": {"tickets": {"command": "tickets", "args": ["serve"]}}}).to_string());
    let untrusted = world.run(&["run", "--session=S", "-y"]);
    assert!(untrusted.code == Some(2), "{untrusted}");
    let why = ".mcp.json:1 came with the project and chooses what is run: tickets serve";
    assert!(untrusted.stderr.contains(why), "{untrusted}");
    let run = world.run(&["run", "--session=S", "-y", "--trust-project"]);
    assert_eq!(run.code, Some(0), "{run}");
    let servers = |task: &str| -> Vec<String> {
        let config = behind(&args(&world, task), "--mcp-config").expect("servers");
        let config: Value = serde_json::from_str(&config).expect("JSON");
        config["mcpServers"].as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(servers("A"), ["docs", "executor", "web"], "{run}");
    assert_eq!(servers("C"), ["executor", "tickets"], "{run}");
    assert!(args(&world, "B").contains(&"mcp_servers.docs.command=\"docs-server\"".to_owned()), "{run}");
    world.write(
        USER,
        "[roles.worker]\nagent = \"claude\"\nmcp_servers = [\"doc\"]\n[mcp_servers.docs]\ncommand = \"d\"\n",
    );
    let refused = world.run(&["run", "--session=S", "-y"]);
    let told = "there is no MCP server 'doc'";
    assert!(refused.stderr.contains(told) && refused.stderr.contains("did you mean `docs`?"), "{refused}");
}

/// R: A-01
#[test]
fn instructions_in_args_are_added_to_ours() {
    let config = "[agents.claude]\nkind = \"claude\"\nargs = [\"--append-system-prompt\", \"Be brief.\", \"--add-dir\", \"/x\"]\n\
                  [agents.codex]\nkind = \"codex\"\nargs = [\"-c\", \"developer_instructions=\\\"Be kind.\\\"\"]\n\
                  [roles.worker]\nagent = \"claude\"\n[tasks.B]\nagent = \"codex\"\n";
    let (world, run) = three_agents(&[("A", ""), ("B", "")], config);
    assert_eq!(run.code, Some(0), "{run}");
    let claude = args(&world, "A");
    assert_eq!(claude.iter().filter(|arg| *arg == "--append-system-prompt").count(), 1, "{claude:?}");
    let prompt = behind(&claude, "--append-system-prompt").expect("a prompt");
    assert!(prompt.contains("You must report") && prompt.ends_with("Be brief."), "{prompt}");
    assert_eq!(behind(&claude, "--add-dir"), Some("/x".into()), "{claude:?}");
    let codex = args(&world, "B");
    let told: Vec<_> = codex.iter().filter(|arg| arg.starts_with("developer_instructions=")).collect();
    assert!(told.len() == 1 && told[0].contains("You must report") && told[0].contains("Be kind."), "{codex:?}");
}

/// An agent of the Agent Client Protocol that offers two models.
fn speaking(models: &str, settings: &str) -> (World, Run) {
    let world = world(&[("A", "")]);
    let offer = format!(r#""sessionId":"s-1","models":{{"availableModels":[{models}]}}"#);
    let agent = ACP
        .replace("PROMPTED", "done_with ok")
        .replace("LOADS", "true")
        .replace(r#""sessionId":"s-1"}}'"#, &format!("{offer}}}}}'"));
    let answers = "*'\"method\":\"session/set_model\"'*) put '{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":{}}' ;;";
    let path = world.write(
        "agent",
        agent.replacen(
            "  *'\"method\":\"session/cancel\"'",
            &format!("  {answers}\n  *'\"method\":\"session/cancel\"'"),
            1,
        ),
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let agent = format!("[agents.fake]\nkind = \"acp\"\nprogram = {:?}\n", path.display().to_string());
    world.write(USER, format!("{agent}[roles.worker]\nagent = \"fake\"\n{settings}\n"));
    let run = world.run(&["run", "--session=S", "-y", "--retries=0"]);
    (world, run)
}

/// R: A-01
#[test]
fn model_of_an_acp_agent_is_set_by_its_own_method() {
    let models = r#"{"modelId":"small","name":"Small"},{"modelId":"big","name":"Big"}"#;
    let (world, run) = speaking(models, "model = \"big\"");
    assert_eq!(run.code, Some(0), "{run}");
    let heard = read(world.dir().join("heard"));
    let set = heard.lines().position(|line| line.contains("session/set_model") && line.contains("\"modelId\":\"big\""));
    let prompted = heard.lines().position(|line| line.contains("session/prompt"));
    assert!(set.is_some() && set < prompted, "{heard}");
    let (world, run) = speaking(models, "model = \"huge\"");
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(rows(&world)["A"]["error"], "the agent has no model `huge`; it has: small, big", "{run}");
    let (world, run) = speaking(models, "effort = \"max\"");
    assert_eq!(run.code, Some(1), "{run}");
    assert!(rows(&world)["A"]["error"].contains("offers no effort"), "{run}");
}
