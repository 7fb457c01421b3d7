//! Copies what a run delivered to a folder of the user's: artifacts and reports, each whole, and last a list of them with
//! checksums. Nothing that is there is overwritten or deleted; the same call goes on where a crash ended it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use team_executor_beneath::{make_shared, open_regular, ours};
use team_executor_core::TaskStatus;
use team_executor_files::json::{self, Layout, Value, Writer};
use team_executor_store::run_folder::{component, project_root};
use team_executor_store::{Copied, CopyError, Durability, below, copy_new, is_same, remove, replace, replaces, strays};

use super::{changes, prune};
use crate::begin::run_at::{self, name_of, open_folder};
use crate::conclude::artifacts::{Fault, Shelf};
use crate::options::Failure;
use crate::runs;
use crate::status::look;

/// The list of what was exported.
const MANIFEST: &str = "export-manifest.json";
/// What is copied from a run's folder besides its artifacts.
const REPORTS: [&str; 3] = ["results.csv", "context.md", "tasks.csv"];
const ARTIFACTS: &str = "artifacts";

/// What was exported.
#[derive(Debug, PartialEq, Eq)]
pub struct Exported {
    /// Of which run.
    pub run: String,
    /// Where to.
    pub to: PathBuf,
    /// How many files were copied now.
    pub copied: usize,
    /// How many were there already.
    pub were_there: usize,
    /// What was left out, and why.
    pub left_out: Vec<(String, &'static str)>,
    /// Artifacts that are not what was delivered any more: where, and why.
    pub faults: Vec<(String, Fault)>,
}

/// Copies what the run in a folder delivered, or else all runs of a session, and what stands in the session's own `artifacts/`.
/// The newest of them brings what tasks changed in trees, for which git is found in the environment.
pub fn export(
    (session, current): (&Path, &Path),
    run: Option<&Path>,
    to: &Path,
    environment: &[(String, String)],
) -> Result<Exported, Failure> {
    let project = project_root(session, current);
    let runs = match run {
        Some(run) => vec![run.to_owned()],
        None => runs::of_session(session, current).into_iter().map(|(_, run)| run).collect(),
    };
    let Some(run) = runs.first() else {
        return Err(Failure::NoRun(format!("the session {} was never run", session.display())));
    };
    let _held = run_at::hold(&project, run)?;
    let shelf = Shelf::read(&[], (session, current), Some(run).filter(|_| runs.len() == 1).map(PathBuf::as_path))?;
    let faults = shelf.iter().flat_map(Shelf::faults);
    let faults = faults.map(|(shelved, fault)| (shelved.artifact.path.clone(), fault)).collect();
    let to = outside(to, &[&[session], &*runs.iter().map(PathBuf::as_path).collect::<Vec<_>>()].concat())?;
    let (mut files, left_out) = sources(session, &runs)?;
    files.extend(changes::make((session, run), &to, environment)?);
    check(&files, &to)?;
    let disk = open_folder(&to)?;
    tidy(&to, files.keys().map(String::as_str).chain([MANIFEST]));
    let name = name_of(run);
    let old = manifest_there(&to)?;
    let mut exported = Exported { run: name.clone(), to: to.clone(), copied: 0, were_there: 0, left_out, faults };
    let mut list = Vec::with_capacity(files.len());
    for (path, from) in &files {
        let copied = copy_new(from, &disk, path).map_err(|error| match error {
            CopyError::InTheWay(path) => in_the_way(&to, &[path]),
            CopyError::Disk(error) => cannot(&to, error.to_string()),
        })?;
        *(if copied.was_there { &mut exported.were_there } else { &mut exported.copied }) += 1;
        list.push((path.as_str(), copied));
    }
    let text = manifest(&name, session, &list);
    if old.as_deref() != Some(text.as_str()) {
        let written = replace(&disk, MANIFEST, text.as_bytes(), Durability::Durable);
        written.map_err(|error| cannot(&to, error.to_string()))?;
    }
    changes::clear(run)?;
    runs.iter().try_for_each(|run| prune::note_export(run, &to))?;
    Ok(exported)
}

/// Removes what an earlier export that was killed has left of these files. Others may write to the folder too.
fn tidy<'f>(to: &Path, files: impl Iterator<Item = &'f str>) {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        folders.entry(folder).or_default().insert(name);
    }
    for (folder, names) in folders {
        let Ok(disk) = open_folder(&to.join(folder)) else { continue };
        let is_ours = |stray: &String| replaces(stray).is_some_and(|name| names.contains(name));
        for stray in strays(&disk).unwrap_or_default().iter().filter(|stray| is_ours(stray)) {
            remove(&disk, stray).ok(); // leftovers do no harm
        }
    }
}

/// The target, made if it is missing. It is not in the session or the run, and neither is in it.
fn outside(to: &Path, ours: &[&Path]) -> Result<PathBuf, Failure> {
    let is_link = to.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if is_link {
        return Err(Failure::InTheWay(format!("{} is a link; name the folder itself", to.display())));
    }
    let refused = |to: &Path| {
        let ours = ours.iter().filter_map(|path| path.canonicalize().ok());
        let overlap = |path: PathBuf| path.starts_with(to) || to.starts_with(path);
        ours.into_iter().any(overlap)
    };
    // A missing target is examined through its nearest existing parent: nothing is created before the place
    // is clear.
    let absolute = std::path::absolute(to).map_err(Failure::disk("find", to))?;
    let there = absolute.ancestors().find(|path| path.canonicalize().is_ok()).unwrap_or(&absolute);
    let resolved = there.canonicalize().map_err(Failure::disk("find", there))?;
    let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    let goes_up = rest.components().any(|part| part == std::path::Component::ParentDir);
    let resolved = if rest.as_os_str().is_empty() { resolved } else { resolved.join(rest) };
    if goes_up || refused(&resolved) {
        let words = "is inside the session or the run, or contains it";
        return Err(Failure::InTheWay(format!("{} {words}; name a folder of its own", to.display())));
    }
    make_shared(&resolved).map_err(Failure::disk("make", &resolved))?;
    Ok(resolved)
}

