//! `events`: what happened in the newest run of a session, from its journal, and what happens, as it does. Only looks.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use team_executor_app::attention::Kind as OfAttention;
use team_executor_app::event::{End, Event, Kind};
use team_executor_app::usage::so_far;
use team_executor_app::{App, Opened, count};
use team_executor_core::Timestamp;

use crate::args::{Events, Format};
use crate::escape;
use crate::exit::Exit;
use crate::face;
use crate::failure::Failure;
use crate::printer::Printer;

/// What needs a person is looked up at most so often, and so many times less often than it takes.
const LEAST: Duration = Duration::from_secs(1);
const TIMES: u32 = 10;

/// How much is printed at once where much has happened.
const BUFFERED: usize = 64 << 10;

/// Prints the events of the newest run.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Events, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    let mut followed = app.subscribe(&opened, options.from, options.live)?;
    let is_watched = options.live && options.format == Format::Json;
    let watching = is_watched.then_some(Watching { app, opened: &opened, told: None, at: None, took: Duration::ZERO });
    let mut printing = Printing { format: options.format, printer, ready: Vec::new(), failed: None, watching };
    let end = followed.run(options.follow, &mut |event| printing.take(event));
    printing.end();
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
    watching: Option<Watching<'p>>,
}

/// Looks at what needs a person and what is wrong, as `status` does.
struct Watching<'a> {
    app: &'a App,
    opened: &'a Opened,
    /// What was told last.
    told: Option<Gist>,
    /// When that was, and how long it took.
    at: Option<Instant>,
    took: Duration,
}

type Gist = Vec<(OfAttention, Option<String>, Option<Timestamp>, String)>;

impl Watching<'_> {
    /// The line that tells it, if it has changed.
    fn look(&mut self) -> Option<Vec<u8>> {
        let begin = Instant::now();
        let status = self.app.status(self.opened).ok().flatten()?;
        let found = self.app.attention(self.opened, &status);
        (self.at, self.took) = (Some(Instant::now()), begin.elapsed());
        let gist = found.gist();
        if self.told.as_ref().map_or(gist.is_empty(), |told| *told == gist) {
            return None;
        }
        self.told = Some(gist);
        let (needs, problems, attention_counts) = (&found.needs[..], &found.problems[..], &found.counts);
        let mut line = Vec::new();
        face::print_event(&face::Event::Attention { needs, problems, attention_counts }, &mut line).ok()?;
        Some(line)
    }

    /// Looking costs no more than a tenth of one core.
    fn is_due(&self) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= LEAST.max(self.took * TIMES))
    }
}

impl Printing<'_> {
    /// The last look: what is left when the run rests.
    fn end(&mut self) {
        self.watch(true);
        self.take(None);
    }

    fn watch(&mut self, is_last: bool) {
        let Some(watching) = self.watching.as_mut().filter(|watching| is_last || watching.is_due()) else { return };
        if let Some(line) = watching.look() {
            self.ready.extend(line);
        }
    }

    /// Prints an event, soon; says whether anybody reads.
    fn take(&mut self, event: Option<Event>) -> bool {
        let is_all = event.is_none();
        if is_all {
            self.watch(false);
        }
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
