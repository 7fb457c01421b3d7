//! `interactive/<task>-result.json`: what each interactive task came to. It is there exactly while its task is over and
//! was tried.

use team_executor_core::run::Run;
use team_executor_core::{Session, TaskIndex, TaskStatus};
use team_executor_files::discovery::write;
use team_executor_store::run_folder::component;
use team_executor_store::{Disk, Durability, ReplaceError, remove};

use super::discoveries::discovery;
use super::put::put;
use super::state::refresh_task;

/// Brings the result of one task up to date.
pub(super) fn result<D: Disk>(disk: &D, session: &Session, index: TaskIndex, run: &Run) -> Result<(), ReplaceError> {
    let Some(task) = session.tasks.get(index.get()) else { return Ok(()) };
    let name = format!("{}-result.json", component(task.id.as_str()));
    let mut task = task.clone();
    refresh_task(&mut task, index, run);
    let tried = run.view(index).is_some_and(|view| view.attempt > 0);
    if tried && matches!(task.status, TaskStatus::Completed | TaskStatus::Failed) {
        return put(disk, &name, &write(&discovery(&task), None), Durability::Rendered);
    }
    Ok(remove(disk, &name)?)
}
