//! `.msg/messages.jsonl`: the team's bus, only ever appended to; and single messages in files of their own beside it.

use std::sync::Arc;

use team_executor_core::{Message, TaskId};

use crate::board::WORKER;
use crate::fields::{self, ID, field, text, text_of};
use crate::finding::Severity;
use crate::json::{Kind, Layout, Value, Writer};
use crate::limits;
use crate::ndjson::{self, Logged};
use crate::reading::{About, Reading};
use crate::role_state;
use crate::shape::{Field, Object, Type};
use crate::side::{names, one_line, read_each, write_text};
use crate::time;

/// Where the bus is.
pub const FILE: &str = ".msg/messages.jsonl";
const FOLDER: &str = ".msg";

/// What is said about it.
pub static ABOUT: About = About {
    subject: ".msg/messages.jsonl",
    schema: "message",
    limit: limits::LOG_BYTES,
    if_missing: "a worker writes it when it sends a message",
    if_wrong: "or leave the message as it is",
};

/// What is said about a message in a file of its own.
static ABOUT_ONE: About = About {
    subject: ".msg/<message>.json",
    schema: "message",
    limit: limits::DISCOVERY_BYTES,
    if_missing: "a worker writes it when it sends a message",
    if_wrong: "or leave the message as it is",
};

/// The shape of one message.
pub static SHAPE: Type = Type::Object(&OBJECT);

static OBJECT: Object = Object {
    about: "One message",
    fields: &[
        Field::expected("id", &WORKER, "it has none", "MSG-001, MSG-002, …"),
        Field::expected("ts", &Type::Time, "it is unknown", "When it was sent").or(&["timestamp", "at"]),
        Field::expected("from", &WORKER, "it is empty", "The sender").or(&["role"]),
        Field::expected("to", &WORKER, "the whole team is meant", "The recipient"),
        Field::expected("type", &Type::Text, "it is empty", "What sort of message it is").or(&["kind"]),
        Field::expected("summary", &Type::Text, "that of `data` is used, if it is there", "The message in a few words"),
        Field::optional("data", &Type::Anything, "The rest"),
        Field::optional("task_id", &ID, "The task that it is about, unless `data` says so"),
    ],
};

/// Every message: those of the bus in order, then those with files of their own by the names of these.
pub fn read(reading: &mut Reading<'_>) -> Vec<Logged<Message>> {
    let mut messages = ndjson::read(reading, &FILE.into(), &ABOUT, &SHAPE, message);
    let names = names(reading, FOLDER, &ABOUT_ONE).into_iter().filter(|name| name.ends_with(".json"));
    let files = names.map(|name| format!("{FOLDER}/{name}")).filter(|file| file != role_state::FILE).map(Arc::from);
    read_each(reading, FOLDER, &ABOUT_ONE, files, |reading, file, text| {
        messages.extend(one(reading, file, text));
        None
    });
    messages
}

/// The line for a message, with its line end.
pub fn line(message: &Message) -> String {
    let mut writer = Writer::new(Layout::Compact);
    let out = &mut writer;
    out.begin_object();
    write_text(out, "id", Some(&message.id));
    write_text(out, "ts", message.timestamp.map(time::format).as_deref());
    write_text(out, "from", Some(&message.from));
    write_text(out, "to", Some(&message.to));
    write_text(out, "type", Some(&message.kind));
    write_text(out, "summary", Some(&message.summary));
    let data = message.data.as_deref().map(one_line);
    let said = data.as_deref().and_then(|data| crate::json::parse(data).ok().and_then(|data| task_in(data.root())));
    if let Some(data) = data {
        out.key("data");
        out.raw(&data);
    }
    if said != message.task {
        write_text(out, "task_id", message.task.as_ref().map(TaskId::as_str));
    }
    out.end_object();
    writer.finish()
}

/// The id after the last one, or the first one if the last is not of this kind.
pub fn next_id(last: Option<&str>) -> String {
    let number = last.and_then(|last| last.strip_prefix("MSG-")).and_then(|number| number.parse::<u64>().ok());
    format!("MSG-{:03}", number.unwrap_or(0).saturating_add(1))
}

fn one(reading: &mut Reading<'_>, file: &Arc<str>, text: &str) -> Option<Logged<Message>> {
    let document = reading.document(file, &ABOUT_ONE, Severity::Warning, text)?;
    reading.check(file, &ABOUT_ONE, Severity::Warning, &document, &SHAPE);
    let root = document.root();
    let raw = one_line(root.raw()).into_owned();
    (root.kind() == Kind::Object).then(|| Logged { value: message(root), raw })
}

