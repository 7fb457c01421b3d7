//! `.msg/meta.json`: what each role remembers. The keys are data and the values belong to the roles, so both are kept
//! as they are written.

use std::sync::Arc;

use crate::code::Code;
use crate::finding::{Finding, Severity};
use crate::json::{self, Document, Layout, Writer};
use crate::limits;
use crate::reading::{About, Reading};
use crate::shape::Type;
use crate::side::one_line;
use crate::span::Source;

/// Where it is.
pub const FILE: &str = ".msg/meta.json";
/// Where some sessions have it instead.
const ELSEWHERE: &str = "wisdom/.msg/meta.json";

/// What is said about it.
pub static ABOUT: About = About {
    subject: ".msg/meta.json",
    schema: "role-state",
    limit: limits::SESSION_BYTES,
    if_missing: "it is written when a role has something to remember",
    if_wrong: "or remove the file: it is written again",
};

/// Its shape.
pub static SHAPE: Type = Type::Map(&Type::Anything);

/// What each role remembers, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleState(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    /// The key as it is written, quotes included.
    key: String,
    /// JSON text.
    value: String,
}

impl RoleState {
    /// What stands under a name, as JSON text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|entry| entry.name == name).map(|entry| entry.value.as_str())
    }

    /// Puts JSON text under a name, in the place of what stood there. Text that is not JSON becomes a string.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = one_line(value).into_owned();
        match self.0.iter_mut().find(|entry| entry.name == name) {
            Some(entry) => entry.value = value,
            None => self.0.push(Entry { name: name.to_owned(), key: json::quote(name), value }),
        }
    }
}

/// Reads what the roles remember; nothing, if there is no such file.
pub fn read(reading: &mut Reading<'_>) -> RoleState {
    let file: Arc<str> = FILE.into();
    if let Some(text) = reading.optional_text(&file, &ABOUT, Severity::Warning) {
        return understand(reading, &file, text);
    }
    let file: Arc<str> = ELSEWHERE.into();
    match reading.optional_text(&file, &ABOUT, Severity::Warning) {
        Some(text) => {
            let message = "`wisdom/.msg/meta.json` was read, because there is no `.msg/meta.json` that can be read";
            reading.findings.push(Finding::warning(Code::OtherForm, message).file(&file));
            understand(reading, &file, text)
        }
        None => RoleState::default(),
    }
}

/// The file for what the roles remember.
pub fn write(state: &RoleState) -> String {
    let mut writer = Writer::new(Layout::Pretty);
    writer.begin_object();
    for entry in &state.0 {
        writer.raw_key(&entry.key);
        writer.raw(&entry.value);
    }
    writer.end_object();
    writer.finish()
}

fn understand(reading: &mut Reading<'_>, file: &Arc<str>, text: String) -> RoleState {
    let mut state = RoleState::default();
    if let Some(document) = reading.document(file, &ABOUT, Severity::Warning, &text) {
        reading.check(file, &ABOUT, Severity::Warning, &document, &SHAPE);
        state = entries(&document);
    }
    reading.sources.insert(file.clone(), Source::new(text));
    state
}

/// Every entry; of two with one name, the first.
fn entries(document: &Document<'_>) -> RoleState {
    let again: std::collections::HashSet<_> = document.repeated_keys().iter().map(|key| key.again).collect();
    let entries = document.root().entries().filter(|entry| !again.contains(&entry.key.span()));
    RoleState(
        entries
            .map(|entry| Entry {
                name: entry.name().into_owned(),
                key: entry.key.raw().to_owned(),
                value: entry.value.raw().to_owned(),
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::MemoryFolder;
    use crate::samples;

    fn state(file: &str, text: &str) -> (RoleState, Vec<String>) {
        let folder = MemoryFolder::default().with(file, text);
        let mut reading = Reading::new(&folder, "s");
        let state = read(&mut reading);
        (state, samples::said(&reading.findings))
    }

    #[test]
    fn one_role_changes_and_the_others_stay_as_they_were() {
        let text = "{\n  \"\\u0061\": {\"x\" : 1},\n  \"status\": \"active\",\n  \"tester\": { \"n\":  [1,\n 2] }\n}\n";
        let (mut state, said) = state(FILE, text);
        assert!(said.is_empty());
        assert_eq!((state.get("a"), state.get("stranger")), (Some("{\"x\" : 1}"), None));
        assert_eq!(write(&state), text);
        state.set("status", "\"done\"");
        state.set("new", "not JSON");
        assert_eq!(
            write(&state),
            text.replace("\"active\"", "\"done\"").replace(" }\n}", " },\n  \"new\": \"not JSON\"\n}")
        );
    }

    #[test]
    fn odd_files_are_read_with_a_warning() {
        let (found, said) = state(ELSEWHERE, "{\"a\":1,\"a\":2}");
        assert_eq!((found.get("a"), found.0.len()), (Some("1"), 1));
        assert_eq!(said.len(), 2);
        for text in ["[]", "{", ""] {
            let (found, said) = state(FILE, text);
            assert_eq!(found, RoleState::default());
            assert_eq!((said.len(), said[0].starts_with("Warning")), (1, true), "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_file_reads_back_without_findings(
            entries in prop::collection::btree_map(any::<String>(), samples::json(), 0..5)
        ) {
            let mut written = RoleState::default();
            for (name, value) in &entries {
                written.set(name, value);
            }
            prop_assert_eq!(state(FILE, &write(&written)), (written, Vec::new()));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            state(FILE, &text);
        }
    }
}
