//! What an agent is doing at the moment, in a few words: `edits src/lib.rs`, `runs cargo test`.

use serde_json::Value;

use super::server;
use super::stream::{MARK, text};

/// The most that is kept of what an agent is doing, in characters.
const WORDS: usize = 300;
/// The words before an agent's progress.
const PROGRESS: &str = "progress: ";

/// What an event says that the agent is doing; nothing if it says nothing of that.
pub(super) fn doing(event: &Value) -> Option<String> {
    let words = match (text(event, MARK), text(event, "type"), text(event, "method")) {
        (Some("asks"), ..) => format!("asks to use {}: {}", text(event, "tool")?, text(event, "what")?),
        (Some(_), ..) => return None,
        (_, Some("assistant"), _) => {
            event["message"]["content"].as_array()?.iter().rev().find_map(|part| match text(part, "type") {
                Some("tool_use") => Some(call(text(part, "name")?, &part["input"])),
                Some("text") => said(text(part, "text")?),
                _ => None,
            })?
        }
        (_, Some("system"), _) if text(event, "subtype") == Some("api_retry") => retry(event),
        (_, Some("item.started" | "item.updated" | "item.completed"), _) => item(&event["item"])?,
        (_, Some("error"), _) => format!("has trouble: {}", text(event, "message")?),
        (_, Some("tool_use"), _) => call(text(event, "tool_name")?, &event["parameters"]),
        (_, _, Some("item/started" | "item/completed")) => item(&event["params"]["item"])?,
        (_, _, Some("error")) => format!("has trouble: {}", text(&event["params"]["error"], "message")?),
        (_, _, Some("session/update")) => update(&event["params"]["update"])?,
        _ => return None,
    };
    Some(one_line(&words))
}

/// How far the agent says that it is, if an event is a call of our tool for that.
pub(super) fn progress(event: &Value) -> Option<String> {
    let words = doing(event)?;
    words.strip_prefix(PROGRESS).map(str::to_owned)
}

/// How far a worker is, in one line.
pub fn progress_words(summary: &str, percent: Option<u64>) -> String {
    let percent = percent.map(|percent| format!(" ({percent} %)")).unwrap_or_default();
    one_line(&format!("{summary}{percent}"))
}

/// The last line of an agent's words, if an event is a piece of them.
pub(super) fn last_words(event: &Value, words: &str) -> Option<String> {
    let is_piece = match (text(event, "type"), text(event, "method")) {
        (Some("message"), _) => text(event, "role") == Some("assistant"),
        (_, Some("session/update")) => text(&event["params"]["update"], "sessionUpdate") == Some("agent_message_chunk"),
        _ => false,
    };
    let line = words.lines().rev().find(|line| !line.trim().is_empty()).filter(|_| is_piece)?;
    said(line).map(|line| one_line(&line))
}

/// Whether an event says that the agent itself asks its service again.
pub(super) fn is_retry(event: &Value) -> bool {
    match (text(event, "type"), text(event, "method")) {
        (Some("system"), _) => text(event, "subtype") == Some("api_retry"),
        // Codex says so in words only.
        (Some("error"), _) => text(event, "message").is_some_and(|words| words.starts_with("Reconnecting")),
        (_, Some("error")) => event["params"]["willRetry"] == Value::Bool(true),
        _ => false,
    }
}

fn retry(event: &Value) -> String {
    let count = |key| event.get(key).and_then(Value::as_u64);
    let of = count("max_retries").map(|most| format!(" of {most}")).unwrap_or_default();
    let nth = count("attempt").map(|nth| format!(" {nth}{of}")).unwrap_or_default();
    let why = text(event, "error").map(str::to_owned).or_else(|| count("error_status").map(|it| format!("HTTP {it}")));
    format!("waits to retry{nth}{}", why.map(|why| format!(": {why}")).unwrap_or_default())
}

