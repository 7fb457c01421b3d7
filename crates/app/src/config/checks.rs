//! What is demanded of artifacts: of those of a task, of a role, or of one type. The first that says something counts, key
//! by key, in this order.

use std::path::Path;

use serde_json::json;
use team_executor_core::ArtifactKind;
use team_executor_engine::artifacts::{self as engine, Demands, Verify};
use team_executor_files::paths;
use toml::de::{DeTable, DeValue};

use super::show::List;
use super::values::{Reader, get, list, nearest};
use super::{Own, Set, Settings, Time, command};

/// How long a command may take, unless that is set.
const LIMIT: Time = Time::seconds(10 * 60);
pub(super) const KEYS: &[&str] = &["not_empty", "schema", "sections", "verify", "limit", "max_mb", "max_time"];
pub(super) const KEYS_OF_ALL: &[&str] =
    &["files", "not_empty", "schema", "sections", "verify", "limit", "max_mb", "max_time"];

/// What one section demands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checks {
    pub(crate) files: Option<Set<Vec<String>>>,
    pub(crate) not_empty: Option<Set<bool>>,
    /// As it is written: relative to the project.
    pub(crate) schema: Option<Set<String>>,
    pub(crate) sections: Option<Set<Vec<String>>>,
    pub(crate) verify: Option<Set<Command>>,
    /// How many MiB each file may have.
    pub(crate) max_mb: Option<Set<u32>>,
    /// How long it may take to hash all files.
    pub(crate) max_time: Option<Set<Time>>,
}

/// A command that judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) words: Vec<String>,
    pub(crate) limit: Time,
}

impl Checks {
    /// These, and what they leave open from others.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            files: self.files.or(other.files),
            not_empty: self.not_empty.or(other.not_empty),
            schema: self.schema.or(other.schema),
            sections: self.sections.or(other.sections),
            verify: self.verify.or(other.verify),
            max_mb: self.max_mb.or(other.max_mb),
            max_time: self.max_time.or(other.max_time),
        }
    }

    fn demanded(self, project: &Path) -> engine::Checks {
        engine::Checks {
            files: self.files.map(|set| set.value),
            not_empty: self.not_empty.map(|set| set.value),
            schema: self.schema.map(|set| project.join(set.value)),
            sections: self.sections.map(|set| set.value),
            verify: self.verify.map(|set| Verify { command: set.value.words, limit_ms: set.value.limit.0 }),
            max_bytes: self.max_mb.map(|set| u64::from(set.value) << 20),
            max_ms: self.max_time.map(|set| set.value.0.unwrap_or(u64::MAX)),
        }
    }
}

/// What is demanded of the artifacts of a task with these sections.
pub(super) fn demands(settings: &Settings, own: Option<&Own>, role: Option<&Own>, project: &Path) -> Demands {
    let of = |own: Option<&Own>| own.map(|own| own.checks.clone()).unwrap_or_default();
    let kinds = settings.artifacts.iter();
    Demands {
        own: of(own).or(of(role)).demanded(project),
        kinds: kinds.map(|(kind, checks)| (*kind, checks.clone().demanded(project))).collect(),
    }
}

/// The commands that may judge artifacts of a task with these sections, and what is said to judge.
pub(super) fn commands<'s>(
    settings: &'s Settings,
    own: Option<&'s Own>,
    role: Option<&'s Own>,
) -> Vec<(&'s Set<Command>, String)> {
    let verify = |own: Option<&'s Own>| own.and_then(|own| own.checks.verify.as_ref());
    if let Some(set) = verify(own).or_else(|| verify(role)) {
        return vec![(set, "the check of artifacts".to_owned())];
    }
    let of_kinds = settings.artifacts.iter();
    of_kinds.filter_map(|(kind, checks)| Some((checks.verify.as_ref()?, format!("the check of type {kind}")))).collect()
}

