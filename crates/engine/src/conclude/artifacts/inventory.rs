//! The artifacts of a run, read-only: which are registered, the state of each version, and whether the files
//! are still those that were delivered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use team_executor_core::{Artifact, Validation};
use team_executor_files::ReadError;

use super::log::{self, Record, What};
use super::places::{Place, Roots};
use super::registry::{Entry, Registry};
use crate::begin::run_at;
use crate::options::Failure;
use crate::runs;

/// The artifacts of a run, and those of earlier runs of its session at whose tasks it delivered nothing.
#[derive(Debug)]
pub struct Shelf {
    /// The run.
    pub run: String,
    /// By path; then those of earlier runs.
    pub artifacts: Vec<Shelved>,
    own: Records,
    earlier: Vec<Records>,
}

/// What a run recorded about artifacts, and where their files are.
#[derive(Debug)]
struct Records {
    run: String,
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
    /// The run that delivered it.
    pub run: String,
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
    /// The artifacts of the run in a folder; or of the newest run of a session, with those of its earlier runs. Nothing if there
    /// is no run.
    pub fn read(
        stated: &[Artifact],
        (folder, current): (&Path, &Path),
        run: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        if let Some(run) = run {
            return Self::at(stated, run, folder).map(Some);
        }
        let mut shelf: Option<Self> = None;
        for (_, run) in runs::of_session(folder, current) {
            match &mut shelf {
                None => shelf = Some(Self::at(stated, &run, folder)?),
                Some(shelf) => shelf.add_earlier(Self::at(&[], &run, folder)?),
            }
        }
        Ok(shelf)
    }

    /// The artifacts of a run in a folder, with those that the session knew before.
    pub(crate) fn at(stated: &[Artifact], run: &Path, folder: &Path) -> Result<Self, Failure> {
        let records = log::read(run).map_err(Failure::disk("read the artifacts of", run))?;
        let registry = Registry::replay(stated, &[], records.clone());
        let name = run_at::name_of(run);
        let shelved = |entry: &Entry| Shelved {
            artifact: entry.artifact.clone(),
            place: entry.place,
            attempt: entry.attempt,
            run: name.clone(),
        };
        let artifacts = registry.entries().map(shelved).collect();
        // `.workflow/.csv-wave/` and `.workflow/.archive/` are in the project.
        let project = run.ancestors().nth(3).unwrap_or(run);
        let roots = Roots::new(run, folder, project);
        Ok(Self { run: name.clone(), artifacts, own: Records { run: name, records, roots }, earlier: Vec::new() })
    }

    /// Adds what an earlier run delivered, where nothing newer stands in for it.
    fn add_earlier(&mut self, earlier: Self) {
        let delivered = self.artifacts.iter().filter(|one| one.attempt > 0);
        let tasks: BTreeSet<_> = delivered.filter_map(|one| one.artifact.task.clone()).collect();
        let paths: BTreeSet<_> =
            self.artifacts.iter().map(|one| (one.place.word(), one.artifact.path.clone())).collect();
        let is_newer = |one: &Shelved| {
            one.artifact.task.as_ref().is_some_and(|task| tasks.contains(task))
                || one.place != Place::Run && paths.contains(&(one.place.word(), one.artifact.path.clone()))
        };
        let count = self.artifacts.len();
        self.artifacts.extend(earlier.artifacts.into_iter().filter(|one| one.attempt > 0 && !is_newer(one)));
        // The session's own artifacts may be those that the earlier run delivered.
        let added: BTreeSet<_> = self.artifacts[count..].iter().map(|one| one.artifact.id.clone()).collect();
        let mut nth = 0;
        self.artifacts.retain(|one| {
            nth += 1;
            nth > count || one.attempt > 0 || !added.contains(&one.artifact.id)
        });
        self.earlier.push(earlier.own);
    }

    /// What the run that delivered an artifact recorded.
    fn records(&self, run: &str) -> &Records {
        self.earlier.iter().find(|records| records.run == run).unwrap_or(&self.own)
    }

    /// Every version of an artifact that was judged, the oldest first.
    pub fn history(&self, shelved: &Shelved) -> Vec<Past> {
        let id = shelved.artifact.id.as_str();
        let records = &self.records(&shelved.run).records;
        let versions = records.iter().filter(|record| record.what == What::Checked).flat_map(|record| {
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
    pub fn path(&self, shelved: &Shelved) -> PathBuf {
        self.records(&shelved.run).roots.whole(shelved.place, &shelved.artifact.path)
    }

    /// Whether the file of an artifact is still what was delivered. Artifacts never delivered, or awaiting a
    /// fix, are not examined.
    pub fn fault(&self, shelved: &Shelved) -> Option<Fault> {
        let Artifact { path, file_size, checksum, validation, .. } = &shelved.artifact;
        let was = checksum.as_deref()?.strip_prefix("sha256:")?;
        if shelved.attempt == 0 || *validation != Validation::Passed {
            return None;
        }
        match self.records(&shelved.run).roots.digest(shelved.place, path) {
            Ok((_, now)) if now == was => None,
            Ok((0, _)) if *file_size != Some(0) => Some(Fault::Empty),
            Ok(_) => Some(Fault::Changed),
            Err(ReadError::Missing) => Some(Fault::Missing),
            Err(why) => Some(Fault::Unreadable(why.to_string())),
        }
    }

    /// The artifacts that are not there any more, or not in their length, by their places in the list. Only the first are looked
    /// for, and no file is read.
    pub(crate) fn glance(&self) -> Vec<(usize, Fault)> {
        const MOST: usize = 10_000;
        let fault = |shelved: &Shelved| {
            let Artifact { path, file_size: Some(was), validation: Validation::Passed, .. } = &shelved.artifact else {
                return None;
            };
            if shelved.attempt == 0 {
                return None;
            }
            match self.records(&shelved.run).roots.length(shelved.place, path) {
                Ok(now) if now == *was => None,
                Ok(0) => Some(Fault::Empty),
                Ok(_) => Some(Fault::Changed),
                Err(ReadError::Missing) => Some(Fault::Missing),
                Err(why) => Some(Fault::Unreadable(why.to_string())),
            }
        };
        self.artifacts.iter().enumerate().take(MOST).filter_map(|(nth, one)| Some((nth, fault(one)?))).collect()
    }

    /// Every artifact that is not what was delivered any more, by path.
    pub fn faults(&self) -> Vec<(&Shelved, Fault)> {
        self.artifacts.iter().filter_map(|shelved| Some((shelved, self.fault(shelved)?))).collect()
    }
}
