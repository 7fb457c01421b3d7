//! The wire format OpenAI Responses.

use serde_json::{Value, json};

use super::ask::{Ask, Part, Reply};
use super::http::Event;

/// What a request asks.
pub(super) fn ask(body: &Value) -> Ask {
    let tools = body["tools"].as_array().into_iter().flatten();
    let items = body["input"].as_array().into_iter().flatten();
    Ask {
        tools: tools.flat_map(names).collect(),
        replies: items.filter(|item| is_reply(item)).count(),
        schema: body.pointer("/text/format/schema").cloned(),
        streams: body["stream"] == true,
    }
}

/// A reply as a whole.
pub(super) fn whole(reply: &Reply, model: &Value) -> Value {
    let usage = reply.usage;
    json!({"id": format!("resp_{:04}", reply.number), "object": "response", "status": "completed", "model": model,
           "output": [item(reply)],
           "usage": {"input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
                     "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
                     "total_tokens": usage.input + usage.output}})
}

/// A reply as a stream: the response begins, its one item comes and is done, the response is complete.
pub(super) fn events(reply: &Reply, model: &Value) -> Vec<Event> {
    let (whole, item) = (whole(reply, model), item(reply));
    let mut frame = whole.clone();
    frame["status"] = json!("in_progress");
    frame["output"] = json!([]);
    frame["usage"] = Value::Null;
    let mut events = vec![event("response.created", json!({"response": frame}))];
    if let Part::Text(text) = &reply.part {
        let mut empty = item.clone();
        empty["content"] = json!([]);
        events.push(event("response.output_item.added", json!({"output_index": 0, "item": empty})));
        let delta = json!({"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text});
        events.push(event("response.output_text.delta", delta));
    } else {
        events.push(event("response.output_item.added", json!({"output_index": 0, "item": item})));
    }
    events.push(event("response.output_item.done", json!({"output_index": 0, "item": item})));
    events.push(event("response.completed", json!({"response": whole})));
    events
}

/// A failure.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    json!({"error": {"type": kind, "code": kind, "message": message}})
}

/// The names of a tool: that of a function, or those of a space of functions with the space in front.
fn names(tool: &Value) -> Vec<String> {
    let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
    let inner = tool["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let inner: Vec<_> = inner.map(|tool| format!("{name}.{tool}")).collect();
    if inner.is_empty() { vec![name.to_owned()] } else { inner }
}

/// Calls and messages of the model are its replies; reasoning and the results of tools are not.
fn is_reply(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("function_call" | "custom_tool_call" | "local_shell_call") => true,
        Some("message") | None => item["role"] == "assistant",
        _ => false,
    }
}

fn item(reply: &Reply) -> Value {
    let number = reply.number;
    match &reply.part {
        Part::Text(text) => json!({"type": "message", "id": format!("msg_{number:04}"), "role": "assistant",
                                   "status": "completed",
                                   "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        Part::Call { tool, arguments } => {
            let (space, name) = tool.split_once('.').map_or((None, tool.as_str()), |(space, name)| (Some(space), name));
            let mut item = json!({"type": "function_call", "id": format!("fc_{number:04}"),
                                  "call_id": format!("call_{number:04}"), "status": "completed",
                                  "name": name, "arguments": arguments.to_string()});
            if let Some(space) = space {
                item["namespace"] = json!(space);
            }
            item
        }
    }
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    (Some(name), data)
}

#[cfg(test)]
mod tests {
    use super::super::script::Usage;
    use super::*;

    const USAGE: Usage = Usage { input: 100, cached: 40, output: 7 };

    #[test]
    fn replies_are_counted_in_the_items() {
        let body = json!({
            "model": "m", "stream": true, "instructions": "be good",
            "tools": [{"type": "function", "name": "exec_command"}, {"type": "web_search"},
                      {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "y"}]}],
            "input": [
                {"type": "message", "role": "developer", "content": []},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "call_0000"},
                {"type": "function_call_output", "call_id": "call_0000", "output": "ok"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
            ],
        });
        let tools = ["exec_command", "web_search", "mcp__x.y"].map(str::to_owned).into();
        assert_eq!(ask(&body), Ask { tools, replies: 2, schema: None, streams: true });
        let body = json!({"input": "go", "text": {"format": {"type": "json_schema", "schema": {"type": "object"}}}});
        assert_eq!(ask(&body), Ask { schema: Some(json!({"type": "object"})), ..Ask::default() });
    }

    #[test]
    fn a_call_is_an_item_that_is_added_and_done() {
        let part = Part::Call { tool: "exec_command".to_owned(), arguments: json!({"cmd": "ls"}) };
        let events = events(&Reply { number: 2, part, usage: USAGE }, &json!("m"));
        let names: Vec<_> = events.iter().map(|(name, _)| name.unwrap()).collect();
        assert_eq!(
            names,
            ["response.created", "response.output_item.added", "response.output_item.done", "response.completed"]
        );
        assert!(events.iter().all(|(name, data)| data["type"] == name.unwrap()));
        assert_eq!(
            events[2].1["item"],
            json!({"type": "function_call", "id": "fc_0002", "call_id": "call_0002", "status": "completed",
                   "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}"})
        );
        assert_eq!(
            events[3].1["response"]["usage"],
            json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 7,
                   "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 107})
        );
    }

    #[test]
    fn text_is_a_message() {
        let reply = Reply { number: 0, part: Part::Text("hi".to_owned()), usage: USAGE };
        let events = events(&reply, &json!("m"));
        assert_eq!(events[2].1["delta"], "hi");
        assert_eq!(events[1].1["item"]["content"], json!([]));
        let whole = whole(&reply, &json!("m"));
        assert_eq!(whole["output"][0]["content"][0]["text"], "hi");
        assert_eq!(whole["status"], "completed");
        assert_eq!(error(429, "slow")["error"]["code"], "rate_limit_exceeded");
    }
}
