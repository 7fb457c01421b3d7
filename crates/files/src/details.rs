//! What an object says about a task that the model does not: every other field, as text for the worker.

use std::borrow::Cow;

use team_executor_core::Detail;

use crate::fields;
use crate::json::{Kind, Value};
use crate::shape::Object;

/// Fields of which another spelling beside the first only says more.
const TEXTS: [&str; 3] = ["title", "description", "role"];

/// The fields of an object, in its order, without those that are told already.
pub(crate) fn collect(object: Value<'_, '_>, shape: &Object, told: &[&str]) -> Vec<Detail> {
    let mut read = Vec::new();
    let mut details = Vec::new();
    for entry in object.entries() {
        let name = entry.name();
        if let Some((_, field, _)) = shape.field(&name)
            && told.contains(&field.name)
            && !(TEXTS.contains(&field.name) && read.contains(&field.name))
        {
            read.push(field.name);
            continue;
        }
        let text = text(entry.value);
        if !text.trim().is_empty() {
            details.push(Detail { name: (*name).into(), text: text.into_owned() });
        }
    }
    details
}

/// A value as a person would write it: a text as it is, a list and an object with a line for each element. What is nested
/// deeper is JSON.
pub(crate) fn text<'s>(value: Value<'_, 's>) -> Cow<'s, str> {
    match value.kind() {
        Kind::Null => Cow::Borrowed(""),
        Kind::Array => Cow::Owned(value.items().map(|item| format!("\n  - {}", inner(item))).collect()),
        Kind::Object => {
            let line = |name: &str, value| format!("\n  - {name}: {}", inner(value));
            Cow::Owned(value.entries().map(|entry| line(&entry.name(), entry.value)).collect())
        }
        _ => inner(value),
    }
}

/// A value within another one.
pub(crate) fn inner<'s>(value: Value<'_, 's>) -> Cow<'s, str> {
    match value.kind() {
        Kind::Array | Kind::Object => Cow::Owned(on_one_line(value.raw())),
        _ => fields::text_of(value).unwrap_or(Cow::Borrowed(value.raw())),
    }
}

/// JSON without the line ends and blanks between its values.
fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let (mut in_text, mut escaped) = (false, false);
    for c in json.chars() {
        if in_text || !c.is_ascii_whitespace() {
            line.push(c);
        }
        if !in_text && matches!(c, ',' | ':') {
            line.push(' ');
        }
        in_text ^= c == '"' && !escaped;
        escaped = in_text && c == '\\' && !escaped;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::tasks_json::TASK;

    #[test]
    fn other_fields_are_kept_in_order_as_text() {
        let json = r#"{"scope": "src/", "title": "T", "n": 1.50, "no": null, "empty": [], "name": "beside", "deps": [],
            "list": ["a\n\"b", 2, {"x" : [ "y: z", null ] }], "object": {"k": "v", "deep": {"a": "q\\\" r"}}, "ok": false}"#;
        let document = parse(json).unwrap();
        let details = collect(document.root(), &TASK, &["title", "deps"]);
        let told: Vec<_> = details.iter().map(|detail| (&*detail.name, &*detail.text)).collect();
        assert_eq!(
            told,
            [
                ("scope", "src/"),
                ("n", "1.50"),
                ("name", "beside"),
                ("list", "\n  - a\n\"b\n  - 2\n  - {\"x\": [\"y: z\", null]}"),
                ("object", "\n  - k: v\n  - deep: {\"a\": \"q\\\\\\\" r\"}"),
                ("ok", "false"),
            ]
        );
    }
}
