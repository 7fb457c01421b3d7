//! Agents that converse, played by scripts that speak their protocols.

pub(crate) mod asked;
mod done;
mod overspent;
mod reached;
mod resident;

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use team_executor_testkit::{Pulse, Run, World};

use crate::run::{folder, read};

/// An agent of the Agent Client Protocol. What it hears is kept in `heard`; `$n` is the number of the prompt, `say` sends
/// words, `turn` ends the turn.
pub(crate) const ACP: &str = r#"#!/bin/sh
n=0
put() { printf '%s\n' "$1"; }
say() {
  words=$(printf %s "$1" | sed 's/"/\\"/g')
  put '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$words"'"}}}}'
}
turn() { put '{"jsonrpc":"2.0","id":'$turn',"result":{"stopReason":"'$1'","usage":{"inputTokens":100,"outputTokens":5}}}'; }
done_with() { say '{"status":"completed","findings":"'"$1"'"}'; turn end_turn; }
ask() {
  put '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"t","kind":"'$1'","title":"'"$2"'"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}'
}
while IFS= read -r line; do
  printf '%s\n' "$line" >>heard
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case $line in
  *'"method":"initialize"'*) put '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1.2.3"},"agentCapabilities":{"loadSession":LOADS}}}' ;;
  *'"method":"session/new"'*) put '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"s-1"}}' ;;
  *'"method":"session/load"'*) put '{"jsonrpc":"2.0","id":'$id',"result":{}}' ;;
  *'"method":"session/cancel"'*) turn cancelled ;;
  *'"method":"session/prompt"'*) n=$((n+1)); turn=$id; PROMPTED ;;
  *'"optionId":"yes"'*) done_with allowed ;;
  *'"optionId":"no"'*) done_with denied ;;
  esac
done
"#;

/// A world with interactive tasks, all of one role, and an agent that does this when it is prompted.
pub(crate) fn world(tasks: &[&str], prompted: &str, limits: &str) -> World {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let dir = world.dir().display().to_string();
    world.env("XDG_CONFIG_HOME", &format!("{dir}/home-of-config"));
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    for task in tasks {
        writeln!(table, "{task},,Do it,,,interactive,worker,1,pending,,").expect("a string");
    }
    world.write("S/tasks.csv", table);
    put(&world, "agent", &ACP.replace("PROMPTED", prompted).replace("LOADS", "true"));
    configure(&world, limits, "");
    world
}

/// Settles how the agent is run.
pub(crate) fn configure(world: &World, limits: &str, more: &str) {
    let program = world.dir().join("agent");
    let text = format!(
        "[defaults]\nagent = \"fake\"\nretries = 0\n[defaults.limits]\n{limits}\n\
         [agents.fake]\nkind = \"acp\"\nprogram = {program:?}\n{more}\n"
    );
    world.write("home-of-config/team-executor/config.toml", text);
}

/// Puts a program into the world.
fn put(world: &World, name: &str, text: &str) {
    let path = world.write(name, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
}

/// How a run of `S` is started.
const RUN: [&str; 3] = ["run", "--session=S", "-y"];

/// Starts a run of `S` that goes on beside the test.
pub(crate) fn start(world: &World) -> Child {
    let mut command = world.command(&RUN);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Reaches into the conversations of `S`.
fn talk(world: &World, words: &[&str]) -> Run {
    world.run(&[&["talk"], words, &["--session=S"]].concat())
}

/// A pipe by which the agent of a script shows that it was prompted: `printf . >beats`.
fn pulse(world: &World) -> Pulse {
    Pulse::new(world.dir().join("beats"))
}

/// What was printed in the only attempt at a task.
fn log(world: &World, task: &str) -> String {
    read(folder(world).join(format!("logs/{task}.1.out")))
}