fn message(value: Value<'_, '_>) -> Message {
    let data = field(value, &OBJECT, "data");
    let owned = |name| text(value, &OBJECT, name).unwrap_or_default();
    let stated = text(value, &OBJECT, "task_id").and_then(|id| TaskId::parse(&id).ok());
    let summary = text(value, &OBJECT, "summary");
    let in_data = || data.and_then(|data| data.get("summary")).and_then(text_of).map(|text| text.into_owned());
    Message {
        id: owned("id"),
        timestamp: fields::timestamp(value, &OBJECT, "ts"),
        from: owned("from"),
        to: owned("to"),
        kind: owned("type"),
        summary: summary.or_else(in_data).unwrap_or_default(),
        task: stated.or_else(|| data.and_then(task_in)),
        data: data.map(|data| data.raw().to_owned()),
    }
}

fn task_in(data: Value<'_, '_>) -> Option<TaskId> {
    data.get("task_id").and_then(text_of).and_then(|id| TaskId::parse(&id).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::MemoryFolder;
    use crate::samples;

    fn bus(folder: &MemoryFolder) -> (Vec<Logged<Message>>, Vec<String>) {
        let mut reading = Reading::new(folder, "s");
        let messages = read(&mut reading);
        (messages, samples::said(&reading.findings))
    }

    #[test]
    fn messages_of_real_sessions_are_understood() {
        let folder = MemoryFolder::default()
            .with(FILE, "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"from\":\"a\",\"type\":\"t\",\"summary\":\"s\",\"data\":{\"task_id\":\"T-1\"}}\n{torn")
            .with(".msg/meta.json", "{}")
            .with(".msg/notes.txt", "-")
            .with(".msg/msg-1.json", "{\n \"operation\":\"log\", \"from\":\"b\",\"to\":\"c\",\"type\":\"u\",\"data\":{\"summary\":\"d\"}}")
            .with(".msg/msg-2.json", "[]");
        let (messages, said) = bus(&folder);
        let told: Vec<_> =
            messages.iter().map(|m| (m.value.from.as_str(), m.value.to.as_str(), m.value.summary.as_str())).collect();
        assert_eq!(told, [("a", "", "s"), ("b", "c", "d")]);
        assert_eq!(messages[0].value.task.as_ref().map(TaskId::as_str), Some("T-1"));
        assert!(messages[1].raw.starts_with("{  \"operation\":\"log\""));
        for expected in [
            "Warning field-alias `timestamp` was read as `ts`",
            "Warning default-used `id` is missing: it has none",
            "Warning default-used `to` is missing: the whole team is meant",
            "Warning skipped-line line 2, the last one, is incomplete and was skipped",
            "Warning invalid-field .msg/<message>.json corrupt",
        ] {
            assert!(said.iter().any(|line| line == expected), "{expected}\n{said:#?}");
        }
    }

    #[test]
    fn ids_count_on() {
        assert_eq!(next_id(None), "MSG-001");
        assert_eq!(next_id(Some("MSG-009")), "MSG-010");
        assert_eq!(next_id(Some("MSG-999")), "MSG-1000");
        assert_eq!(next_id(Some("msg-1774287241329")), "MSG-001");
        assert_eq!(next_id(Some("MSG-")), "MSG-001");
        assert_eq!(next_id(Some(&format!("MSG-{}", u64::MAX))), format!("MSG-{}", u64::MAX));
    }

    /// JSON, sometimes with a task in it.
    fn data() -> impl Strategy<Value = String> {
        let about = samples::task_id().prop_map(|id| format!("{{\"task_id\":\"{id}\"}}"));
        prop_oneof![samples::json().prop_filter("absent", |json| json != "null"), about]
    }

    #[test]
    fn the_published_schema_demands_what_the_format_demands() {
        assert_eq!(samples::required(&SHAPE), ["id", "ts", "from", "to", "type", "summary"]);
    }

    proptest! {
        #[test]
        fn written_file_reads_back_without_findings(
            id in samples::id(), time in samples::time(), from in any::<String>(), to in "\\PC{0,9}", kind in "\\PC{0,9}",
            summary in any::<String>(), data in prop::option::of(data()), task in prop::option::of(samples::task_id()),
        ) {
            let told = data.as_deref().and_then(|data| task_in(crate::json::parse(data).ok()?.root()));
            let task = task.or(told);
            let written = Message { id, timestamp: Some(time), from, to, kind, summary, data, task };
            let (messages, said) = bus(&MemoryFolder::default().with(FILE, line(&written)));
            prop_assert_eq!(&messages[0].value, &written);
            prop_assert!(said.is_empty(), "{:?}", said);
        }

        #[test]
        fn unknown_keys_survive(unknown in samples::unknown()) {
            let text = format!("{{\"id\":\"1\"{}}}", samples::entries(&unknown));
            let (messages, _) = bus(&MemoryFolder::default().with(FILE, text.as_str()));
            prop_assert_eq!(&messages[0].raw, &text);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,80}", json in samples::json()) {
            bus(&MemoryFolder::default().with(FILE, text.as_str()).with(".msg/m.json", json));
        }
    }
}
