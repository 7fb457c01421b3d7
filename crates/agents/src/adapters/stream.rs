//! What the events of an agent add up to. They come as JSON, one a line, and are not trusted: whatever is no event is skipped,
//! and everything that is kept is bounded.

use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::count::Counting;
use super::glimpse;
use super::report;
use super::trouble::{Class, Trouble};
use crate::exit::{Ended, Limit};
use crate::json;

/// A line that is longer is no event that matters here: the output of a tool.
pub(super) const LINE_BYTES: u64 = 8 << 20;
/// What is kept of an agent's words.
const TEXT_BYTES: usize = 1 << 20;
/// How many denials are told.
const DENIALS: usize = 20;
/// How much is told of what a denied tool was for, in characters.
const DENIAL: usize = 200;

/// What Claude says of a conversation that it does not know; others say it before they say anything in their protocol.
const NO_SESSION: &str = "No conversation found";

/// Of an event, the key that only those have which our own driver adds to a conversation.
pub(crate) const MARK: &str = "team_executor";

/// What the events of an agent add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stream {
    /// There was an event that says that the work is over. Without one the agent was killed or crashed, whatever its exit
    /// status says.
    pub finished: bool,
    /// That event says that all went well.
    pub ok: bool,
    /// The agent's last words.
    pub text: String,
    /// What it reported by the schema that it was given.
    pub structured: Option<Value>,
    /// What it was not allowed to do: tools, and what for where that is known.
    pub denials: Vec<String>,
    /// One of them because a person did not answer.
    pub unanswered: bool,
    /// What it used.
    pub usage: Usage,
    /// What it was doing last, in a few words.
    pub doing: Option<String>,
    /// How far it last said that it is.
    pub progress: Option<String>,
    /// How often it has asked its service again by itself.
    pub retries: u32,
    /// It was ended before it was done, because a budget was used up.
    pub is_wound_up: bool,
    /// What went wrong, as the agent says.
    pub error: Option<Trouble>,
    /// When there is quota again, in seconds since 1970, where that was said apart.
    pub(super) resets_at: Option<u64>,
    /// The tools that a person did not allow, which is no trouble: the agent was to go on without them.
    pub(super) refused: Vec<String>,
    /// What the last use of a tool was for, of an agent that says that before it is denied.
    pub(super) wanted: Option<String>,
    /// What is counted so far.
    pub(super) counting: Counting,
    /// A turn has begun, in a conversation of Codex.
    pub(super) is_in_turn: bool,
    /// How many events there were that were no complaint about the service.
    pub(crate) steps: u64,
}

/// What an attempt used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were sent, those from a cache included.
    pub input: u64,
    /// Of them, those that came from a cache.
    pub cached: u64,
    /// Of the tokens that were sent, those that were put into a cache, where the agent says so.
    pub stored: u64,
    /// Tokens that were written.
    pub output: u64,
    /// In millionths of a dollar, where the agent says so.
    pub cost_micros: Option<u64>,
    /// How many requests the model answered, as far as that is seen.
    pub turns: Option<u64>,
    /// The model is asked again, because its last answer uses a tool.
    pub goes_on: bool,
    /// Part of it was counted from events: the agent did not say a sum of it.
    pub is_estimated: bool,
    /// Which model.
    pub model: Option<String>,
    /// The conversation, by the agent's own name for it.
    pub session_id: Option<String>,
}

impl Usage {
    /// Takes a cost in dollars, if it is one.
    pub(super) fn set_cost(&mut self, dollars: &Value) {
        let micros =
            dollars.as_f64().map(|dollars| (dollars * 1e6).round()).filter(|micros| (0.0..1e15).contains(micros));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range of both")]
        let micros = micros.map(|micros| micros as u64);
        self.cost_micros = micros.or(self.cost_micros);
    }
}