/// A call of a tool in words. Agents name the same things differently.
pub(super) fn call(tool: &str, input: &Value) -> String {
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(input, key)).filter(|value| !value.is_empty());
    let path = || first(&["file_path", "absolute_path", "path", "notebook_path", "dir_path"]).map(short);
    let with = |verb: &str, object: Option<String>| match object {
        Some(object) => format!("{verb} {object}"),
        None => format!("uses {tool}"),
    };
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        return of_server(server, name, input);
    }
    match tool {
        "Edit" | "MultiEdit" | "NotebookEdit" | "replace" | "edit" => with("edits", path()),
        "Write" | "write_file" | "write" => with("writes", path()),
        "Read" | "read_file" | "read_many_files" | "read" => with("reads", path()),
        "Bash" | "run_shell_command" | "bash" | "shell" => with("runs", first(&["command"]).map(command)),
        "Glob" | "Grep" | "search_file_content" | "grep_search" | "glob" | "grep" => {
            with("searches for", first(&["pattern", "query"]).map(str::to_owned))
        }
        "LS" | "list_directory" => with("lists", path()),
        "WebFetch" | "web_fetch" => with("fetches", first(&["url", "prompt"]).map(str::to_owned)),
        "WebSearch" | "google_web_search" => with("searches the web for", first(&["query"]).map(str::to_owned)),
        "Task" | "Agent" => with("asks a subagent:", first(&["description", "prompt"]).map(str::to_owned)),
        "TodoWrite" | "write_todos" => "updates its plan".to_owned(),
        "StructuredOutput" => "reports".to_owned(),
        _ => format!("uses {tool}"),
    }
}

/// A call of a tool that an MCP server offers; ours says what it does.
fn of_server(server: &str, tool: &str, input: &Value) -> String {
    match (server == server::NAME, tool) {
        (true, "progress") => {
            let words = text(input, "summary").unwrap_or_default();
            format!("{PROGRESS}{}", progress_words(words, input.get("percent").and_then(Value::as_u64)))
        }
        (true, "report_result") => "reports".to_owned(),
        (true, tool) => format!("calls {tool}"),
        (false, tool) => format!("calls {tool} of {server}"),
    }
}

/// An item of Codex, by either of its protocols.
pub(super) fn item(item: &Value) -> Option<String> {
    Some(match text(item, "type")? {
        "command_execution" | "commandExecution" => format!("runs {}", command(text(item, "command")?)),
        "file_change" | "fileChange" => {
            let paths = item["changes"].as_array()?.iter().filter_map(|change| text(change, "path"));
            format!("edits {}", paths.map(short).collect::<Vec<_>>().join(", "))
        }
        "mcp_tool_call" | "mcpToolCall" => of_server(text(item, "server")?, text(item, "tool")?, &item["arguments"]),
        "web_search" | "webSearch" => format!("searches the web for {}", text(item, "query")?),
        "agent_message" | "agentMessage" => said(text(item, "text")?)?,
        "todo_list" => "updates its plan".to_owned(),
        _ => return None,
    })
}

/// An update of the Agent Client Protocol.
fn update(update: &Value) -> Option<String> {
    (text(update, "sessionUpdate") == Some("tool_call")).then(|| tool_call(update)).flatten()
}

/// A call of a tool by the Agent Client Protocol.
pub(super) fn tool_call(update: &Value) -> Option<String> {
    let (title, raw) = (text(update, "title").unwrap_or_default(), &update["rawInput"]);
    let path = || text(update["locations"].as_array()?.first()?, "path").map(short);
    let of_ours = [title, text(update, "name").unwrap_or_default()].into_iter().find_map(|name| {
        let name = name.split([' ', ':', '(']).next()?;
        name.strip_prefix("mcp__executor__").or_else(|| name.strip_prefix("executor_"))
    });
    Some(match (text(update, "kind"), of_ours) {
        (_, Some(tool)) => of_server(server::NAME, tool, raw),
        (Some("edit"), _) if let Some(path) = path() => format!("edits {path}"),
        (Some("read"), _) if let Some(path) = path() => format!("reads {path}"),
        (Some("delete"), _) if let Some(path) = path() => format!("deletes {path}"),
        (Some("execute"), _) => format!("runs {}", command(text(raw, "command").unwrap_or(title))),
        (Some("search"), _) => format!("searches: {title}"),
        (Some("fetch"), _) => format!("fetches {title}"),
        _ => said(title)?,
    })
}

/// The agent's own words, unless they are a report or nothing.
fn said(words: &str) -> Option<String> {
    let words = words.trim();
    (!words.is_empty() && !words.starts_with(['{', '`'])).then(|| words.to_owned())
}

/// A command without the shell that runs it.
fn command(words: &str) -> String {
    let shells = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "/usr/bin/bash -lc ", "/bin/zsh -lc "];
    let inner = shells.iter().find_map(|shell| words.strip_prefix(shell));
    let unquoted = |inner: &str| {
        let quote = ['\'', '"'].into_iter().find(|quote| inner.len() > 1 && inner.starts_with(*quote));
        let bare = quote.and_then(|quote| inner.strip_prefix(quote)?.strip_suffix(quote));
        bare.unwrap_or(inner).to_owned()
    };
    inner.map_or_else(|| words.to_owned(), unquoted)
}

