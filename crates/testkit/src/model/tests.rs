//! The server with literal requests of each wire format.

use std::io::PipeReader;
use std::net::SocketAddr;

use tempfile::TempDir;

use super::*;
use crate::limited::LIMIT;
use crate::limited::LimitedLines as _;

const SCRIPT: &str =
    r#"{"turns": [{"do": {"shell": "ls"}, "usage": {"input": 30, "output": 4}}, {"do": {"text": "bye"}}]}"#;
const TOOLS: &str = r#""tools": [{"type": "function", "name": "Bash"}]"#;

/// A server with one script, where it is, and its log.
fn model(script: &str) -> (TempDir, SocketAddr, BufReader<PipeReader>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.json"), script).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (log, writer) = io::pipe().unwrap();
    let scripts = folder.path().to_owned();
    std::thread::spawn(move || serve(&listener, scripts, Box::new(writer)));
    (folder, address, BufReader::new(log))
}

/// Everything that is answered.
fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    write!(connection, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

fn line(log: &mut BufReader<PipeReader>) -> String {
    let line = log.limited_line().unwrap_or_default();
    line.trim_end().to_owned()
}

#[test]
fn the_conversation_in_a_request_chooses_the_reply() {
    let (_folder, address, mut log) = model(SCRIPT);
    let first = format!(r#"{{"stream": true, {TOOLS}, "messages": [{{"role": "user", "content": "go"}}]}}"#);
    let answer = post(address, "/s@k/v1/messages?beta=true", &first);
    assert!(answer.starts_with("HTTP/1.1 200 scripted\r\ncontent-type: text/event-stream\r\n"), "{answer}");
    assert!(answer.contains("event: content_block_start\n") && answer.contains(r#""name":"Bash""#), "{answer}");
    assert!(answer.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n\r\n0\r\n\r\n"), "{answer}");
    assert_eq!(line(&mut log), r#"{"did":"Bash","status":200,"tokens":34,"turn":0,"worker":"s@k"}"#);
    let second = format!(r#"{{"stream": true, {TOOLS}, "input": [{{"role": "user"}}, {{"type": "function_call"}}]}}"#);
    let answer = post(address, "/s/v1/responses", &second);
    assert!(answer.contains("event: response.completed\n") && answer.contains(r#""text":"bye""#), "{answer}");
    assert!(line(&mut log).starts_with(r#"{"did":"text","status":200,"tokens":"#));
    let tools = r#""tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}], "contents": []"#;
    let streamed = post(address, "/s/v1beta/models/m:streamGenerateContent?alt=sse", &format!("{{{tools}}}"));
    assert!(streamed.contains("\r\ndata: {\"candidates\""), "{streamed}");
    let whole = post(address, "/s/v1beta/models/m:generateContent", &format!("{{{tools}}}"));
    assert!(whole.contains("content-type: application/json") && whole.contains(r#""promptTokenCount":30"#), "{whole}");
}

#[test]
fn failures_come_as_often_as_the_script_says_for_each_worker() {
    let script = r#"{"turns": [{"do": {"text": "hi"}, "fail": {"status": 429, "times": 1, "retry-after": 3}}]}"#;
    let (_folder, address, mut log) = model(script);
    let body = format!("{{{TOOLS}}}");
    for key in ["a", "b"] {
        let path = format!("/s@{key}/v1/messages");
        let refused = post(address, &path, &body);
        assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("retry-after: 3\r\n"), "{refused}");
        assert!(refused.contains("rate_limit_error"), "{refused}");
        assert!(post(address, &path, &body).contains(r#""text":"hi""#));
        assert_eq!(line(&mut log), format!(r#"{{"did":"fail","status":429,"turn":0,"worker":"s@{key}"}}"#));
        line(&mut log);
    }
}

#[test]
fn hanging_reply_is_noted_and_ends_with_the_agent() {
    let script = r#"{"turns": [{"do": {"text": "hi"}, "hang": {"times": 1}, "delay": 0.01}]}"#;
    let (_folder, address, mut log) = model(script);
    let body = format!("{{{TOOLS}}}");
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    write!(connection, "POST /s/v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    assert_eq!(line(&mut log), r#"{"did":"hang","status":0,"turn":0,"worker":"s"}"#);
    connection.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(connection.read(&mut [0]).unwrap(), 0, "nothing is answered");
    assert!(post(address, "/s/v1/messages", &body).contains(r#""text":"hi""#));
}

#[test]
fn side_requests_are_answered_and_missing_script_reported() {
    let (_folder, address, mut log) = model(SCRIPT);
    assert!(post(address, "/s/v1/messages", r#"{"messages": []}"#).contains(r#""text":"ok""#));
    assert_eq!(line(&mut log), r#"{"did":"text","status":200,"tokens":24,"turn":null,"worker":"s"}"#);
    assert!(post(address, "/s/v1/messages/count_tokens", "12345678").ends_with(r#"{"input_tokens":2}"#));
    assert!(post(address, "/s/v1beta/models/m:countTokens", "12345678").ends_with(r#"{"totalTokens":2}"#));
    assert!(post(address, "/s/v1/models", "").starts_with("HTTP/1.1 200 "));
    assert!(post(address, "/s/elsewhere", "").starts_with("HTTP/1.1 404 "));
    let missing = post(address, "/none/v1/responses", &format!("{{{TOOLS}}}"));
    assert!(missing.starts_with("HTTP/1.1 400 ") && missing.contains("none.json: No such file"), "{missing}");
    assert!(line(&mut log).contains("none.json"));
    assert!(post(address, "/s/v1/messages", "no JSON").contains(r#""text":"ok""#));
}