/// Reads the sections `[artifacts.TYPE]`.
pub(super) fn read_kinds(reader: &mut Reader<'_>, root: &DeTable<'_>, settings: &mut Settings) {
    let Some(table) = reader.table(root, "artifacts") else { return };
    for (name, value) in table {
        let name = name.get_ref();
        let Some(kind) = ArtifactKind::from_word(name) else {
            let help = match nearest(name, ArtifactKind::WORDS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the types are: {}", ArtifactKind::WORDS.join(", ")),
            };
            reader.wrong(
                format!("unknown type of artifacts '{name}'"),
                value.span(),
                "no artifact is of this type",
                help,
            );
            continue;
        };
        if let Some(table) = reader.as_table(name, value) {
            let checks = read(reader, &format!("artifacts.{name}"), table, KEYS);
            settings.artifacts.insert(kind, checks);
        }
    }
}

/// Reads the section `checks` of a role or a task.
pub(super) fn read_own(reader: &mut Reader<'_>, section: &str, table: &DeTable<'_>) -> Checks {
    let Some(table) = reader.table(table, "checks") else { return Checks::default() };
    read(reader, &format!("{section}.checks"), table, KEYS_OF_ALL)
}

fn read(reader: &mut Reader<'_>, section: &str, table: &DeTable<'_>, keys: &[&str]) -> Checks {
    reader.only(table, section, keys);
    let verify = read_command(reader, (section, "verify"), table);
    let within = |path: &String| paths::inside(path).is_ok();
    let inside = |value: &DeValue<'_>| value.as_str().map(str::to_owned).filter(within);
    Checks {
        files: reader.set(table, "files", "a list of paths in the folder of the worker", |value| {
            list(value).filter(|files| files.iter().all(within))
        }),
        not_empty: reader.truth(table, "not_empty"),
        schema: reader.set(table, "schema", "the path of a JSON Schema in the project", inside),
        sections: reader.texts(table, "sections"),
        verify,
        max_mb: reader.whole(table, "max_mb", 1),
        max_time: reader.time(table, "max_time"),
    }
}

/// Reads the command of a section, with how long it may take.
pub(super) fn read_command(
    reader: &mut Reader<'_>,
    (section, key): (&str, &str),
    table: &DeTable<'_>,
) -> Option<Set<Command>> {
    const COMMAND: &str = "a command as a text, or as a list of a program and its arguments";
    reader.no_nul(table, key);
    let words = reader.set(table, key, COMMAND, |value| {
        let words = match value {
            DeValue::String(text) => command::words(text),
            value => list(value)?,
        };
        words.first().is_some_and(|program| !program.is_empty()).then_some(words)
    });
    let limit = reader.time(table, "limit").map_or(LIMIT, |set| set.value);
    if let Some(value) = get(table, "limit").filter(|_| get(table, key).is_none()) {
        let message = format!("[{section}] has a 'limit' and no '{key}'");
        reader.wrong(message, value.span(), "nothing is limited", format!("add `{key} = [\"PROGRAM\", …]`"));
    }
    words.map(|set| Set { value: Command { words: set.value, limit }, from: set.from })
}

/// Lists what one section demands.
pub(super) fn show(list: &mut List, section: &str, checks: &Checks) {
    let key = |name: &str| format!("{section}.{name}");
    if let Some(set) = &checks.files {
        list.add(&key("files"), json!(set.value), set.from.clone());
    }
    if let Some(set) = &checks.not_empty {
        list.add(&key("not_empty"), json!(set.value), set.from.clone());
    }
    if let Some(set) = &checks.schema {
        list.add(&key("schema"), json!(set.value), set.from.clone());
    }
    if let Some(set) = &checks.sections {
        list.add(&key("sections"), json!(set.value), set.from.clone());
    }
    if let Some(set) = &checks.max_mb {
        list.add(&key("max_mb"), json!(set.value), set.from.clone());
    }
    if let Some(set) = &checks.max_time {
        list.add(&key("max_time"), json!(set.value.to_string()), set.from.clone());
    }
    if let Some(set) = &checks.verify {
        list.add(&key("verify"), json!(command::shown(&set.value.words)), set.from.clone());
        list.add(&key("limit"), json!(set.value.limit.to_string()), set.from.clone());
    }
}
