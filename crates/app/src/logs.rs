//! What the last attempt at a task printed, or that at each task: line by line or byte for byte, also while it goes on.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use team_executor_beneath::{open_regular, ours};
use team_executor_core::TaskIndex;
use team_executor_engine::{Status, control};
use team_executor_files::{Code, Finding};
use team_executor_store::Changes;
use team_executor_store::run_folder::LOGS;

use crate::error::Error;
use crate::open::Opened;
use crate::status::journal;
use crate::{App, escape};

/// How often is looked whether an executor still has the run.
const LOOK: Duration = Duration::from_secs(1);

/// A piece of what an attempt printed: a line without its end, or bytes as they came.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The task.
    pub task: &'a str,
    /// Which attempt at it.
    pub attempt: u32,
    /// `stdout` or `stderr`.
    pub stream: &'static str,
    /// What was printed.
    pub bytes: &'a [u8],
}

/// Where the output of attempts goes.
pub type Sink<'a> = dyn FnMut(&Piece<'_>) + 'a;

/// A line, for programs.
#[derive(Debug, Serialize)]
pub struct JsonLine<'a> {
    version: u32,
    r#type: &'static str,
    task: &'a str,
    attempt: u32,
    stream: &'static str,
    text: &'a str,
}

impl Piece<'_> {
    /// The text of a line.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes).trim_end_matches('\r').to_owned()
    }

    /// A line with this text, for programs.
    pub fn json<'a>(&'a self, text: &'a str) -> JsonLine<'a> {
        let Self { task, attempt, stream, .. } = *self;
        JsonLine { version: 1, r#type: "log_line", task, attempt, stream, text }
    }
}

/// What attempts of a run printed, as far as it was read.
#[derive(Debug)]
pub struct Logs<'a> {
    app: &'a App,
    opened: &'a Opened,
    /// The one task that is meant, if not all are.
    only: Option<(TaskIndex, &'a str)>,
    chosen: Vec<TaskIndex>,
    follow: bool,
    in_lines: bool,
    status: Status,
    watch: Changes,
    /// Of each task the last attempt that was seen.
    tried: Vec<u32>,
    attempts: Vec<Attempt>,
    /// How long the journal was.
    seen: i64,
}

impl App {
    /// What the last attempt at a task of the newest run printed, or that at each task.
    pub fn logs<'a>(
        &'a self,
        opened: &'a Opened,
        task: Option<&'a str>,
        follow: bool,
        in_lines: bool,
    ) -> Result<Logs<'a>, Error> {
        let (session, graph) = opened.runnable()?;
        let only = task.map(|id| opened.task(id).map(|(_, _, task)| (task, id))).transpose()?;
        let chosen = only.map_or_else(|| graph.order().to_vec(), |(task, _)| vec![task]);
        let status = self.status(opened)?.ok_or_else(|| never_tried(task, &opened.path))?;
        let watch = Changes::adding_to(&[&status.folder.join(LOGS), &journal(&status)]);
        let tried = vec![0; session.tasks.len()];
        let (app, attempts) = (self, Vec::new());
        Ok(Logs { app, opened, only, chosen, follow, in_lines, status, watch, tried, attempts, seen: 0 })
    }
}

