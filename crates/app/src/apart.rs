//! A command of this program in a process of its own, which outlives its starter: a run, for a client that may leave, or for
//! a terminal that is wanted for something else.

#![expect(clippy::disallowed_methods, reason = "this program itself, for a run that outlives its client")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::Value;
use team_executor_agents::browse;
use team_executor_beneath::{Dir, How, io_error, open_file};
use team_executor_engine::control;
use team_executor_files::{Code, Finding};
use team_executor_store::Changes;
use team_executor_store::run_folder::{EXECUTOR, run_path};

use crate::App;
use crate::error::Error;

/// The first argument with which this program starts itself in a session of its own.
pub(crate) const DETACHED: &str = "__detached";
/// The same, without a process in between: the starter learns how the command ended.
pub(crate) const BACKGROUND: &str = "__background";
/// In the executor's folder: the output of a run in the background.
const CONSOLE: &str = "console.log";
/// The longest line of events that is kept.
const LINE_BYTES: usize = 4 << 20;
/// How long a run that has begun may take until it can be asked, and how often is looked.
const LISTENS: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(50);
/// Stands before the name of the run where its output moves to its console. No text that is printed has it.
const MOVED: char = '\0';

impl App {
    /// Starts a command of this program apart from this process and its client, in a folder: neither's end is its own.
    /// Nothing else starts this program for a user.
    pub fn start_apart(&self, words: &[String], folder: &Path) -> Result<Events, Error> {
        let exe = self.exe()?;
        begin(exe, words, folder).map_err(not_started)
    }

    /// Starts a command of this program, whose words are given, in a session of its own, and waits until its run has begun or
    /// the command has ended.
    pub fn start_in_background(&self, words: &[OsString], console: &Console) -> Result<Background, Error> {
        let (mut child, printed) = in_background(self.exe()?, words).map_err(not_started)?;
        let launched = launched(&mut child, printed).map_err(not_started)?;
        if let Ok(begun) = &launched.run {
            listens(&console.executor(&begun.name), &mut child);
        }
        Ok(launched)
    }
}

/// A page beside a run: it learns that this process has ended by the end of its input, whatever ended it.
#[derive(Debug)]
pub struct Beside {
    address: String,
    _input: ChildStdin,
}

impl Beside {
    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl App {
    /// Starts the page of a session in a process of its own, and waits until it is there. Signals for this process do not reach it.
    pub fn start_page(&self, session: &Path) -> Result<Beside, Error> {
        let mut session_flag = OsString::from("--session=");
        session_flag.push(session);
        let start = || -> io::Result<Beside> {
            let exe = self.exe().map_err(|error| io::Error::other(error.to_string()))?;
            let mut command = Command::new(exe);
            command.args(["ui", "--beside"]).arg(session_flag).process_group(0);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
            let (input, output) = (child.stdin.take(), child.stdout.take());
            let mut line = String::new();
            output.map(BufReader::new).map(|mut output| output.read_line(&mut line)).transpose()?;
            let address = line.split_once("http").map(|(_, rest)| format!("http{}", rest.trim_end()));
            let gone = || io::Error::other("it ended at once");
            Ok(Beside { address: address.ok_or_else(gone)?, _input: input.ok_or_else(gone)? })
        };
        start().map_err(not_started)
    }

    /// Opens a file in the user's browser, where there is a screen for one. Whether that was begun.
    pub fn browse(&self, file: &Path) -> bool {
        let has_screen =
            ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| self.variable(name).is_some_and(|it| !it.is_empty()));
        (has_screen || cfg!(target_os = "macos")) && browse(file, &self.variables()).unwrap_or(false)
    }
}

fn not_started(error: io::Error) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot start team-executor: {error}"));
    Error::io(finding.help("try again; `team-executor doctor` in a terminal looks for the cause"))
}

/// A run that was started in the background.
#[derive(Debug)]
pub struct Background {
    /// What the command printed until then.
    pub printed: String,
    /// Its run, or the exit code with which it ended before one began.
    pub run: Result<Begun, u8>,
}

/// A run that goes on in the background.
#[derive(Debug)]
pub struct Begun {
    /// Its name.
    pub name: String,
    /// The process that executes it.
    pub process: u32,
}

fn in_background(exe: &Path, words: &[OsString]) -> io::Result<(Child, File)> {
    let (printed, read) = unnamed()?;
    flock(&printed, FlockOperation::NonBlockingLockExclusive)?;
    let mut command = Command::new(exe);
    command.arg(BACKGROUND).args(words).stdin(Stdio::null());
    command.stdout(printed.try_clone()?).stderr(printed);
    Ok((command.spawn()?, read))
}

/// Waits until a command has moved its output away, or has ended: then its lock on the file is gone.
fn launched(child: &mut Child, mut read: File) -> io::Result<Background> {
    flock(&read, FlockOperation::LockShared)?;
    let mut bytes = Vec::new();
    read.read_to_end(&mut bytes)?;
    let printed = String::from_utf8_lossy(&bytes);
    if let Some((printed, name)) = printed.split_once(MOVED) {
        let begun = Begun { name: name.trim_end().to_owned(), process: child.id() };
        return Ok(Background { printed: printed.to_owned(), run: Ok(begun) });
    }
    // One that a signal ended has no code.
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Ok(Background { printed: printed.into_owned(), run: Err(code) })
}

