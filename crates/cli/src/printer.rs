//! The one way to the terminal: stdout for what was asked for, stderr for everything else.

use std::cell::Cell;
use std::io::{BufRead, BufWriter, ErrorKind, IsTerminal, Write};
use std::rc::Rc;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use team_executor_files::Sources;

use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;

/// The columns of lines that nothing limits.
const ENDLESS: usize = 1 << 16;

/// Standard output and standard error, with colours only where they are wanted.
pub(crate) struct Printer {
    out: BufWriter<Pipe<AutoStream<std::io::Stdout>>>,
    err: Pipe<AutoStream<std::io::Stderr>>,
    reader_is_gone: Rc<Cell<bool>>,
    is_live: bool,
    out_is_live: bool,
    width: usize,
}

impl Printer {
    /// Looks once at the terminal and at `NO_COLOR`, `CLICOLOR_FORCE` and `COLUMNS`.
    pub(crate) fn new() -> Self {
        let of_out = choice(&std::io::stdout());
        let reader_is_gone = Rc::new(Cell::new(false));
        let out = Pipe { to: AutoStream::new(std::io::stdout(), of_out), is_gone: Rc::clone(&reader_is_gone) };
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let out_is_live = std::io::stdout().is_terminal() && !is_dumb;
        let of_err = choice(&std::io::stderr());
        let err = Pipe { to: AutoStream::new(std::io::stderr(), of_err), is_gone: Rc::default() };
        let is_live = std::io::stderr().is_terminal() && !is_dumb;
        Self { out: BufWriter::with_capacity(1 << 16, out), err, reader_is_gone, is_live, out_is_live, width: width() }
    }

    /// How many columns there are.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Whether standard error is a terminal on which lines can be painted again.
    pub(crate) const fn is_live(&self) -> bool {
        self.is_live
    }

    /// Whether standard error shows colours.
    pub(crate) fn has_colours(&self) -> bool {
        self.err.to.current_choice() != ColorChoice::Never
    }

    /// Whether standard output is a terminal on which lines can be painted again.
    pub(crate) const fn out_is_live(&self) -> bool {
        self.out_is_live
    }

    /// Whether the reader of standard output is known to be gone. Who only prints can end then.
    pub(crate) fn reader_is_gone(&self) -> bool {
        self.reader_is_gone.get()
    }

    /// Asks something and waits for the answer, in small letters; nothing at the end of the input.
    pub(crate) fn ask(&mut self, question: &str) -> std::io::Result<Option<String>> {
        self.out.flush()?;
        write!(self.err, "{question}")?;
        self.err.flush()?;
        let answer = typed(&mut std::io::stdin().lock())?;
        if answer.is_none() {
            writeln!(self.err)?;
        }
        Ok(answer.map(|answer| answer.trim().to_lowercase()))
    }

    /// Where results go.
    pub(crate) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Standard output as it is, behind everything that was written before.
    pub(crate) fn raw_out(&mut self) -> std::io::Result<impl Write> {
        self.out.flush()?;
        Ok(Pipe { to: std::io::stdout().lock(), is_gone: Rc::clone(&self.reader_is_gone) })
    }

    /// Where everything else goes.
    pub(crate) fn err(&mut self) -> &mut impl Write {
        &mut self.err
    }

    /// Writes a line to standard error with one call, so that readers never see a part of it.
    pub(crate) fn tell(&mut self, mut line: String) -> std::io::Result<()> {
        if line.contains('\u{1b}') && !self.has_colours() {
            line = strip_str(&line).to_string();
        }
        line.push('\n');
        self.err.write_all(line.as_bytes())
    }

    /// Prints a value as indented JSON with a line end.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value).map_err(std::io::Error::from)?;
        Ok(writeln!(self.out)?)
    }

    /// Writes what is left.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Says why the program ends early.
    pub(crate) fn fail(&mut self, failure: &Failure) -> Exit {
        let said = match failure {
            Failure::Refused(finding, _) => {
                let text = diagnostics::finding(finding, &Sources::default(), "", self.width);
                write!(self.err, "{text}")
            }
            Failure::Files(wrong) => {
                let (findings, sources) = &**wrong;
                write!(self.err, "{}", diagnostics::all(findings, sources, "", self.width))
            }
            Failure::Output(error) => {
                let help = "make room or choose another place, then give the command again";
                writeln!(self.err, "error: failed to write the output: {error}\nhelp: {help}")
            }
        };
        // If not even this can be written, the exit code has to say it.
        said.map_or(Exit::Io, |()| failure.exit())
    }
}

/// A line that a person typed, of any bytes; nothing at the end of the input.
pub(crate) fn typed(input: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    let length = input.read_until(b'\n', &mut line)?;
    Ok((length > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// A stream whose reader may go away, as `head` does when it has seen enough. That is no failure: the command goes on, and
/// only its output is dropped.
struct Pipe<W> {
    to: W,
    is_gone: Rc<Cell<bool>>,
}

impl<W> Pipe<W> {
    fn write_to(&mut self, write: impl FnOnce(&mut W) -> std::io::Result<usize>, all: usize) -> std::io::Result<usize> {
        if self.is_gone.get() {
            return Ok(all);
        }
        match write(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_gone.set(true);
                Ok(all)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_to(|to| to.write(bytes), bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write_to(|to| to.write_all(bytes).map(|()| bytes.len()), bytes.len()).map(drop)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.write_to(|to| to.flush().map(|()| 0), 0).map(drop)
    }
}

fn choice(stream: &impl IsTerminal) -> ColorChoice {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        ColorChoice::Never
    } else if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        ColorChoice::Always
    } else if stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
        ColorChoice::Auto
    } else {
        ColorChoice::Never
    }
}

/// How many columns lines may have. Only a terminal limits them, or `COLUMNS`: nothing is cut in a pipe.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let stream = |width: Option<(terminal_size::Width, _)>| width.map(|(width, _)| usize::from(width.0));
    let out = || std::io::stdout().is_terminal().then(|| stream(terminal_size::terminal_size_of(std::io::stdout())));
    columns.or_else(|| out().map(|columns| columns.unwrap_or(80))).map_or(ENDLESS, |columns| columns.clamp(40, 160))
}

/// Columns and rows of the terminal that standard error is, as it is now.
pub(crate) fn terminal_size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}
