//! Codex: `codex exec --json`.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::count::{Counts, length};
use super::server::codex_servers;
use super::stream::{Stream, number, text};
use super::trouble::Trouble;
use super::{Order, Permissions, Version};

pub(super) const LEAST: Version = Version(0, 100, 0);

/// What a command and a change of files are called where a person is asked about them.
pub(crate) const COMMAND: &str = "a command";
pub(crate) const CHANGE: &str = "a change of files";

pub(super) const PASSES: &[&str] = &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"];

pub(super) fn arguments(order: &Order<'_>) -> Vec<String> {
    let sandbox = match order.setup.permissions {
        Permissions::Read | Permissions::Ask => "read-only",
        Permissions::Edit => "workspace-write",
        Permissions::Full => "danger-full-access",
    };
    let mut words: Vec<String> =
        ["exec", "--json", "--skip-git-repo-check", "--sandbox", sandbox].map(str::to_owned).into();
    words.extend(codex_servers(order.server, &order.setup.servers));
    words.extend(effort(order));
    words.extend(beside(order));
    words.extend(order.setup.model.iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    // A text in JSON is a text in TOML.
    words.extend(["-c".to_owned(), format!("developer_instructions={}", json!(order.noted()))]);
    words.extend(order.schema.iter().flat_map(|file| ["--output-schema".to_owned(), file.display().to_string()]));
    words
}

/// What else it must know is said in the protocol.
pub(super) fn conversing(order: &Order<'_>) -> Vec<String> {
    let mut words = vec!["app-server".to_owned()];
    words.extend(codex_servers(order.server, &order.setup.servers));
    words.extend(effort(order));
    words.extend(beside(order));
    words
}

/// Its sandbox lets it write to the folder that it delivers to, and does not start with a link.
fn beside(order: &Order<'_>) -> Vec<String> {
    let folder = order.beside.iter().map(|(folder, _)| json!([folder.display().to_string()]));
    folder.flat_map(|folders| ["-c".to_owned(), format!("sandbox_workspace_write.writable_roots={folders}")]).collect()
}

fn effort(order: &Order<'_>) -> Vec<String> {
    let effort = order.setup.effort.iter();
    effort.flat_map(|effort| ["-c".to_owned(), format!("model_reasoning_effort={}", json!(effort))]).collect()
}

/// What an argument of the user adds to the developer's instructions, and whether the next one belongs to it.
pub(super) fn own_instruction(arg: &str, next: Option<&String>) -> (Option<String>, bool) {
    let of = |setting: &str| {
        let value = setting.trim_start().strip_prefix("developer_instructions")?.trim_start().strip_prefix('=')?.trim();
        // A text in quotes is TOML, which JSON is for all that matters here; without quotes it is the text itself.
        Some(serde_json::from_str::<String>(value).unwrap_or_else(|_| value.trim_matches('\'').to_owned()))
    };
    match (arg, next) {
        ("-c" | "--config", Some(next)) => of(next).map_or((None, false), |text| (Some(text), true)),
        _ => (arg.strip_prefix("--config=").and_then(of), false),
    }
}

pub(super) fn event(stream: &mut Stream, event: &Value, ended_at: u64) {
    match text(event, "type") {
        Some("thread.started") => stream.usage.session_id = text(event, "thread_id").map(str::to_owned),
        Some("turn.started") => {
            (stream.finished, stream.ok) = (false, false);
            stream.is_sent(0);
        }
        Some("item.started") => stream.calls(length(&event["item"]["command"])),
        Some("item.completed") => item(stream, &event["item"]),
        // A retry says the same; what it comes to is said by the end of the turn.
        Some("error") => stream.error = text(event, "message").map(|words| Trouble::classify(None, words, ended_at)),
        Some("turn.completed") => {
            (stream.finished, stream.ok, stream.error) = (true, true, None);
            let of = |key| number(&event["usage"], key).unwrap_or(0);
            // Of the whole conversation, with what came from a cache. Requests are only seen by what they lead to.
            let requests = stream.said().requests.saturating_add(stream.open().requests);
            let (input, cached) = (of("input_tokens"), of("cached_input_tokens"));
            stream.settle_all(Counts { input, cached, stored: 0, output: of("output_tokens"), requests });
        }
        Some("turn.failed") => {
            (stream.finished, stream.ok) = (true, false);
            let words = text(&event["error"], "message").unwrap_or("the turn failed");
            stream.error = Some(Trouble::classify(None, words, ended_at));
        }
        _ => {}
    }
}

fn item(stream: &mut Stream, item: &Value) {
    match (text(item, "type"), text(item, "status")) {
        (Some("agent_message"), _) => {
            stream.text = text(item, "text").unwrap_or_default().to_owned();
            stream.answers(stream.text.len() as u64);
        }
        (Some(kind), Some("declined")) => declined(stream, kind, item),
        // A warning, or what the model thinks.
        (Some("error" | "reasoning"), _) => {}
        // The result of a tool is sent with the next request.
        _ => stream.is_sent(length(&item["aggregated_output"]).saturating_add(length(&item["result"]))),
    }
}

/// Notes what was declined, by the words of a question for it.
pub(super) fn declined(stream: &mut Stream, kind: &str, item: &Value) {
    let changed = item["changes"].as_array().and_then(|changes| text(changes.first()?, "path"));
    let what = text(item, "command").or(changed).unwrap_or_default();
    let tool = match kind {
        "command_execution" | "commandExecution" => COMMAND,
        "file_change" | "fileChange" => CHANGE,
        other => other,
    };
    stream.deny(tool, what);
}

/// The program behind the script that npm installs.
pub(super) fn native(found: &Path) -> Option<PathBuf> {
    let script = found.canonicalize().ok()?;
    let package = script.parent()?.parent()?;
    if script.extension()? != "js" || !package.ends_with("@openai/codex") {
        return None;
    }
    let (name, target) = match std::env::consts::ARCH {
        "x86_64" => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
        "aarch64" => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
        _ => return None,
    };
    let within = Path::new(name).join("vendor").join(target).join("bin/codex");
    let beside = package.parent()?.join(&within);
    let below = package.join("node_modules/@openai").join(&within);
    [beside, below].into_iter().find(|path| path.is_file())
}
