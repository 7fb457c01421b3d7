//! Clients that run sessions and tables over the Model Context Protocol.

mod confined;
mod sdk;
mod sessions;
mod steering;
mod tables;
mod tasks;

use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

/// A server that is being talked to.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    /// The answer to its request for roots.
    roots: Vec<PathBuf>,
    /// What it has told about progress.
    progress: Vec<Value>,
    /// How much progress it had told before each of its pings.
    pings: Vec<usize>,
}

impl Served {
    /// A client without roots.
    fn new(world: &World, flags: &[&str]) -> Self {
        Self::with_roots(world, flags, &[])
    }

    /// A client that declares these folders.
    fn with_roots(world: &World, flags: &[&str], roots: &[&Path]) -> Self {
        Self::start(world, flags, roots).greeted()
    }

    /// A client without roots of another copy of the program.
    fn at(program: &Path, world: &World, flags: &[&str]) -> Self {
        let usual = world.command(&[&["mcp", "--serve"], flags].concat());
        let mut command = Command::new(program);
        command.args(usual.get_args()).current_dir(world.dir());
        command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::spawn(command, &[]).greeted()
    }

    fn greeted(mut self) -> Self {
        let capabilities = if self.roots.is_empty() { json!({}) } else { json!({"roots": {}}) };
        let who = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": who});
        self.ask("initialize", &hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    /// A client that says with each request who it is, without a greeting.
    fn bare(world: &World, flags: &[&str]) -> Self {
        Self::start(world, flags, &[])
    }

    fn start(world: &World, flags: &[&str], roots: &[&Path]) -> Self {
        Self::spawn(world.command(&[&["mcp", "--serve"], flags].concat()), roots)
    }

    fn spawn(mut command: Command, roots: &[&Path]) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("input"), child.stdout.take().expect("output"));
        let roots: Vec<_> = roots.iter().map(|root| root.to_path_buf()).collect();
        Self { child, input, output: BufReader::new(output), next: 0, roots, progress: Vec::new(), pings: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it listens");
    }

    /// Asks, without waiting for the answer.
    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Begins a call whose progress is to be told.
    fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        self.begin("tools/call", &params)
    }

    fn wait(&mut self, id: u64) -> Value {
        loop {
            let line = self.output.limited_line().expect("the server is there");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            match message["method"].as_str() {
                Some("roots/list") => {
                    let root = |root: &PathBuf| json!({"uri": format!("file://{}", root.display())});
                    let roots: Vec<_> = self.roots.iter().map(root).collect();
                    self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}}));
                }
                Some("ping") => {
                    self.pings.push(self.progress.len());
                    self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}));
                }
                Some("notifications/progress") => self.progress.push(message["params"].clone()),
                _ if message["id"] == id => return message,
                _ => {}
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.wait(id)
    }

    /// What a tool answers, or why it refuses.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let id = self.begin_call(tool, arguments);
        answer(&self.wait(id))
    }

    /// What can be read at an address.
    fn read(&mut self, uri: &str) -> Result<String, String> {
        let answer = self.ask("resources/read", &json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.map(str::to_owned).ok_or_else(|| answer["error"]["message"].to_string())
    }

    /// Kills the server.
    fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.limited_wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be dead already.
        let _killed = self.child.kill();
        if !std::thread::panicking() {
            self.child.limited_wait();
        }
    }
}

fn answer(message: &Value) -> Result<Value, String> {
    let result = &message["result"];
    match &result["isError"] {
        Value::Bool(true) => Err(result["content"][0]["text"].as_str().unwrap_or_default().to_owned()),
        _ if message["error"].is_object() => Err(message["error"]["message"].to_string()),
        _ => Ok(result["structuredContent"].clone()),
    }
}
