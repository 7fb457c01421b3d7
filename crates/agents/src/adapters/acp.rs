//! Agents that speak the Agent Client Protocol, version 1. It hides failures: some agents end a turn well and say the error as
//! their last words, so only a report counts as done.

use serde_json::Value;

use super::count::{Counts, length};
use super::stream::{Stream, number, text};
use super::trouble::{Class, Trouble};

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    if let Some(id) = text(&event["params"], "sessionId").or_else(|| text(&event["result"], "sessionId")) {
        stream.usage.session_id = Some(id.to_owned());
    }
    match text(event, "method") {
        Some("session/update") => update(stream, &event["params"]["update"]),
        Some(_) => {}
        None => answer(stream, event, ended_at),
    }
}

fn update(stream: &mut Stream, update: &Value) {
    match text(update, "sessionUpdate") {
        Some("agent_message_chunk") => {
            stream.say_more(text(&update["content"], "text").unwrap_or_default());
            stream.answers(length(&update["content"]));
        }
        Some("agent_thought_chunk") => stream.answers(length(&update["content"])),
        // Its words come in pieces; those before its last use of a tool are on the way.
        Some("tool_call") => {
            stream.text.clear();
            stream.calls(length(&update["rawInput"]));
        }
        Some("tool_call_update") if matches!(text(update, "status"), Some("completed" | "failed")) => {
            stream.is_sent(length(&update["content"]).saturating_add(length(&update["rawOutput"])));
        }
        Some("usage_update") => {
            number(update, "used").into_iter().for_each(|used| stream.sends(used));
            if text(&update["cost"], "currency") == Some("USD") {
                stream.usage.set_cost(&update["cost"]["amount"]);
            }
        }
        _ => {}
    }
}

/// The answer to one of our requests: that a session is open, that a turn is over, or that something went wrong.
fn answer(stream: &mut Stream, event: &Value, ended_at: u64) {
    let result = &event["result"];
    if let Some(error) = event.get("error") {
        let message = text(error, "message").unwrap_or("the agent reports an error");
        let details = text(error, "data").or_else(|| text(&error["data"], "details")).unwrap_or_default();
        let words = if details.is_empty() { message.to_owned() } else { format!("{message}: {details}") };
        (stream.finished, stream.ok) = (true, false);
        stream.error = Some(Trouble::classify(None, &words, ended_at));
    } else if text(result, "sessionId").is_some() {
        // What went wrong before does not matter any more.
        (stream.finished, stream.error) = (false, None);
    } else if let Some(reason) = text(result, "stopReason") {
        (stream.finished, stream.ok) = (true, reason == "end_turn");
        let words = format!("the agent stopped: {reason}");
        stream.error = (!stream.ok).then_some(Trouble { class: Class::Transient, words });
        usage(stream, result);
    }
}

/// Each turn says what it used, in one of two places.
fn usage(stream: &mut Stream, result: &Value) {
    let quota = &result["_meta"]["quota"];
    let counts = if result["usage"].is_object() { &result["usage"] } else { &quota["token_count"] };
    let of = |keys: [&str; 2]| keys.iter().find_map(|key| number(counts, key)).unwrap_or(0);
    let (cached, output) = (of(["cachedReadTokens", "cachedInputTokens"]), of(["outputTokens", "output_tokens"]));
    // Some count what came from a cache as sent, others apart; the total has it in any case.
    let sent = of(["totalTokens", "total_tokens"]).saturating_sub(output).max(of(["inputTokens", "input_tokens"]));
    let requests = stream.open().requests.max(1);
    if sent == 0 && output == 0 {
        return; // it does not say: what was estimated stays
    }
    stream.settle(Counts { input: sent, cached, stored: 0, output, requests });
    let model = quota["model_usage"].as_array().and_then(|models| text(models.first()?, "model"));
    if let Some(model) = model {
        stream.usage.model = Some(model.to_owned());
    }
}
