//! The real program in surroundings that are broken, with workers that misbehave: nothing is lost, nothing is done twice,
//! nothing stays behind, and the exit code is one of those that are documented.

mod disk;
mod durable;
mod hostile;
mod paths;
mod programs;
mod shortage;
mod two;

use std::path::Path;
use std::process::{Command, Output};

use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::run::{arguments, read};

/// Runs `S` in a shell that does something first, for instance sets a limit.
fn run_after(world: &World, first: &str, worker: &str, more: &[&str]) -> Output {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_team-executor")]);
    command.args(arguments("--session=S", worker, more)).current_dir(world.dir()).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").limited_output()
}

/// What a run said about itself; it never panics, whatever happens to it.
fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{said}");
    said
}

/// How often a journal says that a task was completed.
fn completions(run: &Path, task: &str) -> usize {
    let record = format!("\"type\":\"completed\",\"task\":\"{task}\",");
    read(run.join(".executor/journal")).matches(&record).count()
}

/// Whether system calls cannot be looked at and changed here. The test command says what was not tested.
fn lacks_strace(untried: &str) -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).spawn();
    let lacks = !tried.is_ok_and(|mut tried| tried.limited_wait().success());
    if lacks {
        team_executor_testkit::lacks("strace", untried);
    }
    lacks
}

/// Runs `S` to an end under strace.
fn traced(world: &World, worker: &str, more: &[&str], strace: &[&str]) -> Output {
    let mut command = Command::new("strace");
    command.args(strace).arg(env!("CARGO_BIN_EXE_team-executor")).args(arguments("--session=S", worker, more));
    command.current_dir(world.dir()).limited_output()
}