/// Waits until the executor of a run can be asked, so that the next command finds it; not when it has ended already.
fn listens(folder: &Path, child: &mut Child) {
    let Some(run) = folder.parent() else { return };
    let changes = Changes::watch([folder]);
    let begin = Instant::now();
    while begin.elapsed() < LISTENS && !control::is_heard(run) && matches!(child.try_wait(), Ok(None)) {
        changes.wait(Some(GLANCE));
    }
}

/// Where a run in the background prints.
#[derive(Debug)]
pub struct Console {
    project: PathBuf,
}

impl Console {
    /// Of the runs of a project.
    pub(crate) fn new(project: PathBuf) -> Self {
        Self { project }
    }

    /// The file of a run.
    pub fn path(&self, run: &str) -> PathBuf {
        self.executor(run).join(CONSOLE)
    }

    fn executor(&self, run: &str) -> PathBuf {
        run_path(&self.project, run).join(EXECUTOR)
    }

    /// Tells the starter that the run has begun, and moves standard output and standard error to the run's own file.
    pub fn take_over(&self, run: &str) -> io::Result<()> {
        let file = open_file(&self.path(run), How::Append)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{MOVED}{run}")?;
        out.flush()?;
        rustix::stdio::dup2_stdout(&file)?;
        rustix::stdio::dup2_stderr(&file)?;
        Ok(())
    }
}

fn begin(exe: &Path, words: &[String], folder: &Path) -> io::Result<Events> {
    let (printed, read) = unnamed()?;
    // It is held until the last process has closed the file that has it for its output.
    flock(&printed, FlockOperation::NonBlockingLockExclusive)?;
    let mut command = Command::new(exe);
    command.arg(DETACHED).args(words).current_dir(folder).stdin(Stdio::null());
    command.stdout(printed.try_clone()?).stderr(printed).spawn()?.wait()?;
    Ok(Events { file: read, begun: Vec::new(), position: 0 })
}

/// What a command prints that was started apart: a file without a name, so that nothing is left of it.
#[derive(Debug)]
pub struct Events {
    file: File,
    begun: Vec<u8>,
    position: u64,
}

impl Events {
    /// Whether the command has ended. What it printed last is there then.
    pub fn are_over(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok()
    }

    /// The events that have come since the last time.
    pub fn news(&mut self) -> io::Result<Vec<Value>> {
        self.file.seek(SeekFrom::Start(self.position))?;
        let read = (&self.file).take(LINE_BYTES as u64).read_to_end(&mut self.begun)?;
        self.position += read as u64;
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else {
            if self.begun.len() > LINE_BYTES {
                self.begun.clear();
            }
            return Ok(Vec::new());
        };
        let rest = self.begun.split_off(end + 1);
        let lines = std::mem::replace(&mut self.begun, rest);
        Ok(lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

/// The other side of [`DETACHED`]: leaves the session of its starter, starts the rest of its arguments there, and ends,
/// so that the command that goes on has no parent of ours.
pub(crate) fn detached() -> ExitCode {
    let started = rustix::process::setsid().map_err(io::Error::from).and_then(|_| {
        let exe = std::env::current_exe()?;
        Command::new(exe).args(std::env::args_os().skip(2)).spawn()
    });
    if started.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The other side of [`BACKGROUND`]: becomes the rest of its arguments, in a session of its own.
pub(crate) fn background() -> ExitCode {
    let error = rustix::process::setsid().map_err(io::Error::from).and_then(|_| {
        let exe = std::env::current_exe()?;
        Err::<(), _>(Command::new(exe).args(std::env::args_os().skip(2)).exec())
    });
    writeln!(io::stderr(), "error: cannot start team-executor: {}", error.err().unwrap_or_else(|| Errno::IO.into()))
        .ok();
    ExitCode::FAILURE
}

/// A file without a name: to be written, and to be read.
fn unnamed() -> io::Result<(File, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("team-executor-{}-{number}", std::process::id());
        let folder = Dir::open(&std::env::temp_dir()).map_err(io_error)?;
        let file = match folder.file(&name, How::CreateNew) {
            Err(Errno::EXIST) => continue,
            file => file.map_err(io_error)?,
        };
        let read = folder.file(&name, How::Read);
        folder.remove(&name).map_err(io_error)?;
        return Ok((file, read.map_err(io_error)?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_line_by_line_and_their_end_is_told_by_the_lock() {
        use std::io::Write as _;
        let (mut out, read) = unnamed().unwrap();
        flock(&out, FlockOperation::NonBlockingLockExclusive).unwrap();
        let mut events = Events { file: read, begun: Vec::new(), position: 0 };
        out.write_all(b"{\"a\":1}\nno event\n{\"b\"").unwrap();
        assert_eq!(events.news().unwrap(), [serde_json::json!({"a": 1})]);
        assert!(!events.are_over());
        out.write_all(b":2}\n").unwrap();
        drop(out);
        assert!(events.are_over());
        assert_eq!(events.news().unwrap(), [serde_json::json!({"b": 2})]);
    }
}
