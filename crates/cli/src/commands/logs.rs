//! `logs`: what the last attempt at a task printed, or that at each task. On a terminal nothing of it can steer the terminal.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use team_executor_beneath::{open_regular, ours};
use team_executor_core::TaskIndex;
use team_executor_engine::{Status, control};
use team_executor_files::{Code, Finding};
use team_executor_store::Changes;
use team_executor_store::run_folder::LOGS;

use super::status;
use crate::args::{Format, Logs};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// How often is looked whether an executor still has the run.
const LOOK: Duration = Duration::from_secs(1);

/// Finds the newest run and the last attempts in it, and prints both streams of each.
pub(crate) fn run(session: Option<&Path>, options: &Logs, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (session, graph) = open::runnable(&opened)?;
    let only = options.task.as_ref().map(|id| open::task(&opened, id).map(|(_, _, task)| task)).transpose()?;
    let chosen = only.map_or_else(|| graph.order().to_vec(), |task| vec![task]);
    let never_tried = || never_tried(options.task.as_deref(), &opened.path);
    let mut status = status::newest(session, graph, &opened.path)?.ok_or_else(never_tried)?;
    let journal = status::journal(&status);
    let watch = Changes::adding_to(&[&status.folder.join(LOGS), &journal]);
    let mut tried = vec![0; session.tasks.len()];
    let (mut attempts, mut seen) = (Vec::new(), 0);
    loop {
        let is_heard = control::is_heard(&status.folder);
        // What comes while it is read makes it longer, and is read the next time.
        let length = ours::look_at(&journal).map_or(0, |file| file.st_size);
        if options.follow && length != std::mem::replace(&mut seen, length) {
            status = status::newest(session, graph, &opened.path)?.unwrap_or(status);
        }
        for task in &chosen {
            let (number, id) = (status.attempts[task.get()], session.tasks[task.get()].id.as_str());
            if number > std::mem::replace(&mut tried[task.get()], number) {
                attempts.extend(status.logs(*task, id).map(|paths| Attempt::new(*task, number, paths)));
            }
        }
        let goes_on = options.follow && is_heard && !status.finished;
        // What it printed can have escape sequences in it, which are its own.
        let mut out = BufWriter::with_capacity(1 << 16, printer.raw_out()?);
        for mut attempt in std::mem::take(&mut attempts) {
            let is_at_work = goes_on && attempt.is_at_work(&status);
            let id = session.tasks[attempt.task.get()].id.as_str();
            attempt.copy(&Form::of(options, id, attempt.number), !is_at_work, &mut out)?;
            attempts.extend(is_at_work.then_some(attempt));
        }
        out.flush()?;
        drop(out);
        // One task is waited for until it is tried, and then as long as it is tried.
        let is_waiting = |task: TaskIndex| tried[task.get()] == 0 && !status.statuses[task.get()].is_over();
        let is_over = !goes_on || only.is_some_and(|task| attempts.is_empty() && !is_waiting(task));
        if is_over && tried.iter().all(|number| *number == 0) {
            return Err(never_tried().into());
        }
        if is_over || printer.nobody_reads() {
            return Ok(Exit::Fine);
        }
        watch.wait(Some(LOOK));
    }
}

fn never_tried(task: Option<&str>, path: &str) -> Finding {
    let message = task.map_or_else(|| "no task was tried yet".to_owned(), |id| format!("task '{id}' was never tried"));
    let help = format!("team-executor status {} shows how the run stands", escape::session(path));
    Finding::error(Code::Usage, message).help(help)
}

/// How lines are printed.
enum Form<'a> {
    /// With control characters made visible.
    Visible,
    /// Byte for byte, each stream on lines of its own.
    Raw,
    /// Each behind its task; visible as above, or byte for byte.
    Led { task: &'a str, is_visible: bool },
    /// As objects.
    Json { task: &'a str, attempt: u32 },
}

impl<'a> Form<'a> {
    fn of(options: &Logs, task: &'a str, attempt: u32) -> Self {
        let is_visible = std::io::stdout().is_terminal();
        match options.format {
            Format::Json => Self::Json { task, attempt },
            Format::Text if options.task.is_none() => Self::Led { task, is_visible },
            Format::Text if is_visible => Self::Visible,
            Format::Text => Self::Raw,
        }
    }
}

/// An attempt, as far as it was printed.
struct Attempt {
    task: TaskIndex,
    number: u32,
    streams: [Stream; 2],
    /// The stream that left a line open: bytes of it belong to that line.
    open: Option<&'static str>,
}

impl Attempt {
    fn new(task: TaskIndex, number: u32, [out, err]: [PathBuf; 2]) -> Self {
        Self { task, number, streams: [Stream::new("stdout", out), Stream::new("stderr", err)], open: None }
    }

    fn is_at_work(&self, status: &Status) -> bool {
        status.running.iter().any(|running| running.task == self.task && running.attempt == self.number)
    }

    /// Prints what has come since the last time; at the end also lines that were never ended.
    fn copy(&mut self, form: &Form<'_>, is_end: bool, out: &mut impl Write) -> Result<(), Failure> {
        self.streams.iter_mut().try_for_each(|stream| stream.copy(form, is_end, &mut self.open, out))
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    version: u32,
    r#type: &'static str,
    task: &'a str,
    attempt: u32,
    stream: &'static str,
    text: &'a str,
}

/// One stream of an attempt, and how far it was printed.
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

    /// Prints what has come since the last time; at the end also a line that was never ended. Bytes of the stream that left a
    /// line `open` belong to it.
    fn copy(
        &mut self,
        form: &Form<'_>,
        is_end: bool,
        open: &mut Option<&'static str>,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        if self.file.is_none() {
            self.file = match open_regular(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None, // an attempt that never ran has no output
                Err(error) => return Err(io::Error::other(format!("{}: {error}", self.path.display())).into()),
                Ok(file) => Some(file),
            };
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = [0; 1 << 16];
        loop {
            let length = file.read(&mut bytes)?;
            if length == 0 {
                break;
            }
            if matches!(form, Form::Raw) {
                raw(&bytes[..length], self.name, open, out)?;
                continue;
            }
            for part in bytes[..length].split_inclusive(|byte| *byte == b'\n') {
                self.begun.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    self.begun.pop();
                    print(&self.begun, self.name, form, out)?;
                    self.begun.clear();
                }
            }
        }
        if is_end && !self.begun.is_empty() {
            print(&std::mem::take(&mut self.begun), self.name, form, out)?;
        }
        Ok(())
    }
}

/// Prints bytes as they are. A line of the other stream that was never ended is ended first.
fn raw(
    bytes: &[u8],
    stream: &'static str,
    open: &mut Option<&'static str>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if open.is_some_and(|other| other != stream) {
        writeln!(out)?;
    }
    out.write_all(bytes)?;
    *open = (!bytes.ends_with(b"\n")).then_some(stream);
    Ok(())
}

fn print(line: &[u8], stream: &'static str, form: &Form<'_>, out: &mut impl Write) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r');
    match form {
        Form::Json { task, attempt } => {
            let line = JsonLine { version: 1, r#type: "log_line", task, attempt: *attempt, stream, text };
            serde_json::to_writer(&mut *out, &line).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Form::Led { task, is_visible: false } => {
            write!(out, "{} | ", escape::line(task))?;
            out.write_all(line)?;
            writeln!(out)?;
        }
        Form::Led { task, is_visible: true } => writeln!(out, "{} | {}", escape::line(task), escape::line(text))?,
        Form::Visible | Form::Raw => writeln!(out, "{}", escape::line(text))?,
    }
    Ok(())
}
