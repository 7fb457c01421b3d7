//! `discoveries.ndjson`: the board on which workers tell each other what they found. It is only ever appended to, so
//! there is a writer of one line and none of the file.

use std::collections::HashSet;
use std::sync::Arc;

use team_executor_core::Discovery;

use crate::fields::{self, field, text, text_of};
use crate::json::{self, Layout, Value, Writer};
use crate::limits;
use crate::ndjson::{self, Logged};
use crate::reading::{About, Reading};
use crate::shape::{Field, Object, Other, Type};
use crate::side::{one_line, write_text};
use crate::time;

/// Where it is.
pub const FILE: &str = "discoveries.ndjson";

/// What is said about it.
pub static ABOUT: About = About {
    subject: "discoveries.ndjson",
    schema: "discoveries",
    limit: limits::LOG_BYTES,
    if_missing: "workers write it",
    if_wrong: "or leave the line as it is",
};

/// The shape of one line.
pub static SHAPE: Type = Type::Object(&OBJECT);

static OBJECT: Object = Object {
    about: "One line of the discovery board",
    fields: &[
        Field::expected("ts", &Type::Time, "it is unknown", "When it was found").or(&["at", "timestamp", "date"]),
        Field::expected("worker", &WORKER, "it is empty", "Who found it").or(&["task", "task_id"]),
        Field::expected("type", &Type::Text, "it is empty", "What sort of discovery it is").or(&["kind"]),
        Field::expected("data", &Type::Anything, "the other keys are used", "The discovery itself"),
    ],
};

/// A name; in real files sometimes a number.
pub(crate) static WORKER: Type = Type::Or(
    &Type::Text,
    &[Other { ty: &Type::Number(f64::MIN, f64::MAX), understood: "a name that is a number was read as text" }],
);

/// What the board says.
#[derive(Debug, Default)]
pub struct Board {
    /// Every discovery once, in the order of the file.
    pub lines: Vec<Logged<Discovery>>,
}

/// Reads the board. A board that is missing is empty.
pub fn read(reading: &mut Reading<'_>) -> Board {
    let file: Arc<str> = FILE.into();
    let mut lines = ndjson::read(reading, &file, &ABOUT, &SHAPE, discovery);
    let mut seen = HashSet::new();
    lines.retain(|Logged { value, .. }| {
        value.key.as_ref().is_none_or(|key| seen.insert((value.kind.clone(), key.clone())))
    });
    Board { lines }
}

/// The line for a discovery, with its line end.
pub fn line(discovery: &Discovery) -> String {
    let mut writer = Writer::new(Layout::Compact);
    writer.begin_object();
    write_text(&mut writer, "ts", discovery.timestamp.map(time::format).as_deref());
    write_text(&mut writer, "worker", Some(&discovery.worker));
    write_text(&mut writer, "type", Some(&discovery.kind));
    writer.key("data");
    writer.raw(&one_line(&discovery.data));
    writer.end_object();
    writer.finish()
}

/// By which two discoveries of a kind are the same, if the kind has such a key and the data names it.
pub fn key(kind: &str, data: &str) -> Option<String> {
    json::parse(data).ok().and_then(|document| key_of(kind, document.root()))
}

fn discovery(line: Value<'_, '_>) -> Discovery {
    let kind = text(line, &OBJECT, "type").unwrap_or_default();
    let data = field(line, &OBJECT, "data");
    Discovery {
        timestamp: fields::timestamp(line, &OBJECT, "ts"),
        worker: text(line, &OBJECT, "worker").unwrap_or_default(),
        key: key_of(&kind, data.unwrap_or(line)),
        data: data.map_or_else(|| rest(line), |data| data.raw().to_owned()),
        kind,
    }
}

fn key_of(kind: &str, data: Value<'_, '_>) -> Option<String> {
    let part = |names: &[&str]| {
        let texts = names.iter().filter_map(|name| data.get(name)).filter_map(text_of);
        texts.map(|text| text.into_owned()).next()
    };
    let parts = match kind {
        "implementation" => vec![part(&["file"])?, part(&["function"])?],
        "test_result" => vec![part(&["test_name"])?],
        "review_comment" => vec![part(&["file"])?, part(&["line"])?],
        "pattern" => vec![part(&["pattern_name", "pattern", "name"])?],
        _ => return None,
    };
    let quoted: Vec<_> = parts.iter().map(|part| json::quote(part)).collect();
    Some(quoted.join("+"))
}

