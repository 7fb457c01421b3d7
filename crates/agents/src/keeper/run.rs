//! One assignment from beginning to end: the worker is noted, started and kept, what it delivered is made durable, and its end
//! is noted before it is announced. The keeper notes the exit of the worker before it does anything slow.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::Pid;
use team_executor_beneath::{How, Near, io_error};

use super::answer;
use super::copies::copy_aside;
use super::custody::{Custody, Unkillable};
use super::folders::{Folders, count_at};
use super::lifeline::Lifeline;
use crate::adapters::Ear;
use crate::capture::{Capture, Log};
use crate::cgroup::Cgroup;
use crate::durable::sync_below;
use crate::exit::{Ended, Exit, Obstacle};
use crate::ledger::{Entry, Ledger};
use crate::oom::Score;
use crate::probe::in_path;
use crate::protocol::{Assignment, KeeperMessage, Leftover};
use crate::seats::Seat;
use crate::token;
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
    /// The folders that logs and prompts are in.
    pub(super) logs: Near,
    pub(super) inputs: Near,
    /// Where workers can be made the first to end when memory runs out.
    pub(super) score: Option<Score>,
    pub(super) spawner: Spawner,
    pub(super) ends: Ends,
    pub(super) buffer: Vec<u8>,
}

impl Keeper<'_> {
    /// Carries out one assignment. If a process cannot be killed, the keeper must exit; the executor then ends
    /// the rest as far as possible.
    pub(super) fn run(&mut self, assignment: &Assignment, lifeline: &mut Lifeline) -> Result<(), Unkillable> {
        let mut exit = Exit::without_run(&assignment.key, Ended::Interrupted, wall_clock());
        // A new executor sees the ledger's lock. If ours died before it was taken, nothing may start.
        if !lifeline.is_gone() {
            match self.start_and_keep(assignment, lifeline, &mut exit) {
                Ok(kept) => kept?,
                Err(obstacle) => exit.ended = Ended::CouldNotStart(obstacle),
            }
        }
        exit.ended_at = wall_clock().max(exit.started_at);
        let entry = Entry::Ended(exit);
        let unrecorded = self.ledger.note(&entry).err().map(|error| error.to_string());
        if let Entry::Ended(exit) = entry {
            answer(&KeeperMessage::Ended { exit: Box::new(exit), unrecorded });
        }
        Ok(())
    }

    fn start_and_keep(
        &mut self,
        assignment: &Assignment,
        lifeline: &mut Lifeline,
        exit: &mut Exit,
    ) -> Result<Result<(), Unkillable>, Obstacle> {
        let seat = assignment.seat.as_deref().map(Seat::share).transpose();
        let _held_to_the_end = seat.map_err(|error| Obstacle::about("the machine's limit", &error))?;
        let cgroup = self.cgroup.map(|cgroup| cgroup.path().to_owned());
        let folder = assignment.artifacts.as_ref().and_then(|folder| Some(folder.file_name()?.to_str()?.to_owned()));
        let key = assignment.key.clone();
        let proof = token::proof_in(&assignment.env);
        self.ledger.note(&Entry::Started { key, keeper: std::process::id(), cgroup, folder, proof })?;
        if let Some(folder) = &assignment.artifacts {
            let prepared = self.prepare(folder, assignment, exit);
            prepared.map_err(|error| Obstacle::about(folder.display(), &error))?;
        }
        let ((out, to_out), (err, to_err)) = (io::pipe()?, io::pipe()?);
        let outputs = [to_out.into(), to_err.into()];
        let ([out_log, err_log], cap) = (&assignment.logs, assignment.output_cap);
        let ear = assignment.adapter.map(Ear::new);
        let out = Capture::new(out, self.log(out_log)?, cap).heard_by(ear);
        let streams = [out, Capture::new(err, self.log(err_log)?, cap)];
        let started = Instant::now();
        let stdin = self.stdin(assignment.stdin.as_deref())?;
        let spawner = &mut self.spawner;
        let mut spawn = || spawn(spawner, assignment, &stdin, &outputs);
        let worker = match &self.score {
            Some(score) => score.raised(spawn),
            None => spawn(),
        }?;
        let custody = Custody::new(assignment, worker, &self.ends, outputs, streams, started);
        let ledger = &mut self.ledger;
        let kept = custody.keep(lifeline, exit, &mut self.buffer, &mut |exit| note_exited(ledger, exit));
        if kept.is_err() {
            return Ok(kept);
        }
        if let Some(folder) = &assignment.artifacts {
            exit.artifacts = self.folders.take_back(folder);
            if exit.artifacts > 0 {
                note_exited(&mut self.ledger, exit);
                exit.undurable = sync_below(folder).err();
            }
        }
        Ok(Ok(()))
    }

    /// Sees to it that the worker's folder is there, and empty unless what is in it stays.
    fn prepare(&mut self, folder: &Path, assignment: &Assignment, exit: &mut Exit) -> io::Result<()> {
        let Assignment { aside, leftover, .. } = assignment;
        if *leftover == Leftover::Moves || !self.folders.keep(folder) {
            exit.aside = self.folders.give(folder, aside)?;
        } else if *leftover == Leftover::StaysCopied {
            exit.copied = Some(copy_aside(folder, aside)?);
        }
        Ok(())
    }

    /// The log at a path.
    fn log(&mut self, path: &Path) -> Result<Log, Obstacle> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = self.logs.folder_of(path).map_err(|error| Obstacle::about(path.display(), &error))?;
        Ok(Log::new(folder.clone(), name))
    }

    /// What the worker reads as its input: a file of the run, or nothing.
    fn stdin(&mut self, path: Option<&Path>) -> Result<File, Obstacle> {
        let Some(path) = path else {
            return null().map_err(|error| Obstacle::about("/dev/null", &error));
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = self.inputs.folder_of(path);
        let opened = folder.and_then(|folder| folder.file(name, How::Read).map_err(io_error));
        opened.map_err(|error| Obstacle::about(path.display(), &error))
    }
}

#[expect(clippy::disallowed_methods, reason = "it is not a file of a run")]
fn null() -> io::Result<File> {
    File::open("/dev/null")
}

/// Notes that the worker itself has ended, for the case that this keeper is killed before the rest is done.
fn note_exited(ledger: &mut Ledger, exit: &Exit) {
    let exit = Exit { ended_at: wall_clock().max(exit.started_at), ..exit.clone() };
    // If it cannot be noted, the end may still be.
    let _only_a_precaution = ledger.note(&Entry::Exited(exit));
}

/// Completes an end whose keeper was killed right after it had noted that: counts what the worker delivered into its folder, and
/// makes it durable.
pub(crate) fn complete(exit: &mut Exit, folder: &Path) {
    exit.artifacts = count_at(folder);
    exit.undurable = if exit.artifacts > 0 { sync_below(folder).err() } else { None };
}

/// Starts the worker in a process group of its own. The keeper's descriptors are closed in it.
fn spawn(
    spawner: &mut Spawner,
    assignment: &Assignment,
    stdin: &File,
    outputs: &[OwnedFd; 2],
) -> Result<Pid, Obstacle> {
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
#[expect(clippy::disallowed_methods, reason = "it is the program that the user chose")]
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
    match in_path(&assignment.program, path) {
        Ok(found) => found.ok_or_else(not_found),
        Err(error) => Err(Obstacle::new(error.to_string())),
    }
}

/// Milliseconds since 1970, to be shown only.
fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
