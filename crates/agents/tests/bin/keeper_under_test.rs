//! A program for the tests of custody: a keeper, and an executor that can be killed.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use team_executor_agents::{Assignment, KeeperEvent, Keepers, keeper};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(keeper::ARGUMENT) => keeper::main(),
        Some("execute") => execute().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        _ => ExitCode::FAILURE,
    }
}

/// Starts what is on standard input, one assignment per line and slot, and prints the events.
fn execute() -> io::Result<()> {
    let keepers = Keepers::new(std::env::current_exe()?, tell)?;
    for (slot, line) in io::stdin().lock().lines().enumerate() {
        let assignment: Assignment = serde_json::from_str(&line?)?;
        keepers.start(slot, assignment);
    }
    Ok(())
}

fn tell(event: KeeperEvent) {
    let mut out = io::stdout().lock();
    let _unheard = writeln!(out, "{event:?}").and_then(|()| out.flush());
}
