//! `events`: what happened in the newest run of a session, from its journal, and what happens, as it does. Only looks.

use std::io::Write;
use std::path::Path;

use team_executor_app::event::{End, Event, Kind};
use team_executor_app::usage::so_far;
use team_executor_app::{App, count};

use crate::args::{Events, Format};
use crate::escape;
use crate::exit::Exit;
use crate::face;
use crate::failure::Failure;
use crate::printer::Printer;

/// How much is printed at once where much has happened.
const BUFFERED: usize = 64 << 10;

/// Prints the events of the newest run.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Events, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    let mut followed = app.subscribe(&opened, options.from, options.live)?;
    let mut printing = Printing { format: options.format, printer, ready: Vec::new(), failed: None };
    let end = followed.run(options.follow, &mut |event| printing.take(event));
    printing.take(None);
    if let Some(failed) = printing.failed {
        return Err(failed);
    }
    match end? {
        End::Left => {
            let (next, named) = (followed.next(), escape::session(&opened.path));
            writeln!(printer.err(), "no executor has the run {}, and it is not finished", followed.run_name())?;
            writeln!(printer.err(), "help: team-executor {named} continues it")?;
            writeln!(printer.err(), "help: team-executor events -f --from {next} {named} then goes on here")?;
            Ok(Exit::Paused)
        }
        End::Finished | End::Read | End::Unwanted => Ok(Exit::Fine),
    }
}

struct Printing<'p> {
    format: Format,
    printer: &'p mut Printer,
    /// What is printed as soon as nothing more comes.
    ready: Vec<u8>,
    failed: Option<Failure>,
}

impl Printing<'_> {
    /// Prints an event, soon; says whether anybody reads.
    fn take(&mut self, event: Option<Event>) -> bool {
        let is_all = event.is_none();
        if let Some(event) = event {
            match self.format {
                Format::Json => self.ready.extend(event.to_json().into_bytes()),
                Format::Text => self.ready.extend(text(&event, self.printer.width()).into_bytes()),
            }
            self.ready.push(b'\n');
        }
        if is_all || self.ready.len() >= BUFFERED {
            let written = self.printer.out().write_all(&self.ready).map_err(Failure::from);
            self.failed = written.and_then(|()| self.printer.flush()).err();
            self.ready.clear();
        }
        self.failed.is_none() && !self.printer.reader_is_gone()
    }
}

/// A line for people: its number, its time and what happened.
fn text(event: &Event, width: usize) -> String {
    let seq = event.seq.map_or_else(|| "live".to_owned(), |seq| seq.to_string());
    let at = team_executor_files::time::format(event.at);
    let second = at.get(..19).unwrap_or(&at);
    let lead = format!("{seq:>6} {second}Z ");
    let words = match &event.kind {
        Kind::TaskOutput { task, text } => escape::line(&format!("{task}: {text}")),
        Kind::TaskActivity { task, activity, .. } => escape::line(&format!("{task}: {}", so_far(activity))),
        Kind::TaskUsed { task, tokens_in, tokens_out, .. } => {
            escape::line(&format!("{task} used {} tokens", tokens_in.saturating_add(*tokens_out)))
        }
        Kind::TasksReset { tasks, .. } => escape::line(&format!("To be done again: {}", tasks.join(", "))),
        Kind::TaskFailed { task, error, .. } => escape::line(&format!("✗ {task} {error}")),
        Kind::RunFinished { counts } => format!("Every task is over: {}", count(counts.total, "task")),
        kind => face::line(kind, width.saturating_sub(lead.len())).unwrap_or_default(),
    };
    // Further lines are indented below the first.
    let words = words.replace('\n', &format!("\n{:1$}", "", lead.len()));
    format!("{lead}{words}")
}
