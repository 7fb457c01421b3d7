//! What an attempt delivered: the files in its own folder, those that its report names, and what its manifest says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use team_executor_agents::durable::sync_all;
use team_executor_beneath::{is_system_failure, ours};
use team_executor_core::{Artifact, ArtifactId, Priority, RoleName, TaskId, Timestamp, Validation};
use team_executor_files::reading::Reading;
use team_executor_files::{Code, MemoryFolder, ReadError, limits, manifest};
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
    /// Paths that its reports name.
    pub(crate) named: Vec<String>,
    /// What is demanded of them.
    pub(crate) demands: Demands,
    /// Its keeper has made durable what is in its own folder, and no process may have changed that since.
    pub(crate) is_durable: bool,
    /// What the same resident delivered before.
    pub(crate) others: Option<Others>,
}

/// Tasks whose deliveries an attempt is not to change.
#[derive(Debug, Clone)]
pub(crate) struct Others {
    /// The tasks.
    pub(crate) tasks: Vec<TaskId>,
    /// When the attempt began.
    pub(crate) since: Timestamp,
}

/// A file that was delivered.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) place: Place,
    /// As far as it is known before it is registered.
    pub(super) artifact: Artifact,
    /// The worker gave it its id.
    pub(super) is_named: bool,
}

/// The artifacts of an attempt, and their problems.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// By path.
    pub(super) found: Vec<FoundFile>,
    /// One line each.
    pub(super) wrong: Vec<String>,
    /// Messages for people, one line each.
    pub(super) told: Vec<String>,
}

impl Delivered {
    /// The attempt's own folder, in that of the run.
    pub(super) fn folder(&self) -> String {
        format!("{FOLDER}/{}", component(self.task.as_str()))
    }
}

/// Looks for everything that an attempt delivered, hashes it and makes it durable, as the record of it will be; nothing if that
/// is given up on the way. A failure of the disk or the system says nothing about the work.
pub(super) fn collect(
    delivered: &Delivered,
    roots: &Roots,
    given_up: impl Fn() -> bool,
) -> Result<Option<Collected>, ReadError> {
    let own = delivered.folder();
    let mut wrong = Vec::new();
    let mut named: BTreeMap<(String, &'static str), (Place, Option<Artifact>)> = BTreeMap::new();
    let mut name = |place: Place, path: String, declared: Option<Artifact>| {
        let entry = named.entry((path, place.word())).or_insert((place, None));
        entry.1 = declared.or(entry.1.take());
    };
    let (files, is_described) = in_folder(&own, roots, &mut wrong)?;
    let told = misplaced(delivered, roots, files.is_empty(), &mut wrong);
    files.into_iter().for_each(|path| name(Place::Run, path, None));
    for path in &delivered.named {
        match roots.find(path, &own)? {
            Ok((place, path)) => name(place, path, None),
            Err(why) => wrong.push(format!("{path}: reported as delivered, but {why}")),
        }
    }
    match if is_described { declared(&own, roots)? } else { Declared::Nothing } {
        Declared::Nothing => {}
        Declared::Unusable(why) => wrong.push(format!("{own}/{}: {why}", manifest::NAME)),
        Declared::Artifact(artifact) => match roots.find(&artifact.path, &own)? {
            Ok((place, path)) => name(place, path, Some(*artifact)),
            Err(why) => wrong.push(format!("{}: named by {}, but {why}", artifact.path, manifest::NAME)),
        },
    }
    if named.len() > FILES {
        wrong.push(format!("{} files were delivered; at most {FILES} can be registered", named.len()));
    }
    let started = Instant::now();
    let mut found = Vec::new();
    for ((path, _), (place, declared)) in named.into_iter().take(FILES) {
        match hashed(delivered, roots, (place, &path), started, &given_up) {
            Ok(Hashed::Refused(why)) => wrong.push(format!("{path}: {why}")),
            Err(why @ ReadError::Failed(_)) => return Err(why),
            Err(ReadError::Outside) => wrong.push(format!("{path}: a link leads out of its folder")),
            Err(why) => wrong.push(format!("{path}: {why}")),
            Ok(Hashed::GivenUp) => return Ok(None),
            Ok(Hashed::Whole(size, sha256)) => {
                let is_named = declared.is_some();
                let Some(artifact) = artifact(delivered, &own, path, declared) else { continue };
                let checksum = Some(format!("sha256:{sha256}"));
                found.push(FoundFile {
                    place,
                    artifact: Artifact { file_size: Some(size), checksum, ..artifact },
                    is_named,
                });
            }
        }
    }
    let is_durable = make_durable(&found, delivered, roots, given_up)?;
    Ok(is_durable.then_some(Collected { found, wrong, told }))
}

/// What came of hashing a file.
enum Hashed {
    /// Its size and its SHA-256.
    Whole(u64, String),
    /// It is larger, or takes longer, than the checks allow.
    Refused(String),
    /// It was given up on the way.
    GivenUp,
}

/// Hashes a file within the bounds that its checks set.
fn hashed(
    delivered: &Delivered,
    roots: &Roots,
    (place, path): (Place, &str),
    started: Instant,
    given_up: impl Fn() -> bool,
) -> Result<Hashed, ReadError> {
    let (max_bytes, max_time) = delivered.demands.bounds(kind::guess(path));
    let length = roots.length(place, path)?;
    if length > max_bytes {
        let max_mb = max_bytes >> 20;
        return Ok(Hashed::Refused(format!("it has {length} bytes; the check `max_mb` allows {max_mb} MiB")));
    }
    let is_late = || started.elapsed() > max_time;
    match roots.digest_unless(place, path, || given_up() || is_late())? {
        Some((size, sha256)) => Ok(Hashed::Whole(size, sha256)),
        None if given_up() => Ok(Hashed::GivenUp),
        None => {
            let seconds = max_time.as_secs();
            Ok(Hashed::Refused(format!("hashing took longer than the {seconds} s that the check `max_time` allows")))
        }
    }
}

/// Syncs what was delivered, and the folders that it is in. `false` if that is given up before.
fn make_durable(
    found: &[FoundFile],
    delivered: &Delivered,
    roots: &Roots,
    given_up: impl Fn() -> bool,
) -> Result<bool, ReadError> {
    let own = delivered.folder();
    let is_left = |found: &&FoundFile| {
        !(delivered.is_durable && found.place == Place::Run && Path::new(&found.artifact.path).starts_with(&own))
    };
    let left: Vec<&FoundFile> = found.iter().filter(is_left).collect();
    for place in Place::ALL {
        let (mut files, mut folders) = (Vec::new(), BTreeSet::new());
        for FoundFile { artifact, .. } in left.iter().filter(|found| found.place == place) {
            let above = Path::new(&artifact.path).ancestors().skip(1).filter_map(Path::to_str);
            folders.extend(above.map(|folder| if folder.is_empty() { "." } else { folder }.to_owned()));
            files.push(artifact.path.clone());
        }
        if files.is_empty() {
            continue;
        }
        if given_up() {
            return Ok(false);
        }
        let folders: Vec<_> = folders.into_iter().collect();
        let synced = sync_all(roots.folder(place)?.dir(), &files, &folders);
        synced.map_err(|obstacle| ReadError::Failed(format!("it cannot be made durable: {}", obstacle.reason)))?;
    }
    Ok(true)
}

/// The files in the attempt's own folder, and whether one of them describes another. A link is fine if it leads to something
/// that is delivered anyway.
fn in_folder(own: &str, roots: &Roots, wrong: &mut Vec<String>) -> Result<(Vec<String>, bool), ReadError> {
    let folder = roots.whole(Place::Run, own);
    let below = match below(&folder) {
        Err(error) if Errno::from_io_error(&error).is_some_and(is_system_failure) => {
            return Err(ReadError::Failed(format!("{own}: {error}")));
        }
        Err(error) => {
            wrong.push(format!("{own}: it cannot be read: {error}"));
            return Ok((Vec::new(), false));
        }
        Ok(below) => below,
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
            Ok(false) if why == LINK => "it is a link that leads out of its folder",
            Err(_) if why == LINK => "it is a link that leads nowhere",
            _ => why,
        };
        wrong.push(format!("{own}/{name}: {why}, and only files can be delivered"));
    }
    let delivered = below.files.into_iter().filter(|name| name != manifest::NAME);
    Ok((delivered.map(|name| format!("{own}/{name}")).collect(), is_described))
}