impl Stream {
    /// Takes note of what the agent is doing.
    pub(super) fn notes(&mut self, event: &Value) {
        self.retries = self.retries.saturating_add(u32::from(glimpse::is_retry(event)));
        self.progress = glimpse::progress(event).or_else(|| self.progress.take());
        let words = || glimpse::last_words(event, &self.text);
        self.doing = glimpse::doing(event).or_else(words).or_else(|| self.doing.take());
    }

    /// Adds to the agent's words, as far as there is room.
    pub(super) fn say_more(&mut self, words: &str) {
        if self.text.len() + words.len() <= TEXT_BYTES {
            self.text.push_str(words);
        }
    }

    /// Notes that a tool was denied, each use once.
    pub(super) fn deny(&mut self, tool: &str, what: &str) {
        let what: String = what.chars().filter(|c| !c.is_control()).take(DENIAL).collect();
        let use_of = if what.is_empty() { tool.to_owned() } else { format!("{tool} ({what})") };
        let is_known = self.refused.iter().any(|known| known == tool) || self.denials.contains(&use_of);
        if self.denials.len() < DENIALS && !is_known {
            self.denials.push(use_of);
        }
    }

    /// Takes an event of our own driver.
    pub(super) fn mark(&mut self, event: &Value) {
        match (text(event, MARK), text(event, "by"), text(event, "tool")) {
            (Some("prompted" | "not resumed"), ..) => {
                self.forget_open(); // what was said before is told again, or is in a sum
                (self.finished, self.ok, self.structured, self.error) = (false, false, None, None);
                self.text.clear();
            }
            (Some("denied"), Some("person"), Some(tool)) if self.refused.len() < DENIALS => {
                self.refused.push(tool.to_owned());
            }
            (Some("denied"), by, Some(tool)) => {
                self.unanswered |= by == Some("none");
                self.deny(tool, text(event, "what").unwrap_or_default());
            }
            (Some("lacks"), ..) => {
                let words = text(event, "why").unwrap_or("it refuses its settings").to_owned();
                (self.finished, self.ok, self.error) = (true, false, Some(Trouble { class: Class::Fatal, words }));
            }
            (Some("wound up"), ..) => self.is_wound_up = true,
            (Some("closed"), ..) if self.is_wound_up => {}
            (Some("closed"), Some("limit"), _) => {
                let words = "timed out: it was asked to finish and did not".to_owned();
                (self.finished, self.ok, self.error) = (true, false, Some(Trouble { class: Class::Transient, words }));
            }
            (Some("closed"), ..) if !(self.finished && self.ok) => {
                let words = "a person closed the conversation before it was done".to_owned();
                (self.finished, self.ok, self.error) = (true, false, Some(Trouble { class: Class::Fatal, words }));
            }
            _ => {}
        }
    }

    /// A budget was used up before it was done: nothing that was said before made it fail.
    pub fn is_overspent(&self) -> bool {
        let says_so = || self.error.as_ref().is_some_and(|error| error.class == Class::Overspent);
        !(self.finished && self.ok) && (self.is_wound_up || says_so())
    }

    /// It says that it does not know the conversation that it was to take up.
    pub(crate) fn knows_no_session(&self) -> bool {
        self.finished && !self.ok && self.error.as_ref().is_some_and(|error| error.words.contains(NO_SESSION))
    }

    /// What is wrong with its report, one line each; that there is none is wrong too.
    pub(crate) fn wrong(&self) -> Vec<String> {
        self.report().map_or_else(|| vec!["there is no JSON object with a status".to_owned()], |it| report::wrong(&it))
    }

    /// What it reported: by its schema, else in its last words if they are nothing else.
    pub fn plain_report(&self) -> Option<Value> {
        self.structured.clone().or_else(|| report::whole(&self.text))
    }

    /// What it reported: the same, else what is found in its last words.
    pub fn report(&self) -> Option<Value> {
        self.plain_report().or_else(|| report::within(&self.text))
    }

