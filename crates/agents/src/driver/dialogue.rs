//! The interface of a protocol: messages of the agent go in, messages to send come out. Nothing is read or
//! written here.

use std::path::PathBuf;

use serde_json::{Value, json};

/// A protocol in the middle of a conversation.
pub(super) trait Dialogue {
    /// Begins. Says whether the agent can be spoken to at once.
    fn open(&mut self, out: &mut Vec<Value>) -> bool;

    /// Takes what the agent said.
    fn hear(&mut self, said: &Value, out: &mut Vec<Value>) -> Option<News>;

    /// Says something: it begins a turn, or joins the one that goes on.
    fn say(&mut self, text: &str, out: &mut Vec<Value>);

    /// A turn goes on.
    fn is_busy(&self) -> bool;

    /// A message sent during a turn joins it; otherwise it must wait.
    fn joins(&self) -> bool;

    /// Ends the turn that goes on.
    fn interrupt(&mut self, out: &mut Vec<Value>);

    /// Answers a question.
    fn answer(&mut self, question: &Question, allow: bool, out: &mut Vec<Value>);
}

/// What matters of what an agent said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    /// It can be spoken to.
    Ready,
    /// The conversation that was to be taken up is not there; a new one begins.
    NotResumed,
    /// A turn is over.
    TurnOver,
    /// It wants to do something, and may not without being allowed to.
    Asks(Question),
    /// The message came too late for the turn, and must be sent again.
    TooLate(String),
    /// There will be no conversation.
    Failed,
    /// The agent cannot be set up as it was wanted, for this reason.
    Lacks(String),
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    /// The protocol's own.
    pub(super) id: Value,
    /// With which tool.
    pub(super) tool: String,
    /// What for, in the agent's words.
    pub(super) what: String,
    /// What sort of thing that is.
    pub(super) act: Act,
    /// Which files it is about, where that is said.
    pub(super) paths: Vec<PathBuf>,
    /// What the protocol needs for an answer.
    pub(super) rest: Value,
}

/// What sort of thing an agent wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Look at something.
    Look,
    /// Change files.
    Edit,
    /// Use a tool of a server that the user gave it.
    Given,
    /// Anything else.
    Other,
}

/// Requests of JSON-RPC, numbered.
#[derive(Debug)]
pub(super) struct Calls {
    last: u64,
    /// Messages say which version of JSON-RPC they are of.
    tagged: bool,
}

impl Calls {
    /// None yet.
    pub(super) const fn new(tagged: bool) -> Self {
        Self { last: 0, tagged }
    }

    /// Calls a method, and says by which number it will be answered.
    pub(super) fn call(&mut self, method: &str, params: &Value, out: &mut Vec<Value>) -> u64 {
        self.last += 1;
        self.put(json!({"id": self.last, "method": method, "params": params}), out);
        self.last
    }

    /// Tells something that has no answer.
    pub(super) fn tell(&self, method: &str, params: &Value, out: &mut Vec<Value>) {
        self.put(json!({"method": method, "params": params}), out);
    }

    /// Answers a call of the agent.
    pub(super) fn reply(&self, id: &Value, result: &Value, out: &mut Vec<Value>) {
        self.put(json!({"id": id, "result": result}), out);
    }

    /// Refuses a call of the agent that is not known.
    pub(super) fn unknown(&self, id: &Value, method: &str, out: &mut Vec<Value>) {
        self.put(json!({"id": id, "error": {"code": -32601, "message": format!("unknown method {method}")}}), out);
    }

    fn put(&self, mut message: Value, out: &mut Vec<Value>) {
        if self.tagged {
            message["jsonrpc"] = json!("2.0");
        }
        out.push(message);
    }
}

/// What a message is in JSON-RPC.
pub(super) enum Kind<'m> {
    /// The agent calls.
    Call(&'m Value, &'m str),
    /// It tells something.
    Told(&'m str),
    /// It answers the call of this number.
    Answer(u64),
    /// None of these.
    Unknown,
}

/// What a message is.
pub(super) fn kind(said: &Value) -> Kind<'_> {
    match (said.get("id"), said.get("method").and_then(Value::as_str)) {
        (Some(id), Some(method)) => Kind::Call(id, method),
        (None, Some(method)) => Kind::Told(method),
        (Some(id), None) => id.as_u64().map_or(Kind::Unknown, Kind::Answer),
        (None, None) => Kind::Unknown,
    }
}

/// A text of a message, empty if there is none.
pub(super) fn text<'m>(said: &'m Value, key: &str) -> &'m str {
    said.get(key).and_then(Value::as_str).unwrap_or_default()
}
