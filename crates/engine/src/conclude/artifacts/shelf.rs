//! The artifacts of a run, for whoever only looks: what is registered, what became of each version, and whether the files are
//! still those that were delivered.

use std::path::Path;

use team_executor_core::{Artifact, Validation};
use team_executor_files::ReadError;
use team_executor_store::run_folder::project_root;

use super::log::{self, Record, What};
use super::places::{Place, Roots};
use super::registry::{Entry, Registry};
use crate::begin::run_at;
use crate::options::Failure;

/// The artifacts of a run.
#[derive(Debug)]
pub struct Shelf {
    /// The run.
    pub run: String,
    /// By path.
    pub artifacts: Vec<Shelved>,
    records: Vec<Record>,
    roots: Roots,
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelved {
    /// What is registered of it.
    pub artifact: Artifact,
    /// Which folder its path is relative to.
    pub place: Place,
    /// The attempt that delivered it; 0 if the session knew it before.
    pub attempt: u32,
}

/// What became of one version of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// As it was.
    pub artifact: Artifact,
    /// The attempt that delivered it.
    pub attempt: u32,
}

/// Why a file is not what was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// There is no file.
    Missing,
    /// There is nothing in it any more.
    Empty,
    /// There is something else in it.
    Changed,
    /// It cannot be read, for this reason.
    Unreadable(String),
}

impl Fault {
    /// In a word, for programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::Changed => "changed",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// For people, behind the path of the file.
    pub fn describe(&self) -> String {
        match self {
            Self::Missing => "is missing since it was delivered".to_owned(),
            Self::Empty => "is empty since it was delivered".to_owned(),
            Self::Changed => "changed since it was delivered".to_owned(),
            Self::Unreadable(why) => format!("cannot be read any more: {why}"),
        }
    }
}

impl Shelf {
    /// The artifacts of the newest run of a session, with those that it knew before; nothing if it was never run.
    pub fn read(stated: &[Artifact], folder: &Path, current: &Path) -> Result<Option<Self>, Failure> {
        let project = project_root(folder, current);
        let Some(run) = run_at::newest_of_all(&project, folder) else { return Ok(None) };
        Self::at(stated, &run, folder).map(Some)
    }

    /// The artifacts of a run in a folder, with those that the session knew before.
    pub(crate) fn at(stated: &[Artifact], run: &Path, folder: &Path) -> Result<Self, Failure> {
        let records = log::read(run).map_err(Failure::disk("read the artifacts of", run))?;
        let registry = Registry::replay(stated, &[], records.clone());
        let shelved =
            |entry: &Entry| Shelved { artifact: entry.artifact.clone(), place: entry.place, attempt: entry.attempt };
        let artifacts = registry.entries().map(shelved).collect();
        // `.workflow/.csv-wave/` and `.workflow/.archive/` are in the project.
        let project = run.ancestors().nth(3).unwrap_or(run);
        Ok(Self { run: run_at::name_of(run), artifacts, records, roots: Roots::new(run, folder, project) })
    }

    /// Every version of an artifact that was judged, the oldest first.
    pub fn history(&self, id: &str) -> Vec<Past> {
        let judged = self.records.iter().filter(|record| record.what == What::Judged);
        let versions = judged.flat_map(|record| {
            let of_id = record.artifacts.iter().filter(|(_, artifact)| artifact.id.as_str() == id);
            of_id.map(|(_, artifact)| Past { artifact: artifact.clone(), attempt: record.attempt })
        });
        let mut all: Vec<Past> = Vec::new();
        for past in versions {
            // An attempt that was judged again after a crash has one version.
            all.retain(|other| (&other.artifact.task, other.attempt) != (&past.artifact.task, past.attempt));
            all.push(past);
        }
        all
    }

    /// Where the file of an artifact is.
    pub fn path(&self, shelved: &Shelved) -> std::path::PathBuf {
        self.roots.whole(shelved.place, &shelved.artifact.path)
    }

    /// Whether the file of an artifact is still what was delivered. What was never delivered, or awaits a fix, is not judged.
    pub fn fault(&self, shelved: &Shelved) -> Option<Fault> {
        let Artifact { path, file_size, checksum, validation, .. } = &shelved.artifact;
        let was = checksum.as_deref()?.strip_prefix("sha256:")?;
        if shelved.attempt == 0 || *validation != Validation::Passed {
            return None;
        }
        match self.roots.digest(shelved.place, path) {
            Ok((_, now)) if now == was => None,
            Ok((0, _)) if *file_size != Some(0) => Some(Fault::Empty),
            Ok(_) => Some(Fault::Changed),
            Err(ReadError::Missing) => Some(Fault::Missing),
            Err(why) => Some(Fault::Unreadable(why.to_string())),
        }
    }

    /// Every artifact that is not what was delivered any more, by path.
    pub fn faults(&self) -> Vec<(&Shelved, Fault)> {
        self.artifacts.iter().filter_map(|shelved| Some((shelved, self.fault(shelved)?))).collect()
    }
}
