//! What becomes of a session whose last task is completed, once somebody has decided.

use std::path::Path;

use team_executor_core::SessionStatus;
use team_executor_store::run_folder::project_root;

use crate::options::Failure;
use crate::{run_at, session_status};

/// Keeps a session for more work: it is paused, and its run stays where it is.
pub fn keep(session: &Path, current: &Path) -> Result<(), Failure> {
    let project = project_root(session, current);
    let Some(run) = run_at::newest_of_all(&project, session) else { return Ok(()) };
    let _held = run_at::hold(&project, &run)?;
    session_status::set(session, &run, SessionStatus::Paused).map(drop)
}
