//! `logs`: what the last attempt at a task printed. On a terminal nothing that it printed can steer the terminal.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use team_executor_engine::{Status, control};
use team_executor_files::{Code, Finding};

use super::status;
use crate::args::{Format, Logs};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;
use crate::watch::Watch;

/// How often is looked whether an executor still has the run.
const LOOK: Duration = Duration::from_secs(1);

/// Finds the newest run and the last attempt in it, and prints both of its streams.
pub(crate) fn run(session: Option<&Path>, options: &Logs, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (session, graph, task) = open::task(&opened, &options.task)?;
    let found = status::newest(session, graph, &opened.path)?;
    let logs = found.as_ref().and_then(|status| status.logs(task, &options.task));
    let (Some(mut status), Some([out, err])) = (found, logs) else {
        let finding = Finding::error(Code::Usage, format!("task '{}' was never tried", options.task));
        let named = escape::session(&opened.path);
        return Err(finding.help(format!("team-executor status {named} shows how the run stands")).into());
    };
    let attempt = status.attempts[task.get()];
    let form = match options.format {
        Format::Json => Form::Json { task: &options.task, attempt },
        Format::Text if std::io::stdout().is_terminal() => Form::Visible,
        Format::Text => Form::Raw,
    };
    let watch = watch(&status, &out);
    let mut streams = [Stream::new("stdout", out), Stream::new("stderr", err)];
    let (mut seen, mut open) = (0, None);
    loop {
        let is_heard = control::is_heard(&status.folder);
        // What comes while it is read makes it longer, and is read the next time.
        let length = std::fs::metadata(status::journal(&status)).map_or(0, |file| file.len());
        if options.follow && length != std::mem::replace(&mut seen, length) {
            status = status::newest(session, graph, &opened.path)?.unwrap_or(status);
        }
        let is_at_work = status.running.iter().any(|it| it.task == task && it.attempt == attempt);
        let goes_on = options.follow && is_at_work && is_heard;
        // What it printed can have escape sequences in it, which are its own.
        let mut out = BufWriter::with_capacity(1 << 16, printer.raw_out()?);
        for stream in &mut streams {
            stream.copy(&form, !goes_on, &mut open, &mut out)?;
        }
        out.flush()?;
        drop(out);
        if !goes_on || printer.nobody_reads() {
            return Ok(Exit::Fine);
        }
        watch.wait(Some(LOOK));
    }
}

/// Tells when the attempt printed something, or when something happened in the run.
fn watch(status: &Status, log: &Path) -> Watch {
    let folder = log.parent().unwrap_or(log);
    Watch::new(&[folder, &status::journal(status)])
}

/// How lines are printed.
enum Form<'a> {
    /// With control characters made visible.
    Visible,
    /// Byte for byte, each stream on lines of its own.
    Raw,
    /// As objects.
    Json { task: &'a str, attempt: u32 },
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
            self.file = File::open(&self.path).ok(); // an attempt that never ran has no output
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
        Form::Visible | Form::Raw => writeln!(out, "{}", escape::line(text))?,
    }
    Ok(())
}
