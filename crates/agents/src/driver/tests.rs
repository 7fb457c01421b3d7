//! Each protocol on messages of the shape that its agents send, without a process.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::acp::Acp;
use super::claude::Claude;
use super::codex::Codex;
use super::dialogue::{Act, Dialogue, News};
use crate::adapters::Permissions;

/// A protocol, and what it sends.
struct Scene<D> {
    dialogue: D,
    out: Vec<Value>,
}

impl<D: Dialogue> Scene<D> {
    fn new(dialogue: D) -> Self {
        let mut scene = Self { dialogue, out: Vec::new() };
        scene.dialogue.open(&mut scene.out);
        scene
    }

    fn hear(&mut self, said: Value) -> Option<News> {
        self.dialogue.hear(&said, &mut self.out)
    }

    fn say(&mut self, words: &str) {
        self.dialogue.say(words, &mut self.out);
    }

    /// What was sent since the last look: methods, or types.
    fn sent(&mut self) -> Vec<String> {
        let word = |message: &Value| {
            let word = message.get("method").or_else(|| message.get("type")).and_then(Value::as_str);
            word.map_or_else(|| message.to_string(), str::to_owned)
        };
        std::mem::take(&mut self.out).iter().map(word).collect()
    }
}

fn acp(resume: Option<&str>) -> Scene<Acp> {
    Scene::new(Acp::new(resume.map(str::to_owned), PathBuf::from("/p"), "note", Vec::new()))
}

fn codex(resume: Option<&str>) -> Scene<Codex> {
    Scene::new(Codex::new(resume.map(str::to_owned), PathBuf::from("/p"), "note", None, Permissions::Edit))
}

const LOADS: &str = r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_agent_of_the_protocol_is_greeted_prompted_and_cancelled() {
    let mut acp = acp(None);
    assert_eq!((acp.hear(json(LOADS)), acp.sent()), (None, vec!["initialize".to_owned(), "session/new".to_owned()]));
    assert_eq!(acp.hear(json!({"id": 2, "result": {"sessionId": "s"}})), Some(News::Ready));
    acp.say("do it");
    assert_eq!(acp.out[0]["params"]["prompt"][0]["text"], "do it\nnote\n");
    assert!(acp.dialogue.is_busy() && !acp.dialogue.joins());
    assert_eq!(acp.hear(json!({"id": 9, "method": "fs/read_text_file", "params": {}})), None);
    acp.dialogue.interrupt(&mut acp.out);
    let refusal = r#"{"error":{"code":-32601,"message":"unknown method fs/read_text_file"},"id":9,"jsonrpc":"2.0"}"#;
    assert_eq!(acp.sent(), ["session/prompt", refusal, "session/cancel"]);
    assert_eq!(acp.hear(json!({"id": 3, "result": {"stopReason": "cancelled"}})), Some(News::TurnOver));
    assert!(!acp.dialogue.is_busy());
    acp.say("and now?");
    assert_eq!(acp.out[0]["params"]["prompt"][0]["text"], "and now?", "the note is said once");
}

#[test]
fn conversation_is_resumed_if_possible_else_new() {
    let mut loads = acp(Some("old"));
    assert_eq!((loads.hear(json(LOADS)), loads.sent()[1].as_str()), (None, "session/load"));
    assert_eq!(loads.hear(json!({"id": 2, "result": null})), Some(News::Ready));
    loads.say("go on");
    assert_eq!(loads.out[0]["params"]["sessionId"], "old");

    let mut lost = acp(Some("old"));
    lost.hear(json(LOADS));
    assert_eq!(lost.hear(json!({"id": 2, "error": {"code": 1, "message": "none"}})), Some(News::NotResumed));
    assert_eq!(lost.sent()[2], "session/new");
    assert_eq!(lost.hear(json!({"id": 3, "result": {"sessionId": "new"}})), Some(News::Ready));

    let mut cannot = acp(Some("old"));
    assert_eq!(cannot.hear(json!({"id": 1, "result": {"protocolVersion": 1}})), Some(News::NotResumed));
    assert_eq!(cannot.sent()[1], "session/new");
    assert_eq!(cannot.hear(json!({"id": 2, "error": {"message": "Authentication required"}})), Some(News::Failed));

    let mut codex = codex(Some("old"));
    assert_eq!(codex.hear(json!({"id": 1, "result": {}})), None);
    assert_eq!(codex.sent()[1..], ["initialized", "thread/resume"]);
    assert_eq!(codex.hear(json!({"id": 2, "error": {"message": "no rollout"}})), Some(News::NotResumed));
    assert_eq!(codex.hear(json!({"id": 3, "result": {"thread": {"id": "t"}}})), Some(News::Ready));
}

