//! `logs`: what attempts at tasks printed. The streams of known agents are decoded. On a terminal nothing of it can steer the
//! terminal.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use team_executor_app::App;
use team_executor_app::logs::{Attempts, Form, Kind, Piece, Query, What, since};
use team_executor_files::{Code, Finding};

use crate::args::{Format, Logs, WhichAttempts};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Finds the run and the attempts in it, and prints both streams of each.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Logs, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    let shown = Shown::choose(options);
    let mut logs = app.logs(&opened, query(options, &shown)?)?;
    // The attempt and its stream that left a line open: bytes of it belong to that line.
    let (mut open, mut printed_any) = (None, false);
    loop {
        // What it printed can have escape sequences in it, which are its own.
        let mut out = BufWriter::with_capacity(1 << 16, printer.raw_out()?);
        let mut printed = Ok(());
        let read = logs.read(&mut |piece| {
            printed_any = true;
            if printed.is_ok() {
                printed = shown.print(piece, &mut open, &mut out);
            }
        });
        printed?;
        out.flush()?;
        drop(out);
        if !read? || printer.reader_is_gone() {
            if let Some(run) = logs.pruned().filter(|_| !printed_any) {
                printer.tell(format!("note: the logs of {} were pruned", escape::line(&run)))?;
            }
            return Ok(Exit::Fine);
        }
        logs.wait();
    }
}

fn query<'a>(options: &'a Logs, shown: &Shown) -> Result<Query<'a>, Failure> {
    let now = UNIX_EPOCH.elapsed().map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let time = |text: &String| {
        since(text, now).ok_or_else(|| {
            let finding = Finding::error(Code::Usage, format!("`{}` is no time", escape::line(text)));
            let help = "give a length of time, as --since 10m, or a time, as --since 2026-02-27T10:00:00Z";
            Failure::from(finding.help(help))
        })
    };
    let in_lines = shown.lead != Lead::Nothing || shown.timestamps || shown.is_visible;
    Ok(Query {
        task: options.task.as_deref(),
        attempts: match options.attempt {
            WhichAttempts::Last => Attempts::Last,
            WhichAttempts::Number(number) => Attempts::Number(number),
            WhichAttempts::All => Attempts::All,
        },
        tail: options.tail,
        since: options.since.as_ref().map(time).transpose()?,
        follow: options.follow,
        form: match (options.raw, options.format) {
            (true, Format::Text) if !in_lines => Form::Bytes,
            (true, _) => Form::Lines,
            (false, Format::Json) => Form::Events,
            (false, Format::Text) => Form::Text { in_lines },
        },
    })
}

/// What stands in front of each line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Nothing,
    Task,
    TaskAndAttempt,
}

/// How pieces are printed.
struct Shown {
    is_json: bool,
    /// Control characters of all output are made visible; those of decoded text always are.
    is_visible: bool,
    lead: Lead,
    timestamps: bool,
}

impl Shown {
    fn choose(options: &Logs) -> Self {
        Self {
            is_json: options.format == Format::Json,
            is_visible: std::io::stdout().is_terminal(),
            lead: match (&options.task, options.attempt) {
                (_, WhichAttempts::All) => Lead::TaskAndAttempt,
                (None, _) => Lead::Task,
                (Some(_), _) => Lead::Nothing,
            },
            timestamps: options.timestamps,
        }
    }

    fn print(&self, piece: &Piece<'_>, open: &mut Option<(u32, &'static str)>, out: &mut impl Write) -> io::Result<()> {
        if self.is_json {
            serde_json::to_writer(&mut *out, &piece.json(&piece.text()))?;
            return writeln!(out);
        }
        if !matches!(piece.what, What::Bytes) {
            end_line(open, out)?;
            self.lead(piece, out)?;
        }
        match piece.what {
            What::Bytes => raw(piece, open, out),
            What::Said(kind, is_first) => {
                writeln!(out, "{}{}", mark(kind, is_first), escape::line(&piece.text()))
            }
            What::Line | What::Event(_) if self.is_visible => writeln!(out, "{}", escape::line(&piece.text())),
            What::Line | What::Event(_) => {
                out.write_all(piece.bytes)?;
                writeln!(out)
            }
        }
    }

    fn lead(&self, piece: &Piece<'_>, out: &mut impl Write) -> io::Result<()> {
        if self.timestamps {
            let time = piece.time().unwrap_or_default();
            write!(out, "{:<20} ", time.get(..19).map(|second| format!("{second}Z")).unwrap_or_default())?;
        }
        match self.lead {
            Lead::Nothing => Ok(()),
            Lead::Task => write!(out, "{} | ", escape::line(piece.task)),
            Lead::TaskAndAttempt => write!(out, "{} #{} | ", escape::line(piece.task), piece.attempt),
        }
    }
}

/// What stands in front of a line that an agent's stream says.
const fn mark(kind: Kind, is_first: bool) -> &'static str {
    match (kind, is_first) {
        (Kind::Words | Kind::Plain, _) => "",
        (Kind::Thought, _) => "~ ",
        (Kind::Call, true) => "→ ",
        (Kind::Note, true) => "· ",
        (Kind::Failure, true) => "  ✗ ",
        (Kind::Call | Kind::Note, false) => "  ",
        (Kind::Result, _) | (Kind::Failure, false) => "  | ",
    }
}

/// Prints bytes as they are. A line of the other stream that was never ended is ended first.
fn raw(piece: &Piece<'_>, open: &mut Option<(u32, &'static str)>, out: &mut impl Write) -> io::Result<()> {
    let stream = (piece.attempt, piece.stream);
    if open.is_some_and(|other| other != stream) {
        end_line(open, out)?;
    }
    out.write_all(piece.bytes)?;
    *open = (!piece.bytes.ends_with(b"\n")).then_some(stream);
    Ok(())
}

/// Ends a line that was left open by an attempt.
fn end_line(open: &mut Option<(u32, &'static str)>, out: &mut impl Write) -> io::Result<()> {
    open.take().map_or(Ok(()), |_| writeln!(out))
}
