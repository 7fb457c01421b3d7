//! What an attempt delivered: the files in its own folder, those that its report names, and what its manifest says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_agents::durable::sync_all;
use team_executor_core::{Artifact, ArtifactId, Priority, RoleName, TaskId, Timestamp, Validation};
use team_executor_files::reading::Reading;
use team_executor_files::{Code, MemoryFolder, ReadError, discovery, limits, manifest};
use team_executor_store::below;
use team_executor_store::run_folder::component;

use super::checks::Demands;
use super::places::{Place, Roots};
use super::{FOLDER, kind};

/// How many files of one attempt are registered.
const FILES: usize = 10_000;
/// What is said of a link below a folder.
const LINK: &str = "it is a link";
/// How many mistakes of a manifest are told.
const MISTAKES: usize = 5;
/// What is odd about a manifest, but not why it cannot be used.
const UNDERSTOOD: [Code; 7] = [
    Code::ByteOrderMark,
    Code::LoneSurrogate,
    Code::FieldAlias,
    Code::OtherForm,
    Code::OtherWord,
    Code::DefaultUsed,
    Code::OddTime,
];

/// An attempt whose worker ended well.
#[derive(Debug, Clone)]
pub(crate) struct Delivered {
    /// The task.
    pub(crate) task: TaskId,
    /// Who did it.
    pub(crate) role: RoleName,
    /// Which attempt, from 1.
    pub(crate) attempt: u32,
    /// The task's.
    pub(crate) priority: Priority,
    /// When the worker ended.
    pub(crate) at: Timestamp,
    /// Where it may have named artifacts.
    pub(crate) reports: Vec<PathBuf>,
    /// What is demanded of them.
    pub(crate) demands: Demands,
    /// Its keeper has made durable what is in its own folder, and nobody was to change that since.
    pub(crate) is_durable: bool,
}

/// A file that was delivered.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    /// As far as it is known before it is registered.
    pub(super) artifact: Artifact,
    /// The worker gave it its id.
    pub(super) is_named: bool,
}

/// What an attempt delivered, and what is wrong with that.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// By path.
    pub(super) found: Vec<Found>,
    /// One line each.
    pub(super) wrong: Vec<String>,
}

impl Delivered {
    /// The attempt's own folder, in that of the run.
    pub(super) fn folder(&self) -> String {
        format!("{FOLDER}/{}", component(self.task.as_str()))
    }
}

