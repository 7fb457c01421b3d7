//! A command of this program in a process of its own, which outlives its starter: a run, for a client that may leave.

#![expect(clippy::disallowed_methods, reason = "this program itself, for a run that outlives its client")]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::Value;
use team_executor_beneath::{Dir, How, io_error};
use team_executor_files::{Code, Finding};

use crate::App;
use crate::error::Error;

/// The first argument with which this program starts itself in a session of its own.
pub(crate) const DETACHED: &str = "__detached";
/// The longest line of events that is kept.
const LINE_BYTES: usize = 4 << 20;

impl App {
    /// Starts a command of this program apart from this process and its client, in a folder: neither's end is its own.
    /// Nothing else starts this program for a user.
    pub fn start_apart(&self, words: &[String], folder: &Path) -> Result<Events, Error> {
        let exe = self.exe()?;
        begin(exe, words, folder).map_err(|error| {
            let finding = Finding::error(Code::Usage, format!("team-executor could not be started: {error}"));
            Error::io(finding.help("try it again; `team-executor doctor` in a terminal looks for the cause"))
        })
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
