//! Streams of conversations, of the shape that agents and the driver print: what they add up to, and what they hide.

use super::*;
use crate::exit::Ended;

const NOW: u64 = 1_794_768_000_000;

fn read(adapter: Adapter, lines: &[&str]) -> Stream {
    adapter.read(lines.join("\n").as_bytes(), NOW)
}

fn class(stream: &Stream) -> Option<Class> {
    stream.trouble(&Ended::Exit(0), "", NOW).or_else(|| stream.denied()).map(|trouble| trouble.class)
}

const OPEN: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1"}}"#;
const PROMPTED: &str = r#"{"team_executor":"prompted"}"#;
const ENDED: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":600,"outputTokens":7,"totalTokens":1007,"cachedReadTokens":400}}}"#;

fn chunk(words: &str) -> String {
    let update =
        serde_json::json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}});
    serde_json::json!({"method": "session/update", "params": {"sessionId": "s-1", "update": update}}).to_string()
}

#[test]
fn a_turn_of_the_protocol_is_its_last_words_and_what_it_used() {
    let call = r#"{"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","title":"write"}}}"#;
    let replayed = chunk("said in another task");
    let lines =
        [OPEN, &replayed, PROMPTED, &chunk("on it"), call, &chunk("{\"status\":"), &chunk("\"completed\"}"), ENDED];
    for adapter in [Adapter::Acp, Adapter::Gemini] {
        let stream = read(adapter, &lines);
        assert_eq!((class(&stream), stream.wrong()), (None, Vec::new()));
        let used = &stream.usage;
        assert_eq!((used.input, used.cached, used.output, used.turns), (1000, 400, 7, Some(1)));
        assert_eq!(used.session_id.as_deref(), Some("s-1"));
    }
}

#[test]
fn hidden_protocol_error_is_trouble() {
    let hidden = read(Adapter::Acp, &[OPEN, PROMPTED, &chunk("unexpected status 401 Unauthorized"), ENDED]);
    assert_eq!((class(&hidden), hidden.unreported(NOW).class), (None, Class::Auth));
    assert_eq!(hidden.wrong(), ["there is no JSON object with a status"]);
    let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"details":"429 try again in 3s"}}}"#;
    assert_eq!(class(&read(Adapter::Acp, &[OPEN, refused])), Some(Class::Quota { until: Some(NOW + 3000) }));
    let not_loaded = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"No previous sessions found"}}"#;
    let report = chunk(r#"{"status":"completed"}"#);
    assert_eq!(class(&read(Adapter::Acp, &[not_loaded, OPEN, PROMPTED, &report, ENDED])), None, "a new one began");
    let cancelled = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#;
    assert_eq!(class(&read(Adapter::Acp, &[OPEN, cancelled])), Some(Class::Transient));
    assert_eq!(class(&read(Adapter::Acp, &[OPEN, PROMPTED])), Some(Class::Transient), "its turn never ended");
}

