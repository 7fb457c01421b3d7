//! What the program is when it starts itself: the keeper of a worker, a driver of an agent, a worker that only acts, a command
//! that outlives its client.

use std::ffi::OsStr;
use std::process::ExitCode;

use team_executor_agents::{driver, keep_memory, keeper, outlive_large_files, rehearsal, wait_for_children};

use crate::apart;

/// Is what the first argument says, where that is none of a user's commands.
pub fn role(first: Option<&OsStr>) -> Option<ExitCode> {
    wait_for_children();
    match first {
        Some(first) if first == keeper::ARGUMENT => Some(keeper::main()),
        Some(first) if first == rehearsal::ARGUMENT => Some(rehearsal::main()),
        Some(first) if first == driver::ARGUMENT => Some(driver::main()),
        Some(first) if first == apart::DETACHED => Some(apart::detached()),
        Some(first) if first == apart::BACKGROUND => Some(apart::background()),
        _ => None,
    }
}

/// Settles what holds for the process of a user's command.
pub fn settle() {
    outlive_large_files();
    keep_memory();
}
