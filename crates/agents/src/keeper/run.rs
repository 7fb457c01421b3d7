//! One assignment from beginning to end: the folder is taken, the worker is started and kept, and its end is written down
//! before it is told.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::answer;
use super::custody::Custody;
use super::lifeline::Lifeline;
use crate::attempt::{Attempt, ERR, OUT, Started};
use crate::capture::Capture;
use crate::cgroup::Cgroup;
use crate::exit::{Ended, Exit};
use crate::protocol::{Answer, Assignment};

/// Carries out one assignment.
pub(super) fn run(assignment: &Assignment, cgroup: Option<&Cgroup>, lifeline: &mut Lifeline) {
    let mut exit = Exit::without_run(&assignment.key, Ended::Interrupted, wall_clock());
    let recorded = Attempt::take(&assignment.dir).map(|attempt| {
        // From here on a new executor sees the lock. If ours died before, it may have looked before: nothing may start.
        if !lifeline.is_gone()
            && let Err(error) = start_and_keep(assignment, &attempt, cgroup, lifeline, &mut exit)
        {
            exit.ended = could_not_start(&error);
        }
        exit.ended_at = wall_clock().max(exit.started_at);
        attempt.record(&exit, assignment.durable)
    });
    let unrecorded = match recorded {
        Ok(recorded) => recorded.err(),
        Err(error) => {
            exit.ended = could_not_start(&error);
            Some(error)
        }
    };
    answer(&Answer::Ended { exit: Box::new(exit), unrecorded: unrecorded.map(|error| error.to_string()) });
}

fn start_and_keep(
    assignment: &Assignment,
    attempt: &Attempt,
    cgroup: Option<&Cgroup>,
    lifeline: &mut Lifeline,
    exit: &mut Exit,
) -> io::Result<()> {
    let cgroup = cgroup.map(|cgroup| cgroup.path().to_owned());
    attempt.begin(&Started { key: assignment.key.clone(), keeper: std::process::id(), cgroup })?;
    let (out, out_pipe) = io::pipe()?;
    let (err, err_pipe) = io::pipe()?;
    let cap = assignment.output_cap;
    let streams = [Capture::new(out, attempt.log(OUT)?, cap), Capture::new(err, attempt.log(ERR)?, cap)];
    let started = Instant::now();
    let child = spawn(assignment, out_pipe.into(), err_pipe.into())?;
    answer(&Answer::Started { key: assignment.key.clone(), pid: child.id() });
    Custody::new(assignment, &child, streams, started).keep(lifeline, exit);
    Ok(())
}

/// Starts the worker in a process group of its own. The keeper's descriptors are closed in it.
fn spawn(assignment: &Assignment, stdout: Stdio, stderr: Stdio) -> io::Result<Child> {
    let stdin = match &assignment.stdin {
        Some(path) => File::open(path).map_err(|error| named(&path.display().to_string(), &error))?.into(),
        None => Stdio::null(),
    };
    if !assignment.cwd.is_dir() {
        return Err(named(&assignment.cwd.display().to_string(), &io::ErrorKind::NotADirectory.into()));
    }
    let mut command = Command::new(find(assignment)?);
    command.arg0(&assignment.program).args(&assignment.args).current_dir(&assignment.cwd);
    command.env_clear().envs(assignment.env.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    command.spawn().map_err(|error| named(&assignment.program, &error))
}

/// The program's file. A name without a slash is looked for in the worker's own `PATH`, not in ours.
fn find(assignment: &Assignment) -> io::Result<PathBuf> {
    let program = Path::new(&assignment.program);
    if assignment.program.contains('/') {
        return Ok(assignment.cwd.join(program));
    }
    let path = assignment.env.iter().rev().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path);
    let mut candidates = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program));
    let is_program = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
    candidates.find(is_program).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{}: not found in PATH ({path})", assignment.program))
    })
}

fn named(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn could_not_start(error: &io::Error) -> Ended {
    Ended::CouldNotStart(error.to_string())
}

/// Milliseconds since 1970, to be shown only.
fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
