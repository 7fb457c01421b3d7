//! Values for the property tests of the file formats.

use proptest::prelude::*;
use team_executor_core::{TaskId, Timestamp};

use crate::finding::Findings;
use crate::shape::{Type, schema};

/// What can be an id.
pub(crate) fn id() -> impl Strategy<Value = String> {
    "[A-Za-z任é0-9]{1,6}(-[A-Za-z0-9]{1,4}){0,2}"
}

/// A task's id.
pub(crate) fn task_id() -> impl Strategy<Value = TaskId> {
    id().prop_filter_map("an id", |id| TaskId::parse(&id).ok())
}

/// A time of this century, to the microsecond.
pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    (946_684_800_000_000i64..4_102_444_800_000_000).prop_map(Timestamp::from_micros)
}

/// JSON text without line ends; no object has a key twice.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![Just("null".to_owned()), "-?[1-9][0-9]{0,5}", any::<String>().prop_map(|s| crate::json::quote(&s))];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[ {} ]", items.join(","))),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4).prop_map(|entries| {
                let entries: Vec<_> = entries.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
                format!("{{{}}}", entries.join(", "))
            }),
        ]
    })
}

/// Keys that no format knows, with raw values.
pub(crate) fn unknown() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("x_[a-z]{1,4}", json(), 0..4).prop_map(|entries| entries.into_iter().rev().collect())
}

/// Entries as they are written in an object, each behind a comma.
pub(crate) fn entries(unknown: &[(String, String)]) -> String {
    unknown.iter().map(|(key, value)| format!(", \"{key}\":   {value}")).collect()
}

/// Whether a text holds these entries, as they were written and in this order.
pub(crate) fn holds(text: &str, unknown: &[(String, String)]) -> bool {
    let mut rest = text;
    unknown.iter().all(|(key, value)| {
        let entry = format!("\"{key}\": {value}");
        let found = rest.find(&entry);
        rest = found.map_or("", |at| &rest[at + entry.len()..]);
        found.is_some()
    })
}

/// Every finding in one line, for comparison.
pub(crate) fn said(findings: &Findings) -> Vec<String> {
    findings.iter().map(|f| format!("{:?} {} {}", f.severity, f.code.name(), f.message)).collect()
}

/// The fields that the published schema of a shape requires.
pub(crate) fn required(shape: &Type) -> Vec<String> {
    let schema: serde_json::Value = serde_json::from_str(&schema("s", "S", shape)).expect("a schema is JSON");
    let required = schema["required"].as_array().expect("a list of names");
    required.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect()
}
