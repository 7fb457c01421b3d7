//! Claude Code as a conversation: `--input-format stream-json`. What is said while a turn goes on joins it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::dialogue::{Act, Dialogue, News, Question, text};

/// A conversation in this protocol.
#[derive(Debug, Default)]
pub(super) struct Claude {
    busy: bool,
    /// How often a turn was ended.
    interrupts: u64,
}

impl Dialogue for Claude {
    fn open(&mut self, _out: &mut Vec<Value>) -> bool {
        true
    }

    fn hear(&mut self, said: &Value, out: &mut Vec<Value>) -> Option<News> {
        match text(said, "type") {
            "result" => {
                // A message too late for this turn becomes the next turn.
                self.busy = said.get("queued_turn_count").and_then(Value::as_u64).unwrap_or(0) > 0;
                (!self.busy).then_some(News::TurnOver)
            }
            "control_request" => {
                let (id, request) = (&said["request_id"], &said["request"]);
                if text(request, "subtype") == "can_use_tool" {
                    return Some(News::Asks(question(id, request)));
                }
                let response = json!({"subtype": "error", "request_id": id, "error": "unknown request"});
                out.push(json!({"type": "control_response", "response": response}));
                None
            }
            _ => None,
        }
    }

    fn say(&mut self, words: &str, out: &mut Vec<Value>) {
        self.busy = true;
        let content = json!([{"type": "text", "text": words}]);
        out.push(json!({"type": "user", "message": {"role": "user", "content": content}}));
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn joins(&self) -> bool {
        true
    }

    fn interrupt(&mut self, out: &mut Vec<Value>) {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        out.push(json!({"type": "control_request", "request_id": id, "request": {"subtype": "interrupt"}}));
    }

    fn answer(&mut self, question: &Question, allow: bool, out: &mut Vec<Value>) {
        let answer = match allow {
            true => json!({"behavior": "allow", "updatedInput": question.rest}),
            false => json!({"behavior": "deny", "message": "This is not allowed. Go on without it."}),
        };
        let response = json!({"subtype": "success", "request_id": question.id, "response": answer});
        out.push(json!({"type": "control_response", "response": response}));
    }
}

fn question(id: &Value, request: &Value) -> Question {
    let (tool, input) = (text(request, "tool_name"), &request["input"]);
    let act = match tool {
        "Read" | "Glob" | "Grep" | "LS" => Act::Look,
        "Edit" | "Write" | "NotebookEdit" | "MultiEdit" => Act::Edit,
        _ => Act::Other,
    };
    let words = [text(input, "command"), text(request, "description"), text(input, "file_path")];
    let path = Some(text(input, "file_path")).filter(|path| !path.is_empty());
    Question {
        id: id.clone(),
        tool: tool.to_owned(),
        what: words.into_iter().find(|words| !words.is_empty()).unwrap_or_default().to_owned(),
        act,
        paths: path.map(PathBuf::from).into_iter().collect(),
        rest: input.clone(),
    }
}
