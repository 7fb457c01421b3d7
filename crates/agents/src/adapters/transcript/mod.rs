//! The output of a known coding agent for people: its words, its calls of tools and their results, in the order of the log.
//!
//! Nothing says which agent wrote a log, and commands may start agents too. So the first event decides; a log that begins with
//! none is no such stream.

mod events;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json;

/// How many calls of tools are remembered until their results come.
const CALLS: usize = 1000;

/// What one part of the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The agent's own words.
    Words,
    /// What it thinks, where it says that.
    Thought,
    /// A call of a tool.
    Call,
    /// What a tool answered.
    Result,
    /// What a tool answered that failed.
    Failure,
    /// A remark about the conversation: an error, a retry, its end.
    Note,
    /// A line that is no event.
    Plain,
}

impl Kind {
    /// In a word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Words => "text",
            Self::Thought => "thought",
            Self::Call => "call",
            Self::Result => "result",
            Self::Failure => "failed_result",
            Self::Note => "note",
            Self::Plain => "plain",
        }
    }
}

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its text, which can have several lines.
    pub text: String,
    /// It goes on with the text of the entry before it.
    pub goes_on: bool,
}

impl Entry {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), goes_on: false }
    }
}

/// A log that is read line by line.
#[derive(Debug, Default)]
pub struct Transcript {
    /// Words that came in pieces and have no end yet.
    piece: Option<Kind>,
    /// Calls of the Agent Client Protocol that were not shown yet, and all that were.
    calls: BTreeMap<String, Option<Value>>,
}

impl Transcript {
    /// Whether a log is the stream of a known agent, by the lines that it begins with; nothing if they do not say it yet.
    pub fn is_known<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Option<bool> {
        let events = lines.into_iter().filter(|line| line.starts_with(b"{"));
        events.map(|line| json::value(&String::from_utf8_lossy(line)).is_ok_and(|event| begins(&event))).next()
    }

    /// What a line of such a stream says, which may be nothing.
    pub fn line(&mut self, line: &[u8]) -> Vec<Entry> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\r');
        let mut entries = match json::value(text) {
            Ok(event @ Value::Object(_)) => self.event(&event),
            // A cut line of a stream was an event.
            _ if text.starts_with('{') || text.is_empty() => Vec::new(),
            _ => vec![Entry::new(Kind::Plain, text)],
        };
        for entry in &mut entries {
            let is_piece = std::mem::take(&mut entry.goes_on);
            entry.goes_on = is_piece && self.piece == Some(entry.kind);
            self.piece = is_piece.then_some(entry.kind);
        }
        entries
    }

    /// Whether the last words may go on.
    pub const fn is_open(&self) -> bool {
        self.piece.is_some()
    }

    /// Notes that a call is shown. False if it was before.
    fn shows(&mut self, id: &str) -> bool {
        if self.calls.len() >= CALLS {
            self.calls.pop_first();
        }
        !matches!(self.calls.insert(id.to_owned(), None), Some(None))
    }
}

/// Whether an event is one that the streams of known agents begin with.
fn begins(event: &Value) -> bool {
    let has = |key: &str| event.get(key).is_some();
    let is_rpc = has("jsonrpc") || (has("method") && has("params")) || (has("id") && (has("result") || has("error")));
    match event.get("type").and_then(Value::as_str) {
        Some("system" | "init") => has("session_id"),
        Some("assistant" | "user") => has("message"),
        Some("thread.started") => has("thread_id"),
        Some("control_response") => has("response"),
        Some(_) => false,
        None => is_rpc || has(super::stream::MARK),
    }
}
