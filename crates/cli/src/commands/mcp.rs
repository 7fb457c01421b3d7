//! `mcp`: serves the worker that started it over the Model Context Protocol.

use team_executor_engine::bus::{Attempt, propose};
use team_executor_files::{Code, Finding};
use team_executor_mcp::stdio;
use team_executor_mcp::worker::Worker;

use super::caller::failure;
use crate::exit::Exit;
use crate::failure::Failure;

/// Serves until the client has closed its end.
pub(crate) fn run() -> Result<Exit, Failure> {
    let attempt = Attempt::of(|name| std::env::var(name).ok()).map_err(failure)?;
    let attempt = attempt.ok_or_else(|| {
        Finding::error(Code::Usage, "no worker started this: TEAM_EXECUTOR_ATTEMPT is not set")
            .help("let the worker's agent start it, with the TEAM_EXECUTOR_ variables that the worker was given")
            .help("to look at a session yourself: team-executor status --session=PATH")
    })?;
    stdio::serve(Worker::new(attempt, propose::most(|name| std::env::var(name).ok())))?;
    Ok(Exit::Fine)
}
