//! What can be wrong around a run, in plain sentences with what to type: the machine, the place, the run itself. Only looks,
//! except for [`repair()`].

mod machine;
mod repair;
mod run;

pub use machine::{machine, place};
pub use repair::{Repaired, repair};
pub use run::{RunChecks, run};

use std::path::{Path, PathBuf};

use team_executor_store::run_folder::{project_root, run_path};

use crate::begin::run_at;

/// How one thing stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, which never changes.
    pub name: &'static str,
    /// How it stands.
    pub verdict: Verdict,
    /// That in a sentence.
    pub says: String,
    /// What to do or to type, if there is anything.
    pub help: Option<String>,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Fine,
    /// It works, with less than there could be, or with something left over.
    Weak,
    /// A run cannot go on like this.
    Bad,
}

impl Verdict {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Weak => "weak",
            Self::Bad => "bad",
        }
    }
}

impl Check {
    fn fine(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fine, says: says.into(), help: None }
    }

    fn weak(name: &'static str, says: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Weak, says: says.into(), help: Some(help.into()) }
    }

    fn bad(name: &'static str, says: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Bad, says: says.into(), help: Some(help.into()) }
    }
}

/// The run that a session would continue, also if it is damaged where it says of which session it is.
pub fn run_of(session: &Path, current: &Path) -> Option<PathBuf> {
    let project = project_root(session, current);
    let runs = run_at::runs(&project);
    let id = run_at::nameless(&runs, session).or_else(|| run_at::newest(&runs, session))?;
    Some(run_path(&project, &id))
}
