//! Lists the runs of a project, read-only: nothing is locked and nothing is written.

use std::path::{Path, PathBuf};

use team_executor_beneath::{ours, read_regular};
use team_executor_core::run::Cadence;
use team_executor_core::{Graph, Session, Timestamp};
use team_executor_files::json::{self, Value};
use team_executor_files::{Dialect, load_ignoring_results};
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, LOGS, component, folder_name, project_root, run_path};
use team_executor_store::{DiskFolder, recover};

pub use crate::begin::edits::{PlanDiff, plan_diff};
use crate::begin::run_at;

/// A run of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRun {
    /// Its name.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of its session.
    pub session: PathBuf,
    /// When it was made.
    pub made: Timestamp,
    /// Every task is over. An unreadable journal is not finished: continuing the run says why.
    pub finished: bool,
}

/// The runs of a project, the newest first. Both folders are absolute.
pub fn known(project: &Path) -> Vec<KnownRun> {
    let runs = run_at::runs(project);
    let with_plans = run_at::plans(&runs).map(|(plan, id)| {
        let folder = run_path(project, &id);
        let finished = is_finished(&folder);
        KnownRun { id, folder, session: plan.session, made: plan.at, finished }
    });
    let mut runs: Vec<_> = with_plans.collect();
    runs.sort_by(|a, b| (b.made, &b.id).cmp(&(a.made, &a.id)));
    runs
}

/// The project of a session, or of the current folder.
pub fn project(session: Option<&Path>, current: &Path) -> PathBuf {
    session.map_or_else(|| current.to_owned(), |session| project_root(session, current))
}

/// The session of the run in a folder, if it is the folder of one. It is absolute.
pub fn session_of(folder: &Path) -> Option<PathBuf> {
    let mut runs = run_at::all(folder.parent()?).into_iter();
    runs.find(|(_, path)| path == folder).map(|(plan, _)| plan.session)
}

/// The name and the folder of a session's newest run; nothing if it was never run.
pub fn newest(session: &Path, current: &Path) -> Option<(String, PathBuf)> {
    let project = project_root(session, current);
    let id = run_at::newest(&run_at::runs(&project), session)?;
    let folder = run_path(&project, &id);
    Some((id, folder))
}

/// The names and folders of a session's runs, put away or not, the newest first.
pub fn of_session(session: &Path, current: &Path) -> Vec<(String, PathBuf)> {
    let project = project_root(session, current);
    let folders = [run_at::runs(&project), run_at::archive(&project)];
    let all = folders.iter().flat_map(|folder| run_at::all(folder)).filter(|(plan, _)| plan.session == session);
    let mut runs: Vec<_> = all.map(|(plan, path)| (plan.at, run_at::name_of(&path), path)).collect();
    runs.sort_by(|a, b| b.cmp(a));
    runs.into_iter().map(|(_, id, path)| (id, path)).collect()
}

/// Whether the run in a folder was made for the tasks that a session has now.
pub fn is_of(run: &Path, session: &Session) -> bool {
    run_at::is_of(run, session)
}

/// The tasks that the run in a folder was made for: those of its session, or as the run has kept them where the session has
/// others by now.
pub fn tasks_of(run: &Path, session: &Path) -> Option<(Session, Graph)> {
    let read = |path: &Path, dialect| {
        let loaded = load_ignoring_results(&DiskFolder::open(path).ok()?, &folder_name(session), dialect);
        loaded.session.filter(|(session, _)| is_of(run, session))
    };
    read(session, None).or_else(|| read(run, Some(Dialect::TasksCsv)))
}

/// The attempts at a task that printed something in the run in a folder, in order.
pub fn printed(run: &Path, task: &str) -> Vec<u32> {
    let begin = format!("{}.", component(task));
    let number = |name: String| {
        let rest = name.strip_prefix(&begin)?;
        rest.strip_suffix(".out").or_else(|| rest.strip_suffix(".err"))?.parse().ok()
    };
    let names = ours::list(&run.join(LOGS)).unwrap_or_default();
    let mut attempts: Vec<u32> = names.into_iter().filter_map(number).collect();
    attempts.sort_unstable();
    attempts.dedup();
    attempts
}

/// Where what an attempt printed is: standard output, then standard error.
pub fn logs(run: &Path, task: &str, attempt: u32) -> [PathBuf; 2] {
    run_at::logs(run, task, attempt)
}

/// The runs of a session.
#[derive(Debug)]
pub struct OfSession<'p> {
    session: &'p Path,
    project: PathBuf,
}

impl<'p> OfSession<'p> {
    /// Both paths are absolute.
    pub fn new(session: &'p Path, current: &Path) -> Self {
        Self { session, project: project_root(session, current) }
    }

    /// Whether the session was ever run, and the run was not put away.
    pub fn exist(&self) -> bool {
        run_at::newest(&run_at::runs(&self.project), self.session).is_some()
    }

    /// The cadence in which the newest run began, or the one that is named, if it is not finished: it stays in it.
    pub fn cadence(&self, run: Option<&str>) -> Option<Cadence> {
        let runs = run_at::runs(&self.project);
        let of_session = run_at::plans(&runs).filter(|(plan, _)| plan.session == self.session);
        let wanted = of_session.filter(|(_, id)| run.is_none_or(|run| run == id));
        let (plan, id) = wanted.max_by(|(a, x), (b, y)| (a.at, x).cmp(&(b.at, y)))?;
        (!is_finished(&run_path(&self.project, &id))).then_some(plan.cadence)
    }

    /// What has to be read to find the newest run, and cannot be for want of permission.
    pub fn closed(&self) -> Option<PathBuf> {
        run_at::closed(&run_at::runs(&self.project), self.session)
    }

    /// The folder of the newest run that was put away.
    pub fn archived(&self) -> Option<PathBuf> {
        let away = run_at::archive(&self.project);
        run_at::newest(&away, self.session).map(|id| away.join(id))
    }
}

/// Whether the last thing that happened to a task of the run in this folder, or to the run, was its end.
pub fn is_finished(run: &Path) -> bool {
    let Ok(bytes) = read_regular(&run.join(EXECUTOR).join(JOURNAL)) else { return false };
    let Ok(recovered) = recover(&bytes) else { return false };
    let types = recovered.records.iter().rev().map(|record| {
        let text = std::str::from_utf8(&bytes[record.json.clone()]).unwrap_or_default();
        let document = json::parse(text).ok()?;
        document.root().get("type").and_then(Value::as_text).map(|name| name.into_owned())
    });
    let is_note = |name: &String| matches!(name.as_str(), "recovered" | "doubted" | "intended");
    types.flatten().find(|name| !is_note(name)).is_some_and(|name| name == "finished")
}
