//! What is known of the artifacts of a run, and the rules that they keep together: unique ids, unique paths, makers that
//! are roles, and no dependency on what does not exist.

#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;

use team_executor_core::moves::Moves as _;
use team_executor_core::{Artifact, ArtifactId, RoleName, Session, TaskId, Validation};
use team_executor_files::manifest::{comparable, is_version};

use super::collect::FoundFile;
use super::log::{Log, Record, What};
use super::places::Place;

/// The version of what is delivered for the first time.
const FIRST: &str = "1.0";

/// An artifact that is registered.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) artifact: Artifact,
    /// The attempt that delivered it; 0 if the session knew it before.
    pub(super) attempt: u32,
}

/// Why an artifact is not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    /// Ids are unique.
    #[error("its id '{id}' already belongs to {other}; choose another id")]
    SameId {
        /// Its id.
        id: ArtifactId,
        /// The path of the other one.
        other: String,
    },
    /// Paths are unique.
    #[error("artifact '{other}' has the same path; give each its own")]
    SamePath {
        /// The other one.
        other: ArtifactId,
    },
    /// Makers are roles.
    #[error("'{creator}' is no role of the session; write one as `creator_role`")]
    NoSuchRole {
        /// Who made it, as its manifest says.
        creator: String,
    },
    /// What it builds on exists.
    #[error("it builds on '{dependency}', which does not exist; remove that from `dependencies`")]
    NoSuchArtifact {
        /// What it builds on.
        dependency: ArtifactId,
    },
}

/// Everything that is known of the artifacts of a run.
#[derive(Debug)]
pub(crate) struct Registry {
    log: Option<Log>,
    /// By comparable path.
    entries: BTreeMap<String, Entry>,
    /// The path of each id.
    ids: HashMap<String, String>,
    /// The paths that each task delivered.
    of_task: HashMap<TaskId, Vec<String>>,
    /// The last version of each path, and which attempt made it.
    versions: HashMap<String, (Option<TaskId>, u32, String)>,
    roles: HashSet<String>,
    is_changed: bool,
}

impl Registry {
    /// What the session and the log of a run say. From now on everything is added to the log.
    pub(crate) fn open(run: &Path, session: &Session) -> io::Result<Self> {
        let (log, records) = Log::open(run)?;
        let roles = session.roles.iter().map(|role| &role.name).chain(session.tasks.iter().map(|task| &task.role));
        let roles: Vec<&RoleName> = roles.collect();
        let mut registry = Self::replay(&session.artifacts, &roles, records);
        registry.log = Some(log);
        Ok(registry)
    }

    /// What a session states and these records say.
    pub(super) fn replay(stated: &[Artifact], roles: &[&RoleName], records: Vec<Record>) -> Self {
        let mut registry = Self {
            log: None,
            entries: BTreeMap::new(),
            ids: HashMap::new(),
            of_task: HashMap::new(),
            versions: HashMap::new(),
            roles: roles.iter().map(ToString::to_string).collect(),
            is_changed: false,
        };
        for artifact in stated {
            registry.insert(Entry { place: Place::Session, artifact: artifact.clone(), attempt: 0 });
        }
        let any = !records.is_empty();
        records.into_iter().for_each(|record| registry.apply(record));
        registry.is_changed = any;
        registry
    }

    /// All artifacts, by path.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Whether something is registered for a task.
    pub(crate) fn has(&self, task: &TaskId) -> bool {
        self.of_task.contains_key(task)
    }

    /// The attempt that delivered what is registered for a task.
    pub(crate) fn attempt(&self, task: &TaskId) -> Option<u32> {
        let entries = self.of_task.get(task)?.iter().filter_map(|path| self.entries.get(path));
        entries.map(|entry| entry.attempt).max().filter(|attempt| *attempt > 0)
    }

    /// Puts all artifacts into the model, if something changed since the last time.
    pub(crate) fn put_into(&mut self, session: &mut Session) {
        if std::mem::take(&mut self.is_changed) {
            session.artifacts = self.entries.values().map(|entry| entry.artifact.clone()).collect();
        }
    }

