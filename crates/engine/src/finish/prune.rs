//! Frees what finished runs take: their trees and logs, and the whole folder of an archived run whose deliverables are elsewhere too. A crash leaves
//! each at its place, or the folder of a run in the trash, which the next call empties.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use team_executor_beneath::{How, io_error, open_ours, ours, read_regular};
use team_executor_store::run_folder::{EXECUTOR, LOGS};
use team_executor_store::{Durability, below, is_same, replace};
use team_executor_trees::{Consent, Mark, Repository, Stored, Trees, Trouble};

use super::archive::{ended_at, is_older};
use crate::begin::plan::Plan;
use crate::begin::run_at::{self, name_of, open_folder};
use crate::options::Failure;
use crate::status::Status;

/// In the executor's folder: where the run was exported to, a path a line.
const EXPORTED: &str = "exported";
/// In the executor's folder: the logs of the run were removed.
const PRUNED: &str = "pruned";
/// In the archive: folders of runs that are being removed.
const TRASH: &str = ".pruned";
const ARTIFACTS: &str = "artifacts";

/// Which runs may be pruned.
#[derive(Debug, Clone)]
pub struct Prunable {
    /// They are of this session; its folder, absolute.
    pub session: Option<PathBuf>,
    /// They ended at least so many seconds ago.
    pub older_than: u64,
    /// So many newest runs of each session stay as they are.
    pub keep: usize,
    /// For git, which says what of trees is kept.
    pub environment: Vec<(String, String)>,
}

/// A part of what a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The trees of its tasks whose work is kept as commits.
    Trees,
    /// Its logs.
    Logs,
    /// All of it.
    Run,
}

impl Taken {
    /// In a word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trees => "trees",
            Self::Logs => "logs",
            Self::Run => "run",
        }
    }
}

/// Something that can be freed, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// The run.
    pub run: String,
    /// What of it.
    pub part: Taken,
    /// Where that is, or was.
    pub path: PathBuf,
    /// How many bytes its files have.
    pub bytes: u64,
}

/// What can be freed, or was, and what stays.
#[derive(Debug, Default)]
pub struct Pruning {
    /// The oldest run first.
    pub freed: Vec<Freed>,
    /// Runs that are old enough and stay all the same, each with the reason.
    pub kept: Vec<(String, String)>,
}

impl Prunable {
    /// Looks what can be freed; nothing is changed.
    pub fn find(&self, project: &Path) -> Pruning {
        let mut found = Pruning::default();
        for run in meant(project, self) {
            look(project, &run, self, &mut found);
        }
        found
    }

