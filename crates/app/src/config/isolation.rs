//! Trees of their own for tasks, and what becomes of what is changed in them: `isolation`, `[isolation]` and `[merge]`.

use std::path::{Path, PathBuf};

use serde_json::json;
use team_executor_engine::artifacts::Verify;
use team_executor_engine::trees::{self, Conflict};
use team_executor_files::{Code, Finding};
use team_executor_trees::{Dirty, Land};
use toml::de::{DeTable, DeValue};

use super::checks::{self, Command};
use super::show::List;
use super::values::{Reader, get};
use super::{Origin, Set, Settings};
use crate::error::Error;

/// How tasks can be kept apart.
pub(super) const WORDS: [&str; 2] = ["none", "worktree"];
const BASE: &str = "HEAD";
/// How many results are tried together, and how often a failure is tried again.
const BATCH: u32 = 5;
const FLAKY: u32 = 1;

/// `[isolation]` and `[merge]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Isolation {
    base: Option<Set<String>>,
    dirty: Option<Set<Dirty>>,
    root: Option<Set<PathBuf>>,
    pub(super) verify: Option<Set<Command>>,
    batch: Option<Set<u32>>,
    flaky: Option<Set<u32>>,
    conflict: Option<Set<Conflict>>,
    land: Option<Set<Land>>,
}

impl Isolation {
    /// These, and what they leave open from others.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            base: self.base.or(other.base),
            dirty: self.dirty.or(other.dirty),
            root: self.root.or(other.root),
            verify: self.verify.or(other.verify),
            batch: self.batch.or(other.batch),
            flaky: self.flaky.or(other.flaky),
            conflict: self.conflict.or(other.conflict),
            land: self.land.or(other.land),
        }
    }

    /// Reads both sections.
    pub(super) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>, home: Option<&str>) -> Self {
        let mut read = Self::default();
        if let Some(table) = reader.table(root, "isolation") {
            reader.only(table, "isolation", &["base", "dirty", "root"]);
            reader.no_nul(table, "base");
            // What begins like an option would be one to git.
            read.base = reader.set(table, "base", "a branch, a tag or a commit", |value| {
                value.as_str().filter(|text| !text.is_empty() && !text.starts_with('-')).map(str::to_owned)
            });
            let expected = format!("one of {}", Dirty::WORDS.join(", "));
            read.dirty = reader.set(table, "dirty", &expected, |value| Dirty::from_word(value.as_str()?));
            read.root = place(reader, table, home);
        }
        if let Some(table) = reader.table(root, "merge") {
            reader.only(table, "merge", &["verify", "limit", "batch", "flaky", "conflict", "land"]);
            read.verify = checks::read_verify(reader, "merge", table);
            read.batch = reader.whole(table, "batch", 1);
            read.flaky = reader.whole(table, "flaky", 0);
            let expected = format!("one of {}", Conflict::WORDS.join(", "));
            read.conflict = reader.set(table, "conflict", &expected, |value| Conflict::from_word(value.as_str()?));
            let expected = format!("one of {}", Land::WORDS.join(", "));
            read.land = reader.set(table, "land", &expected, |value| Land::from_word(value.as_str()?));
        }
        read
    }

    /// Lists what is in force.
    pub(super) fn show(&self, list: &mut List, root: Option<PathBuf>) {
        let built_in = || Origin::BuiltIn;
        let base = self.base.clone().unwrap_or(Set { value: BASE.to_owned(), from: built_in() });
        list.add("isolation.base", json!(base.value), base.from);
        let dirty = self.dirty.clone().unwrap_or(Set { value: Dirty::default(), from: built_in() });
        list.add("isolation.dirty", json!(dirty.value.word()), dirty.from);
        let root = self.root.clone().or(root.map(|value| Set { value, from: built_in() }));
        if let Some(root) = root {
            list.add("isolation.root", json!(root.value), root.from);
        }
        if let Some(set) = &self.verify {
            list.add("merge.verify", json!(super::command::shown(&set.value.words)), set.from.clone());
            list.add("merge.limit", json!(set.value.limit.to_string()), set.from.clone());
        }
        let batch = self.batch.clone().unwrap_or(Set { value: BATCH, from: built_in() });
        list.add("merge.batch", json!(batch.value), batch.from);
        let flaky = self.flaky.clone().unwrap_or(Set { value: FLAKY, from: built_in() });
        list.add("merge.flaky", json!(flaky.value), flaky.from);
        let conflict = self.conflict.clone().unwrap_or(Set { value: Conflict::default(), from: built_in() });
        list.add("merge.conflict", json!(conflict.value.word()), conflict.from);
        let land = self.land.clone().unwrap_or(Set { value: Land::default(), from: built_in() });
        list.add("merge.land", json!(land.value.word()), land.from);
    }
}

/// Whether tasks have trees of their own.
pub(super) fn read_kind(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Set<bool>> {
    let expected = format!("one of {}", WORDS.join(", "));
    reader.set(table, "isolation", &expected, |value| match value.as_str()? {
        "none" => Some(false),
        "worktree" => Some(true),
        _ => None,
    })
}

/// As it is written.
pub(super) const fn word(is_isolated: bool) -> &'static str {
    WORDS[is_isolated as usize]
}

/// The folder of all trees: only the user can name it.
fn place(reader: &mut Reader<'_>, table: &DeTable<'_>, home: Option<&str>) -> Option<Set<PathBuf>> {
    let value = get(table, "root")?;
    if matches!(reader.from(0..0), Origin::Project(_)) {
        let help = "move it to your own configuration file; `team-executor config` says where that is".to_owned();
        let message = "a project cannot choose the folder of the trees".to_owned();
        reader.wrong(message, value.span(), "only your own file can say this", help);
        return None;
    }
    let whole = |text: &str| match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(text),
    };
    let absolute = |value: &DeValue<'_>| value.as_str().map(whole).filter(|path| path.is_absolute());
    reader.no_nul(table, "root");
    reader.set(table, "root", "an absolute path, or one from `~/`", absolute)
}

/// Where trees are, unless that is set.
pub(crate) fn default_root(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("team-executor/trees"))
}

/// What a run is told of the trees of its tasks; nothing if none has one.
pub(crate) fn settings(
    all: &Settings,
    isolated: Vec<bool>,
    root: Option<&Path>,
) -> Result<Option<trees::Settings>, Error> {
    if !isolated.contains(&true) {
        return Ok(None);
    }
    let of = &all.isolation;
    let root = of.root.as_ref().map(|set| set.value.clone()).or_else(|| root.map(Path::to_owned));
    let Some(root) = root else {
        let finding = Finding::error(Code::Usage, "there is no place for the trees of tasks: HOME is not set");
        return Err(finding.help("set `root` in [isolation] of your own configuration file").into());
    };
    let verify = of.verify.as_ref().map(|set| &set.value);
    Ok(Some(trees::Settings {
        root,
        base: of.base.as_ref().map_or_else(|| BASE.to_owned(), |set| set.value.clone()),
        dirty: of.dirty.as_ref().map(|set| set.value).unwrap_or_default(),
        isolated,
        others: all.isolated.as_ref().is_some_and(|set| set.value),
        verify: verify.map(|verify| Verify { command: verify.words.clone(), limit_ms: verify.limit.0 }),
        batch: of.batch.as_ref().map_or(BATCH, |set| set.value) as usize,
        flaky: of.flaky.as_ref().map_or(FLAKY, |set| set.value),
        conflict: of.conflict.as_ref().map(|set| set.value).unwrap_or_default(),
        land: of.land.as_ref().map(|set| set.value).unwrap_or_default(),
    }))
}
