//! Tests of the discovery files.

use std::sync::Arc;

use proptest::prelude::*;
use team_executor_core::{TaskId, TaskStatus, Timestamp, Verdict};

use super::format::VERIFICATION;
use super::*;
use crate::folder::MemoryFolder;
use crate::json::{self, Value};
use crate::reading::Reading;
use crate::samples;

fn read_one(text: &str, name: &str) -> (Option<TaskDiscovery>, Vec<String>) {
    let file: Arc<str> = format!("discoveries/{name}.json").into();
    let folder = MemoryFolder::default().with(&file, text);
    let mut reading = Reading::new(&folder, "s");
    let discovery = read(&mut reading, &file);
    (discovery, samples::said(&reading.findings))
}

#[test]
fn a_file_as_workers_write_it_is_understood() {
    let text = r#"{"id":"A-1","status":"done","findings":["one",{"two":2}],"files_modified":["a.rs"],"artifact":"x.md",
        "error":"","verdict":"CONDITIONAL","verification":[{"command":"c"}]}"#;
    let (discovery, said) = read_one(text, "A-1");
    let discovery = discovery.expect("readable");
    assert_eq!(discovery.status, Some(TaskStatus::Completed));
    assert_eq!(discovery.findings, "one\n{\"two\":2}");
    assert_eq!((discovery.files_modified, discovery.artifacts_produced), (vec!["a.rs".into()], vec!["x.md".into()]));
    assert_eq!((discovery.error, discovery.verdict, discovery.verification), (None, None, None));
    assert_eq!(
        said,
        [
            "Warning field-alias `id` was read as `task_id`",
            "Warning default-used `timestamp` is missing: it is unknown",
            "Warning other-word `status` `done` was read as `completed`",
            "Warning other-form `findings` that are a list were read as one line each",
            "Warning other-form an empty `error` was read as none",
            "Warning default-used `data` is missing: its fields are looked for beside it",
            "Warning field-alias `artifact` was read as `artifacts_produced`",
            "Warning other-form one text was read as a list of one",
        ]
    );
}

#[test]
fn discovery_of_an_unsafe_id_has_another_file_name() {
    let of = TaskDiscovery {
        timestamp: Some(Timestamp::from_micros(0)),
        status: Some(TaskStatus::Completed),
        ..TaskDiscovery::new(TaskId::parse("a/b").expect("an id"))
    };
    let text = write(&of, None);
    assert_eq!(read_one(&text, "x-0123456789abcdef").1, [""; 0]);
    assert_eq!(read_one(&text, "x-other").1.len(), 1, "that is no name of ours");
}

#[test]
fn missing_field_is_read_from_its_alias() {
    let (discovery, _) = read_one(r#"{"summary":["a","b"]}"#, "B-2");
    let discovery = discovery.expect("readable");
    assert_eq!((discovery.task.as_str(), discovery.findings.as_str(), discovery.status), ("B-2", "a\nb", None));
    let (discovery, said) = read_one(r#"{"task_id":"B-3"}"#, "B-2");
    assert_eq!(discovery.map(|d| d.task.to_string()).as_deref(), Some("B-3"));
    assert!(said.iter().any(|line| line.starts_with("Warning disagreement")), "{said:#?}");
}

#[test]
fn invalid_discovery_is_a_warning() {
    for text in ["", "[]", "# a heading", "{\"a\":", "{\"task_id\":\"a\\u0000\"}"] {
        let (discovery, said) = read_one(text, "A-1");
        assert!(said.iter().all(|line| line.starts_with("Warning")), "{said:?}");
        assert!(!said.is_empty(), "{text}");
        assert_eq!(discovery.is_some(), text == "[]");
    }
}

/// R: W-10
#[test]
fn long_texts_are_cut_in_the_file_and_whole_behind_it() {
    let mut long = TaskDiscovery::new(TaskId::parse("A-1").expect("id"));
    long.timestamp = Some(Timestamp::from_micros(0));
    long.status = Some(TaskStatus::Failed);
    long.findings = "x".repeat(700);
    long.key_findings = vec!["y".repeat(120); 7];
    let text = write(&long, None);
    let document = json::parse(&text).expect("JSON");
    let short = document.root().get("findings").and_then(Value::as_text).unwrap_or_default();
    assert_eq!(short.chars().count(), 500);
    let points = document.root().get("data").and_then(|data| data.get("key_findings")).expect("a list");
    assert_eq!(
        points.items().map(|item| item.as_text().map_or(0, |t| t.chars().count())).collect::<Vec<_>>(),
        [100; 5]
    );
    assert_eq!(read_one(&text, "A-1"), (Some(long), Vec::new()));
}

fn any_discovery() -> impl Strategy<Value = TaskDiscovery> {
    let texts = || prop::collection::vec("\\PC{0,110}", 0..7);
    let words = || (any::<bool>(), prop::sample::select(VERIFICATION), prop::sample::select(Verdict::ALL));
    let head = (samples::task_id(), samples::time(), "\\PC{0,40}|\\PC{495,505}", words());
    let numbers =
        (prop::option::of(0.0..=100.0f64), prop::option::of(any::<u32>()), prop::option::of("[a-z]\\PC{0,9}"));
    (head, numbers, texts(), texts(), texts(), texts()).prop_map(|(head, numbers, a, b, c, d)| {
        let (task, time, findings, (failed, verification, verdict)) = head;
        let mut discovery = TaskDiscovery::new(task);
        discovery.timestamp = Some(time);
        discovery.findings = findings;
        discovery.status = Some(if failed { TaskStatus::Failed } else { TaskStatus::Completed });
        discovery.verification = failed.then(|| verification.to_owned());
        discovery.verdict = (!failed).then_some(verdict);
        (discovery.quality_score, discovery.risks_logged, discovery.error) = numbers;
        discovery.blocks_detected = discovery.risks_logged;
        (discovery.worker, discovery.kind) = (discovery.error.clone(), discovery.error.clone());
        (discovery.key_findings, discovery.decisions) = (a, b);
        (discovery.files_modified, discovery.artifacts_produced) = (c, d);
        discovery
    })
}

#[test]
fn the_published_schema_demands_what_the_format_demands() {
    assert_eq!(samples::required(&SHAPE), ["task_id", "timestamp", "status", "findings", "data"]);
}

proptest! {
    #[test]
    fn written_file_reads_back_without_findings(written in any_discovery(), unknown in samples::unknown()) {
        let entries = samples::entries(&unknown);
        let original = format!("{{\"id\": 1{entries}, \"data\": {{\"decisions\": []{entries}}}}}");
        let original = json::parse(&original).map_err(|m| TestCaseError::fail(m.message))?;
        let text = write(&written, Some(&original));
        prop_assert!(samples::holds(&text, &[unknown.clone(), unknown].concat()), "{}", text);
        let (read, said) = read_one(&text, written.task.as_str());
        prop_assert_eq!(read, Some(written));
        prop_assert!(said.is_empty(), "{:?}", said);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}", json in samples::json(), name in samples::id()) {
        read_one(&text, &name);
        read_one(&format!("{{\"status\":{json},\"findings\":{json},\"data\":{json},\"task_id\":{json}}}"), &name);
    }
}