    /// Frees what can be freed of these; what has changed since they were found is looked at again.
    pub fn free(&self, project: &Path, wanted: &[Freed]) -> Result<Pruning, Failure> {
        empty_trash(project)?;
        let mut done = Pruning::default();
        for run in meant(project, self) {
            let name = name_of(&run);
            let agreed = || wanted.iter().filter(|freed| freed.run == name);
            if agreed().next().is_none() {
                continue;
            }
            let _held = match run_at::hold(project, &run) {
                Ok(held) => held,
                Err(Failure::Held(by)) => {
                    done.kept.push((name, format!("it is in use: {by}")));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let mut found = Pruning::default();
            look(project, &run, self, &mut found);
            done.kept.extend(found.kept);
            // Who agreed to the removal of a run agreed to that of its logs.
            let is_agreed = |freed: &Freed| {
                agreed().any(|one| one.part == freed.part || one.part == Taken::Run && freed.part == Taken::Logs)
            };
            for freed in found.freed.into_iter().filter(is_agreed) {
                match freed.part {
                    Taken::Trees => remove_trees(&run, self, &mut done)?,
                    Taken::Logs => remove_logs(&run, &freed.path)?,
                    Taken::Run => remove_run(project, &freed)?,
                }
                done.freed.push(freed);
            }
        }
        empty_trash(project)?;
        Ok(done)
    }
}

/// Notes where runs were exported to, so that their folders can be removed once they are archived.
pub(super) fn note_export(run: &Path, to: &Path) -> Result<(), Failure> {
    let executor = run.join(EXECUTOR);
    let known = exports(run);
    let Some(to) = to.to_str().filter(|to| !to.contains('\n') && !known.iter().any(|known| known == Path::new(to)))
    else {
        return Ok(());
    };
    let known = known.iter().filter_map(|path| path.to_str()).chain([to]);
    let text = known.flat_map(|path| [path, "\n"]).collect::<String>();
    let written = replace(&open_folder(&executor)?, EXPORTED, text.as_bytes(), Durability::Durable);
    written.map_err(|error| Failure::Disk { action: "note in", path: executor, reason: error.to_string() })
}

/// Where a run was exported to.
fn exports(run: &Path) -> Vec<PathBuf> {
    let bytes = read_regular(&run.join(EXECUTOR).join(EXPORTED)).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default().lines().map(PathBuf::from).collect()
}

/// The runs of a project but for the newest of each session, the oldest first.
fn meant(project: &Path, rule: &Prunable) -> Vec<PathBuf> {
    let folders = [run_at::runs(project), run_at::archive(project)];
    let mut all: Vec<(Plan, PathBuf)> = folders.iter().flat_map(|folder| run_at::all(folder)).collect();
    all.retain(|(plan, _)| rule.session.as_ref().is_none_or(|session| plan.session == *session));
    all.sort_by(|(a, x), (b, y)| (b.at, y).cmp(&(a.at, x)));
    let mut newer: BTreeMap<PathBuf, usize> = BTreeMap::new();
    all.retain(|(plan, _)| {
        let newer = newer.entry(plan.session.clone()).or_default();
        *newer += 1;
        *newer > rule.keep
    });
    all.into_iter().rev().map(|(_, path)| path).collect()
}

/// What can be freed of a run, and why it stays, if it is old enough.
fn look(project: &Path, run: &Path, rule: &Prunable, found: &mut Pruning) {
    let name = name_of(run);
    match ended_at(run) {
        Ok(Some(at)) if is_older(at, rule.older_than) => {}
        Ok(Some(_)) => return,
        Ok(None) => return found.kept.push((name, "it is not finished".to_owned())),
        Err(failure) => return found.kept.push((name, failure.to_string())),
    }
    let has_trees = match trees(run, rule) {
        Ok(None) => false,
        Ok(Some((path, stored))) => {
            let goes = || stored.iter().filter(|one| one.stays.is_none());
            if goes().next().is_some() {
                let bytes = goes().map(|one| one.bytes).sum();
                found.freed.push(Freed { run: name.clone(), part: Taken::Trees, path, bytes });
            }
            let why = |one: &Stored| Some(format!("tree {}: {}", one.folder, one.stays.as_ref()?));
            found.kept.extend(stored.iter().filter_map(why).map(|why| (name.clone(), why)));
            stored.iter().any(|one| one.stays.is_some())
        }
        Err(trouble) => {
            found.kept.push((name.clone(), format!("its trees cannot be looked at: {trouble}")));
            true
        }
    };
    match rest(project, run, has_trees) {
        Ok(Some((part, path))) => match size(&path) {
            Ok(bytes) => found.freed.push(Freed { run: name, part, path, bytes }),
            Err(error) => found.kept.push((name, error.to_string())),
        },
        Ok(None) => {}
        Err(why) => found.kept.push((name, why)),
    }
}

/// Where the trees of a run are, and which there are; nothing if no task has one.
fn trees(run: &Path, rule: &Prunable) -> Result<Option<(PathBuf, Vec<Stored>)>, Trouble> {
    let Some(trees) = of_run(run, rule)? else { return Ok(None) };
    Ok(Some((trees.home().to_owned(), trees.stored(Consent::OfUser)?)))
}

fn of_run(run: &Path, rule: &Prunable) -> Result<Option<Trees>, Trouble> {
    let Some(mark) = Mark::read(run) else { return Ok(None) };
    // A run is three folders below its project, also when it was put away.
    let project = run.ancestors().nth(3).unwrap_or(run);
    Trees::of_run(Repository::find(project, &rule.environment)?, &name_of(run), mark)
}

/// Removes the trees that may go. No worker of a finished run lives.
fn remove_trees(run: &Path, rule: &Prunable, done: &mut Pruning) -> Result<(), Failure> {
    let failed =
        |trouble: Trouble| Failure::disk("remove the trees of", run)(std::io::Error::other(trouble.to_string()));
    let Some(trees) = of_run(run, rule).map_err(failed)? else { return Ok(()) };
    let stored = trees.remove_stored(Consent::OfUser).map_err(failed)?;
    for one in stored {
        let why = one.stays.map(|why| (name_of(run), format!("tree {}: {why}", one.folder)));
        done.kept.extend(why.filter(|why| !done.kept.contains(why)));
    }
    Ok(())
}

/// What can be freed of a run besides its trees; nothing if there is nothing, or why it stays. The folder of a run that still has trees
/// stays: it says where they are.
fn rest(project: &Path, run: &Path, has_trees: bool) -> Result<Option<(Taken, PathBuf)>, String> {
    let logs = run.join(LOGS);
    let has_logs =
        open_ours(&logs).and_then(|folder| folder.list().map_err(io_error)).is_ok_and(|names| !names.is_empty());
    let is_archived = run.starts_with(run_at::archive(project));
    if is_archived && !has_trees {
        match elsewhere(run)? {
            None => return Ok(Some((Taken::Run, run.to_owned()))),
            Some(why) if !has_logs => return Err(why),
            Some(_) => {}
        }
    }
    Ok(has_logs.then_some((Taken::Logs, logs)))
}

/// Why what a run delivered is not elsewhere too; nothing if all of it is. An error if that cannot be found out.
fn elsewhere(run: &Path) -> Result<Option<String>, String> {
    let folder = run.join(ARTIFACTS);
    let delivered = below(&folder).map_err(|error| error.to_string())?;
    if let Some((path, why)) = delivered.others.first() {
        return Ok(Some(format!("artifacts/{path} cannot be exported: {why}")));
    }
    let exports = exports(run);
    let is_there = |file: &String| {
        let whole = folder.join(file);
        exports
            .iter()
            .any(|to| is_same(&whole, to, &format!("{ARTIFACTS}/{file}")).is_ok_and(|same| same == Some(true)))
    };
    let missing = delivered.files.iter().filter(|file| !is_there(file)).count();
    Ok((missing > 0).then(|| match missing {
        1 => "one of its artifacts is not exported".to_owned(),
        _ => format!("{missing} of its artifacts are not exported"),
    }))
}

/// How many bytes the files below a folder have.
fn size(folder: &Path) -> std::io::Result<u64> {
    let top = open_ours(folder)?;
    Ok(below(folder)?.files.iter().filter_map(|file| top.length(file)).sum())
}

impl Status {
    /// Whether the logs of the run were removed.
    pub fn has_no_logs(&self) -> bool {
        ours::look_at(&self.folder.join(EXECUTOR).join(PRUNED)).is_ok()
    }
}

/// Removes the logs of a run.
fn remove_logs(run: &Path, folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |errno| Failure::disk("remove", &path)(io_error(errno))
    };
    let executor = run.join(EXECUTOR);
    replace(&open_folder(&executor)?, PRUNED, b"", Durability::Durable).map_err(|error| Failure::Disk {
        action: "note in",
        path: executor,
        reason: error.to_string(),
    })?;
    let logs = open_ours(folder).map_err(Failure::disk("open", folder))?;
    for name in logs.list().map_err(failed(folder))? {
        let is_folder = logs.file(&name, How::ReadAnything).is_err() && logs.has_dir(&name);
        let gone = if is_folder { logs.remove_all(&name) } else { logs.remove(&name) };
        gone.map_err(failed(&folder.join(&name)))?;
    }
    logs.sync().map_err(failed(folder))
}

/// Moves the folder of an archived run into the trash.
fn remove_run(project: &Path, freed: &Freed) -> Result<(), Failure> {
    let archive = run_at::archive(project);
    let failed = |errno| Failure::disk("remove", &freed.path)(io_error(errno));
    let from = open_ours(&archive).map_err(Failure::disk("open", &archive))?;
    let trash = from.make_dir(TRASH).map_err(failed)?;
    from.move_free(&freed.run, &trash, &freed.run).map_err(failed)?;
    from.sync().map_err(failed)
}

/// Removes what stands in the trash.
fn empty_trash(project: &Path) -> Result<(), Failure> {
    let archive = run_at::archive(project);
    let Ok(from) = open_ours(&archive) else { return Ok(()) };
    let trash = archive.join(TRASH);
    if from.has_dir(TRASH) {
        from.remove_all(TRASH).map_err(|errno| Failure::disk("empty", &trash)(io_error(errno)))?;
    }
    Ok(())
}
