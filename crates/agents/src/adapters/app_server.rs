//! Codex in a conversation: what `codex app-server` says.

use serde_json::Value;

use super::codex::declined;
use super::count::Counts;
use super::stream::{Stream, number, text};
use super::trouble::{Class, Trouble};

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    let params = &event["params"];
    match text(event, "method") {
        Some("turn/started") => {
            (stream.finished, stream.ok) = (false, false);
            stream.is_in_turn = true; // usage that is told before belongs to what was taken up
        }
        Some("item/started") => match text(&params["item"], "type") {
            Some("agentMessage") => stream.usage.goes_on = false,
            Some("userMessage" | "reasoning" | "plan") | None => {}
            Some(_) => stream.usage.goes_on = true,
        },
        Some("item/completed") => item(stream, &params["item"]),
        Some("thread/tokenUsage/updated") => used(stream, &params["tokenUsage"]["total"]),
        Some("error") => {
            stream.error = text(&params["error"], "message").map(|words| Trouble::classify(None, words, ended_at));
        }
        Some("turn/completed") => turn(stream, &params["turn"], ended_at),
        Some(_) => {}
        None => answer(stream, event, ended_at),
    }
}

/// Of the whole conversation, with what came from a cache; told after each request.
fn used(stream: &mut Stream, total: &Value) {
    let of = |key| number(total, key).unwrap_or(0);
    let (input, cached, output) = (of("inputTokens"), of("cachedInputTokens"), of("outputTokens"));
    let said = stream.said();
    let is_more = (input, output) != (said.input, said.output);
    let requests = said.requests.saturating_add(u64::from(is_more && stream.is_in_turn));
    stream.settle_all(Counts { input, cached, stored: 0, output, requests });
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
        Some(words) => Some(Trouble::classify(None, words, ended_at)),
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
        stream.error = Some(Trouble::classify(None, words, ended_at));
    }
}
