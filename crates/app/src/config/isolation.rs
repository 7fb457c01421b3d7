//! Trees of their own for tasks, and what becomes of what is changed in them: `isolation`, `[isolation]` and `[merge]`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde_json::json;
use team_executor_beneath::{How, io_error, open_ours, ours};
use team_executor_core::TaskIndex;
use team_executor_engine::artifacts::Verify;
use team_executor_engine::trees::{self, Conflict};
use team_executor_files::{Code, Finding};
use team_executor_trees::{Dirty, Extras, Land, Remote, Submodules};
use toml::de::{DeTable, DeValue};

use super::checks::{self, Command};
use super::files::PROJECT_FILE;
use super::show::List;
use super::values::{Reader, get, list};
use super::{Origin, Set, Settings};
use crate::error::Error;

/// How tasks can be kept apart.
pub(super) const WORDS: [&str; 2] = ["none", "worktree"];
const BASE: &str = "HEAD";
const KEYS: [&str; 10] =
    ["base", "dirty", "root", "include", "cache", "setup", "limit", "submodules", "remote", "secrets"];
/// What becomes of a commit with a secret.
const SECRETS: [&str; 2] = ["refuse", "allow"];
/// How many results are tried together, and how often a failure is tried again.
const BATCH: u32 = 5;
const FLAKY: u32 = 1;