/// What is copied: where it comes to stand, and where it is.
type Sources = (BTreeMap<String, PathBuf>, Vec<(String, &'static str)>);

/// The folders of tasks that are not completed in a run: what stands there is no result. None are known if the session cannot be
/// read any more.
fn undone(session: &Path, run: &Path) -> BTreeSet<String> {
    let Some((session, graph)) = runs::tasks_of(run, session) else { return BTreeSet::new() };
    let Ok((_, rules)) = look(&session, &graph, &name_of(run), run) else { return BTreeSet::new() };
    let open = session.tasks.iter().zip(rules.statuses()).filter(|(_, status)| *status != TaskStatus::Completed);
    open.map(|(task, _)| component(task.id.as_str())).collect()
}

/// What is copied of runs, the newest first: of each task what the newest run delivered that delivered anything.
fn sources(session: &Path, runs: &[PathBuf]) -> Result<Sources, Failure> {
    let (mut files, mut left_out) = (BTreeMap::new(), Vec::new());
    let reports = runs.first().into_iter().flat_map(|run| REPORTS.map(|name| (name, run.join(name))));
    files.extend(reports.filter(|(_, path)| open_regular(path).is_ok()).map(|(name, path)| (name.to_owned(), path)));
    let mut tasks = BTreeSet::new();
    for run in runs {
        let mut found = delivered(&run.join(ARTIFACTS), &undone(session, run))?;
        found.0.retain(|name, _| !tasks.contains(task_of(name)));
        found.1.retain(|(name, _)| !tasks.contains(task_of(name)));
        tasks.extend(found.0.keys().map(|name| task_of(name).to_owned()));
        files.extend(found.0);
        left_out.extend(found.1);
    }
    let own = delivered(&session.join(ARTIFACTS), &BTreeSet::new())?;
    left_out.extend(own.1);
    let twice: Vec<_> = own.0.keys().filter(|name| files.contains_key(*name)).cloned().collect();
    if !twice.is_empty() {
        let words = "exists in the session and in the run; rename one of them";
        return Err(Failure::InTheWay(format!("{} {words}", twice.join(", "))));
    }
    files.extend(own.0);
    Ok((files, left_out))
}

/// The folder of a task in the path of something that is copied.
fn task_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// The content of a folder of artifacts, without files of tasks that are not completed.
fn delivered(folder: &Path, undone: &BTreeSet<String>) -> Result<Sources, Failure> {
    let found = below(folder).map_err(Failure::disk("look into", folder))?;
    let (mut files, mut no_results) = (BTreeMap::new(), BTreeSet::new());
    for name in found.files {
        let target = format!("{ARTIFACTS}/{name}");
        if undone.contains(task_of(&target)) {
            no_results.insert(format!("{ARTIFACTS}/{}", task_of(&target)));
        } else {
            files.insert(target, folder.join(name));
        }
    }
    let mut left_out: Vec<_> = no_results.into_iter().map(|folder| (folder, "its task is not completed")).collect();
    let whole = |name: String| format!("{ARTIFACTS}/{name}").trim_end_matches('/').to_owned();
    left_out.extend(found.others.into_iter().map(|(name, why)| (whole(name), why)));
    Ok((files, left_out))
}

/// Refuses before anything is copied, if something else has one of the names.
fn check(files: &BTreeMap<String, PathBuf>, to: &Path) -> Result<(), Failure> {
    let mut others = Vec::new();
    for (path, from) in files {
        let same = is_same(from, to, path).map_err(|error| cannot(to, error.to_string()))?;
        if same == Some(false) {
            others.push(path.clone());
        }
    }
    if others.is_empty() { Ok(()) } else { Err(in_the_way(to, &others)) }
}

/// The list that is there, if it is ours.
fn manifest_there(to: &Path) -> Result<Option<String>, Failure> {
    let read = ours::open(to).and_then(|to| to.read(MANIFEST, team_executor_files::limits::TASKS_BYTES));
    let Some(text) = read.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(None) };
    let ours = json::parse(&text).is_ok_and(|document| {
        document.root().get("exported_by").and_then(Value::as_text).is_some_and(|by| by == "team-executor")
    });
    if ours { Ok(Some(text)) } else { Err(in_the_way(to, &[MANIFEST.to_owned()])) }
}

fn manifest(run: &str, session: &Path, files: &[(&str, Copied)]) -> String {
    let mut out = Writer::new(Layout::Pretty);
    out.begin_object();
    for (key, text) in [("exported_by", "team-executor"), ("run", run), ("session", &*session.to_string_lossy())] {
        out.key(key);
        out.text(text);
    }
    out.key("files");
    out.begin_array();
    for (path, copied) in files {
        out.begin_object();
        out.key("path");
        out.text(path);
        out.key("size");
        out.plain(copied.size);
        out.key("sha256");
        out.text(&copied.sha256);
        out.end_object();
    }
    out.end_array();
    out.end_object();
    out.finish()
}

fn in_the_way(to: &Path, names: &[String]) -> Failure {
    Failure::InTheWay(format!("{} has other files of these names: {}", to.display(), names.join(", ")))
}

fn cannot(to: &Path, reason: String) -> Failure {
    Failure::Disk { action: "export to", path: to.to_owned(), reason }
}
