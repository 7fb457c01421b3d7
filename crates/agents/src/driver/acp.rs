//! The Agent Client Protocol, version 1: JSON-RPC over lines. What is said while a turn goes on must wait for its end.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::acp_options::{Setting, Wanted};
use super::dialogue::{Act, Calls, Dialogue, Kind, News, Question, kind, text};
use crate::adapters::server;

/// A conversation in this protocol.
#[derive(Debug)]
pub(super) struct Acp {
    calls: Calls,
    resume: Option<String>,
    /// What a session is made with.
    settings: Value,
    /// What is behind the first words.
    note: String,
    stage: Stage,
    session: String,
    turn: Option<u64>,
    /// What is still to be set before the first words.
    wanted: Wanted,
    /// The names of the servers of tools that we give the agent.
    given: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting(u64),
    Loading(u64),
    Making(u64),
    Setting(u64),
    Open,
}

impl Acp {
    /// One that was not begun.
    pub(super) fn new(resume: Option<String>, cwd: PathBuf, note: &str, servers: Vec<Value>) -> Self {
        let (calls, stage) = (Calls::new(true), Stage::Greeting(0));
        let names = servers.iter().map(|server| text(server, "name"));
        let given = names.map(str::to_owned).collect();
        let settings = json!({"cwd": cwd, "mcpServers": servers});
        let (session, wanted) = (String::new(), Wanted::default());
        Self { calls, resume, settings, note: note.to_owned(), stage, session, turn: None, wanted, given }
    }

    /// The same with a model and an effort, which are set by the agent's own methods.
    pub(super) fn wanting(mut self, model: Option<String>, effort: Option<String>) -> Self {
        self.wanted = Wanted::new(model, effort);
        self
    }

    /// Sets the next of what is wanted, or says that the agent can be spoken to.
    fn settle(&mut self, result: &Value, out: &mut Vec<Value>) -> Option<News> {
        self.wanted.offered(result);
        match self.wanted.next(&self.session) {
            None => {
                self.stage = Stage::Open;
                Some(News::Ready)
            }
            Some(Err(why)) => Some(News::Lacks(why)),
            Some(Ok(Setting { method, params })) => {
                self.stage = Stage::Setting(self.calls.call(method, &params, out));
                None
            }
        }
    }

    fn make(&mut self, out: &mut Vec<Value>) {
        self.stage = Stage::Making(self.calls.call("session/new", &self.settings, out));
    }

    fn answered(&mut self, id: u64, said: &Value, out: &mut Vec<Value>) -> Option<News> {
        let is_well = said.get("error").is_none();
        let result = &said["result"];
        match self.stage {
            Stage::Greeting(own) | Stage::Making(own) if own == id && !is_well => Some(News::Failed),
            Stage::Greeting(own) if own == id => {
                let loads = result["agentCapabilities"]["loadSession"] == json!(true);
                match self.resume.take() {
                    Some(session) if loads => {
                        let mut params = self.settings.clone();
                        params["sessionId"] = json!(session);
                        self.session = session;
                        self.stage = Stage::Loading(self.calls.call("session/load", &params, out));
                        None
                    }
                    resume => {
                        self.make(out);
                        resume.map(|_| News::NotResumed)
                    }
                }
            }
            Stage::Loading(own) if own == id && !is_well => {
                self.make(out);
                Some(News::NotResumed)
            }
            Stage::Loading(own) | Stage::Making(own) if own == id => {
                if let Some(session) = result.get("sessionId").and_then(Value::as_str) {
                    session.clone_into(&mut self.session);
                }
                self.settle(result, out)
            }
            Stage::Setting(own) if own == id && !is_well => {
                Some(News::Lacks(format!("the agent refuses a setting: {}", text(&said["error"], "message"))))
            }
            Stage::Setting(own) if own == id => self.settle(result, out),
            _ if self.turn == Some(id) => {
                self.turn = None;
                Some(News::TurnOver)
            }
            _ => None,
        }
    }
}

impl Dialogue for Acp {
    fn open(&mut self, out: &mut Vec<Value>) -> bool {
        let able = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
        let us = json!({"name": "team-executor", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": 1, "clientInfo": us, "clientCapabilities": able});
        self.stage = Stage::Greeting(self.calls.call("initialize", &params, out));
        false
    }

    fn hear(&mut self, said: &Value, out: &mut Vec<Value>) -> Option<News> {
        match kind(said) {
            Kind::Call(id, "session/request_permission") => {
                Some(News::Asks(question(id, &said["params"], &self.given)))
            }
            Kind::Call(id, method) => {
                self.calls.unknown(id, method, out);
                None
            }
            Kind::Answer(id) => self.answered(id, said, out),
            Kind::Told(_) | Kind::Unknown => None,
        }
    }

    fn say(&mut self, words: &str, out: &mut Vec<Value>) {
        let note = std::mem::take(&mut self.note);
        let words = if note.is_empty() { words.to_owned() } else { format!("{words}\n{note}\n") };
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": words}]});
        self.turn = Some(self.calls.call("session/prompt", &params, out));
    }

    fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    fn joins(&self) -> bool {
        false
    }

    fn interrupt(&mut self, out: &mut Vec<Value>) {
        self.calls.tell("session/cancel", &json!({"sessionId": self.session}), out);
    }

    /// Of what the agent offers, the narrowest that says yes or no.
    fn answer(&mut self, question: &Question, allow: bool, out: &mut Vec<Value>) {
        let kinds = if allow { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
        let options = question.rest.as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = kinds.iter().find_map(|kind| options.iter().find(|option| text(option, "kind") == *kind));
        let outcome = match chosen {
            Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
            None => json!({"outcome": "cancelled"}),
        };
        self.calls.reply(&question.id, &json!({"outcome": outcome}), out);
    }
}

fn question(id: &Value, params: &Value, given: &[String]) -> Question {
    let call = &params["toolCall"];
    let (kind, name, title) = (text(call, "kind"), text(call, "name"), text(call, "title"));
    // Agents put one of these in front of a tool's name.
    let is_of = |server: &str| [format!("mcp__{server}__"), format!("{server}_")].iter().any(|it| name.starts_with(it));
    let act = match kind {
        // What a worker tells its team changes nothing else.
        "other" | "" if is_of(server::NAME) => Act::Look,
        "other" | "" if given.iter().any(|server| is_of(server)) => Act::Given,
        "read" | "search" | "think" => Act::Look,
        "edit" | "delete" | "move" => Act::Edit,
        _ => Act::Other,
    };
    let locations = call["locations"].as_array().into_iter().flatten();
    let tool = [name, kind, "a tool"].into_iter().find(|word| !word.is_empty()).unwrap_or_default();
    Question {
        id: id.clone(),
        tool: tool.to_owned(),
        what: title.to_owned(),
        act,
        paths: locations.map(|one| PathBuf::from(text(one, "path"))).collect(),
        rest: params["options"].clone(),
    }
}