    /// Why one that wrote no result has not done its task by what it reported: it was denied a tool and says nothing, it owes a
    /// report, or its report cannot be used.
    pub fn denied_or_owing(&self, reported: Option<&Value>, ended_at: u64) -> Option<Trouble> {
        match reported {
            None => self.denied().or_else(|| Some(self.unreported(ended_at))),
            Some(report) => {
                let wrong = report::wrong(report);
                let words = format!("its report cannot be used: {}", wrong.join("; "));
                (!wrong.is_empty()).then_some(Trouble { class: Class::Transient, words })
            }
        }
    }

    /// That it was not allowed to do what it wanted.
    pub fn denied(&self) -> Option<Trouble> {
        (!self.denials.is_empty()).then(|| Trouble {
            class: Class::Fatal,
            words: format!("it may not use {}; `permissions` of the agent decides that", self.denials.join(", ")),
        })
    }

    /// That it ended without a report, with what it said instead: an error, perhaps.
    pub fn unreported(&self, ended_at: u64) -> Trouble {
        let said = Trouble::classify(None, self.text.trim(), ended_at);
        let words = if said.words.is_empty() { "nothing".to_owned() } else { said.words };
        Trouble { class: said.class, words: format!("it ended without a report, and said: {words}") }
    }

    /// Why an agent that ended by itself has not done its task, however it ended; nothing if its own words and its result
    /// are to be judged. `complaint` is the last that it printed as an error.
    pub fn trouble(&self, ended: &Ended, complaint: &str, ended_at: u64) -> Option<Trouble> {
        let how = match ended {
            Ended::Exit(code) => format!("exit code {code}"),
            Ended::Signal(signal) => format!("signal {signal}"),
            Ended::Limit(_) | Ended::Stopped | Ended::Interrupted | Ended::CouldNotStart(_) => return None,
        };
        if self.is_wound_up && self.is_overspent() {
            return Some(Trouble { class: Class::Overspent, words: "a budget was used up".to_owned() });
        }
        if !self.finished {
            let said = self.error.as_ref().map_or(complaint, |error| &error.words);
            let class = Trouble::classify(None, said, ended_at).class;
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            return Some(Trouble { class, words: format!("it ended without reporting a result ({how}){said}") });
        }
        if !self.ok {
            let unknown = || Trouble { class: Class::Transient, words: "the agent reports an error".to_owned() };
            return Some(self.error.clone().unwrap_or_else(unknown));
        }
        None
    }
}

impl Stream {
    /// That the service of an agent did not answer, if that is why it did not get on before its limit.
    pub fn silence(&self, ended: &Ended) -> Option<Trouble> {
        if !matches!(ended, Ended::Limit(Limit::Idle | Limit::FirstOutput)) {
            return None;
        }
        let said = self.error.as_ref().filter(|error| !self.finished && error.class == Class::Unreachable);
        let words = match said {
            Some(error) => format!("its service does not answer: {}", error.words),
            None if self.usage.turns.is_none() => "its service does not answer: no reply came".to_owned(),
            None => return None,
        };
        Some(Trouble { class: Class::Unreachable, words })
    }
}

/// Reads events one by one.
pub(super) fn read(mut output: impl BufRead, mut take: impl FnMut(&mut Stream, &Value)) -> Stream {
    let (mut stream, mut line, mut is_rest) = (Stream::default(), Vec::new(), false);
    loop {
        line.clear();
        match output.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            // Unreadable text counts as not said.
            Ok(0) | Err(_) => break,
        }
        let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES;
        if !is_rest
            && is_whole
            && let Ok(event @ Value::Object(_)) = json::value(&String::from_utf8_lossy(&line))
        {
            take(&mut stream, &event);
        }
        is_rest = !is_whole;
    }
    stream.text.truncate(stream.text.floor_char_boundary(TEXT_BYTES));
    stream
}

/// A text in an event.
pub(super) fn text<'e>(event: &'e Value, key: &str) -> Option<&'e str> {
    event.get(key)?.as_str()
}

/// A whole number in an event.
pub(super) fn number(event: &Value, key: &str) -> Option<u64> {
    event.get(key)?.as_u64()
}
