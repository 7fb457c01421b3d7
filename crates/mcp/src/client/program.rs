//! This program, started as a user would start it: asked and waited for, or apart from the client.

#![expect(clippy::disallowed_methods, reason = "this program itself, for a run that outlives its client")]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::Value;
use team_executor_beneath::{Dir, How, io_error};
use team_executor_engine::bus::Refusal;

use super::room::ANSWER_BYTES;

/// The first argument with which this program starts itself in a session of its own.
pub const DETACHED: &str = "__detached";
/// The most that is read of what a command answers; a client is given what it has room for.
const READ_BYTES: u64 = 16 << 20;
/// The longest line of events that is kept.
const LINE_BYTES: usize = 4 << 20;

/// This program, and the flags with which it runs sessions.
#[derive(Debug)]
pub struct Program {
    /// Where it is.
    pub exe: PathBuf,
    /// What the user has settled for all runs.
    pub flags: Vec<Flag>,
}

/// A flag as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its long name.
    pub name: String,
    /// The whole word: `--name` or `--name=value`.
    pub word: String,
}

/// What a command printed.
pub(super) enum Printed {
    /// One document.
    Document(Value),
    /// Objects, one a line.
    Lines(Vec<Value>),
    /// Something else.
    Text(String),
}

impl Program {
    /// The user's flags, but for those that a call settles itself.
    pub(super) fn flags<'p>(&'p self, settled: &'p [&str]) -> impl Iterator<Item = String> + 'p {
        let open = self.flags.iter().filter(|flag| !settled.contains(&flag.name.as_str()));
        open.map(|flag| flag.word.clone())
    }

    /// Runs a command to its end, without the user's flags, and gives what it printed. What it refuses is refused.
    pub(super) async fn ask(&self, words: Vec<String>, folder: &Path) -> Result<Printed, Refusal> {
        let mut command = Command::new(&self.exe);
        command.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let printed = tokio::task::spawn_blocking(move || output(command)).await.map_err(io::Error::other);
        let printed = printed.and_then(|printed| printed).map_err(|error| unstarted(&error))?;
        understood(printed)
    }

    /// Starts a command apart from this process and from the client: neither's end is its own.
    pub(super) fn start(&self, words: &[String], folder: &Path) -> Result<Events, Refusal> {
        self.begin(words, folder).map_err(|error| unstarted(&error))
    }

    fn begin(&self, words: &[String], folder: &Path) -> io::Result<Events> {
        let (printed, read) = unnamed()?;
        // It is held until the last process has closed the file that has it for its output.
        flock(&printed, FlockOperation::NonBlockingLockExclusive)?;
        let mut command = Command::new(&self.exe);
        command.arg(DETACHED).args(words).current_dir(folder).stdin(Stdio::null());
        command.stdout(printed.try_clone()?).stderr(printed).spawn()?.wait()?;
        Ok(Events { file: read, begun: Vec::new(), position: 0 })
    }
}

/// What a command prints that was started apart: a file without a name, so that nothing is left of it.
#[derive(Debug)]
pub(super) struct Events {
    file: File,
    begun: Vec<u8>,
    position: u64,
}

impl Events {
    /// Whether the command has ended. What it printed last is there then.
    pub(super) fn are_over(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok()
    }

    /// The events that have come since the last time.
    pub(super) fn news(&mut self) -> io::Result<Vec<Value>> {
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

/// The other side of [`DETACHED`]: leaves the session of whoever started it, starts the rest of its arguments there, and ends,
/// so that nobody is the parent of what goes on.
pub fn detached() -> ExitCode {
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

/// What a command prints, as far as there is room.
fn output(mut command: Command) -> io::Result<Vec<u8>> {
    let mut child = command.spawn()?;
    let mut bytes = Vec::new();
    let read = child.stdout.take().map(|out| out.take(READ_BYTES + 1).read_to_end(&mut bytes));
    // Nobody reads the rest of it.
    child.wait()?;
    read.transpose()?;
    Ok(bytes)
}

fn understood(bytes: Vec<u8>) -> Result<Printed, Refusal> {
    let too_long = |most: u64| Refusal {
        what: format!("the answer has more than {most} bytes"),
        help: "use the command of the same name in a terminal".to_owned(),
    };
    if bytes.len() as u64 > READ_BYTES {
        return Err(too_long(READ_BYTES));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let printed = match serde_json::from_str(&text) {
        Ok(value) => Printed::Document(value),
        Err(_) => match text.lines().map(serde_json::from_str).collect() {
            Ok(lines) => Printed::Lines(lines),
            // Of a picture the beginning is nothing.
            Err(_) if text.len() > ANSWER_BYTES => return Err(too_long(ANSWER_BYTES as u64)),
            Err(_) => Printed::Text(text),
        },
    };
    let refused = match &printed {
        Printed::Document(value) => refusal(value),
        Printed::Lines(lines) => lines.iter().find_map(refusal),
        Printed::Text(_) => None,
    };
    refused.map_or(Ok(printed), Err)
}

/// What an event refuses, if it is one that does.
pub(super) fn refusal(event: &Value) -> Option<Refusal> {
    let is_refused = event["type"] == "refused";
    let help = event["help"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let what = event["message"].as_str().unwrap_or_default().to_owned();
    is_refused.then(|| Refusal { what, help: help.join("\n") })
}

fn unstarted(error: &io::Error) -> Refusal {
    Refusal {
        what: format!("team-executor could not be started: {error}"),
        help: "try it again; `team-executor doctor` in a terminal looks for the cause".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_with_its_help_and_the_rest_is_data() {
        let refused = br#"{"type":"refused","message":"no","help":["a","b"]}"#.to_vec();
        let Err(refusal) = understood(refused) else { panic!("it is refused") };
        assert_eq!((refusal.what.as_str(), refusal.help.as_str()), ("no", "a\nb"));
        assert!(matches!(understood(b"{\n \"a\": 1\n}\n".to_vec()), Ok(Printed::Document(_))));
        assert!(
            matches!(understood(b"{\"a\":1}\n{\"b\":1}\n".to_vec()), Ok(Printed::Lines(lines)) if lines.len() == 2)
        );
        assert!(matches!(understood(b"<svg/>".to_vec()), Ok(Printed::Text(_))));
        assert!(understood([b"<svg>".as_slice(), &[b' '; 1 << 20]].concat()).is_err(), "half a picture is none");
        let long = [b"[1".as_slice(), &[b' '; 1 << 20], b"]"].concat();
        assert!(matches!(understood(long), Ok(Printed::Document(_))));
        assert!(understood(vec![b' '; 17 << 20]).is_err());
    }

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
