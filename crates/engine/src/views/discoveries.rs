//! `discoveries/<task>.json` of a `tasks-json` session, for tasks whose workers wrote none.

use std::fs::{File, create_dir_all};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use team_executor_core::{Task, TaskStatus};
use team_executor_files::discovery::{FOLDER, TaskDiscovery, write};
use team_executor_store::run_folder::component;

/// Writes what is known of a completed task, unless there is a discovery. A task that failed may run again and complete,
/// and a discovery that says otherwise would then contradict it.
pub(crate) fn unless_there(session: &Path, task: &Task) -> io::Result<()> {
    if task.status != TaskStatus::Completed {
        return Ok(());
    }
    let folder = session.join(FOLDER);
    create_dir_all(&folder)?;
    let discovery = TaskDiscovery {
        worker: Some(task.id.to_string()),
        timestamp: task.updated_at,
        status: Some(task.status),
        findings: task.findings.clone().unwrap_or_default(),
        quality_score: task.quality_score,
        verdict: task.verdict,
        ..TaskDiscovery::new(task.id.clone())
    };
    let path = folder.join(format!("{}.json", component(task.id.as_str())));
    match File::create_new(path).and_then(|mut file| file.write_all(write(&discovery, None).as_bytes())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
