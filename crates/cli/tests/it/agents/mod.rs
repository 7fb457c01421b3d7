//! Real coding agents as workers, against a model that follows a script. `cargo xtask agents` installs them; a test whose
//! agents are not there says so and does nothing.

mod alone;
mod session;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use team_executor_testkit::{RealAgent, ScriptedModel, World};

/// A task, the role that does it after the one before, the agent of that role, and the file that it delivers.
pub(crate) struct Part {
    pub(crate) task: &'static str,
    pub(crate) role: &'static str,
    pub(crate) agent: &'static str,
    pub(crate) file: &'static str,
}

/// A world with a session of these tasks in `S`, one after the other, and the model of their agents. None if one of the
/// agents is not installed, which is said.
pub(crate) fn team(parts: &[Part]) -> Option<(World, ScriptedModel)> {
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
        script(&world, role, &[write(file), report(task, before, file), json!({"do": {"text": "That is all."}})]);
        let home = world.dir().with_file_name(format!("home-of-{role}"));
        config += &section(role, &agent, &model.address(role), &home, model.is_apart());
        before = task;
    }
    world.write("S/tasks.csv", table);
    world.write("team-executor.toml", config);
    Some((world, model))
}

/// How a run of `S` is started or continued.
pub(crate) const RUN: [&str; 4] = ["run", "--session=S", "-y", "--trust-project"];

/// Writes what the model does in a role.
pub(crate) fn script(world: &World, role: &str, turns: &[serde_json::Value]) {
    world.write(&format!("scripts/{role}.json"), json!({ "turns": turns }).to_string());
}

/// The model has a file written.
pub(crate) fn write(file: &str) -> serde_json::Value {
    json!({"do": {"write": {"path": file, "content": format!("# {file}\n")}}})
}

/// The model has the result written, if the prompt tells what the task before found.
pub(crate) fn report(task: &str, before: &str, file: &str) -> serde_json::Value {
    let result = json!({"status": "completed", "findings": found(task), "artifacts_produced": [file]});
    let knows = if before.is_empty() {
        "true".to_owned()
    } else {
        format!("grep '{}' \"$TEAM_EXECUTOR_PROMPT\"", found(before))
    };
    json!({"do": {"shell": format!("{knows} && printf %s '{result}' > \"$TEAM_EXECUTOR_RESULT\"")}})
}

/// What a task finds.
pub(crate) fn found(task: &str) -> String {
    format!("what {task} found")
}

/// The agent of a role in the configuration file.
fn section(role: &str, agent: &RealAgent, address: &str, home: &Path, may_sandbox: bool) -> String {
    let recipe = agent.recipe(address, home, may_sandbox);
    let env: Vec<_> = recipe.env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let worker = format!("kind = \"command\"\ncommand = {:?}", recipe.command);
    format!("[roles.{role}]\nagent = \"{role}\"\n[agents.{role}]\n{worker}\nenv = {{ {} }}\n", env.join(", "))
}

fn installed(name: &'static str) -> Option<RealAgent> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents");
    let found = RealAgent::find(name, &folder);
    if found.is_none() {
        let who = std::thread::current();
        // Past what the test runner keeps for itself.
        let line =
            format!("left out, {name} is not installed (`cargo xtask agents`): {}", who.name().unwrap_or("a test"));
        writeln!(std::io::stderr(), "{line}").expect("standard error");
    }
    found
}
