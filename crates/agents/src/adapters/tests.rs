//! The cases in which an exit status alone would lie, each on a stream of the shape that the agent prints.

use std::path::{Path, PathBuf};

use super::*;
use crate::exit::Ended;

const NOW: u64 = 1_794_768_000_000;

fn read(adapter: Adapter, lines: &[&str]) -> Stream {
    adapter.read(lines.join("\n").as_bytes(), NOW)
}

fn trouble(stream: &Stream, code: i32) -> Option<Trouble> {
    stream.trouble(&Ended::Exit(code), "", NOW).or_else(|| stream.denied())
}

fn class(stream: &Stream, code: i32) -> Option<Class> {
    trouble(stream, code).map(|trouble| trouble.class)
}

const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"c-1","model":"opus"}"#;
const CLAUDE_DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Wrote it.","session_id":"c-1",
    "total_cost_usd":0.095332,"permission_denials":[],"usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3,"output_tokens":40}}"#;

fn claude_done() -> String {
    CLAUDE_DONE.replace('\n', "")
}

#[test]
fn finished_agent_is_believed_and_its_usage_known() {
    let claude = read(Adapter::Claude, &[CLAUDE, "not json", r#"{"type":"new event"}"#, "[]", &claude_done()]);
    assert_eq!(
        (claude.finished, claude.ok, claude.text.as_str(), trouble(&claude, 0)),
        (true, true, "Wrote it.", None)
    );
    let usage = Usage {
        input: 123,
        cached: 3,
        stored: 20,
        output: 40,
        cost_micros: Some(95_332),
        turns: Some(2),
        goes_on: false,
        is_estimated: false,
        model: Some("opus".to_owned()),
        session_id: Some("c-1".to_owned()),
    };
    assert_eq!(claude.usage, usage);

    let codex = read(
        Adapter::Codex,
        &[
            r#"{"type":"thread.started","thread_id":"x-1"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"type":"error","message":"only a warning"}}"#,
            r#"{"type":"error","message":"Reconnecting... 1/2 (429)"}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"on it"}}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":50,"output_tokens":40}}"#,
        ],
    );
    assert_eq!((codex.text.as_str(), trouble(&codex, 0)), ("Done.", None));
    assert_eq!((codex.usage.input, codex.usage.cached, codex.usage.output), (200, 50, 40));
    assert_eq!((codex.usage.session_id.as_deref(), codex.usage.turns), (Some("x-1"), Some(1)));

    let gemini = read(
        Adapter::Gemini,
        &[
            r#"{"type":"init","session_id":"g-1","model":"pro"}"#,
            r#"{"type":"message","role":"user","content":"Do it."}"#,
            r#"{"type":"message","role":"assistant","content":"I shall.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"write_file","tool_id":"write_file__1"}"#,
            r#"{"type":"message","role":"assistant","content":"Wrote ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"it.","delta":true}"#,
            r#"{"type":"result","status":"success","stats":{"input_tokens":300,"cached":7,"output_tokens":40}}"#,
        ],
    );
    assert_eq!((gemini.text.as_str(), trouble(&gemini, 0)), ("Wrote it.", None));
    assert_eq!((gemini.usage.input, gemini.usage.cached, gemini.usage.cost_micros), (300, 7, None));
}

#[test]
fn ended_agent_with_exit_0_has_not_completed() {
    let gemini = read(Adapter::Gemini, &[r#"{"type":"init","session_id":"g-1"}"#, r#"{"type":"tool_use"}"#]);
    let ended = trouble(&gemini, 0).unwrap();
    assert_eq!(ended.class, Class::Transient);
    assert_eq!(ended.words, "it ended without reporting a result (exit code 0)");
    let interrupted =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["aborted"],"usage":{}}"#;
    let claude = trouble(&read(Adapter::Claude, &[CLAUDE, interrupted]), 0).unwrap();
    assert_eq!((claude.class, claude.words.as_str()), (Class::Transient, "aborted"));
    let silent = read(Adapter::Codex, &[]).trouble(&Ended::Exit(1), "Error: not logged in", NOW).unwrap();
    assert_eq!(silent.class, Class::Auth);
    assert!(silent.words.ends_with("(exit code 1): Error: not logged in"), "{}", silent.words);
}

#[test]
fn denied_tools_are_trouble_despite_success() {
    let denied = claude_done()
        .replace(r#""permission_denials":[]"#, r#""permission_denials":[{"tool_name":"Write","tool_input":{"file_path":"/etc/x"}},{"tool_name":"Write","tool_input":{"file_path":"/etc/x"}}]"#);
    let claude = trouble(&read(Adapter::Claude, &[CLAUDE, &denied]), 0).unwrap();
    assert_eq!(claude.class, Class::Fatal);
    assert!(claude.words.starts_with("it may not use Write (/etc/x); "), "{}", claude.words);
    let codex = [
        r#"{"type":"item.completed","item":{"type":"command_execution","status":"declined"}}"#,
        r#"{"type":"turn.completed","usage":{}}"#,
    ];
    assert_eq!(class(&read(Adapter::Codex, &codex), 0), Some(Class::Fatal));
    let gemini = [
        r#"{"type":"tool_result","tool_id":"run_shell_command__1","status":"error","error":{"type":"policy_violation"}}"#,
        r#"{"type":"result","status":"success","stats":{}}"#,
    ];
    assert_eq!(read(Adapter::Gemini, &gemini).denials, ["run_shell_command"]);
}

/// R: A-11
#[test]
fn gemini_that_stopped_in_a_loop_has_not_succeeded() {
    let said = r#"{"type":"message","role":"assistant","content":"{\"status\":\"completed\"}"}"#;
    let looped = r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    let done = r#"{"type":"result","status":"success","stats":{}}"#;
    let trouble = trouble(&read(Adapter::Gemini, &[said, looped, done]), 0).unwrap();
    assert_eq!((trouble.class, trouble.words.as_str()), (Class::Transient, "Loop detected, stopping execution"));
    let went_on = r#"{"type":"tool_use","tool_name":"write_file","tool_id":"w"}"#;
    assert_eq!(class(&read(Adapter::Gemini, &[looped, went_on, said, done]), 0), None);
}

/// R: A-11
#[test]
fn one_that_owes_a_report_has_failed_with_what_it_said() {
    let said = |words: &str| Stream { text: words.to_owned(), ..Stream::default() };
    let owing = |words: &str| said(words).denied_or_owing(said(words).report().as_ref(), NOW).map(|it| it.words);
    let unreported = "it ended without a report, and said: I could not do the task";
    assert_eq!(owing("I could not do the task").as_deref(), Some(unreported));
    let wrong = "its report cannot be used: `findings` must be a text";
    assert_eq!(owing(r#"{"status":"completed","findings":[1]}"#).as_deref(), Some(wrong));
    assert_eq!(owing(r#"Done. {"status":"completed","findings":"f"}"#), None);
    let denied = Stream { denials: vec!["Write (/x)".to_owned()], ..said("Done.") };
    assert_eq!(denied.denied_or_owing(None, NOW).map(|it| it.class), Some(Class::Fatal));
}

#[test]
fn service_refusal_keeps_its_class_in_any_wording() {
    let claude = |status: &str, words: &str| {
        let line = format!(
            r#"{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"result":"{words}","usage":{{}}}}"#
        );
        class(&read(Adapter::Claude, &[CLAUDE, &line]), 1)
    };
    assert_eq!(claude("400", "API Error: 400 no"), Some(Class::Fatal));
    assert_eq!(claude("401", "Failed to authenticate"), Some(Class::Auth));
    assert_eq!(claude("429", "try again in 3s"), Some(Class::Quota { until: Some(NOW + 3000) }));
    assert_eq!(claude("500", "API Error: 500"), Some(Class::Transient));
    assert_eq!(claude("null", "Prompt is odd"), Some(Class::Transient));
    let apart = [
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794768030}}"#,
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit"}"#,
    ];
    assert_eq!(class(&read(Adapter::Claude, &apart), 1), Some(Class::Quota { until: Some(NOW + 30_000) }));
    let codex = [r#"{"type":"turn.failed","error":{"message":"{\"error\": {\"code\": \"400\"}}"}}"#];
    assert_eq!(class(&read(Adapter::Codex, &codex), 1), Some(Class::Fatal));
    let gemini = [
        r#"{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":400}}]"},"stats":{}}"#,
    ];
    assert_eq!(class(&read(Adapter::Gemini, &gemini), 144), Some(Class::Fatal));
}

#[test]
fn a_report_is_by_the_schema_or_in_the_last_words() {
    let with =
        claude_done().replace(r#""num_turns":2"#, r#""structured_output":{"status":"completed","findings":"f"}"#);
    assert_eq!(read(Adapter::Claude, &[&with]).report().unwrap()["findings"], "f");
    let said = |words: &str| Stream { text: words.to_owned(), ..Stream::default() }.report();
    assert_eq!(said(r#"{"status":"perhaps"}"#).unwrap()["status"], "perhaps", "ignoring a schema is seen");
    assert_eq!(said("```json\n{\"status\":\"failed\"}\n```\n").unwrap()["status"], "failed");
    for words in ["", "Done.", "{}", "[1]", r#"{"status":"#, "status"] {
        assert_eq!(said(words), None, "{words}");
    }
}

#[test]
fn no_number_and_no_length_is_too_much() {
    let most = u64::MAX;
    let line = format!(
        r#"{{"type":"result","is_error":false,"subtype":"success","result":"{}","total_cost_usd":1e300,"num_turns":{most},
        "usage":{{"input_tokens":{most},"cache_creation_input_tokens":{most},"cache_read_input_tokens":{most},"output_tokens":-1}}}}"#,
        "ä".repeat(700_000)
    );
    let claude = read(Adapter::Claude, &[&line.replace('\n', "")]);
    assert_eq!((claude.usage.input, claude.usage.output, claude.usage.cost_micros), (most, 0, None));
    assert!((1_000_000..=1 << 20).contains(&claude.text.len()), "{}", claude.text.len());
    let declined = r#"{"type":"item.completed","item":{"type":"x","status":"declined"}}"#;
    let all: Vec<String> = (0..1000).map(|nth| declined.replace("\"x\"", &format!("\"x{nth}\""))).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(read(Adapter::Codex, &all).denials.len(), 20);
}

#[test]
fn a_flood_and_a_torn_line_cost_only_themselves() {
    let flood = format!("{{\"type\":\"user\",\"content\":\"{}\"}}", "x".repeat(9 << 20));
    let stream = read(Adapter::Claude, &[&flood, &claude_done(), "{\"type\":\"resu"]);
    assert!(stream.ok && stream.text == "Wrote it.");
}

fn setup(adapter: Adapter, permissions: Permissions) -> Vec<String> {
    let setup = Setup {
        adapter,
        model: Some("m".to_owned()),
        permissions,
        mcp: false,
        args: vec!["--mine".to_owned()],
        effort: None,
        servers: Vec::new(),
        converses: false,
    };
    let folder = Path::new("/run/art\"s");
    let (schema, beside) = (Some(Path::new("/s.json")), Some((folder, folder)));
    adapter.arguments(&Order { setup: &setup, note: "a \"note\"", schema, server: None, beside })
}

#[test]
fn folder_for_artifacts_elsewhere_can_be_written() {
    for (adapter, word) in [
        (Adapter::Claude, r#"--add-dir=/run/art"s"#),
        (Adapter::Gemini, r#"--include-directories=/run/art"s"#),
        (Adapter::Codex, r#"sandbox_workspace_write.writable_roots=["/run/art\"s"]"#),
    ] {
        let words = setup(adapter, Permissions::Edit);
        assert!(words.iter().any(|one| one == word), "{words:?}");
    }
}

#[test]
fn no_agent_is_started_with_a_bypass_unless_all_is_allowed() {
    for adapter in Adapter::ALL {
        for permissions in [Permissions::Read, Permissions::Edit] {
            let words = setup(adapter, permissions).join(" ");
            for bypass in ["dangerous", "bypass", "yolo", "danger-full-access", "--allowedTools"] {
                assert!(!words.contains(bypass), "{words}");
            }
            assert!(words.ends_with(" --mine") && words.contains(" m "), "{words}");
        }
        assert_ne!(setup(adapter, Permissions::Full), setup(adapter, Permissions::Edit));
        assert_eq!(Adapter::from_name(adapter.name()), Some(adapter));
    }
    assert!(setup(Adapter::Codex, Permissions::Edit).contains(&r#"developer_instructions="a \"note\"""#.to_owned()));
}

#[test]
fn the_program_behind_a_wrapper_of_npm_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let modules = dir.path().join("node_modules");
    let wrapper = modules.join("@openai/codex/bin/codex.js");
    let arch = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let native = modules.join(format!("@openai/codex-linux-{arch}/vendor/{target}/bin/codex"));
    for path in [&wrapper, &native] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let link = dir.path().join("codex");
    std::os::unix::fs::symlink(&wrapper, &link).unwrap();
    let native = native.canonicalize().unwrap();
    assert_eq!(Adapter::Codex.native(&link), Some(native.clone()));
    assert_eq!(Adapter::Codex.native(&native), None, "it is no wrapper");
    assert_eq!(Adapter::Claude.native(&link), None);
}

/// What real agents printed, where those recordings are at hand: what came of each, and whether anything was used.
#[test]
fn recorded_streams_of_real_agents_are_understood() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/agents/samples");
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    let mut seen = 0;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((agent, case)) = name.strip_suffix(".jsonl").and_then(|name| name.split_once('-')) else { continue };
        let Some(adapter) = Adapter::from_name(agent) else { continue };
        seen += 1;
        let stream = adapter.read(std::fs::read(entry.path()).unwrap().as_slice(), NOW);
        assert!(stream.usage.session_id.is_some(), "{name}");
        let expected = match case {
            "fail-400" | "denied" => Some(Class::Fatal),
            "fail-401" => Some(Class::Auth),
            "killed-sigterm" | "killed-sigint" => Some(Class::Transient),
            "max-turns" => Some(Class::Overspent),
            "cut" if adapter == Adapter::Codex => Some(Class::Transient),
            _ => None,
        };
        assert_eq!(class(&stream, 0), expected, "{name}");
        assert_eq!(stream.finished, case != "killed-sigterm", "{name}");
        if expected.is_none() {
            assert!(stream.usage.input > 0 && stream.usage.output > 0 && !stream.text.is_empty(), "{name}");
        }
        let status = stream.report().map(|report| report["status"].clone());
        match (adapter, case) {
            (Adapter::Codex, "structured-bad") => assert_eq!(status.unwrap(), "perhaps"),
            (_, "structured" | "structured-bad") => assert_eq!(status.unwrap(), "completed", "{name}"),
            _ => assert_eq!(status, None, "{name}"),
        }
    }
    assert!(seen > 20, "{seen} in {}", folder.display());
}
