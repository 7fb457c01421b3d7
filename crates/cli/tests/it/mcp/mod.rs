//! Workers that speak to the program over the Model Context Protocol, inside of runs.

mod client;
mod hostile;
mod proposals;
mod tools;

use std::path::Path;

use serde_json::{Value, json};
use team_executor_testkit::World;

use crate::run::read;

pub(crate) use self::client::sdk;

/// The program, for workers.
const BIN: &str = env!("CARGO_BIN_EXE_team-executor");

/// The lines of a client that introduces itself and makes these calls, numbered from 1.
pub(crate) fn lines(calls: &[(&str, Value)]) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let calls = (1..).zip(calls).map(|(id, (name, arguments))| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
    });
    [hello, ready].into_iter().chain(calls).map(|line| format!("{line}\n")).collect()
}

/// Leaves calls for a worker to make, and the words with which it makes them; what is answered is in `NAME.out`.
pub(crate) fn calls(world: &World, name: &str, calls: &[(&str, Value)]) -> String {
    let path = world.write(name, lines(calls));
    let path = path.display();
    format!("{BIN} mcp < {path} > {path}.out || exit 9")
}

/// What was answered to each call: what it says, or why it was refused.
pub(crate) fn answers(world: &World, name: &str) -> Vec<Result<Value, String>> {
    let answer = |line: &str| -> Option<Result<Value, String>> {
        let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        let result = &answer["result"];
        match (answer["id"].as_u64()?, &result["isError"], &answer["error"]["message"]) {
            (0, ..) => None,
            (_, Value::Bool(false), _) => Some(Ok(result["structuredContent"].clone())),
            (_, Value::Bool(true), _) => Some(Err(result["content"][0]["text"].as_str()?.to_owned())),
            (_, _, message) => Some(Err(message.as_str()?.to_owned())),
        }
    };
    read(world.dir().join(format!("{name}.out"))).lines().filter_map(answer).collect()
}

/// The lines of a log of the session.
fn logged(session: &Path, name: &str) -> Vec<Value> {
    read(session.join(name)).lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}
