//! The status of a session's tasks in its newest run, read-only.

use std::path::Path;
use std::sync::Arc;

use team_executor_core::{Graph, Session, Task, TaskId};
use team_executor_files::discovery::{self, TaskDiscovery};
use team_executor_files::reading::Reading;
use team_executor_store::DiskFolder;
use team_executor_store::run_folder::{component, project_root};

use crate::begin::run_at;
use crate::options::Failure;
use crate::render::views::state::refresh;
use crate::status;

/// The session as its newest run says it is, or as its own files do if it was never run.
pub fn now(session: &Session, graph: &Graph, folder: &Path, current: &Path) -> Result<Session, Failure> {
    let project = project_root(folder, current);
    match run_at::newest_of_all(&project, folder) {
        Some(run) => of_run(session, graph, &run),
        None => Ok(session.clone()),
    }
}

/// The session as a run says it is.
pub fn of_run(session: &Session, graph: &Graph, run: &Path) -> Result<Session, Failure> {
    let id = run_at::name_of(run);
    let (_, rules) = status::look(session, graph, &id, run)?;
    let mut shown = session.clone();
    refresh(&mut shown, &rules, &id);
    Ok(shown)
}

/// The tasks that a task builds on, in the order of the session: its dependencies, and those whose findings it is given.
pub fn built_on<'s>(session: &'s Session, graph: &Graph, task: &str) -> Vec<&'s Task> {
    let Some(own) = graph.index_of(task) else { return Vec::new() };
    let context = session.tasks[own.get()].context_from.iter().filter_map(|id| graph.index_of(id.as_str()));
    let mut indexes: Vec<_> = graph.dependencies(own).iter().copied().chain(context).collect();
    indexes.sort_unstable();
    indexes.dedup();
    indexes.into_iter().map(|index| &session.tasks[index.get()]).collect()
}

/// The content of a task's own discovery, if there is one.
pub fn discovery(folder: &Path, task: &TaskId) -> Option<TaskDiscovery> {
    let disk = DiskFolder::open(folder).ok()?;
    let file: Arc<str> = format!("{}/{}.json", discovery::FOLDER, component(task.as_str())).into();
    discovery::read(&mut Reading::new(&disk, ""), &file).filter(|found| found.task == *task)
}
