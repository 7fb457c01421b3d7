//! Claude Code: `claude -p --output-format stream-json`.

use serde_json::Value;

use super::count::Counts;
use super::server::claude_servers;
use super::stream::{Stream, number, text};
use super::trouble::{Class, Trouble};
use super::{Order, Permissions, RESULT_SCHEMA, Version};

pub(super) const LEAST: Version = Version(2, 1, 0);

pub(super) const PASSES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

/// By itself it tries ten times, also when it is not logged in; tasks are tried again anyway.
pub(super) const SETS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// What runs commands or reaches the network.
const REACHES_OUT: &str = "Bash,WebFetch,WebSearch";
/// The same, and what changes files.
const REACHES_OUT_OR_EDITS: &str = "Bash,WebFetch,WebSearch,Edit,NotebookEdit,Write";

pub(super) fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut words: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"].map(str::to_owned).into();
    // A tool that may not be used is not offered: what is not offered is not tried and denied.
    let permissions: &[&str] = match order.setup.permissions {
        Permissions::Read => &["--permission-mode", "default", "--disallowedTools", REACHES_OUT_OR_EDITS],
        Permissions::Edit => &["--permission-mode", "acceptEdits", "--disallowedTools", REACHES_OUT],
        Permissions::Full => &["--permission-mode", "acceptEdits", "--allowedTools", REACHES_OUT],
        Permissions::Ask => &["--permission-mode", "default", "--permission-prompt-tool", "stdio"],
    };
    words.extend(permissions.iter().map(|word| (*word).to_owned()));
    words.extend(order.besides("--add-dir"));
    let asks = order.setup.permissions == Permissions::Ask;
    words.extend(claude_servers(order.server, &order.setup.servers, asks));
    words.extend(order.setup.model.iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    words.extend(order.setup.effort.iter().flat_map(|effort| ["--effort".to_owned(), effort.clone()]));
    words.extend(["--append-system-prompt".to_owned(), order.noted()]);
    // One that can report by a tool would be held to report once more.
    let schema = order.schema.filter(|_| order.server.is_none());
    words.extend(schema.iter().flat_map(|_| ["--json-schema", RESULT_SCHEMA].map(str::to_owned)));
    words
}

pub(super) fn bounds(usd_micros: Option<u64>, turns: Option<u64>) -> Vec<String> {
    let usd = usd_micros.map(|micros| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000));
    let usd = usd.into_iter().flat_map(|usd| ["--max-budget-usd".to_owned(), usd]);
    usd.chain(turns.into_iter().flat_map(|turns| ["--max-turns".to_owned(), turns.to_string()])).collect()
}

/// What an argument of the user adds to the system prompt, and whether the next one belongs to it.
pub(super) fn own_instruction(arg: &str, next: Option<&String>) -> (Option<String>, bool) {
    const FLAG: &str = "--append-system-prompt";
    match arg.strip_prefix(FLAG) {
        Some("") => (next.cloned(), next.is_some()),
        Some(rest) => (rest.strip_prefix('=').map(str::to_owned), false),
        None => (None, false),
    }
}

/// The same, and it listens.
pub(super) fn conversing(order: &Order<'_>) -> Vec<String> {
    let mut words = arguments(order);
    words.extend(["--input-format", "stream-json"].map(str::to_owned));
    words
}

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    if let Some(id) = text(event, "session_id") {
        stream.usage.session_id = Some(id.to_owned());
    }
    match (text(event, "type"), text(event, "subtype")) {
        (Some("system"), Some("init")) => stream.usage.model = text(event, "model").map(str::to_owned),
        (Some("rate_limit_event"), _) => {
            let info = &event["rate_limit_info"];
            stream.resets_at = number(info, "resetsAt").filter(|_| text(info, "status") == Some("rejected"));
        }
        (Some("assistant"), _) => stream.block(&event["message"]),
        (Some("result"), subtype) => result(stream, event, subtype.unwrap_or_default(), ended_at),
        _ => {}
    }
}

/// The last event. A service that refuses is `success` with `is_error`; a tool that was denied is no error at all.
fn result(stream: &mut Stream, event: &Value, subtype: &str, ended_at: u64) {
    stream.finished = true;
    stream.ok = subtype == "success" && event["is_error"] == Value::Bool(false);
    stream.text = text(event, "result").unwrap_or_default().to_owned();
    stream.structured = event.get("structured_output").filter(|value| value.is_object()).cloned();
    let denials = event["permission_denials"].as_array().into_iter().flatten();
    denials.for_each(|one| {
        let input = &one["tool_input"];
        let what = ["file_path", "notebook_path", "command", "url"].into_iter().find_map(|key| text(input, key));
        stream.deny(text(one, "tool_name").unwrap_or("a tool"), what.unwrap_or_default());
    });
    // Tokens are those since the last such event of a conversation, its cost is that of the whole. A sum may lack the last
    // message, and what was seen of messages lacks the end of their output.
    let (told, open) = (Counts::of_claude(&event["usage"]), stream.open());
    let output = if told.output > 0 { told.output } else { open.output };
    let requests = if open.requests > 0 { open.requests } else { number(event, "num_turns").unwrap_or(0) };
    stream.settle(Counts { output, requests, ..told.or_more(open) });
    stream.usage.set_cost(&event["total_cost_usd"]);
    if stream.ok {
        stream.error = None;
        return;
    }
    let errors = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors = errors.collect::<Vec<_>>().join("; ");
    let words =
        [stream.text.as_str(), &errors, subtype].into_iter().find(|words| !words.is_empty()).unwrap_or_default();
    if matches!(subtype, "error_max_budget_usd" | "error_max_turns") {
        stream.error = Some(Trouble { class: Class::Overspent, words: words.to_owned() });
        return;
    }
    let mut trouble = Trouble::classify(number(event, "api_error_status"), words, ended_at);
    if let (Class::Quota { until }, Some(at)) = (&mut trouble.class, stream.resets_at) {
        *until = until.or(Some(at.saturating_mul(1000)));
    }
    stream.error = Some(trouble);
}
