//! Where a report is in an agent's last words, and whether it fits. Of its fields only the status must be there; a field that is
//! there must be of its kind.

use serde_json::{Map, Value, json};

use crate::json;

/// How many places of a text are tried for the begin of an object.
const PLACES: usize = 10_000;
/// How deep a report may be inside of other objects.
const DEPTH: usize = 4;
/// How much of a failure without a report is kept.
const WORDS: usize = 500;
/// What models write around keys and values besides quotes.
const MARKUP: [char; 6] = ['"', '\'', '`', '*', '_', '\\'];

/// Most lines that are said to be wrong.
const MOST: usize = 10;

/// A field that is known, whether a value fits, and what it must be.
type Field = (&'static str, fn(&Value) -> bool, &'static str);

const FIELDS: [Field; 5] = [
    ("findings", Value::is_string, "a text"),
    ("error", Value::is_string, "a text or null"),
    ("supervision_verdict", |it| is_one_of(it, &["pass", "warn", "block"]), "`pass`, `warn`, `block` or null"),
    ("quality_score", |it| it.as_f64().is_some_and(|it| (0.0..=100.0).contains(&it)), "a number from 0 to 100 or null"),
    ("data", Value::is_object, "an object"),
];
const DATA: [Field; 7] = [
    ("key_findings", is_texts, "a list of texts"),
    ("decisions", is_texts, "a list of texts"),
    ("files_modified", is_texts, "a list of texts"),
    ("verdict", |it| is_one_of(it, &["approve", "reject"]), "`approve`, `reject` or null"),
    ("rejects", is_texts, "a list of ids of tasks"),
    ("critique", Value::is_string, "a text or null"),
    ("complexity", |it| is_one_of(it, &["low", "medium", "high"]), "`low`, `medium`, `high` or null"),
];

