//! Codex as a conversation: `codex app-server`, JSON-RPC without its version. What is said while a turn goes on joins it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::dialogue::{Act, Calls, Dialogue, Kind, News, Question, kind, text};
use crate::adapters::{CHANGE, COMMAND, Permissions, RESULT_SCHEMA};

/// A conversation in this protocol.
#[derive(Debug)]
pub(super) struct Codex {
    calls: Calls,
    resume: Option<String>,
    /// What a thread is made with.
    settings: Value,
    /// What its last message must be.
    schema: Value,
    stage: Stage,
    thread: String,
    turn: Turn,
    /// What was to join a turn, by the number of the call.
    joining: BTreeMap<u64, String>,
    /// The folder that it delivers to, if that is not below the one that it works in.
    delivers: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting(u64),
    Resuming(u64),
    Making(u64),
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Turn {
    None,
    Beginning(u64),
    Going(String),
}

impl Codex {
    /// One that was not begun.
    pub(super) fn new(
        resume: Option<String>,
        cwd: PathBuf,
        note: &str,
        model: Option<&str>,
        permissions: Permissions,
    ) -> Self {
        let (sandbox, approval) = match permissions {
            Permissions::Read => ("read-only", "never"),
            Permissions::Edit => ("workspace-write", "never"),
            Permissions::Full => ("danger-full-access", "never"),
            // What is allowed still runs in the sandbox.
            Permissions::Ask => ("workspace-write", "untrusted"),
        };
        let settings = json!({
            "cwd": cwd, "developerInstructions": note, "model": model, "sandbox": sandbox, "approvalPolicy": approval,
        });
        Self {
            calls: Calls::new(false),
            resume,
            settings,
            schema: serde_json::from_str(RESULT_SCHEMA).unwrap_or_default(),
            stage: Stage::Greeting(0),
            thread: String::new(),
            turn: Turn::None,
            joining: BTreeMap::new(),
            delivers: None,
        }
    }

    /// The same, if it delivers to a folder that is not below the one that it works in.
    pub(super) fn delivering(self, delivers: Option<PathBuf>) -> Self {
        Self { delivers, ..self }
    }

    fn make(&mut self, out: &mut Vec<Value>) {
        self.stage = Stage::Making(self.calls.call("thread/start", &self.settings, out));
    }

    fn answered(&mut self, id: u64, said: &Value, out: &mut Vec<Value>) -> Option<News> {
        let is_well = said.get("error").is_none();
        if let Some(words) = self.joining.remove(&id) {
            return (!is_well).then_some(News::TooLate(words));
        }
        match self.stage {
            Stage::Greeting(own) | Stage::Making(own) if own == id && !is_well => Some(News::Failed),
            Stage::Greeting(own) if own == id => {
                self.calls.tell("initialized", &json!({}), out);
                match self.resume.take() {
                    Some(thread) => {
                        let mut params = self.settings.clone();
                        params["threadId"] = json!(thread);
                        params["excludeTurns"] = json!(true);
                        if let Some(delivers) = &self.delivers {
                            // A thread keeps the folder that the task before delivered to. Nothing can be run in its sandbox if
                            // that folder is gone.
                            params["runtimeWorkspaceRoots"] = json!([self.settings["cwd"], delivers]);
                        }
                        self.stage = Stage::Resuming(self.calls.call("thread/resume", &params, out));
                    }
                    None => self.make(out),
                }
                None
            }
            Stage::Resuming(own) if own == id && !is_well => {
                self.make(out);
                Some(News::NotResumed)
            }
            Stage::Resuming(own) | Stage::Making(own) if own == id => {
                text(&said["result"]["thread"], "id").clone_into(&mut self.thread);
                self.stage = Stage::Open;
                Some(News::Ready)
            }
            _ if self.turn == Turn::Beginning(id) => {
                self.turn = match is_well {
                    true => Turn::Going(text(&said["result"]["turn"], "id").to_owned()),
                    false => Turn::None,
                };
                (!is_well).then_some(News::TurnOver)
            }
            _ => None,
        }
    }
}

impl Dialogue for Codex {
    fn open(&mut self, out: &mut Vec<Value>) -> bool {
        let us = json!({"name": "team-executor", "version": env!("CARGO_PKG_VERSION")});
        let mut params = json!({"clientInfo": us});
        if self.resume.is_some() && self.delivers.is_some() {
            // What a thread may write to can be changed only so.
            params["capabilities"] = json!({"experimentalApi": true});
        }
        self.stage = Stage::Greeting(self.calls.call("initialize", &params, out));
        false
    }

    fn hear(&mut self, said: &Value, out: &mut Vec<Value>) -> Option<News> {
        match kind(said) {
            Kind::Call(id, "item/commandExecution/requestApproval") => {
                Some(News::Asks(question(id, COMMAND, text(&said["params"], "command"), Act::Other)))
            }
            Kind::Call(id, "item/fileChange/requestApproval") => {
                Some(News::Asks(question(id, CHANGE, text(&said["params"], "reason"), Act::Edit)))
            }
            Kind::Call(id, method) => {
                self.calls.unknown(id, method, out);
                None
            }
            Kind::Answer(id) => self.answered(id, said, out),
            Kind::Told("turn/completed") if text(&said["params"], "threadId") == self.thread => {
                self.turn = Turn::None;
                Some(News::TurnOver)
            }
            Kind::Told(_) | Kind::Unknown => None,
        }
    }

    fn say(&mut self, words: &str, out: &mut Vec<Value>) {
        let input = json!([{"type": "text", "text": words}]);
        if let Turn::Going(turn) = &self.turn {
            let params = json!({"threadId": self.thread, "expectedTurnId": turn, "input": input});
            let id = self.calls.call("turn/steer", &params, out);
            self.joining.insert(id, words.to_owned());
            return;
        }
        let params = json!({"threadId": self.thread, "input": input, "outputSchema": self.schema});
        self.turn = Turn::Beginning(self.calls.call("turn/start", &params, out));
    }

    fn is_busy(&self) -> bool {
        self.turn != Turn::None
    }

    fn joins(&self) -> bool {
        matches!(self.turn, Turn::Going(_))
    }

    fn interrupt(&mut self, out: &mut Vec<Value>) {
        if let Turn::Going(turn) = &self.turn {
            let params = json!({"threadId": self.thread, "turnId": turn});
            self.calls.call("turn/interrupt", &params, out);
        }
    }

    fn answer(&mut self, question: &Question, allow: bool, out: &mut Vec<Value>) {
        let decision = if allow { "accept" } else { "decline" };
        self.calls.reply(&question.id, &json!({"decision": decision}), out);
    }
}

fn question(id: &Value, tool: &str, what: &str, act: Act) -> Question {
    let (tool, what) = (tool.to_owned(), what.to_owned());
    Question { id: id.clone(), tool, what, act, paths: Vec::new(), rest: Value::Null }
}
