//! The shapes in which sessions stand on disk, and how a folder tells which it is.

use std::borrow::Cow;
use std::fmt;

use crate::folder::Folder;
use crate::{chain, json, limits, task_files};

/// One of the shapes in which sessions stand on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `team-session.json`, `task-analysis.json`, `role-specs/`.
    Tc,
    /// `team-session.json` or `session.json` with a `task_list`.
    Tls,
    /// `tasks.json`.
    TasksJson,
    /// `tasks.csv`.
    TasksCsv,
    /// `.task/` or `tasks/` with a JSON file for each task.
    TaskFiles,
    /// `session.json` with a `chain` of steps.
    Chain,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: &'static [Self] =
        &[Self::Tc, Self::Tls, Self::TasksJson, Self::TasksCsv, Self::TaskFiles, Self::Chain];
    /// Those in which new sessions are made; the others belong to their planners.
    pub const MADE: &'static [Self] = &[Self::Tc, Self::Tls, Self::TasksJson, Self::TasksCsv];

    /// What it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tc => "tc",
            Self::Tls => "tls",
            Self::TasksJson => "tasks-json",
            Self::TasksCsv => "tasks-csv",
            Self::TaskFiles => "task-files",
            Self::Chain => "chain",
        }
    }

    /// Whether a session of this dialect has a place for where it stands as a whole.
    pub const fn has_session_status(self) -> bool {
        !matches!(self, Self::TasksCsv | Self::TaskFiles)
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }

    /// The dialect of the files in a folder; `None` if none of them is known.
    pub fn detect(folder: &dyn Folder) -> Option<Self> {
        let has_team_session = folder.has("team-session.json");
        if folder.has("task-analysis.json") && has_team_session {
            return Some(Self::Tc);
        }
        if (has_team_session && is_lifecycle(folder, "team-session.json")) || is_lifecycle(folder, "session.json") {
            return Some(Self::Tls);
        }
        if folder.has("tasks.json") {
            return Some(Self::TasksJson);
        }
        if folder.has("tasks.csv") {
            return Some(Self::TasksCsv);
        }
        if task_files::folder_of(folder).is_some() {
            return Some(Self::TaskFiles);
        }
        if is_chain(folder) {
            return Some(Self::Chain);
        }
        let is_tc = has_team_session || folder.has("task-analysis.json") || folder.has("role-specs");
        is_tc.then_some(Self::Tc)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The id that a session states, without reading more of it than that needs; nothing if the folder's name is its id.
pub fn stated_id(folder: &dyn Folder) -> Option<String> {
    let file = match Dialect::detect(folder)? {
        Dialect::Tc => "team-session.json",
        Dialect::Tls => lifecycle_file(folder),
        Dialect::TasksJson => "tasks.json",
        Dialect::Chain => chain::FILE,
        Dialect::TasksCsv | Dialect::TaskFiles => return None,
    };
    let bytes = folder.read(file, limits::TASKS_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let document = json::parse(text.trim_start_matches('\u{FEFF}')).ok()?;
    let id = document.root().entries().find(|entry| entry.name() == "session_id")?;
    id.value.as_text().map(Cow::into_owned)
}

/// The file that holds a lifecycle session.
pub(crate) fn lifecycle_file(folder: &dyn Folder) -> &'static str {
    let of_team = folder.has("team-session.json")
        && (is_lifecycle(folder, "team-session.json") || !is_lifecycle(folder, "session.json"));
    if of_team { "team-session.json" } else { "session.json" }
}

const LIFECYCLE_FIELDS: [&str; 3] = ["task_list", "pipeline_type", "artifact_registry"];

/// Whether a file holds at least one of the fields that only lifecycle sessions have.
fn is_lifecycle(folder: &dyn Folder, path: &str) -> bool {
    let Ok(bytes) = folder.read(path, limits::TASKS_BYTES) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    match json::parse(text.trim_start_matches('\u{FEFF}')) {
        Ok(document) => document.root().entries().any(|entry| LIFECYCLE_FIELDS.contains(&&*entry.name())),
        // The reader of its dialect reports its errors.
        Err(_) => LIFECYCLE_FIELDS.iter().any(|name| text.contains(&format!("\"{name}\""))),
    }
}

/// Whether `session.json` is a chain.
fn is_chain(folder: &dyn Folder) -> bool {
    let Ok(bytes) = folder.read(chain::FILE, limits::TASKS_BYTES) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    match json::parse(text.trim_start_matches('\u{FEFF}')) {
        Ok(document) => chain::is_one(document.root()),
        Err(_) => text.contains("\"chain\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::MemoryFolder;

    #[test]
    fn the_files_decide() {
        let folder = |names: &[&str]| names.iter().fold(MemoryFolder::default(), |f, name| f.with(name, "{}"));
        let detect = |names: &[&str]| Dialect::detect(&folder(names));
        assert_eq!(detect(&["team-session.json", "task-analysis.json", "tasks.json"]), Some(Dialect::Tc));
        assert_eq!(detect(&["tasks.json", "task-analysis.json", "tasks.csv"]), Some(Dialect::TasksJson));
        assert_eq!(detect(&["tasks.csv", "results.csv"]), Some(Dialect::TasksCsv));
        assert_eq!(detect(&["team-session.json"]), Some(Dialect::Tc));
        assert_eq!(detect(&["role-specs/a.md"]), Some(Dialect::Tc));
        assert_eq!(detect(&["wisdom/a.md", "session.json"]), None);
        let chain = MemoryFolder::default().with("session.json", "{\"chain\": []}");
        assert_eq!(Dialect::detect(&chain), Some(Dialect::Chain));
        let task = "{\"id\": \"A\"}";
        for path in [".task/A.json", "tasks/A.json"] {
            let files = chain.clone().with(path, task);
            assert_eq!(Dialect::detect(&files), Some(Dialect::TaskFiles));
            assert_eq!(Dialect::detect(&files.with("tasks.csv", "id")), Some(Dialect::TasksCsv));
        }
        assert_eq!(Dialect::detect(&MemoryFolder::default().with("tasks/notes.json", "{}")), None);
        let lifecycle = MemoryFolder::default().with("session.json", "{\"task_list\": []}");
        assert_eq!(Dialect::detect(&lifecycle), Some(Dialect::Tls));
        let broken = MemoryFolder::default().with("team-session.json", "{\"task_list\": [");
        assert_eq!(Dialect::detect(&broken), Some(Dialect::Tls));
        let lifecycle =
            MemoryFolder::default().with("team-session.json", "\u{FEFF}{\"pipeline_type\": 1}").with("tasks.json", "");
        assert_eq!(Dialect::detect(&lifecycle), Some(Dialect::Tls));
    }

    #[test]
    fn a_session_states_its_id_in_the_file_of_its_dialect() {
        let stated = |file: &str, text: &str| stated_id(&MemoryFolder::default().with(file, text));
        let some = || Some("s-1".to_owned());
        assert_eq!(stated("team-session.json", r#"{"session_id":"s-1"}"#), some());
        assert_eq!(stated("session.json", r#"{"task_list":[],"session_id":"s-1"}"#), some());
        assert_eq!(stated("tasks.json", "\u{FEFF}{\"session_id\":\"s-1\"}"), some());
        for (file, text) in [("tasks.json", "["), ("tasks.json", r#"{"session_id":1}"#), ("tasks.csv", "id"), ("x", "")]
        {
            assert_eq!(stated(file, text), None, "{text}");
        }
    }

    #[test]
    fn the_file_that_holds_a_lifecycle_is_the_one_that_says_so() {
        let folder = |team: &str, session: &str| {
            MemoryFolder::default().with("team-session.json", team).with("session.json", session)
        };
        assert_eq!(lifecycle_file(&folder("{}", "{\"task_list\": []}")), "session.json");
        assert_eq!(lifecycle_file(&folder("{\"task_list\": []}", "{\"task_list\": []}")), "team-session.json");
        assert_eq!(lifecycle_file(&folder("{}", "{}")), "team-session.json");
        assert_eq!(lifecycle_file(&MemoryFolder::default()), "session.json");
    }
}
