//! One assignment from beginning to end: the worker is noted, started and kept, what it delivered is made durable, and its end
//! is noted before it is told.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::Pid;

use super::answer;
use super::custody::Custody;
use super::folders::Folders;
use super::lifeline::Lifeline;
use super::pipes::{Pipes, Spare};
use crate::capture::Capture;
use crate::cgroup::Cgroup;
use crate::durable::sync_below;
use crate::exit::{Ended, Exit, Obstacle};
use crate::ledger::{Entry, Ledger};
use crate::oom::Score;
use crate::probe::in_path;
use crate::protocol::{Answer, Assignment};
use crate::unix::{Ends, NotStarted, Program, Spawner, text, variable};

/// Who reads scripts.
const SHELL: &str = "/bin/sh";
/// How much of a file is looked at to tell a script from something else.
const BEGINNING: u64 = 256;

/// What a keeper has.
#[derive(Debug)]
pub(super) struct Keeper<'c> {
    pub(super) ledger: Ledger,
    pub(super) cgroup: Option<&'c Cgroup>,
    pub(super) folders: Folders,
    pub(super) pipes: Spare,
    /// Where workers can be made the first to end when memory runs out.
    pub(super) score: Option<Score>,
    pub(super) spawner: Spawner,
    pub(super) ends: Ends,
    pub(super) buffer: Vec<u8>,
}

impl Keeper<'_> {
    /// Carries out one assignment.
    pub(super) fn run(&mut self, assignment: &Assignment, lifeline: &mut Lifeline) {
        let mut exit = Exit::without_run(&assignment.key, Ended::Interrupted, wall_clock());
        // A new executor sees the ledger's lock. If ours died before it was taken, nothing may start.
        if !lifeline.is_gone()
            && let Err(obstacle) = self.start_and_keep(assignment, lifeline, &mut exit)
        {
            exit.ended = Ended::CouldNotStart(obstacle);
        }
        exit.ended_at = wall_clock().max(exit.started_at);
        let entry = Entry::Ended(exit);
        let unrecorded = self.ledger.note(&entry).err().map(|error| error.to_string());
        if let Entry::Ended(exit) = entry {
            answer(&Answer::Ended { exit: Box::new(exit), unrecorded });
        }
    }

    fn start_and_keep(
        &mut self,
        assignment: &Assignment,
        lifeline: &mut Lifeline,
        exit: &mut Exit,
    ) -> Result<(), Obstacle> {
        let cgroup = self.cgroup.map(|cgroup| cgroup.path().to_owned());
        let folder = assignment.artifacts.as_ref().and_then(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
        let key = assignment.key.clone();
        self.ledger.note(&Entry::Started { key, keeper: std::process::id(), cgroup, folder })?;
        if let Some(folder) = &assignment.artifacts {
            let given = self.folders.give(folder, &assignment.aside);
            exit.aside = given.map_err(|error| Obstacle::about(folder.display(), &error))?;
        }
        let Pipes { readers: [out, err], writers: outputs } = self.pipes.take()?;
        let ([out_log, err_log], cap) = (&assignment.logs, assignment.output_cap);
        let streams = [Capture::new(out, out_log, cap), Capture::new(err, err_log, cap)];
        let started = Instant::now();
        let spawner = &mut self.spawner;
        let mut spawn = || spawn(spawner, assignment, &outputs);
        let worker = match &self.score {
            Some(score) => score.raised(spawn),
            None => spawn(),
        }?;
        let custody = Custody::new(assignment, worker, &self.ends, outputs, streams, started);
        if let Some(unused) = custody.keep(lifeline, exit, &mut self.buffer) {
            self.pipes.give_back(unused);
        }
        if let Some(folder) = &assignment.artifacts {
            exit.artifacts = self.folders.take_back(folder);
            if exit.artifacts > 0 {
                exit.undurable = sync_below(folder).err();
            }
        }
        Ok(())
    }
}

/// Starts the worker in a process group of its own. The keeper's descriptors are closed in it.
fn spawn(spawner: &mut Spawner, assignment: &Assignment, outputs: &[OwnedFd; 2]) -> Result<Pid, Obstacle> {
    let input = assignment.stdin.as_deref().unwrap_or(Path::new("/dev/null"));
    let stdin = File::open(input).map_err(|error| Obstacle::about(input.display(), &error))?;
    let of_program = |error| Obstacle::about(&assignment.program, &error);
    let args = std::iter::once(&assignment.program).chain(&assignment.args).map(|arg| text(arg));
    let env = assignment.env.iter().map(|(name, value)| variable(name, value));
    let file = find(assignment)?;
    let mut program = Program {
        file: &file,
        args: args.collect::<io::Result<_>>().map_err(of_program)?,
        env: env.collect::<io::Result<_>>().map_err(of_program)?,
        cwd: &assignment.cwd,
        streams: [stdin.as_fd(), outputs[0].as_fd(), outputs[1].as_fd()],
    };
    let mut started = spawner.start(&program);
    if matches!(&started, Err(NotStarted::Other(error)) if is_unknown(error)) && is_script(&file) {
        // A script that does not say who reads it is for the shell, as everywhere else.
        let script = CString::new(file.as_os_str().as_bytes()).map_err(|error| of_program(error.into()))?;
        program.args.splice(..1, [c"sh".to_owned(), script]);
        program.file = Path::new(SHELL);
        started = spawner.start(&program);
    }
    started.map_err(|not| match not {
        NotStarted::NoFolder(error) => Obstacle::about(assignment.cwd.display(), &error),
        NotStarted::Other(error) => of_program(error),
    })
}

/// Whether the kernel does not know what sort of a program it is.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error())
}

/// Whether there is text in a file, which a program of another machine is not.
fn is_script(file: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    read.is_ok() && !beginning.is_empty() && !beginning.contains(&0)
}

/// The program's file. A name without a slash is looked for in the worker's own `PATH`, not in ours.
fn find(assignment: &Assignment) -> Result<PathBuf, Obstacle> {
    if assignment.program.contains('/') {
        return Ok(assignment.cwd.join(&assignment.program));
    }
    let path = assignment.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let not_found =
        || Obstacle::new(format!("{}: not found in PATH ({})", assignment.program, path.unwrap_or("not set")));
    in_path(&assignment.program, path).ok_or_else(not_found)
}

/// Milliseconds since 1970, to be shown only.
fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
