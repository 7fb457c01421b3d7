//! The scripted model as a process beside a test, with a network of its own where the machine allows one.

use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::built::scripted_model;
use crate::limited::{LimitedChild as _, LimitedLines as _};
use crate::{must, usual_signals};

/// A model that is there until it is dropped. What is run through [`Self::network`] reaches it, and nothing else.
#[derive(Debug)]
pub struct ScriptedModel {
    process: Child,
    /// The process ends with it.
    open: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    address: String,
    is_apart: bool,
}

/// A reply that a worker asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The script, with its key.
    pub worker: String,
    /// Which reply, from 0.
    pub turn: u64,
    /// The status of the answer, or 0 if there is none.
    pub status: u64,
}

/// A program with a network in which there is only loopback.
const APART: [&str; 5] = ["unshare", "-rn", "sh", "-c", "ip link set lo up && exec \"$@\""];

impl ScriptedModel {
    /// Serves the scripts in a folder.
    #[track_caller]
    pub fn start(scripts: &Path) -> Self {
        let mut apart = Command::new(APART[0]);
        apart.args(&APART[1..]).args(["sh", "true"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        usual_signals();
        let is_apart = apart.spawn().is_ok_and(|child| child.limited_output().status.success());
        let program = scripted_model();
        let mut command = Command::new(if is_apart { Path::new(APART[0]) } else { program });
        if is_apart {
            command.args(&APART[1..]).arg("sh").arg(program);
        }
        let spawned = command.arg(scripts).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = must("starting", program, spawned);
        let open = process.stdin.take();
        let Some(out) = process.stdout.take() else { panic!("it has no output") };
        let mut model = Self { process, open, lines: BufReader::new(out), address: String::new(), is_apart };
        model.address = model.line().unwrap_or_else(|| panic!("the model did not start"));
        model
    }

    /// Where an agent finds the model that follows a script.
    pub fn address(&self, script: &str) -> String {
        format!("{}/{script}", self.address)
    }

    /// The command prefix that puts a program into the model's network; empty if the model has no network of
    /// its own.
    pub fn network(&self) -> Vec<String> {
        let pid = self.process.id().to_string();
        let enter = ["nsenter", "--target", &pid, "--user", "--net", "--preserve-credentials", "--"];
        enter.iter().filter(|_| self.is_apart).map(|word| (*word).to_owned()).collect()
    }

    /// Whether that network has nothing but loopback.
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// Waits until a worker asks for a reply.
    #[track_caller]
    pub fn asked(&mut self) -> Asked {
        self.next().unwrap_or_else(|| panic!("the model has ended"))
    }

    /// Ends the model, and gives what was asked and not waited for.
    #[track_caller]
    pub fn rest(mut self) -> Vec<Asked> {
        drop(self.open.take());
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Ends the model, and gives the tokens of each reply that was not waited for, sent and written.
    #[track_caller]
    pub fn served(mut self) -> Vec<u64> {
        drop(self.open.take());
        let lines = std::iter::from_fn(|| self.line());
        let lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap_or_default());
        lines.filter_map(|line| line["tokens"].as_u64().filter(|tokens| *tokens > 0)).collect()
    }

    #[track_caller]
    fn next(&mut self) -> Option<Asked> {
        loop {
            let line: Value = serde_json::from_str(&self.line()?).unwrap_or_default();
            // A request without a turn is a title or the like, which agents ask for or not.
            if let (Some(worker), Some(turn)) = (line["worker"].as_str(), line["turn"].as_u64()) {
                return Some(Asked { worker: worker.to_owned(), turn, status: line["status"].as_u64().unwrap_or(0) });
            }
        }
    }

    #[track_caller]
    fn line(&mut self) -> Option<String> {
        self.lines.limited_line().map(|line| line.trim_end().to_owned())
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.open.take());
        // It ends with its input; a second panic would hide the first.
        if !std::thread::panicking() {
            self.process.limited_wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn it_is_reached_through_its_network_and_nothing_else_is() {
        let mut world = World::new("/bin/bash");
        world.write("scripts/s.json", r#"{"turns": [{"do": {"text": "hi"}}]}"#);
        let mut model = ScriptedModel::start(&world.dir().join("scripts"));
        world.through(model.network());
        let address = model.address("s@k");
        let host = address.trim_start_matches("http://").split('/').next().unwrap().replace(':', "/");
        let body = r#"{"tools": [{"name": "Bash"}]}"#;
        let request = format!("POST /s@k/v1/messages HTTP/1.1\\r\\ncontent-length: {}\\r\\n\\r\\n{body}", body.len());
        let script = format!("exec 3<>/dev/tcp/{host}; printf '{request}' >&3; cat <&3");
        let run = world.run(&["-c", &script]);
        assert!(run.to_string().contains(r#""text":"hi""#), "{run}");
        let asked = Asked { worker: "s@k".to_owned(), turn: 0, status: 200 };
        assert_eq!(model.asked(), asked);
        let routes = world.run(&["-c", "tail -n +2 /proc/net/route"]);
        assert!(!model.is_apart() || !routes.to_string().contains("stdout"), "no way leads out: {routes}");
        assert_eq!(model.rest(), []);
    }
}
