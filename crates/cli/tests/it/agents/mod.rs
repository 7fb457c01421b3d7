//! Real coding agents as workers, against a model that follows a script. `cargo xtask agents` installs them; a test whose
//! agents are not there says so and does nothing.

mod alone;
mod asks;
mod assistants;
mod budget;
mod decoded;
mod reports;
pub(crate) mod resident;
mod rows;
mod session;
mod tools;
mod trouble;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use team_executor_testkit::{RealAgent, ScriptedModel, World, lacks};

/// How an agent is a worker.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// As any other program, which reports by a file.
    Command,
    /// As one that the program knows, which reports in its own way.
    Known,
    /// The same, in a conversation.
    Conversing,
    /// As any agent of the Agent Client Protocol.
    Acp,
}

/// A task, the role that does it after the one before, the agent of that role, and the file that it delivers.
pub(crate) struct Part {
    pub(crate) task: &'static str,
    pub(crate) role: &'static str,
    pub(crate) agent: &'static str,
    pub(crate) file: &'static str,
}

/// A world with a session of these tasks in `S`, one after the other, and the model of their agents. None if one of the
/// agents is not installed, which is said.
pub(crate) fn team(parts: &[Part], kind: Kind) -> Option<(World, ScriptedModel)> {
    let agents: Vec<_> = parts.iter().map(|part| installed(part.agent)).collect::<Option<_>>()?;
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    fs::create_dir(world.dir().join("scripts")).expect("a folder for scripts");
    let model = ScriptedModel::start(&world.dir().join("scripts"));
    world.through(model.network());
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    let mut config = "[defaults]\nretries = 0\n[defaults.limits]\ntotal = \"2m\"\n".to_owned();
    let mut before = "";
    for (Part { task, role, file, .. }, agent) in parts.iter().zip(agents) {
        writeln!(table, "{task},,Do it,{before},{before},csv-wave,{role},,pending,,").expect("a string");
        script(&world, role, &turns(kind, task, file));
        let home = world.dir().with_file_name(format!("home-of-{role}"));
        config += &section(role, &agent, kind, &model.address(role), &home, model.is_apart());
        before = task;
    }
    world.write("S/tasks.csv", table);
    world.write("team-executor.toml", config);
    Some((world, model))
}

/// How a run of `S` is started or continued.
pub(crate) const RUN: [&str; 4] = ["run", "--session=S", "-y", "--trust-project"];

/// Writes what the model does in a role.
pub(crate) fn script(world: &World, role: &str, turns: &[Value]) {
    world.write(&format!("scripts/{role}.json"), json!({ "turns": turns }).to_string());
}

/// The model has a file written and reports; each reply costs the same.
pub(crate) fn turns(kind: Kind, task: &str, file: &str) -> Vec<Value> {
    let content = format!("# {file}\n");
    let mut turns = match kind {
        Kind::Command => {
            let result = json!({"status": "completed", "findings": found(task), "artifacts_produced": [file]});
            let report = format!("printf %s '{result}' > \"$TEAM_EXECUTOR_RESULT\"");
            let write = json!({"path": file, "content": content});
            vec![json!({"do": {"write": write}}), json!({"do": {"shell": report}}), json!({"do": {"text": "Done."}})]
        }
        Kind::Known | Kind::Conversing | Kind::Acp => {
            let below = "TEAM_EXECUTOR_ARTIFACTS is the folder ";
            let write = json!({"path": file, "content": content, "below": below});
            let data = json!({"key_findings": [], "decisions": [], "files_modified": [], "verdict": null, "rejects": [],
                              "critique": null, "complexity": null, "capability_gap": null});
            let report = json!({"status": "completed", "findings": found(task), "error": null,
                                "supervision_verdict": null, "quality_score": null, "result": null, "stop": null, "data": data});
            vec![json!({"do": {"write": write}}), json!({"do": {"json": report}})]
        }
    };
    turns.iter_mut().for_each(|turn| turn["usage"] = json!({"input": 1000, "cached": 400, "output": 7}));
    turns
}

/// What a task finds.
pub(crate) fn found(task: &str) -> String {
    format!("what {task} found")
}

/// The agent of a role in the configuration file.
fn section(role: &str, agent: &RealAgent, kind: Kind, address: &str, home: &Path, may_sandbox: bool) -> String {
    let recipe = agent.recipe(address, home, may_sandbox);
    let env: Vec<_> = recipe.env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let worker = match kind {
        Kind::Command => format!("kind = \"command\"\ncommand = {:?}", recipe.command),
        Kind::Acp => {
            let args = match agent.name() {
                "opencode" => "args = [\"acp\"]",
                "qwen" => "args = [\"--acp\", \"--auth-type\", \"anthropic\"]",
                _ => "args = [\"--acp\", \"-m\", \"gemini-2.5-pro\"]",
            };
            format!("kind = \"acp\"\nprogram = {:?}\n{args}", recipe.command[0])
        }
        Kind::Known | Kind::Conversing => {
            let model = if agent.name() == "gemini" { "model = \"gemini-2.5-pro\"\n" } else { "" };
            let permissions = if may_sandbox || agent.name() != "codex" { "edit" } else { "full" };
            let (name, program) = (agent.name(), &recipe.command[0]);
            let converse = matches!(kind, Kind::Conversing);
            format!(
                "kind = {name:?}\nprogram = {program:?}\n{model}permissions = {permissions:?}\nconverse = {converse}"
            )
        }
    };
    format!("[roles.{role}]\nagent = \"{role}\"\n[agents.{role}]\n{worker}\nenv = {{ {} }}\n", env.join(", "))
}

/// An agent that is installed. If it is not, that is said.
pub(crate) fn installed(name: &'static str) -> Option<RealAgent> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents");
    let found = RealAgent::find(name, &folder);
    if found.is_none() {
        let who = std::thread::current();
        lacks(name, who.name().unwrap_or("a test"));
    }
    found
}