    /// Makes everything that is known durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.log.as_ref().map_or(Ok(()), Log::sync)
    }

    /// Gives the artifacts of an attempt their ids and versions. Those that break a rule are left out, and
    /// reported with their paths.
    pub(super) fn prepare(&self, task: &TaskId, attempt: u32, found: &mut Vec<FoundFile>) -> Vec<String> {
        for FoundFile { artifact, is_named, .. } in found.iter_mut() {
            let path = comparable(&artifact.path);
            if let Some(known) = self.entries.get(&path).filter(|_| !*is_named) {
                // The next version of the artifact, also by another task.
                artifact.id = known.artifact.id.clone();
                if known.attempt == 0 {
                    artifact.kind = known.artifact.kind;
                    artifact.dependencies.clone_from(&known.artifact.dependencies);
                }
            }
            let declared = artifact.version.take();
            artifact.version = Some(match self.versions.get(&path) {
                Some((by, nth, version)) if by.as_ref() == Some(task) && *nth == attempt => version.clone(),
                Some((_, _, version)) => next(version),
                None => declared.unwrap_or_else(|| FIRST.to_owned()),
            });
        }
        let ids: BTreeSet<String> = found.iter().map(|found| found.artifact.id.to_string()).collect();
        let (mut own_ids, mut own_paths) = (HashMap::new(), HashMap::new());
        let mut wrong = Vec::new();
        found.retain(|found| {
            let artifact = &found.artifact;
            let path = comparable(&artifact.path);
            let broken = self.broken(task, artifact, &path, &ids).or_else(|| {
                let other = own_paths.insert(path.clone(), artifact.id.clone());
                let same_path = other.map(|other| Broken::SamePath { other });
                let same_id = own_ids.insert(artifact.id.clone(), artifact.path.clone());
                same_path.or(same_id.map(|other| Broken::SameId { id: artifact.id.clone(), other }))
            });
            wrong.extend(broken.iter().map(|broken| format!("{}: {broken}", artifact.path)));
            broken.is_none()
        });
        wrong
    }

    /// Which rule an artifact of a task breaks together with those of others.
    fn broken(&self, task: &TaskId, artifact: &Artifact, path: &str, ids: &BTreeSet<String>) -> Option<Broken> {
        let id = artifact.id.as_str();
        if let Some(known) = self.entries.get(path).filter(|known| known.artifact.id.as_str() != id)
            && !known.is_of(task)
        {
            return Some(Broken::SamePath { other: known.artifact.id.clone() });
        }
        if let Some(other) = self.ids.get(id).filter(|other| *other != path)
            && self.entries.get(other).is_some_and(|entry| !entry.is_of(task))
        {
            return Some(Broken::SameId { id: artifact.id.clone(), other: other.clone() });
        }
        if !self.roles.contains(artifact.creator.as_str()) {
            return Some(Broken::NoSuchRole { creator: artifact.creator.to_string() });
        }
        let exists = |id: &ArtifactId| self.ids.contains_key(id.as_str()) || ids.contains(id.as_str());
        let dependency = artifact.dependencies.iter().find(|id| !exists(id));
        dependency.map(|dependency| Broken::NoSuchArtifact { dependency: dependency.clone() })
    }

    /// Writes down what happened, and remembers it.
    pub(super) fn record(&mut self, record: Record) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.append(&record)?;
        }
        self.apply(record);
        Ok(())
    }

    fn apply(&mut self, record: Record) {
        self.is_changed = true;
        let Record { what, task, attempt, artifacts } = record;
        for path in self.of_task.remove(&task).unwrap_or_default() {
            let Some(entry) = self.entries.get_mut(&path).filter(|entry| entry.is_of(&task)) else { continue };
            let awaits_fix = entry.artifact.validation.moved(Validation::Pending);
            match (what, awaits_fix) {
                _ if entry.attempt == 0 => self.of_task.entry(task.clone()).or_default().push(path),
                (What::Begins, Ok(pending)) => {
                    entry.artifact.validation = pending;
                    self.of_task.entry(task.clone()).or_default().push(path);
                }
                _ => self.remove(&path),
            }
        }
        for (place, artifact) in artifacts {
            self.insert(Entry { place, artifact, attempt });
        }
    }

    fn insert(&mut self, entry: Entry) {
        let path = comparable(&entry.artifact.path);
        self.remove(&path);
        self.ids.insert(entry.artifact.id.to_string(), path.clone());
        let task = entry.artifact.task.clone();
        if let Some(version) = entry.artifact.version.clone().filter(|version| is_version(version)) {
            self.versions.insert(path.clone(), (task.clone(), entry.attempt, version));
        }
        if let Some(task) = task {
            self.of_task.entry(task).or_default().push(path.clone());
        }
        self.entries.insert(path, entry);
    }

    fn remove(&mut self, path: &str) {
        if let Some(gone) = self.entries.remove(path) {
            self.ids.remove(gone.artifact.id.as_str());
        }
    }
}

impl Entry {
    fn is_of(&self, task: &TaskId) -> bool {
        self.artifact.task.as_ref() == Some(task)
    }
}

/// The version after one.
fn next(version: &str) -> String {
    let parts = version.split_once('.').and_then(|(major, minor)| Some((major, minor.parse::<u64>().ok()?)));
    parts.map_or_else(|| FIRST.to_owned(), |(major, minor)| format!("{major}.{}", minor.saturating_add(1)))
}