/// Looks for files that the attempt changed in the folders of tasks that its resident did before: in a conversation an agent may
/// take the paths of an earlier task for its own. It is wrong if nothing was delivered to its own folder, and told otherwise.
fn misplaced(delivered: &Delivered, roots: &Roots, is_empty: bool, wrong: &mut Vec<String>) -> Vec<String> {
    let Some(others) = &delivered.others else { return Vec::new() };
    let is_new = |path: &Path| {
        let found = ours::look_at(path).ok()?;
        let micros =
            found.st_ctime.checked_mul(1_000_000)?.checked_add(i64::try_from(found.st_ctime_nsec / 1000).ok()?)?;
        Some(micros >= others.since.as_micros())
    };
    let mut changed = Vec::new();
    for task in &others.tasks {
        let folder = format!("{FOLDER}/{}", component(task.as_str()));
        let whole = roots.whole(Place::Run, &folder);
        let Ok(below) = below(&whole) else { continue };
        let new = below.files.into_iter().filter(|name| is_new(&whole.join(name)).unwrap_or(false));
        changed.extend(new.map(|name| format!("{folder}/{name}")));
    }
    if changed.is_empty() {
        return changed;
    }
    let more = changed.len().saturating_sub(MISTAKES);
    changed.truncate(MISTAKES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (own, changed) = (delivered.folder(), changed.join(", "));
    if is_empty {
        let own = roots.whole(Place::Run, &own);
        wrong.push(format!("{changed}{more}: in the folder of another task; deliver to {}", own.display()));
        return Vec::new();
    }
    vec![format!("{}: changed files in the folder of another task: {changed}{more}", delivered.task)]
}

enum Declared {
    Nothing,
    Unusable(String),
    Artifact(Box<Artifact>),
}

/// What the worker's own manifest says.
fn declared(own: &str, roots: &Roots) -> Result<Declared, ReadError> {
    let path = format!("{own}/{}", manifest::NAME);
    let bytes = match roots.read(Place::Run, &path, limits::DISCOVERY_BYTES) {
        Err(ReadError::Missing) => return Ok(Declared::Nothing),
        Err(why @ ReadError::Failed(_)) => return Err(why),
        Err(why) => return Ok(Declared::Unusable(why.to_string())),
        Ok(bytes) => bytes,
    };
    let file: Arc<str> = path.into();
    let folder = MemoryFolder::default().with(&file, bytes);
    let mut reading = Reading::new(&folder, own);
    Ok(match manifest::read(&mut reading, &file) {
        Some(manifest) => Declared::Artifact(Box::new(manifest.artifact)),
        None => {
            let mistakes = reading.findings.iter().filter(|finding| !UNDERSTOOD.contains(&finding.code));
            let why: Vec<_> = mistakes.take(MISTAKES).map(|finding| finding.message.as_str()).collect();
            let why = if why.is_empty() { "it does not describe an artifact".to_owned() } else { why.join("; ") };
            Declared::Unusable(why)
        }
    })
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
