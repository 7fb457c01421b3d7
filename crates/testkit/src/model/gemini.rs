//! The wire format of Gemini: `generateContent`, and `streamGenerateContent` with one event.

use serde_json::{Value, json};

use super::ask::{Ask, Part, Reply};
use super::http::Event;

/// What a request asks; whether it streams is in its address.
pub(super) fn ask(body: &Value, streams: bool) -> Ask {
    let groups = body["tools"].as_array().into_iter().flatten();
    let tools = groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten());
    let contents = body["contents"].as_array().into_iter().flatten();
    let config = &body["generationConfig"];
    Ask {
        tools: tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect(),
        replies: contents.filter(|content| content["role"] == "model").count(),
        schema: config.get("responseJsonSchema").or(config.get("responseSchema")).cloned(),
        streams,
    }
}

/// A reply as a whole.
pub(super) fn whole(reply: &Reply) -> Value {
    let part = match &reply.part {
        Part::Text(text) => json!({"text": text}),
        Part::Call { tool, arguments } => json!({"functionCall": {"name": tool, "args": arguments}}),
    };
    let usage = reply.usage;
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
           "usageMetadata": {"promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached,
                             "candidatesTokenCount": usage.output, "totalTokenCount": usage.input + usage.output},
           "modelVersion": "scripted", "responseId": format!("resp-{:04}", reply.number)})
}

/// A reply as a stream.
pub(super) fn events(reply: &Reply) -> Vec<Event> {
    vec![(None, whole(reply))]
}

/// A failure.
pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        _ => "UNAVAILABLE",
    };
    json!({"error": {"code": status, "status": name, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::super::script::Usage;
    use super::*;

    #[test]
    fn replies_are_counted_in_the_contents() {
        let body = json!({
            "systemInstruction": {"parts": [{"text": "be good"}]},
            "tools": [{"functionDeclarations": [{"name": "write_file"}, {"name": "run_shell_command"}]}, {"googleSearch": {}}],
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "write_file", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "write_file", "response": {}}}]},
            ],
        });
        let tools = vec!["write_file".to_owned(), "run_shell_command".to_owned()];
        assert_eq!(ask(&body, true), Ask { tools, replies: 1, schema: None, streams: true });
        let body = json!({"generationConfig": {"responseJsonSchema": {"type": "object"}}});
        assert_eq!(ask(&body, false), Ask { schema: Some(json!({"type": "object"})), ..Ask::default() });
    }

    #[test]
    fn text_and_calls_are_parts() {
        let usage = Usage { input: 100, cached: 40, output: 7 };
        let part = Part::Call { tool: "write_file".to_owned(), arguments: json!({"file_path": "a"}) };
        let events = events(&Reply { number: 1, part, usage });
        let [(None, call)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(
            call["candidates"][0]["content"],
            json!({"role": "model", "parts": [{"functionCall": {"name": "write_file", "args": {"file_path": "a"}}}]})
        );
        assert_eq!(
            call["usageMetadata"],
            json!({"promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 7, "totalTokenCount": 107})
        );
        let text = whole(&Reply { number: 0, part: Part::Text("hi".to_owned()), usage });
        assert_eq!(text["candidates"][0]["content"]["parts"], json!([{"text": "hi"}]));
        assert_eq!(error(429, "slow")["error"]["status"], "RESOURCE_EXHAUSTED");
    }
}
