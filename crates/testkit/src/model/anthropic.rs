//! The wire format Anthropic Messages.

use serde_json::{Value, json};

use super::ask::{Ask, Part, Reply};
use super::http::Event;

/// What a request asks.
pub(super) fn ask(body: &Value) -> Ask {
    let tools = body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let messages = body["messages"].as_array().into_iter().flatten();
    Ask {
        tools: tools.map(str::to_owned).collect(),
        replies: messages.filter(|message| message["role"] == "assistant").count(),
        schema: body.pointer("/output_config/format/schema").cloned(),
        streams: body["stream"] == true,
    }
}

/// A reply as a whole.
pub(super) fn whole(reply: &Reply, model: &Value) -> Value {
    let (block, reason) = match &reply.part {
        Part::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Part::Call { tool, arguments } => {
            let id = format!("toolu_{:04}", reply.number);
            (json!({"type": "tool_use", "id": id, "name": tool, "input": arguments}), "tool_use")
        }
    };
    json!({"id": format!("msg_{:04}", reply.number), "type": "message", "role": "assistant", "model": model,
           "content": [block], "stop_reason": reason, "stop_sequence": null,
           "usage": {"input_tokens": reply.usage.input.saturating_sub(reply.usage.cached),
                     "cache_read_input_tokens": reply.usage.cached, "cache_creation_input_tokens": 0,
                     "output_tokens": reply.usage.output}})
}

/// A reply as a stream: the frame of the message, its one block, and how it ended.
pub(super) fn events(reply: &Reply, model: &Value) -> Vec<Event> {
    let whole = whole(reply, model);
    let mut frame = whole.clone();
    frame["content"] = json!([]);
    frame["stop_reason"] = Value::Null;
    frame["usage"]["output_tokens"] = json!(1);
    let mut block = whole["content"][0].clone();
    let delta = match &reply.part {
        Part::Text(text) => {
            block["text"] = json!("");
            json!({"type": "text_delta", "text": text})
        }
        Part::Call { arguments, .. } => {
            block["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()})
        }
    };
    let ended = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    [
        json!({"type": "message_start", "message": frame}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": ended, "usage": {"output_tokens": reply.usage.output}}),
        json!({"type": "message_stop"}),
    ]
    .into_iter()
    .zip(NAMES)
    .map(|(data, name)| (Some(name), data))
    .collect()
}

/// A failure.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

const NAMES: [&str; 6] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];

#[cfg(test)]
mod tests {
    use super::super::script::Usage;
    use super::*;

    const USAGE: Usage = Usage { input: 100, cached: 40, output: 7 };

    #[test]
    fn replies_are_counted_in_the_messages() {
        let body = json!({
            "model": "m", "stream": true, "max_tokens": 9, "tools": [{"name": "Bash", "input_schema": {}}, {"name": "Write"}],
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
            ],
        });
        let tools = vec!["Bash".to_owned(), "Write".to_owned()];
        assert_eq!(ask(&body), Ask { tools, replies: 1, schema: None, streams: true });
        let body = json!({"output_config": {"format": {"schema": {"type": "object"}}}, "messages": 5});
        assert_eq!(ask(&body), Ask { schema: Some(json!({"type": "object"})), ..Ask::default() });
    }

    #[test]
    fn a_call_is_streamed_with_its_arguments_as_json() {
        let part = Part::Call { tool: "Bash".to_owned(), arguments: json!({"command": "ls"}) };
        let events = events(&Reply { number: 3, part, usage: USAGE }, &json!("m"));
        assert!(events.iter().all(|(name, data)| data["type"] == name.unwrap()), "{events:?}");
        let data: Vec<_> = events.into_iter().map(|(_, data)| data).collect();
        assert_eq!(
            data[0]["message"]["usage"],
            json!({"input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": 1})
        );
        assert_eq!(
            data[1]["content_block"],
            json!({"type": "tool_use", "id": "toolu_0003", "name": "Bash", "input": {}})
        );
        assert_eq!(data[2]["delta"], json!({"type": "input_json_delta", "partial_json": "{\"command\":\"ls\"}"}));
        assert_eq!(data[4]["delta"]["stop_reason"], "tool_use");
        assert_eq!(data[4]["usage"]["output_tokens"], 7);
    }

    #[test]
    fn text_ends_the_turn() {
        let reply = Reply { number: 0, part: Part::Text("hi".to_owned()), usage: USAGE };
        let whole = whole(&reply, &json!("m"));
        assert_eq!(whole["content"], json!([{"type": "text", "text": "hi"}]));
        assert_eq!((&whole["stop_reason"], &whole["model"]), (&json!("end_turn"), &json!("m")));
        assert_eq!(events(&reply, &json!("m"))[2].1["delta"], json!({"type": "text_delta", "text": "hi"}));
        assert_eq!(error(529, "busy")["error"], json!({"type": "overloaded_error", "message": "busy"}));
    }
}