/// A path as it is shown: below a folder for artifacts, its name there; below the current folder, relative to it.
fn short(path: &str) -> String {
    // Below `.workflow/.csv-wave/EX-…/artifacts/TASK/`.
    let delivered = path.split_once("/artifacts/").filter(|(run, _)| run.contains("/.workflow/"));
    if let Some((_, name)) = delivered.and_then(|(_, rest)| rest.split_once('/')) {
        return name.to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    std::path::Path::new(path).strip_prefix(here).map_or_else(|_| path.to_owned(), |inner| inner.display().to_string())
}

fn one_line(words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|letter| !letter.is_control()).take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_of_each_agent_are_told_in_words() {
        for (event, words) in [
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Now."},{"type":"tool_use","name":"Edit","input":{"file_path":"/p/src/lib.rs"}}]}}"#,
                Some("edits /p/src/lib.rs"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"/p/.workflow/.csv-wave/EX-1/artifacts/A/docs/a.md","content":"x"}}]}}"#,
                Some("writes docs/a.md"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"cargo test\n  --all"}}]}}"#,
                Some("runs cargo test --all"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__executor__progress","input":{"summary":"half done","percent":50}}]}}"#,
                Some("progress: half done (50 %)"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__docs__find","input":{}}]}}"#,
                Some("calls find of docs"),
            ),
            (
                r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"overloaded"}"#,
                Some("waits to retry 1 of 2: overloaded"),
            ),
            (
                r#"{"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc 'cargo \"test\"'"}}"#,
                Some("runs cargo \"test\""),
            ),
            (
                r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a.rs"},{"path":"b.rs"}]}}"#,
                Some("edits a.rs, b.rs"),
            ),
            (
                r#"{"method":"item/started","params":{"item":{"type":"commandExecution","command":"ls"}}}"#,
                Some("runs ls"),
            ),
            (
                r#"{"type":"tool_use","tool_name":"read_file","parameters":{"absolute_path":"/a/b"}}"#,
                Some("reads /a/b"),
            ),
            (r#"{"type":"tool_use","tool_name":"dance"}"#, Some("uses dance")),
            (
                r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","kind":"edit","title":"Edit","locations":[{"path":"x.rs"}]}}}"#,
                Some("edits x.rs"),
            ),
            (
                r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","kind":"execute","title":"make all"}}}"#,
                Some("runs make all"),
            ),
            (r#"{"team_executor":"asks","question":1,"tool":"Bash","what":"rm x"}"#, Some("asks to use Bash: rm x")),
            (r#"{"type":"message","role":"user","content":"Do it."}"#, None),
            (r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#, None),
            (r#"{"type":"system","subtype":"init","name":"x"}"#, None),
            (r#"{"type":"turn.started"}"#, None),
            ("{}", None),
        ] {
            let event = serde_json::from_str(event).unwrap();
            assert_eq!(doing(&event).as_deref(), words, "{event}");
        }
    }

    #[test]
    fn retries_of_the_agent_itself_are_told_apart_from_errors() {
        for (event, is) in [
            (r#"{"type":"system","subtype":"api_retry"}"#, true),
            (r#"{"type":"error","message":"Reconnecting... 1/2"}"#, true),
            (r#"{"type":"error","message":"unexpected status 400"}"#, false),
            (r#"{"method":"error","params":{"error":{"message":"x"},"willRetry":true}}"#, true),
            (r#"{"method":"error","params":{"error":{"message":"x"},"willRetry":false}}"#, false),
        ] {
            assert_eq!(is_retry(&serde_json::from_str(event).unwrap()), is, "{event}");
        }
    }

    #[test]
    fn words_that_come_in_pieces_are_told_as_a_line() {
        let piece = serde_json::json!({"type": "message", "role": "assistant", "content": "it."});
        assert_eq!(last_words(&piece, "First.\nI look into it.\n").as_deref(), Some("I look into it."));
        assert_eq!(last_words(&piece, "{\"status\":\"completed\"}"), None, "a report is no talk");
        assert_eq!(last_words(&serde_json::json!({"type": "init"}), "First."), None);
        assert_eq!(last_words(&piece, &"ä ".repeat(5000)).unwrap().chars().count(), WORDS, "a flood is cut");
    }
}