#[test]
fn resumed_thread_may_write_where_it_delivers_now() {
    for (resume, delivers) in
        [(Some("old"), Some("/run/artifacts/B")), (Some("old"), None), (None, Some("/run/artifacts/B"))]
    {
        let codex = Codex::new(resume.map(str::to_owned), PathBuf::from("/p"), "note", None, Permissions::Edit);
        let mut codex = Scene::new(codex.delivering(delivers.map(PathBuf::from)));
        let asks = codex.out[0]["params"]["capabilities"]["experimentalApi"] == json!(true);
        codex.out.clear();
        codex.hear(json!({"id": 1, "result": {}}));
        let roots = &codex.out.last().expect("it makes or resumes a thread")["params"]["runtimeWorkspaceRoots"];
        let all = resume.zip(delivers).map(|(_, delivers)| json!(["/p", delivers]));
        assert_eq!((roots, asks), (&all.clone().unwrap_or_default(), all.is_some()), "{resume:?} {delivers:?}");
    }
}

#[test]
fn question_gets_the_narrowest_answer_on_offer() {
    let options = json!([{"optionId": "a", "kind": "allow_always"}, {"optionId": "o", "kind": "allow_once"},
                         {"optionId": "r", "kind": "reject_once"}]);
    let call = json!({"kind": "edit", "title": "Writing to a.md", "locations": [{"path": "/p/a.md"}]});
    let mut acp = acp(None);
    acp.sent();
    let asked =
        json!({"id": "q", "method": "session/request_permission", "params": {"toolCall": call, "options": options}});
    let Some(News::Asks(question)) = acp.hear(asked) else { panic!("it asks") };
    assert_eq!((question.tool.as_str(), question.act), ("edit", Act::Edit));
    assert_eq!((question.what.as_str(), &question.paths[0]), ("Writing to a.md", &PathBuf::from("/p/a.md")));
    acp.dialogue.answer(&question, true, &mut acp.out);
    acp.dialogue.answer(&question, false, &mut acp.out);
    let outcome = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    assert_eq!([&acp.out[0]["result"], &acp.out[1]["result"]], [&outcome("o"), &outcome("r")]);

    let mut claude = Scene::new(Claude::default());
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "cargo test"}});
    let asked = json!({"type": "control_request", "request_id": "r", "request": request});
    let Some(News::Asks(question)) = claude.hear(asked) else { panic!("it asks") };
    assert_eq!((question.what.as_str(), question.act), ("cargo test", Act::Other));
    claude.dialogue.answer(&question, true, &mut claude.out);
    let response = &claude.out[0]["response"];
    assert_eq!(response["response"], json!({"behavior": "allow", "updatedInput": {"command": "cargo test"}}));

    let mut codex = codex(None);
    let params = json!({"command": "make", "itemId": "i"});
    let asked = json!({"id": 5, "method": "item/commandExecution/requestApproval", "params": params});
    let Some(News::Asks(question)) = codex.hear(asked) else { panic!("it asks") };
    codex.sent();
    codex.dialogue.answer(&question, false, &mut codex.out);
    assert_eq!(codex.out[0], json!({"id": 5, "result": {"decision": "decline"}}));
}

#[test]
fn late_message_is_sent_again() {
    let mut codex = codex(None);
    codex.hear(json!({"id": 1, "result": {}}));
    codex.hear(json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    codex.say("do it");
    assert!(codex.dialogue.is_busy() && !codex.dialogue.joins(), "its turn has no name yet");
    codex.hear(json!({"id": 3, "result": {"turn": {"id": "u"}}}));
    codex.say("faster");
    codex.dialogue.interrupt(&mut codex.out);
    assert_eq!(codex.sent()[3..], ["turn/start", "turn/steer", "turn/interrupt"]);
    let over = json!({"method": "turn/completed", "params": {"threadId": "t", "turn": {"status": "completed"}}});
    let other = json!({"method": "turn/completed", "params": {"threadId": "child", "turn": {"status": "completed"}}});
    assert_eq!((codex.hear(other), codex.hear(over)), (None, Some(News::TurnOver)));
    let late = json!({"id": 4, "error": {"message": "no active turn"}});
    assert_eq!(codex.hear(late), Some(News::TooLate("faster".to_owned())));

    let mut claude = Scene::new(Claude::default());
    claude.say("do it");
    claude.say("faster");
    assert_eq!(claude.hear(json!({"type": "result", "queued_turn_count": 1})), None, "another turn follows");
    assert_eq!(claude.hear(json!({"type": "result", "queued_turn_count": 0})), Some(News::TurnOver));
    claude.dialogue.interrupt(&mut claude.out);
    assert_eq!(claude.sent(), ["user", "user", "control_request"]);
}
