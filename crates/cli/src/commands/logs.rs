//! `logs`: what the last attempt at a task printed, or that at each task. On a terminal nothing of it can steer the terminal.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use team_executor_app::App;
use team_executor_app::logs::Piece;

use crate::args::{Format, Logs};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Finds the newest run and the last attempts in it, and prints both streams of each.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Logs, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open(session, options.reading.into())?;
    let form = Form::choose(options);
    let mut logs = app.logs(&opened, options.task.as_deref(), options.follow, form != Form::Raw)?;
    // The attempt and its stream that left a line open: bytes of it belong to that line.
    let mut open = None;
    loop {
        // What it printed can have escape sequences in it, which are its own.
        let mut out = BufWriter::with_capacity(1 << 16, printer.raw_out()?);
        let mut printed = Ok(());
        let read = logs.read(&mut |piece| {
            if printed.is_ok() {
                printed = form.print(piece, &mut open, &mut out);
            }
        });
        printed?;
        out.flush()?;
        drop(out);
        if !read? || printer.nobody_reads() {
            return Ok(Exit::Fine);
        }
        logs.wait();
    }
}

/// How pieces are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With control characters made visible.
    Visible,
    /// Byte for byte, each stream on lines of its own.
    Raw,
    /// Each behind its task; visible as above, or byte for byte.
    Led { is_visible: bool },
    /// As objects.
    Json,
}

impl Form {
    fn choose(options: &Logs) -> Self {
        let is_visible = std::io::stdout().is_terminal();
        match options.format {
            Format::Json => Self::Json,
            Format::Text if options.task.is_none() => Self::Led { is_visible },
            Format::Text if is_visible => Self::Visible,
            Format::Text => Self::Raw,
        }
    }

    fn print(self, piece: &Piece<'_>, open: &mut Option<(u32, &'static str)>, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json => {
                serde_json::to_writer(&mut *out, &piece.json(&piece.text()))?;
                writeln!(out)
            }
            Self::Led { is_visible: false } => {
                write!(out, "{} | ", escape::line(piece.task))?;
                out.write_all(piece.bytes)?;
                writeln!(out)
            }
            Self::Led { is_visible: true } => {
                writeln!(out, "{} | {}", escape::line(piece.task), escape::line(&piece.text()))
            }
            Self::Visible => writeln!(out, "{}", escape::line(&piece.text())),
            Self::Raw => raw(piece, open, out),
        }
    }
}

/// Prints bytes as they are. A line of the other stream that was never ended is ended first.
fn raw(piece: &Piece<'_>, open: &mut Option<(u32, &'static str)>, out: &mut impl Write) -> io::Result<()> {
    let stream = (piece.attempt, piece.stream);
    if open.is_some_and(|(attempt, other)| attempt == piece.attempt && other != piece.stream) {
        writeln!(out)?;
    }
    out.write_all(piece.bytes)?;
    *open = (!piece.bytes.ends_with(b"\n")).then_some(stream);
    Ok(())
}
