use super::*;

fn shown(lines: &[&str]) -> Vec<String> {
    let mut transcript = Transcript::default();
    let entries = lines.iter().flat_map(|line| transcript.line(line.as_bytes())).collect::<Vec<_>>();
    let mut shown: Vec<String> = Vec::new();
    for Entry { kind, text, goes_on } in entries {
        match shown.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(&text),
            None => shown.push(format!("{}: {text}", kind.word())),
        }
    }
    shown
}

#[test]
fn claude_stream_becomes_text_calls_and_results() {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"c","tools":["Bash"]}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I run\nthe tests."}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cargo test\n  --all"}}]}}"#,
        r#"{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","is_error":true,"content":"1 failed"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"u","name":"mcp__executor__report_result","input":{"status":"failed"}}]}}"#,
        r#"{"type":"user","message":{"content":[{"tool_use_id":"u","type":"tool_result","content":[{"type":"text","text":"recorded"}]}]}}"#,
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"overloaded"}"#,
        r#"{"type":"result","is_error":true,"result":"API Error: 400"}"#,
    ];
    assert_eq!(
        shown(&lines),
        [
            "thought: Hm.",
            "text: I run\nthe tests.",
            "call: runs cargo test\n  --all",
            "failed_result: 1 failed",
            "call: reports {\"status\":\"failed\"}",
            "result: recorded",
            "note: waits to retry 1 of 2: overloaded",
            "note: failed: API Error: 400",
        ]
    );
}

#[test]
fn codex_item_is_shown_once_with_its_result() {
    let call = r#""id":"i1","type":"command_execution","command":"/bin/bash -lc 'make all'""#;
    let lines = [
        r#"{"type":"thread.started","thread_id":"x"}"#.to_owned(),
        format!(r#"{{"type":"item.started","item":{{{call},"aggregated_output":"","exit_code":null}}}}"#),
        format!(r#"{{"type":"item.completed","item":{{{call},"aggregated_output":"no rule\n","exit_code":2,"status":"failed"}}}}"#),
        r#"{"type":"item.completed","item":{"id":"i2","type":"file_change","changes":[{"path":"a.rs"}],"status":"completed"}}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"Done."}}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let expected = ["call: runs make all", "failed_result: no rule\n\nexit code 2", "call: edits a.rs", "text: Done."];
    assert_eq!(shown(&lines), expected);
    let server = lines[1..].iter().map(|line| {
        let item = line.split_once(r#""item":"#).unwrap().1.strip_suffix('}').unwrap();
        let method = if line.contains("item.started") { "item/started" } else { "item/completed" };
        format!(r#"{{"method":"{method}","params":{{"item":{item}}}}}"#)
    });
    let server: Vec<String> = server.collect();
    assert_eq!(shown(&server.iter().map(String::as_str).collect::<Vec<_>>()), expected, "by its other protocol");
}

#[test]
fn gemini_words_that_come_in_pieces_are_one_text() {
    let lines = [
        r#"{"type":"init","session_id":"g"}"#,
        r#"{"type":"message","role":"user","content":"Do it."}"#,
        r#"{"type":"message","role":"assistant","content":"I sh","delta":true}"#,
        r#"{"type":"message","role":"assistant","content":"all.","delta":true}"#,
        r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"r1","parameters":{"command":"ls"}}"#,
        r#"{"type":"tool_result","tool_id":"r1","status":"success","output":"a\nb"}"#,
        r#"{"type":"message","role":"assistant","content":"Done.","delta":true}"#,
        r#"{"type":"result","status":"success","stats":{}}"#,
    ];
    assert_eq!(shown(&lines), ["text: I shall.", "call: runs ls", "result: a\nb", "text: Done."]);
}

#[test]
fn acp_call_is_shown_when_its_input_is_known() {
    let update =
        |fields: &str| format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{{{fields}}}}}}}"#);
    let lines = [
        r#"{"team_executor":"prompted"}"#.to_owned(),
        update(
            r#""sessionUpdate":"tool_call","toolCallId":"1","name":"Write","rawInput":{},"status":"pending","title":"Preparing file…","kind":"edit","locations":[]"#,
        ),
        update(
            r#""sessionUpdate":"tool_call_update","toolCallId":"1","rawInput":{"file_path":"a.md"},"title":"Write a.md","locations":[{"path":"a.md"}]"#,
        ),
        update(r#""sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":"File created"#)
            .replace("created}", "created\"}"),
        update(
            r#""sessionUpdate":"tool_call_update","toolCallId":"2","status":"failed","title":"Run make","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"no make"}}]"#,
        ),
        update(r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Do"}"#),
        update(r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ne."}"#),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"gone"}}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(
        shown(&lines),
        [
            "note: is given its task",
            "call: edits a.md",
            "result: File created",
            "call: runs Run make",
            "failed_result: no make",
            "text: Done.",
            "note: error: gone",
        ]
    );
}

#[test]
fn only_streams_of_agents_are_known() {
    let is_known = |text: &str| Transcript::is_known(text.lines().map(str::as_bytes));
    for begin in [
        r#"{"type":"system","subtype":"init","session_id":"c"}"#,
        r#"{"type":"thread.started","thread_id":"x"}"#,
        r#"{"type":"init","session_id":"g"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"id":1,"result":{"userAgent":"x"}}"#,
        r#"{"team_executor":"prompted"}"#,
        "a warning\n{\"type\":\"thread.started\",\"thread_id\":\"x\"}",
    ] {
        assert_eq!(is_known(begin), Some(true), "{begin}");
    }
    for (other, known) in [
        (r#"{"type":"error","message":"my own log"}"#, Some(false)),
        (r#"{"level":"info","msg":"started"}"#, Some(false)),
        ("{ not json", Some(false)),
        ("building…\ndone", None),
        ("", None),
    ] {
        assert_eq!(is_known(other), known, "{other}");
    }
}

#[test]
fn flood_of_calls_is_forgotten_and_noise_is_shown_as_it_is() {
    let mut transcript = Transcript::default();
    for number in 0..CALLS * 2 {
        let line = format!(
            r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"tool_call","toolCallId":"{number}"}}}}}}"#
        );
        transcript.line(line.as_bytes());
    }
    assert!(transcript.calls.len() <= CALLS);
    let plain = Entry::new(Kind::Plain, "warning: x");
    assert_eq!(transcript.line(b"warning: x\r"), [plain]);
    assert_eq!(transcript.line(br#"{"type":"assistant","mess"#), []);
}
