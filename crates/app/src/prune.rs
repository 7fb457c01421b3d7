//! Frees what finished runs take on the disk.

use std::path::Path;

use serde::Serialize;
use team_executor_engine::Prunable;
use team_executor_engine::runs::project;
pub use team_executor_engine::{Freed, Pruning, Taken};

use crate::App;
use crate::asking::named;
use crate::error::Error;

/// Which runs are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Only those of this session; else all of the project.
    pub session: Option<&'a Path>,
    /// Only those that ended so many seconds ago.
    pub older_than: u64,
    /// So many newest runs of each session stay as they are.
    pub keep: usize,
}

impl App {
    /// Looks what can be freed; nothing is changed.
    pub fn prunable(&self, wanted: Wanted<'_>) -> Result<Pruning, Error> {
        self.with_rule(wanted, |project, rule| Ok(rule.find(project)))
    }

    /// Frees these, as far as they can still be freed.
    pub fn prune(&self, wanted: Wanted<'_>, found: &[Freed]) -> Result<Pruning, Error> {
        self.with_rule(wanted, |project, rule| {
            rule.free(project, found).map_err(|failure| Error::of_run(failure, &named(wanted.session)))
        })
    }

    fn with_rule(
        &self,
        wanted: Wanted<'_>,
        work: impl FnOnce(&Path, &Prunable) -> Result<Pruning, Error>,
    ) -> Result<Pruning, Error> {
        let session = wanted.session.map(|session| self.place(Some(session))).transpose()?.map(|place| place.folder);
        let project = project(session.as_deref(), self.current()?);
        let environment = self.variables();
        work(&project, &Prunable { session, older_than: wanted.older_than, keep: wanted.keep, environment })
    }
}

/// What can be freed or was, for programs.
#[derive(Debug, Serialize)]
pub struct JsonPruning<'a> {
    version: u32,
    freed: Vec<JsonFreed<'a>>,
    kept: Vec<JsonKept<'a>>,
    bytes: u64,
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct JsonFreed<'a> {
    run: &'a str,
    part: &'static str,
    path: String,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct JsonKept<'a> {
    run: &'a str,
    why: &'a str,
}

/// What can be freed or was, for programs.
pub fn json(pruning: &Pruning, dry_run: bool) -> JsonPruning<'_> {
    let freed = pruning.freed.iter().map(|one| JsonFreed {
        run: &one.run,
        part: one.part.word(),
        path: one.path.display().to_string(),
        bytes: one.bytes,
    });
    let kept = pruning.kept.iter().map(|(run, why)| JsonKept { run, why });
    JsonPruning { version: 1, freed: freed.collect(), kept: kept.collect(), bytes: bytes(pruning), dry_run }
}

/// How many bytes all of it has.
pub fn bytes(pruning: &Pruning) -> u64 {
    pruning.freed.iter().map(|one| one.bytes).sum()
}
