//! What became of each row of a job, for whoever writes its table: nothing is locked and nothing is written.

use std::path::Path;

use team_executor_beneath::ours;
use team_executor_core::run::TaskView;
use team_executor_core::{Graph, Session, TaskIndex, TaskStatus, Timestamp};
use team_executor_files::csv_job::RowState;
use team_executor_store::run_folder::{AGENTS, project_root};

use crate::options::Failure;
use crate::run_at::{self, result_name};
use crate::{outcome, status};

/// What became of each task in the newest run of a session, in the order of the tasks; nothing if it was never run.
pub fn rows(session: &Session, graph: &Graph, folder: &Path, current: &Path) -> Result<Option<Vec<RowState>>, Failure> {
    let project = project_root(folder, current);
    let Some(path) = run_at::newest_of_all(&project, folder) else { return Ok(None) };
    let (_, run) = status::look(session, graph, &run_at::name_of(&path), &path)?;
    let agents = path.join(AGENTS);
    let row = |(index, id): (TaskIndex, &str)| Some(row(&run.view(index)?, id, &agents));
    Ok(Some((0..).map(TaskIndex).zip(session.tasks.iter().map(|task| task.id.as_str())).filter_map(row).collect()))
}

fn row(view: &TaskView<'_>, id: &str, agents: &Path) -> RowState {
    let is_completed = view.status == TaskStatus::Completed;
    let file = agents.join(result_name(id, view.attempt));
    let result = is_completed.then(|| outcome::result(&file)).flatten();
    let result = result.and_then(|text| super::result(&text).ok()).map(|result| result.to_string());
    // A file that nobody waited for may not outlive a power cut.
    let lost = "its result is not there any more: run the row again with `team-executor retry --downstream`";
    RowState {
        status: view.status,
        attempts: view.attempt,
        error: match view.error {
            _ if is_completed => result.is_none().then(|| lost.to_owned()),
            error => error.map(str::to_owned),
        },
        reported_at: result.as_ref().and_then(|_| written(&file)),
        completed_at: view.since.filter(|_| view.status.is_over()),
        result,
    }
}

/// When a file was last written.
fn written(file: &Path) -> Option<Timestamp> {
    let found = ours::look_at(file).ok()?;
    let micros = i64::try_from(found.st_mtime_nsec).ok()? / 1000;
    Some(Timestamp::from_micros(found.st_mtime.checked_mul(1_000_000)?.checked_add(micros)?))
}
