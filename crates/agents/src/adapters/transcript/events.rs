//! What single events say, by the protocol that they belong to.

use serde_json::Value;

use super::{Entry, Kind, Transcript};
use crate::adapters::glimpse;
use crate::adapters::stream::{MARK, text};

impl Transcript {
    pub(super) fn event(&mut self, event: &Value) -> Vec<Entry> {
        if let Some(mark) = text(event, MARK) {
            return driver(mark, event);
        }
        match (text(event, "type"), text(event, "method")) {
            (Some("assistant"), _) => contents(event, assistant),
            (Some("user"), _) => contents(event, tool_result),
            (Some("system"), _) if text(event, "subtype") == Some("api_retry") => note(glimpse::doing(event)),
            (Some("result"), _) if event.get("stats").is_some() => gemini_end(event),
            (Some("result"), _) => claude_end(event),
            (Some("item.started"), _) => self.item(&event["item"], false),
            (Some("item.completed"), _) => self.item(&event["item"], true),
            (Some("turn.failed"), _) => note(text(&event["error"], "message").map(|words| format!("failed: {words}"))),
            (Some("error"), _) => note(text(event, "message").map(|words| format!("error: {words}"))),
            (Some("message"), _) if text(event, "role") == Some("assistant") => {
                piece(Kind::Words, text(event, "content"))
            }
            (Some("tool_use"), _) => one(Kind::Call, called(text(event, "tool_name"), &event["parameters"])),
            (Some("tool_result"), _) => gemini_result(event),
            (_, Some("item/started")) => self.item(&event["params"]["item"], false),
            (_, Some("item/completed")) => self.item(&event["params"]["item"], true),
            (_, Some("error")) => {
                note(text(&event["params"]["error"], "message").map(|words| format!("error: {words}")))
            }
            (_, Some("turn/completed")) => {
                let words = text(&event["params"]["turn"]["error"], "message");
                note(words.map(|words| format!("failed: {words}")))
            }
            (_, Some("session/update")) => self.update(&event["params"]["update"]),
            (None, None) => note(text(&event["error"], "message").map(|words| format!("error: {words}"))),
            _ => Vec::new(),
        }
    }

    /// An item of Codex, by either of its protocols. It is shown when it begins, and what came of it when it is over.
    fn item(&mut self, item: &Value, is_over: bool) -> Vec<Entry> {
        let (kind, id) = (text(item, "type").unwrap_or_default(), text(item, "id").unwrap_or_default());
        match kind {
            "agent_message" | "agentMessage" if is_over => return one(Kind::Words, text(item, "text")),
            "reasoning" if is_over => return one(Kind::Thought, thought(item).as_deref()),
            "error" if is_over => return note(text(item, "message").map(|words| format!("error: {words}"))),
            "agent_message" | "agentMessage" | "reasoning" | "error" | "userMessage" => return Vec::new(),
            _ => {}
        }
        let mut entries = Vec::new();
        if let Some(words) = glimpse::item(item).filter(|_| self.shows(id)) {
            entries.push(Entry::new(Kind::Call, with_input(words, &item["arguments"])));
        }
        if is_over {
            entries.extend(item_result(item));
        }
        entries
    }

    /// An update of the Agent Client Protocol. Some agents announce a call before they know what it is for.
    fn update(&mut self, update: &Value) -> Vec<Entry> {
        let id = text(update, "toolCallId").unwrap_or_default();
        match text(update, "sessionUpdate") {
            Some("agent_message_chunk") => piece(Kind::Words, text(&update["content"], "text")),
            Some("agent_thought_chunk") => piece(Kind::Thought, text(&update["content"], "text")),
            Some("tool_call" | "tool_call_update") => {
                let is_over = matches!(text(update, "status"), Some("completed" | "failed"));
                let mut entries = Vec::new();
                if let Some(call) = self.announced(id, update, is_over) {
                    let words = glimpse::tool_call(&call).map(|words| with_input(words, &call["rawInput"]));
                    entries.extend(one(Kind::Call, words));
                }
                if is_over {
                    entries.extend(acp_result(update));
                }
                entries
            }
            _ => Vec::new(),
        }
    }

    /// All that is known of a call, once that is enough to show it.
    fn announced(&mut self, id: &str, update: &Value, is_over: bool) -> Option<Value> {
        let mut call = match self.calls.remove(id) {
            Some(None) => {
                self.shows(id);
                return None;
            }
            Some(Some(call)) => call,
            None => Value::Object(serde_json::Map::new()),
        };
        let is_known =
            |value: &Value| !matches!(value, Value::Null) && value.as_object().is_none_or(|it| !it.is_empty());
        for key in ["title", "name", "kind", "locations", "rawInput"] {
            if let Some(value) = update.get(key).filter(|value| is_known(value)) {
                call[key] = value.clone();
            }
        }
        let is_pending = text(update, "status") == Some("pending");
        if is_over || is_known(&call["rawInput"]) || !(is_pending || text(update, "status").is_none()) {
            self.shows(id);
            return Some(call);
        }
        self.shows(id);
        self.calls.insert(id.to_owned(), Some(call));
        None
    }
}

fn one(kind: Kind, words: Option<impl AsRef<str>>) -> Vec<Entry> {
    let words = words.as_ref().map(|words| words.as_ref().trim_end()).filter(|words| !words.trim().is_empty());
    words.map(|words| Entry::new(kind, words)).into_iter().collect()
}

fn note(words: Option<String>) -> Vec<Entry> {
    one(Kind::Note, words)
}