/// Looks for everything that an attempt delivered, hashes it and makes it durable, as the record of it will be; nothing if that
/// is given up on the way.
pub(super) fn collect(delivered: &Delivered, roots: &Roots, given_up: impl Fn() -> bool) -> Option<Collected> {
    let own = delivered.folder();
    let mut wrong = Vec::new();
    let mut named: BTreeMap<(String, &'static str), (Place, Option<Artifact>)> = BTreeMap::new();
    let mut name = |place: Place, path: String, declared: Option<Artifact>| {
        let entry = named.entry((path, place.word())).or_insert((place, None));
        entry.1 = declared.or(entry.1.take());
    };
    let (files, is_described) = in_folder(&own, roots, &mut wrong);
    files.into_iter().for_each(|path| name(Place::Run, path, None));
    for path in delivered.reports.iter().flat_map(|report| reported(report.as_path())) {
        match roots.find(&path, &own) {
            Ok((place, path)) => name(place, path, None),
            Err(why) => wrong.push(format!("{path}: reported as delivered, but {why}")),
        }
    }
    match if is_described { declared(&own, roots) } else { Declared::Nothing } {
        Declared::Nothing => {}
        Declared::Unusable(why) => wrong.push(format!("{own}/{}: {why}", manifest::NAME)),
        Declared::Artifact(artifact) => match roots.find(&artifact.path, &own) {
            Ok((place, path)) => name(place, path, Some(*artifact)),
            Err(why) => wrong.push(format!("{}: named by {}, but {why}", artifact.path, manifest::NAME)),
        },
    }
    if named.len() > FILES {
        wrong.push(format!("{} files were delivered, and at most {FILES} can be registered", named.len()));
    }
    let mut found = Vec::new();
    for ((path, _), (place, declared)) in named.into_iter().take(FILES) {
        match roots.digest_unless(place, &path, &given_up) {
            Err(ReadError::Outside) => wrong.push(format!("{path}: a link leads out of its folder")),
            Err(why) => wrong.push(format!("{path}: {why}")),
            Ok(None) => return None,
            Ok(Some((size, sha256))) => {
                let is_named = declared.is_some();
                let Some(artifact) = artifact(delivered, &own, path, declared) else { continue };
                let checksum = Some(format!("sha256:{sha256}"));
                found.push(Found {
                    place,
                    artifact: Artifact { file_size: Some(size), checksum, ..artifact },
                    is_named,
                });
            }
        }
    }
    wrong.extend(make_durable(&found, delivered, roots, given_up)?);
    Some(Collected { found, wrong })
}

/// Syncs what was delivered, and the folders that it is in; says what is not durable. Nothing if that is given up before.
fn make_durable(
    found: &[Found],
    delivered: &Delivered,
    roots: &Roots,
    given_up: impl Fn() -> bool,
) -> Option<Vec<String>> {
    let own = delivered.folder();
    let is_left = |found: &&Found| {
        !(delivered.is_durable && found.place == Place::Run && Path::new(&found.artifact.path).starts_with(&own))
    };
    let (mut files, mut folders) = (Vec::new(), BTreeSet::new());
    for Found { place, artifact, .. } in found.iter().filter(is_left) {
        let (root, path) = (roots.whole(*place, ""), roots.whole(*place, &artifact.path));
        folders.extend(path.ancestors().skip(1).take_while(|folder| folder.starts_with(&root)).map(Path::to_owned));
        files.push(path);
    }
    if files.is_empty() {
        return Some(Vec::new());
    }
    if given_up() {
        return None;
    }
    let synced = sync_all(&files, &folders.into_iter().collect::<Vec<_>>());
    Some(synced.err().map(|why| format!("it cannot be made durable: {}", why.reason)).into_iter().collect())
}

/// The files in the attempt's own folder, and whether one of them describes another. A link is fine if it leads to something
/// that is delivered anyway.
fn in_folder(own: &str, roots: &Roots, wrong: &mut Vec<String>) -> (Vec<String>, bool) {
    let folder = roots.whole(Place::Run, own);
    let below = match below(&folder) {
        Ok(below) => below,
        Err(error) => {
            wrong.push(format!("{own}: it cannot be read: {error}"));
            return (Vec::new(), false);
        }
    };
    let is_described =
        below.files.iter().chain(below.others.iter().map(|(name, _)| name)).any(|name| name == manifest::NAME);
    for (name, why) in below.others {
        if name.is_empty() {
            wrong.push(format!("{own}: {why}, and only files in a folder can be delivered"));
            continue;
        }
        let leads = folder.join(&name).canonicalize().map(|leads| roots.named(&leads).is_some());
        let why = match leads {
            Ok(true) if why == LINK => continue,
            Ok(false) if why == LINK => "it is a link that leads out",
            Err(_) if why == LINK => "it is a link that leads nowhere",
            _ => why,
        };
        wrong.push(format!("{own}/{name}: {why}, and only files can be delivered"));
    }
    let delivered = below.files.into_iter().filter(|name| name != manifest::NAME);
    (delivered.map(|name| format!("{own}/{name}")).collect(), is_described)
}

/// The paths that a report names.
fn reported(path: &Path) -> Vec<String> {
    // Not there, or so odd that its outcome has said so.
    let Ok(found) = std::fs::metadata(path) else { return Vec::new() };
    if !found.is_file() || found.len() > limits::DISCOVERY_BYTES {
        return Vec::new();
    }
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let file: Arc<str> = format!("{}/result.json", discovery::FOLDER).into();
    let folder = MemoryFolder::default().with(&file, bytes);
    let read = discovery::read(&mut Reading::new(&folder, discovery::FOLDER), &file);
    read.map(|read| read.artifacts_produced).unwrap_or_default()
}

enum Declared {
    Nothing,
    Unusable(String),
    Artifact(Box<Artifact>),
}

/// What the worker's own manifest says.
fn declared(own: &str, roots: &Roots) -> Declared {
    let path = format!("{own}/{}", manifest::NAME);
    let bytes = match roots.read(Place::Run, &path, limits::DISCOVERY_BYTES) {
        Err(ReadError::Missing) => return Declared::Nothing,
        Err(why) => return Declared::Unusable(why.to_string()),
        Ok(bytes) => bytes,
    };
    let file: Arc<str> = path.into();
    let folder = MemoryFolder::default().with(&file, bytes);
    let mut reading = Reading::new(&folder, own);
    match manifest::read(&mut reading, &file) {
        Some(manifest) => Declared::Artifact(Box::new(manifest.artifact)),
        None => {
            let mistakes = reading.findings.iter().filter(|finding| !UNDERSTOOD.contains(&finding.code));
            let why: Vec<_> = mistakes.take(MISTAKES).map(|finding| finding.message.as_str()).collect();
            let why = if why.is_empty() { "it does not describe an artifact".to_owned() } else { why.join("; ") };
            Declared::Unusable(why)
        }
    }
}

/// A file as an artifact, by what its worker says of it and else by its path.
fn artifact(delivered: &Delivered, own: &str, path: String, declared: Option<Artifact>) -> Option<Artifact> {
    let now = Artifact {
        id: id(delivered.task.as_str(), own, &path)?,
        kind: kind::guess(&path),
        path,
        creator: delivered.role.clone(),
        version: None,
        validation: Validation::Pending,
        validation_summary: None,
        dependencies: Vec::new(),
        task: Some(delivered.task.clone()),
        priority: Some(delivered.priority),
        created_at: Some(delivered.at),
        file_size: None,
        checksum: None,
    };
    match declared {
        None => Some(now),
        Some(Artifact { id, kind, creator, version, dependencies, .. }) => {
            let version = version.filter(|version| manifest::is_version(version));
            Some(Artifact { id, kind, creator, version, dependencies, ..now })
        }
    }
}

/// `<task>/<path in its folder>`: the same at every attempt, and no other task has it.
fn id(task: &str, own: &str, path: &str) -> Option<ArtifactId> {
    let rest = path.strip_prefix(own).map_or(path, |rest| rest.trim_start_matches('/'));
    let text = format!("{task}/{rest}");
    ArtifactId::parse(&text).or_else(|_| ArtifactId::parse(&component(&text))).ok()
}
