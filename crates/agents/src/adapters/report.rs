//! Whether a report fits: what is there must be of its kind. What is missing or null is no mistake, but for the status.

use serde_json::Value;

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

    #[test]
    fn what_does_not_fit_is_named_and_what_is_missing_is_not() {
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