#[test]
fn a_thread_of_codex_is_understood_turn_by_turn() {
    let turn = |status: &str, error: &str| {
        format!(
            r#"{{"method":"turn/completed","params":{{"threadId":"t","turn":{{"status":"{status}","error":{error}}}}}}}"#
        )
    };
    let used = r#"{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":2000,"cachedInputTokens":800,"outputTokens":14}}}}"#;
    let words =
        r#"{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"{\"status\":\"completed\"}"}}}"#;
    let lines = [
        r#"{"id":2,"result":{"thread":{"id":"t"},"model":"m"}}"#,
        r#"{"method":"turn/started","params":{}}"#,
        words,
        used,
    ];
    let done = read(Adapter::Codex, &[lines.as_slice(), &[&turn("completed", "null")]].concat());
    assert_eq!((class(&done), done.wrong(), done.usage.turns), (None, Vec::new(), Some(1)));
    assert_eq!((done.usage.input, done.usage.cached, done.usage.model.as_deref()), (2000, 800, Some("m")));
    let failed = turn("failed", r#"{"message":"unexpected status 400 Bad Request"}"#);
    assert_eq!(class(&read(Adapter::Codex, &[lines.as_slice(), &[&failed]].concat())), Some(Class::Fatal));
    let declined = r#"{"method":"item/completed","params":{"item":{"type":"commandExecution","status":"declined"}}}"#;
    let denied = read(Adapter::Codex, &[lines.as_slice(), &[declined, &turn("completed", "null")]].concat());
    assert_eq!(class(&denied), Some(Class::Fatal));
    let by_person = r#"{"team_executor":"denied","tool":"a command","what":"make","by":"person"}"#;
    let went_on =
        read(Adapter::Codex, &[lines.as_slice(), &[by_person, declined, &turn("completed", "null")]].concat());
    assert_eq!(class(&went_on), None, "a person said no, and it went on");
    assert_eq!(
        class(&read(Adapter::Codex, &[lines.as_slice(), &[&turn("interrupted", "null")]].concat())),
        Some(Class::Transient)
    );
}

#[test]
fn closing_and_denial_count_by_their_author() {
    let report = chunk(r#"{"status":"completed"}"#);
    let with = |mark: &str| class(&read(Adapter::Acp, &[OPEN, PROMPTED, &report, ENDED, mark]));
    assert_eq!(with(r#"{"team_executor":"denied","tool":"edit","by":"person"}"#), None);
    assert_eq!(with(r#"{"team_executor":"denied","tool":"edit","by":"none"}"#), Some(Class::Fatal));
    assert_eq!(with(r#"{"team_executor":"closed","by":"limit"}"#), Some(Class::Transient));
    assert_eq!(with(r#"{"team_executor":"closed","by":"person"}"#), None, "it was done");
    let closed = [OPEN, PROMPTED, &report, r#"{"team_executor":"closed","by":"person"}"#];
    assert_eq!(class(&read(Adapter::Acp, &closed)), Some(Class::Fatal));

    let denial = r#"{"type":"result","subtype":"success","is_error":false,"result":"","permission_denials":[{"tool_name":"Write"}]}"#;
    let by_person = r#"{"team_executor":"denied","tool":"Write","by":"person"}"#;
    assert_eq!(class(&read(Adapter::Claude, &[denial])), Some(Class::Fatal));
    assert_eq!(class(&read(Adapter::Claude, &[by_person, denial])), None);
}

#[test]
fn the_tokens_of_all_turns_of_claude_count_and_its_last_cost() {
    let turn = |input: u32, cost: f64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"","num_turns":1,"total_cost_usd":{cost},"usage":{{"input_tokens":{input},"output_tokens":20}}}}"#
        )
    };
    let used = read(Adapter::Claude, &[&turn(11_744, 0.25), PROMPTED, &turn(11_992, 0.5)]).usage;
    assert_eq!((used.input, used.output, used.turns, used.cost_micros), (23_736, 40, Some(2), Some(500_000)));
}

/// R: A-10
#[test]
fn wound_up_conversation_is_overspent_unless_done() {
    const WOUND_UP: &str = r#"{"team_executor":"wound up","by":"budget"}"#;
    let cancelled = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#;
    let closed = r#"{"team_executor":"closed","by":"limit"}"#;
    for end in [vec![], vec![cancelled], vec![closed]] {
        let stream = read(Adapter::Acp, &[vec![OPEN, PROMPTED, WOUND_UP], end].concat());
        assert_eq!((class(&stream), stream.is_overspent()), (Some(Class::Overspent), true), "{stream:?}");
    }
    let report = chunk(r#"{"status":"completed","findings":"f"}"#);
    let done = read(Adapter::Acp, &[OPEN, PROMPTED, &report, WOUND_UP, ENDED]);
    assert_eq!((class(&done), done.is_overspent()), (None, false));
    assert!(!read(Adapter::Acp, &[OPEN, PROMPTED, cancelled]).is_overspent(), "a person may have cancelled it");
    let own = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"session_id":"c"}"#;
    assert!(read(Adapter::Claude, &[own]).is_overspent(), "claude holds its own budget");
}
