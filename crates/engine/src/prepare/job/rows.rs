//! The outcome of each row of a job, for its output table: nothing is locked and nothing is written.

use std::path::Path;

use team_executor_core::run::TaskView;
use team_executor_core::{Graph, Session, Task, TaskId, TaskIndex, TaskStatus};
use team_executor_files::csv_job::RowState;
use team_executor_store::run_folder::{AGENTS, project_root};

use crate::begin::run_at;
use crate::conclude::Results;
use crate::options::Failure;
use crate::status;

/// What became of each task in the newest run of a session, in the order of the tasks; nothing if it was never run.
pub fn rows(session: &Session, graph: &Graph, folder: &Path, current: &Path) -> Result<Option<Vec<RowState>>, Failure> {
    let project = project_root(folder, current);
    let Some(path) = run_at::newest_of_all(&project, folder) else { return Ok(None) };
    let (_, run) = status::look(session, graph, &run_at::name_of(&path), &path)?;
    let results = Results::open(&path.join(AGENTS)).map_err(Failure::disk("open", path.join(AGENTS)))?;
    let row = |(index, task): (TaskIndex, &Task)| Some(row(&run.view(index)?, &task.id, &results));
    Ok(Some((0..).map(TaskIndex).zip(&session.tasks).filter_map(row).collect()))
}

fn row(view: &TaskView<'_>, id: &TaskId, results: &Results) -> RowState {
    let is_completed = view.status == TaskStatus::Completed;
    let report = is_completed.then(|| results.report(id, view.attempt)).flatten();
    let result = report.and_then(|report| super::row(&report).ok()).map(|result| result.to_string());
    // A file that was not synced may not outlive a power cut.
    let lost = "its result is not there any more: run the row again with `team-executor retry --downstream`";
    RowState {
        status: view.status,
        attempts: view.attempt,
        error: match view.error {
            _ if is_completed => result.is_none().then(|| lost.to_owned()),
            error => error.map(str::to_owned),
        },
        reported_at: result.as_ref().and_then(|_| results.written_at(id, view.attempt)),
        completed_at: view.since.filter(|_| view.status.is_over()),
        result,
    }
}