fn piece(kind: Kind, words: Option<&str>) -> Vec<Entry> {
    let words = words.filter(|words| !words.is_empty());
    words.map(|words| Entry { goes_on: true, ..Entry::new(kind, words) }).into_iter().collect()
}

/// A call in words, with its input where the words do not say it.
fn called(tool: Option<&str>, input: &Value) -> Option<String> {
    Some(with_input(glimpse::call(tool?, input), input))
}

fn with_input(words: String, input: &Value) -> String {
    let says_little = ["uses ", "calls ", "reports"].iter().any(|start| words.starts_with(start));
    match input {
        Value::Object(fields) if says_little && !fields.is_empty() => format!("{words} {input}"),
        _ => words,
    }
}

fn result(is_error: bool, words: Option<impl AsRef<str>>) -> Vec<Entry> {
    let kind = if is_error { Kind::Failure } else { Kind::Result };
    let entries = one(kind, words);
    if entries.is_empty() && is_error { vec![Entry::new(kind, "failed")] } else { entries }
}

/// The texts in the content of a result, whatever form it has.
fn texts(content: &Value) -> Option<String> {
    match content {
        Value::String(words) => Some(words.clone()),
        Value::Array(parts) => {
            let of = |part: &Value| text(part, "text").or_else(|| text(&part["content"], "text")).map(str::to_owned);
            Some(parts.iter().filter_map(of).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

fn contents(event: &Value, each: fn(&Value) -> Vec<Entry>) -> Vec<Entry> {
    let parts = event["message"]["content"].as_array();
    parts.map(|parts| parts.iter().flat_map(each).collect()).unwrap_or_default()
}

fn assistant(part: &Value) -> Vec<Entry> {
    match text(part, "type") {
        Some("text") => one(Kind::Words, text(part, "text")),
        Some("thinking") => one(Kind::Thought, text(part, "thinking")),
        Some("tool_use") => one(Kind::Call, called(text(part, "name"), &part["input"])),
        _ => Vec::new(),
    }
}

fn tool_result(part: &Value) -> Vec<Entry> {
    if text(part, "type") != Some("tool_result") {
        return Vec::new();
    }
    result(part["is_error"] == Value::Bool(true), texts(&part["content"]))
}

fn claude_end(event: &Value) -> Vec<Entry> {
    let is_error = event["is_error"] == Value::Bool(true);
    let errors = event["errors"].as_array().map(|errors| errors.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let errors = errors.map(|errors| errors.join("; ")).filter(|errors| !errors.is_empty());
    let words = errors.or_else(|| text(event, "result").map(str::to_owned)).or_else(|| Some("failed".to_owned()));
    note(words.filter(|_| is_error).map(|words| format!("failed: {words}")))
}

fn gemini_end(event: &Value) -> Vec<Entry> {
    let is_error = text(event, "status") != Some("success");
    note(is_error.then(|| format!("failed: {}", text(&event["error"], "message").unwrap_or("no reason is given"))))
}

fn gemini_result(event: &Value) -> Vec<Entry> {
    let is_error = text(event, "status") == Some("error");
    result(is_error, text(event, "output").or_else(|| text(&event["error"], "message")))
}

fn thought(item: &Value) -> Option<String> {
    text(item, "text").map(str::to_owned).or_else(|| {
        let parts = item.get("summary")?.as_array()?.iter().filter_map(Value::as_str);
        Some(parts.collect::<Vec<_>>().join("\n"))
    })
}

fn item_result(item: &Value) -> Vec<Entry> {
    let is_error = matches!(text(item, "status"), Some("failed" | "declined"));
    let printed = text(item, "aggregated_output").or_else(|| text(item, "aggregatedOutput")).map(str::to_owned);
    let code = ["exit_code", "exitCode"].iter().find_map(|key| item.get(*key)?.as_i64()).filter(|code| *code != 0);
    let ended = code.map(|code| format!("exit code {code}"));
    let error = text(&item["error"], "message").map(str::to_owned);
    let declined = (text(item, "status") == Some("declined")).then(|| "declined".to_owned());
    let parts = [printed, texts(&item["result"]["content"]), error, declined, ended];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect();
    result(is_error || code.is_some(), Some(parts.join("\n")))
}

fn acp_result(update: &Value) -> Vec<Entry> {
    let is_error = text(update, "status") == Some("failed");
    let content = texts(&update["content"]).filter(|words| !words.trim().is_empty());
    let raw = || text(update, "rawOutput").or_else(|| text(&update["rawOutput"], "output")).map(str::to_owned);
    result(is_error, content.or_else(raw))
}

/// What our own driver adds to a conversation.
fn driver(mark: &str, event: &Value) -> Vec<Entry> {
    let with = |key: &str| text(event, key).unwrap_or_default();
    note(Some(match mark {
        "prompted" => "is given its task".to_owned(),
        "sent" => format!("a person says: {}", with("words")),
        "asks" => format!("asks to use {}: {}", with("tool"), with("what")),
        "allowed" | "denied" => {
            let by = match with("by") {
                "person" => "by a person",
                "none" => "because no answer came",
                _ => "by its settings",
            };
            format!("{mark} {by}: {} {}", with("tool"), with("what"))
        }
        "interrupted" => "a person interrupts it".to_owned(),
        "asked again" => "is asked for its report again".to_owned(),
        "urged" => "is urged to come to an end".to_owned(),
        "wound up" => "a budget is used up: the turn is ended".to_owned(),
        "closed" => format!("the conversation is closed: {}", with("by")),
        "lacks" | "unreachable" => format!("{mark}: {}", with("why")),
        "not resumed" => "the earlier conversation is not there any more: a new one begins".to_owned(),
        other => other.to_owned(),
    }))
}