/// The report that the words are, alone or in a code fence.
pub(super) fn whole(words: &str) -> Option<Value> {
    let words = words.trim();
    let inner = words.strip_prefix("```").map(|inner| inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    let words = inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(words);
    let Ok(Value::Object(object)) = json::value(words) else { return None };
    has_status(&object).then(|| with_plain_status(object))
}

/// The report in the words, whatever stands around it: the last object that says completed or failed. Words that say failed in
/// another way are a failure too.
pub(super) fn within(words: &str) -> Option<Value> {
    let (mut at, mut found) = (0, None);
    for _ in 0..PLACES {
        let Some(begin) = words[at..].find('{').map(|begin| at + begin) else { break };
        let mut values = serde_json::Deserializer::from_str(&words[begin..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = begin + values.byte_offset();
                found = in_value(value, DEPTH).or(found);
            }
            _ => at = begin + 1,
        }
    }
    found.or_else(|| says_failed(words).then(|| json!({"status": "failed", "error": cut(words)})))
}

/// The report that a value is or holds.
fn in_value(value: Value, depth: usize) -> Option<Value> {
    match value {
        Value::Object(object) if has_status(&object) => {
            let report = with_plain_status(object);
            is_one_of(&report["status"], &["completed", "failed"]).then_some(report)
        }
        Value::Object(object) if depth > 0 => {
            object.into_iter().rev().find_map(|(_, value)| in_value(value, depth - 1))
        }
        Value::Array(list) if depth > 0 => list.into_iter().rev().find_map(|value| in_value(value, depth - 1)),
        _ => None,
    }
}

fn is_status(key: &str) -> bool {
    key.trim().eq_ignore_ascii_case("status")
}

fn has_status(object: &Map<String, Value>) -> bool {
    object.keys().any(|key| is_status(key))
}

/// The same with the key `status` and its value in small letters.
fn with_plain_status(object: Map<String, Value>) -> Value {
    let plain = |(key, value): (String, Value)| {
        if !is_status(&key) {
            return (key, value);
        }
        let word = value.as_str().map(|word| word.trim().to_lowercase());
        let value = match word.as_deref() {
            Some("completed") => json!("completed"),
            Some("failed" | "failure" | "fail" | "error") => json!("failed"),
            _ => value,
        };
        ("status".to_owned(), value)
    };
    Value::Object(object.into_iter().map(plain).collect())
}

/// Whether words that hold no report say that the status is failed: `status: failed`, `{'status': 'failed'}` and the like.
fn says_failed(words: &str) -> bool {
    let small = words.to_lowercase();
    let is_around = |c: char| c.is_whitespace() || MARKUP.contains(&c);
    small.match_indices("status").any(|(at, word)| {
        let behind = small[at + word.len()..].trim_start_matches(is_around);
        let Some(value) = behind.strip_prefix([':', '=']) else { return false };
        let value = value.trim_start_matches(is_around);
        ["failed", "failure", "error"].iter().any(|word| value.starts_with(word))
    })
}

fn cut(words: &str) -> String {
    words.trim().chars().take(WORDS).collect()
}

/// What is wrong with a report, one line each.
pub(super) fn wrong(report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if !report.get("status").is_some_and(|status| is_one_of(status, &["completed", "failed"])) {
        wrong.push("`status` must be `completed` or `failed`".to_owned());
    }
    let data = &report["data"];
    for (of, prefix, fields) in [(report, "", FIELDS.as_slice()), (data, "data.", DATA.as_slice())] {
        let misfits = fields.iter().filter(|(key, fits, _)| of.get(key).is_some_and(|it| !it.is_null() && !fits(it)));
        wrong.extend(misfits.map(|(key, _, must)| format!("`{prefix}{key}` must be {must}")));
    }
    wrong.truncate(MOST);
    wrong
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: A-11
    #[test]
    fn failure_in_prose_is_found_in_every_spelling() {
        for words in [
            "I could not do it. {\"status\":\"failed\",\"error\":\"e\"}",
            "{\"status\":\"failed\",\"error\":\"e\"} Sorry about that.",
            "Here is my report:\n```json\n{\"status\": \"failed\", \"error\": \"e\"}\n```\nThat is all.",
            "```\n{\"status\": \"failed\", \"error\": \"e\"}\n```",
            "```JSON\n{\"status\": \"failed\"}\n```",
            "Report: {\"STATUS\": \"FAILED\", \"error\": \"e\"}",
            "{\"Status\": \"Failed\"}",
            "{\"result\": {\"status\": \"failed\", \"error\": \"e\"}}",
            "Done: [{\"a\": {\"b\": {\"status\": \"error\"}}}].",
            "First {\"status\": \"completed\"} was my plan, but {\"status\": \"failed\"}",
            "{'status': 'failed', 'error': 'e'}",
            "{\"status\": \"failed\", \"error\": \"it broke",
            "**Status**: failed",
            "status = FAILED",
            "{\\\"status\\\": \\\"failed\\\"}",
        ] {
            let found = whole(words).or_else(|| within(words)).unwrap_or_else(|| panic!("{words}"));
            assert_eq!(found["status"], "failed", "{words}");
        }
    }

    #[test]
    fn completion_in_prose_is_a_report_and_other_words_are_none() {
        for words in [
            "All done. {\"status\": \"completed\", \"findings\": \"f\"}",
            "The test gave {\"status\": \"failed\"} first.\n{\"status\":\"Completed\",\"findings\":\"f\"}\nBye.",
            "{\"report\": {\"status\": \"completed\", \"findings\": \"f\"}}",
        ] {
            assert_eq!(within(words).unwrap()["status"], "completed", "{words}");
        }
        for words in [
            "",
            "I could not do the task.",
            "The server answers {\"status\": \"ok\"}.",
            "{{{{{{",
            "report \"status\": \"completed\" or \"failed\"",
            "The status of the failed tests is unknown.",
        ] {
            assert_eq!(within(words), None, "{words}");
        }
        assert_eq!(within(&"{\"a\":[".repeat(200_000)), None, "a flood ends");
        assert_eq!(whole("{\"status\": \"perhaps\"}").unwrap()["status"], "perhaps", "ignoring a schema is seen");
    }

    #[test]
    fn report_wrong_fields_are_named_and_missing_ones_are_not() {
        for (report, expected) in [
            (r#"{"status":"completed"}"#, vec![]),
            (
                r#"{"status":"failed","error":null,"data":{"verdict":null,"key_findings":["a"]},"quality_score":80}"#,
                vec![],
            ),
            (r#"{"status":"perhaps"}"#, vec!["`status` must be `completed` or `failed`"]),
            (
                r#"{"status":"completed","findings":["a"],"quality_score":101,"data":{"rejects":"A","verdict":"maybe"}}"#,
                vec![
                    "`findings` must be a text",
                    "`quality_score` must be a number from 0 to 100 or null",
                    "`data.verdict` must be `approve`, `reject` or null",
                    "`data.rejects` must be a list of ids of tasks",
                ],
            ),
            (r#"{"status":"completed","data":[]}"#, vec!["`data` must be an object"]),
            ("[]", vec!["`status` must be `completed` or `failed`"]),
        ] {
            assert_eq!(wrong(&serde_json::from_str(report).unwrap()), expected, "{report}");
        }
    }
}
