//! Gemini CLI: `gemini -o stream-json`. It cannot be held to a schema and says no cost.

use serde_json::Value;

use super::count::{Counts, length};
use super::stream::{Stream, number, text};
use super::trouble::Trouble;
use super::{Order, Permissions, Version};

pub(super) const LEAST: Version = Version(0, 30, 0);

pub(super) const PASSES: &[&str] = &[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
];

/// Else it starts itself again below a process that does not listen to signals, or ends in a folder that is new to it.
pub(super) const SETS: &[(&str, &str)] =
    &[("GEMINI_CLI_NO_RELAUNCH", "1"), ("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("NO_COLOR", "1")];

pub(super) fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut words = permitted(order, ["-o", "stream-json"]);
    // It comes behind what is on standard input.
    words.extend(["-p", order.note].map(str::to_owned));
    words
}

/// In a conversation it speaks the Agent Client Protocol.
pub(super) fn conversing(order: &Order<'_>) -> Vec<String> {
    permitted(order, ["--acp"])
}

fn permitted<const N: usize>(order: &Order<'_>, first: [&str; N]) -> Vec<String> {
    let mode = match order.setup.permissions {
        Permissions::Read | Permissions::Ask => "default",
        Permissions::Edit => "auto_edit",
        Permissions::Full => "yolo",
    };
    let mut words: Vec<String> = first.map(str::to_owned).into();
    words.extend(["--approval-mode", mode].map(str::to_owned));
    words.extend(order.besides("--include-directories"));
    words.extend(order.setup.model.iter().flat_map(|model| ["-m".to_owned(), model.clone()]));
    words
}

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    match text(event, "type") {
        Some("init") => {
            stream.usage.session_id = text(event, "session_id").map(str::to_owned);
            stream.usage.model = text(event, "model").map(str::to_owned);
        }
        // Its words come in pieces; those before its last use of a tool are on the way.
        Some("message") if text(event, "role") == Some("assistant") => {
            stream.say_more(text(event, "content").unwrap_or_default());
            stream.answers(length(&event["content"]));
        }
        Some("message") => stream.is_sent(length(&event["content"])),
        Some("tool_use") => {
            stream.text.clear();
            stream.calls(length(&event["parameters"]));
            stream.error = None;
            stream.wanted =
                ["file_path", "command"].into_iter().find_map(|key| text(&event["parameters"], key)).map(str::to_owned);
        }
        // It ends its turn then, and calls that a success.
        Some("error") => {
            stream.error = text(event, "message").map(|words| Trouble::classify(None, words, ended_at));
        }
        Some("tool_result") if text(&event["error"], "type") == Some("policy_violation") => {
            let tool = text(event, "tool_id").and_then(|id| id.split("__").next()).unwrap_or("a tool");
            let wanted = stream.wanted.take().unwrap_or_default();
            stream.deny(tool, &wanted);
            stream.is_sent(0);
        }
        Some("tool_result") => stream.is_sent(length(&event["output"])),
        Some("result") => {
            let is_well = text(event, "status") == Some("success");
            (stream.finished, stream.ok) = (true, is_well && stream.error.is_none());
            let of = |key| number(&event["stats"], key).unwrap_or(0);
            let (input, cached, output) = (of("input_tokens"), of("cached"), of("output_tokens"));
            stream.settle(Counts { input, cached, stored: 0, output, requests: stream.open().requests });
            if !is_well {
                let words = text(&event["error"], "message").unwrap_or("the agent reports an error");
                stream.error = Some(Trouble::classify(None, words, ended_at));
            }
        }
        _ => {}
    }
}
