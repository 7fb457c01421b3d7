//! Real agents as clients: each is an assistant that gives a table to workers with one call of a tool.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;
use team_executor_testkit::ScriptedModel;
use team_executor_testkit::limited::*;

use super::{installed, script};
use crate::csv::{REPORTS, rows, table};

#[test]
fn claude_codex_and_gemini_give_a_table_to_workers() {
    for name in ["claude", "codex", "gemini"] {
        let Some(agent) = installed(name) else { continue };
        let world = table(5);
        fs::create_dir(world.dir().join("scripts")).expect("a folder for scripts");
        let mut model = ScriptedModel::start(&world.dir().join("scripts"));
        let wanted = json!({"csv_path": "people.csv", "instruction": "Greet {name}", "id_column": "id"});
        let call = json!({"name": "spawn_agents_on_csv", "arguments": wanted});
        script(&world, "assistant", &[json!({"do": {"tool": call}}), json!({"do": {"text": "Done."}})]);
        let home = world.dir().with_file_name("home-of-assistant");
        let recipe = agent.recipe(&model.address("assistant"), &home, model.is_apart());
        let server = ["mcp", "--serve", "--agent-command", REPORTS];
        let program = env!("CARGO_BIN_EXE_team-executor");
        let more = match name {
            "claude" => {
                let servers = json!({"mcpServers": {"team": {"command": program, "args": server, "alwaysLoad": true}}});
                vec!["mcp__team".to_owned(), "--mcp-config".to_owned(), servers.to_string()]
            }
            "codex" => {
                let settings = [
                    ("command", json!(program)),
                    ("args", json!(server)),
                    ("default_tools_approval_mode", json!("approve")),
                ];
                let words = settings.map(|(key, value)| ["-c".to_owned(), format!("mcp_servers.team.{key}={value}")]);
                words.concat()
            }
            _ => {
                let path = home.join(".gemini/settings.json");
                let text = fs::read_to_string(&path).expect("settings");
                let mut settings: serde_json::Value = serde_json::from_str(&text).expect("settings");
                settings["mcpServers"] = json!({"team": {"command": program, "args": server, "trust": true}});
                fs::write(&path, settings.to_string()).expect("settings are written");
                Vec::new()
            }
        };
        let words = [model.network(), recipe.command, more].concat();
        let mut command = Command::new(&words[0]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(&words[1..]).current_dir(world.dir()).env_clear().env("PATH", path).envs(recipe.env);
        let prompt = world.write("prompt.md", "Greet everybody.");
        let output =
            command.stdin(fs::File::open(prompt).expect("a prompt")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = output.spawn().expect("it starts").limited_output();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(rows(&world).iter().all(|row| row["status"] == "completed"), "{name}: {said}");
        assert_eq!(model.asked().turn, 0, "{name}");
    }
}

/// R: A-08
#[test]
fn recipe_of_the_docs_for_codex_as_a_client_works() {
    let Some(agent) = installed("codex") else { return };
    let world = table(2);
    fs::create_dir(world.dir().join("scripts")).expect("a folder for scripts");
    let model = ScriptedModel::start(&world.dir().join("scripts"));
    let wanted = json!({"csv_path": "people.csv", "instruction": "Greet {name}", "id_column": "id"});
    let call = json!({"name": "spawn_agents_on_csv", "arguments": wanted});
    script(&world, "assistant", &[json!({"do": {"tool": call}}), json!({"do": {"text": "Done."}})]);
    let home = world.dir().with_file_name("home-of-assistant");
    let recipe = agent.recipe(&model.address("assistant"), &home, model.is_apart());
    let docs = include_str!("../../../../../docs/reference/mcp.md");
    let block = docs.split("```toml\n").find(|block| block.starts_with("[mcp_servers.team]")).expect("a recipe");
    let block = block.split("```").next().expect("its end");
    let program = env!("CARGO_BIN_EXE_team-executor");
    let block = block.replace("\"team-executor\"", &format!("{program:?}"));
    let block = block.replace("\"--agent\", \"codex\"", &format!("\"--agent-command\", {REPORTS:?}"));
    let path = home.join(".codex/config.toml");
    let config = fs::read_to_string(&path).expect("its configuration");
    fs::write(&path, format!("{config}{block}")).expect("its configuration is written");
    let words = [model.network(), recipe.command].concat();
    let mut command = Command::new(&words[0]);
    let found = std::env::var("PATH").unwrap_or_default();
    command.args(&words[1..]).current_dir(world.dir()).env_clear().env("PATH", found).envs(recipe.env);
    let prompt = world.write("prompt.md", "Greet everybody.");
    let output = command.stdin(fs::File::open(prompt).expect("a prompt")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = output.spawn().expect("it starts").limited_output();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let all = rows(&world);
    assert!(all.len() == 2 && all.iter().all(|row| row["status"] == "completed"), "{said}");
}
