//! Codex in a conversation: what `codex app-server` says.

use serde_json::Value;

use super::codex::declined;
use super::stream::{Stream, number, text};
use super::trouble::{Class, Trouble};

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    let params = &event["params"];
    match text(event, "method") {
        Some("turn/started") => {
            (stream.finished, stream.ok) = (false, false);
            stream.usage.turns = Some(stream.usage.turns.unwrap_or(0).saturating_add(1));
        }
        Some("item/completed") => item(stream, &params["item"]),
        Some("thread/tokenUsage/updated") => {
            // Of the whole conversation, with what came from a cache.
            let of = |key| number(&params["tokenUsage"]["total"], key).unwrap_or(0);
            stream.usage.input = of("inputTokens");
            stream.usage.cached = of("cachedInputTokens");
            stream.usage.output = of("outputTokens");
        }
        Some("error") => {
            stream.error = text(&params["error"], "message").map(|words| Trouble::of(None, words, ended_at));
        }
        Some("turn/completed") => turn(stream, &params["turn"], ended_at),
        Some(_) => {}
        None => answer(stream, event, ended_at),
    }
}

fn item(stream: &mut Stream, item: &Value) {
    match (text(item, "type"), text(item, "status")) {
        (Some("agentMessage"), _) => stream.text = text(item, "text").unwrap_or_default().to_owned(),
        (Some(kind), Some("declined")) => declined(stream, kind, item),
        _ => {}
    }
}

fn turn(stream: &mut Stream, turn: &Value, ended_at: u64) {
    let status = text(turn, "status").unwrap_or_default();
    (stream.finished, stream.ok) = (true, status == "completed");
    stream.error = match text(&turn["error"], "message") {
        _ if stream.ok => None,
        Some(words) => Some(Trouble::of(None, words, ended_at)),
        None => Some(Trouble { class: Class::Transient, words: format!("the turn ended as {status}") }),
    };
}

/// The answer to one of our requests: that a thread is open, or that something went wrong.
fn answer(stream: &mut Stream, event: &Value, ended_at: u64) {
    if let Some(thread) = event["result"].get("thread") {
        stream.usage.session_id = text(thread, "id").map(str::to_owned);
        stream.usage.model = text(&event["result"], "model").or_else(|| text(thread, "model")).map(str::to_owned);
        stream.error = None;
    } else if let Some(words) = event.get("error").and_then(|error| text(error, "message")) {
        stream.error = Some(Trouble::of(None, words, ended_at));
    }
}
