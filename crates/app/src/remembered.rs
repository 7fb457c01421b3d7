//! What a run remembers: the options of its last start, so that later commands need none. Options that are given again win and
//! are remembered in turn.
//!
//! What the user wanted is known by a signature with the user's own key, which lies outside of all projects. Without it, what is
//! remembered may have come with the project: it counts as much as the project's configuration file does. So it may set
//! numbers and limits, and it chooses programs only with consent.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use team_executor_engine::remembered::{self as engine, Recorded};
use team_executor_engine::runs;
use team_executor_files::{Dialect, Span};
use team_executor_store::Key;
use team_executor_store::run_folder::{OPTIONS, run_path};

use crate::config::{Flags, Program, Spot};
use crate::environment::Place;
use crate::open::Reading;
use crate::{App, EXECUTOR};

/// The version of the line.
const VERSION: u32 = 1;
/// What a signature of a program is for.
const PROGRAM: &str = "a program that the user agreed to";

/// The options of a start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    version: u32,
    /// What wins over every configuration file.
    #[serde(flatten)]
    pub flags: Flags,
    /// Specialists who join.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// In which dialect the session is read, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    /// Results beside the table do not count.
    #[serde(skip_serializing_if = "is_false")]
    ignore_results: bool,
    /// What happens when all tasks are completed, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_complete: Option<String>,
    /// It starts without a question.
    #[serde(skip_serializing_if = "is_false")]
    pub yes: bool,
    /// The project may be on a file system that other machines write to.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_network_fs: bool,
    /// The programs that the user agreed to, each as a signature: what is in their environment may be secret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agreed: Vec<String>,
}

/// What the run that is continued remembers.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The run.
    pub run: String,
    /// The options of its last start. Without a signature, only those that a project may choose.
    pub start: Start,
    /// Where they are.
    file: PathBuf,
    is_signed: bool,
}

impl App {
    /// What the newest run of a session remembers, or the run that is named; nothing if there is none, or if it began before
    /// runs remembered anything.
    pub fn remembered(&self, session: Option<&Path>, run: Option<&str>) -> Option<Remembered> {
        let place = self.around(session).ok()?;
        let folder = match run {
            Some(run) => Some((run.to_owned(), run_path(&place.project, run))),
            None => runs::newest(&place.folder, &place.current),
        };
        folder.and_then(|(run, folder)| Remembered::read(&place, run, &folder))
    }
}

impl App {
    /// How the newest run of a session reads it.
    pub fn reading_of(&self, session: Option<&Path>) -> Reading {
        let remembered = self.remembered(session, None);
        remembered.map_or_else(Reading::default, |remembered| remembered.reading(Reading::default()))
    }

    /// Where the state of the user is that belongs to no project. A project that holds the folder could bring its own, so it
    /// has none.
    pub fn state_beside(&self, project: &Path) -> Option<PathBuf> {
        let folder = self.state_folder()?;
        let there = folder.ancestors().find_map(|above| above.canonicalize().ok())?;
        (!there.starts_with(project)).then_some(folder)
    }
}

impl Remembered {
    fn read(place: &Place, run: String, folder: &Path) -> Option<Self> {
        let key = state(place).and_then(|folder| Key::find(&folder));
        let Recorded { text, is_signed } = Recorded::read(folder, key.as_ref())?;
        let read: Start = serde_json::from_str(&text).ok().filter(|start: &Start| start.version == VERSION)?;
        let start = match is_signed {
            true => read,
            false => Start { yes: false, allow_network_fs: false, agreed: Vec::new(), ..read },
        };
        Some(Self { run, start, file: folder.join(EXECUTOR).join(OPTIONS), is_signed })
    }

    /// The options that count: those that are given now, then those that are remembered.
    pub(crate) fn under(&self, given: Flags) -> Flags {
        let foreign = (!self.is_signed).then(|| Spot {
            file: self.file.display().to_string().into(),
            span: Span::new(0, 0),
            line: 1,
        });
        given.or(&self.start.flags, foreign)
    }

    /// What these set otherwise than the run was started with, as a user types it. The number of workers is no part of it: that
    /// can be changed while a run goes on.
    pub fn changed(&self, given: Flags) -> Vec<String> {
        Flags { concurrency: None, ..given }.beyond(&self.start.flags)
    }

    /// How a session is read, with what is remembered.
    pub fn reading(&self, given: Reading) -> Reading {
        let dialect = self.start.dialect.as_deref().and_then(Dialect::from_name);
        Reading {
            dialect: given.dialect.or(dialect),
            ignore_results: given.ignore_results || self.start.ignore_results,
            ..given
        }
    }

    /// Whether the user has agreed to a program before.
    pub(crate) fn has_agreed(&self, place: &Place, program: &Program) -> bool {
        let key = state(place).and_then(|folder| Key::find(&folder));
        key.is_some_and(|key| self.start.agreed.contains(&signature(&key, program)))
    }
}

impl Start {
    /// These options, and how the session is read.
    pub(crate) fn new(flags: Flags, reading: Reading) -> Self {
        let dialect = reading.dialect.map(|dialect| dialect.name().to_owned());
        let flags = flags.without_values();
        Self { version: VERSION, flags, dialect, ignore_results: reading.ignore_results, ..Self::default() }
    }

    /// What the run is given to remember, with the programs that the user agreed to.
    pub(crate) fn signed(mut self, place: &Place, programs: &[Program]) -> Option<engine::Remembered> {
        let key = state(place).and_then(|folder| Key::find_or_make(&folder));
        self.agreed = key.iter().flat_map(|key| programs.iter().map(|program| signature(key, program))).collect();
        self.agreed.sort();
        let text = serde_json::to_string(&self).ok()?;
        Some(engine::Remembered { text, key })
    }
}

/// Where the key of the user is.
fn state(place: &Place) -> Option<PathBuf> {
    place.app.state_beside(&place.project)
}

fn signature(key: &Key, program: &Program) -> String {
    key.sign(&[PROGRAM, &program.agent], &program.command)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}