/// The keys of a line that have no meaning of their own, as one object.
fn rest(line: Value<'_, '_>) -> String {
    let left_over = line.entries().filter(|entry| OBJECT.field(&entry.name()).is_none());
    let entries: Vec<_> = left_over.map(|entry| format!("{}:{}", entry.key.raw(), entry.value.raw())).collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::MemoryFolder;
    use crate::samples;

    fn board(text: &str) -> (Board, Vec<String>) {
        let folder = MemoryFolder::default().with(FILE, text);
        let mut reading = Reading::new(&folder, "s");
        let board = read(&mut reading);
        (board, samples::said(&reading.findings))
    }

    /// R: W-11
    #[test]
    fn repeats_are_recognised_by_the_key_of_their_kind() {
        let same = [
            ("implementation", r#"{"file":"a.rs","function":"f","notes":"1"}"#, r#"{"function":"f","file":"a.rs"}"#),
            ("test_result", r#"{"test_name":"t","status":"pass"}"#, r#"{"test_name":"t","status":"fail"}"#),
            ("review_comment", r#"{"file":"a.rs","line":7}"#, r#"{"file":"a.rs","line":"7"}"#),
            ("pattern", r#"{"pattern_name":"p"}"#, r#"{"pattern":"p"}"#),
            ("pattern", r#"{"name":"p"}"#, r#"{"pattern":"p","files":[]}"#),
        ];
        let line = |kind, data| {
            format!("{{\"ts\":\"2026-01-01T00:00:00Z\",\"worker\":\"1\",\"type\":\"{kind}\",\"data\":{data}}}\n")
        };
        for (kind, first, again) in same {
            let (board, said) = board(&(line(kind, first) + &line(kind, again)));
            assert_eq!(board.lines.len(), 1, "{first} {again}");
            assert_eq!(board.lines[0].value.data, first);
            assert_eq!(board.lines[0].value.key, key(kind, first));
            assert!(said.is_empty());
        }
        for (kind, first, again) in [
            ("note", r#"{"file":"a"}"#, r#"{"file":"a"}"#),
            ("implementation", r#"{"file":"a"}"#, r#"{"file":"a"}"#),
            ("implementation", r#"{"file":"a+b","function":"c"}"#, r#"{"file":"a","function":"b+c"}"#),
            ("test_result", "1", "1"),
        ] {
            let (board, _) = board(&(line(kind, first) + &line(kind, again)));
            assert_eq!(board.lines.len(), 2, "{first} {again}");
        }
    }

    /// R: W-11
    #[test]
    fn lines_of_real_boards_are_understood() {
        let text = concat!(
            r#"{"at":"2026-01-01T00:00:00Z","type":"rule","message":"m","n":[1, 2]}"#,
            "\n",
            r#"{"task":"T-1","kind":"cause","summary":"s"}"#,
            "\n",
            r#"{"ts":"2026-01-01","worker":3,"type":"test_result","data":{"test_name":"t"},"key":"k"}"#,
            "\n",
            r#"{"type":"x","da"#,
        );
        let (board, said) = board(text);
        let values: Vec<_> = board.lines.iter().map(|line| &line.value).collect();
        assert_eq!(values[0].data, r#"{"message":"m","n":[1, 2]}"#);
        assert_eq!(
            (values[0].worker.as_str(), values[0].timestamp.map(time::format).as_deref()),
            ("", Some("2026-01-01T00:00:00Z"))
        );
        assert_eq!((values[1].worker.as_str(), values[1].kind.as_str()), ("T-1", "cause"));
        assert_eq!(values[2].worker, "3");
        assert_eq!(Some(board.lines[2].raw.as_str()), text.lines().nth(2));
        for expected in [
            "Warning field-alias `at` was read as `ts`",
            "Warning default-used `worker` is missing: it is empty",
            "Warning default-used `data` is missing: the other keys are used",
            "Warning other-form a name that is a number was read as text",
            "Warning skipped-line line 4, the last one, is incomplete and was skipped",
        ] {
            assert!(said.iter().any(|line| line == expected), "{expected}\n{said:#?}");
        }
    }

    #[test]
    fn a_missing_board_is_empty() {
        let folder = MemoryFolder::default();
        let mut reading = Reading::new(&folder, "s");
        assert_eq!(read(&mut reading).lines.len(), 0);
        assert_eq!(reading.findings.iter().count(), 0);
    }

    #[test]
    fn the_published_schema_demands_what_the_format_demands() {
        assert_eq!(samples::required(&SHAPE), ["ts", "worker", "type", "data"]);
    }

    proptest! {
        /// R: W-11
        #[test]
        fn written_file_reads_back_without_findings(
            time in samples::time(), worker in any::<String>(), kind in any::<String>(), data in samples::json()
        ) {
            prop_assume!(data != "null");
            let written = Discovery { timestamp: Some(time), worker, key: key(&kind, &data), kind, data };
            let (board, said) = board(&line(&written));
            prop_assert_eq!(&board.lines[0].value, &written);
            prop_assert_eq!(format!("{}\n", board.lines[0].raw), line(&written));
            prop_assert!(said.is_empty(), "{:?}", said);
        }

        #[test]
        fn unknown_keys_survive(unknown in samples::unknown()) {
            let text = format!("{{\"type\":\"t\"{}}}", samples::entries(&unknown));
            prop_assert_eq!(&board(&text).0.lines[0].raw, &text);
        }

        #[test]
        fn no_data_breaks_the_line(data in any::<String>(), text in "\\PC{0,80}") {
            let written = Discovery { timestamp: None, worker: text.clone(), kind: text.clone(), data, key: None };
            let written = line(&written);
            prop_assert_eq!(written.matches('\n').count(), 1);
            prop_assert_eq!(board(&written).0.lines.len(), 1);
            board(&text);
        }
    }
}