/// `[isolation]` and `[merge]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Isolation {
    base: Option<Set<String>>,
    dirty: Option<Set<Dirty>>,
    root: Option<Set<PathBuf>>,
    include: Option<Set<Vec<String>>>,
    cache: Option<Set<Vec<String>>>,
    pub(super) setup: Option<Set<Command>>,
    submodules: Option<Set<Submodules>>,
    remote: Option<Set<Remote>>,
    secrets: Option<Set<bool>>,
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
            include: self.include.or(other.include),
            cache: self.cache.or(other.cache),
            setup: self.setup.or(other.setup),
            submodules: self.submodules.or(other.submodules),
            remote: self.remote.or(other.remote),
            secrets: self.secrets.or(other.secrets),
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
            reader.only(table, "isolation", &KEYS);
            reader.no_nul(table, "base");
            // What begins like an option would be one to git.
            read.base = reader.set(table, "base", "a branch, a tag or a commit", |value| {
                value.as_str().filter(|text| !text.is_empty() && !text.starts_with('-')).map(str::to_owned)
            });
            let expected = format!("one of {}", Dirty::WORDS.join(", "));
            read.dirty = reader.set(table, "dirty", &expected, |value| Dirty::from_word(value.as_str()?));
            read.root = place(reader, table, home);
            read.extras(reader, table);
        }
        if let Some(table) = reader.table(root, "merge") {
            reader.only(table, "merge", &["verify", "limit", "batch", "flaky", "conflict", "land"]);
            read.verify = checks::read_command(reader, ("merge", "verify"), table);
            read.batch = reader.whole(table, "batch", 1);
            read.flaky = reader.whole(table, "flaky", 0);
            let expected = format!("one of {}", Conflict::WORDS.join(", "));
            read.conflict = reader.set(table, "conflict", &expected, |value| Conflict::from_word(value.as_str()?));
            let expected = format!("one of {}", Land::WORDS.join(", "));
            read.land = reader.set(table, "land", &expected, |value| Land::from_word(value.as_str()?));
        }
        read
    }

    /// Reads what trees have besides the files of a commit.
    fn extras(&mut self, reader: &mut Reader<'_>, table: &DeTable<'_>) {
        reader.no_nul(table, "include");
        self.include = reader.set(table, "include", "a list of patterns, as in .gitignore", patterns);
        const FOLDERS: &str = "a list of folders in the project that git ignores, for instance [\"target\"]";
        reader.no_nul(table, "cache");
        self.cache = reader
            .set(table, "cache", FOLDERS, |value| patterns(value).filter(|all| all.iter().all(|text| is_folder(text))));
        self.setup = checks::read_command(reader, ("isolation", "setup"), table);
        let expected = format!("one of {}", Submodules::WORDS.join(", "));
        self.submodules = reader.set(table, "submodules", &expected, |value| Submodules::from_word(value.as_str()?));
        let expected = format!("one of {}", Remote::WORDS.join(", "));
        self.remote = reader.set(table, "remote", &expected, |value| Remote::from_word(value.as_str()?));
        let expected = format!("one of {}", SECRETS.join(", "));
        self.secrets = reader.set(table, "secrets", &expected, |value| {
            SECRETS.iter().position(|word| Some(*word) == value.as_str()).map(|nth| nth == 1)
        });
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
        if let Some(set) = &self.include {
            list.add("isolation.include", json!(set.value), set.from.clone());
        }
        if let Some(set) = &self.cache {
            list.add("isolation.cache", json!(set.value), set.from.clone());
        }
        if let Some(set) = &self.setup {
            list.add("isolation.setup", json!(super::command::shown(&set.value.words)), set.from.clone());
            list.add("isolation.limit", json!(set.value.limit.to_string()), set.from.clone());
        }
        let submodules = self.submodules.clone().unwrap_or(Set { value: Submodules::default(), from: built_in() });
        list.add("isolation.submodules", json!(submodules.value.word()), submodules.from);
        let remote = self.remote.clone().unwrap_or(Set { value: Remote::default(), from: built_in() });
        list.add("isolation.remote", json!(remote.value.word()), remote.from);
        let secrets = self.secrets.clone().unwrap_or(Set { value: false, from: built_in() });
        list.add("isolation.secrets", json!(SECRETS[usize::from(secrets.value)]), secrets.from);
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

/// The files that tasks may change.
pub(super) fn read_scope(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Set<Vec<String>>> {
    const EXPECTED: &str = "a list of patterns of files in the repository, for instance [\"src/api/**\"]";
    reader.no_nul(table, "scope");
    let inside = |text: &String| !text.starts_with('/') && !text.split('/').any(|part| part == "..");
    reader.set(table, "scope", EXPECTED, |value| patterns(value).filter(|all| all.iter().all(inside)))
}

/// Whether a text is the path of a folder in a tree, without what only makes it longer.
fn is_folder(text: &str) -> bool {
    text.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"))
}

/// A list of patterns, none of them empty.
fn patterns(value: &DeValue<'_>) -> Option<Vec<String>> {
    list(value).filter(|all| all.iter().all(|text| !text.trim().is_empty()))
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

/// The checkout of git that a folder is in. Git is not started.
pub(crate) fn checkout_of(folder: &Path) -> Option<&Path> {
    // In a worktree it is a file, and a folder of this name alone is no repository.
    let is_one = |git: &Path| ours::open_regular(git).is_ok() || ours::look_at(&git.join("HEAD")).is_ok();
    folder.ancestors().find(|above| is_one(&above.join(".git")))
}

/// What `init` writes where tasks can have trees.
const STARTED: &str = "\
# Each task has a working tree of its own. What it changes is tested, merged and given to you
# as the branch te/RUN; this folder stays as it is. \"none\" lets all tasks work in this folder.
[defaults]
isolation = \"worktree\"
";

/// Writes a config that gives each task a tree of its own, if the project is in a checkout that can hold trees and has no config;
/// returns whether it did.
pub(crate) fn start(project: &Path) -> io::Result<bool> {
    let can_hold = |top: &Path| ours::look_at(&top.join(".gitmodules")).is_err();
    if !checkout_of(project).is_some_and(can_hold) {
        return Ok(false);
    }
    match open_ours(project)?.file(PROJECT_FILE, How::CreateShared) {
        Ok(mut file) => file.write_all(STARTED.as_bytes()).map(|()| true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(io_error(errno)),
    }
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
    (isolated, scopes): (Vec<bool>, BTreeMap<TaskIndex, Vec<String>>),
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
    let command = |set: Option<&Set<Command>>| {
        set.map(|Set { value, .. }| Verify { command: value.words.clone(), limit_ms: value.limit.0 })
    };
    Ok(Some(trees::Settings {
        root,
        base: of.base.as_ref().map_or_else(|| BASE.to_owned(), |set| set.value.clone()),
        dirty: of.dirty.as_ref().map(|set| set.value).unwrap_or_default(),
        isolated,
        others: all.isolated.as_ref().is_some_and(|set| set.value),
        scopes,
        extras: Extras {
            include: of.include.as_ref().map(|set| set.value.clone()).unwrap_or_default(),
            cache: of.cache.as_ref().map(|set| set.value.clone()).unwrap_or_default(),
            submodules: of.submodules.as_ref().map(|set| set.value).unwrap_or_default(),
            remote: of.remote.as_ref().map(|set| set.value).unwrap_or_default(),
            may_hold_secrets: of.secrets.as_ref().is_some_and(|set| set.value),
        },
        setup: command(of.setup.as_ref()),
        verify: command(of.verify.as_ref()),
        batch: of.batch.as_ref().map_or(BATCH, |set| set.value) as usize,
        flaky: of.flaky.as_ref().map_or(FLAKY, |set| set.value),
        conflict: of.conflict.as_ref().map(|set| set.value).unwrap_or_default(),
        land: of.land.as_ref().map(|set| set.value).unwrap_or_default(),
    }))
}