impl Logs<'_> {
    /// Reads what has come since the last time, and says whether more may come.
    pub fn read(&mut self, sink: &mut Sink<'_>) -> Result<bool, Error> {
        let (session, _) = self.opened.runnable()?;
        let is_heard = control::is_heard(&self.status.folder);
        // What comes while it is read makes it longer, and is read the next time.
        let length = ours::look_at(&journal(&self.status)).map_or(0, |file| file.st_size);
        if self.follow
            && length != std::mem::replace(&mut self.seen, length)
            && let Some(now) = self.app.status(self.opened)?
        {
            self.status = now;
        }
        for task in &self.chosen {
            let (number, id) = (self.status.attempts[task.get()], session.tasks[task.get()].id.as_str());
            if number > std::mem::replace(&mut self.tried[task.get()], number) {
                self.attempts.extend(self.status.logs(*task, id).map(|paths| Attempt::new(*task, number, paths)));
            }
        }
        let goes_on = self.follow && is_heard && !self.status.finished;
        for mut attempt in std::mem::take(&mut self.attempts) {
            let is_at_work = goes_on && attempt.is_at_work(&self.status);
            let id = session.tasks[attempt.task.get()].id.as_str();
            attempt.read(id, self.in_lines, !is_at_work, sink)?;
            self.attempts.extend(is_at_work.then_some(attempt));
        }
        // One task is waited for until it is tried, and then as long as it is tried.
        let is_waiting = |task: TaskIndex| self.tried[task.get()] == 0 && !self.status.statuses[task.get()].is_over();
        let is_over = !goes_on || self.only.is_some_and(|(task, _)| self.attempts.is_empty() && !is_waiting(task));
        if is_over && self.tried.iter().all(|number| *number == 0) {
            return Err(never_tried(self.only.map(|(_, id)| id), &self.opened.path).into());
        }
        Ok(!is_over)
    }

    /// Waits until something may have come.
    pub fn wait(&self) {
        self.watch.wait(Some(LOOK));
    }
}

fn never_tried(task: Option<&str>, path: &str) -> Finding {
    let message = task.map_or_else(|| "no task was tried yet".to_owned(), |id| format!("task '{id}' was never tried"));
    let help = format!("team-executor status {} shows how the run stands", escape::session(path));
    Finding::error(Code::Usage, message).help(help)
}

/// An attempt, as far as it was read.
#[derive(Debug)]
struct Attempt {
    task: TaskIndex,
    number: u32,
    streams: [Stream; 2],
}

impl Attempt {
    fn new(task: TaskIndex, number: u32, [out, err]: [PathBuf; 2]) -> Self {
        Self { task, number, streams: [Stream::new("stdout", out), Stream::new("stderr", err)] }
    }

    fn is_at_work(&self, status: &Status) -> bool {
        status.running.iter().any(|running| running.task == self.task && running.attempt == self.number)
    }

    /// Reads what has come since the last time; at the end also lines that were never ended.
    fn read(&mut self, task: &str, in_lines: bool, is_end: bool, sink: &mut Sink<'_>) -> Result<(), Error> {
        let attempt = self.number;
        for stream in &mut self.streams {
            let name = stream.name;
            let mut each = |bytes: &[u8]| sink(&Piece { task, attempt, stream: name, bytes });
            stream.read(in_lines, is_end, &mut each).map_err(|error| stream.unreadable(&error))?;
        }
        Ok(())
    }
}

/// One stream of an attempt, and how far it was read.
#[derive(Debug)]
struct Stream {
    name: &'static str,
    path: PathBuf,
    file: Option<File>,
    /// The begin of a line whose end is not there yet.
    begun: Vec<u8>,
}

impl Stream {
    fn new(name: &'static str, path: PathBuf) -> Self {
        Self { name, path, file: None, begun: Vec::new() }
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        let finding = Finding::error(Code::FileUnreadable, format!("cannot read {}: {error}", self.path.display()));
        Error::io(finding.help("once the cause is gone, the same command works"))
    }

    /// Reads what has come since the last time, in lines or as it came; at the end also a line that was never ended.
    fn read(&mut self, in_lines: bool, is_end: bool, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.file.is_none() {
            self.file = match open_regular(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None, // an attempt that never ran has no output
                file => Some(file?),
            };
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = [0; 1 << 16];
        loop {
            let length = file.read(&mut bytes)?;
            if length == 0 {
                break;
            }
            if !in_lines {
                each(&bytes[..length]);
                continue;
            }
            for part in bytes[..length].split_inclusive(|byte| *byte == b'\n') {
                self.begun.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    self.begun.pop();
                    each(&self.begun);
                    self.begun.clear();
                }
            }
        }
        if is_end && !self.begun.is_empty() {
            each(&std::mem::take(&mut self.begun));
        }
        Ok(())
    }
}
