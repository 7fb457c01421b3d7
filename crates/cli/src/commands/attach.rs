//! `attach`: the live view of a run that another process executes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use team_executor_app::event::{Counts, End, Event, Kind};
use team_executor_app::{App, Opened, count};
use team_executor_core::Timestamp;

use crate::args::{Attach, Format};
use crate::escape;
use crate::exit::Exit;
use crate::face::{Board, Face, Steered};
use crate::failure::Failure;
use crate::printer::Printer;

/// Shows what the run has come to, and then what happens in it.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Attach, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open(session, options.reading.into())?;
    let mut followed = app.subscribe(&opened, 0, true)?;
    let mut view = View { face: face(app, &opened, options, printer)?, is_past: true, counts: None, failed: None };
    let end = followed.run(true, &mut |event| view.take(event, printer));
    let View { face, counts, failed, .. } = view;
    let is_left = face.is_left();
    drop(face);
    failed.map_or(Ok(()), Err)?;
    let named = escape::session(&opened.path);
    match end? {
        End::Finished => {
            let counts = counts.unwrap_or_default();
            if options.format == Format::Text {
                printer.tell(format!("Run {} is over: {}", followed.run_name(), words(counts)))?;
            }
            Ok(if counts.completed == counts.total { Exit::Fine } else { Exit::Unfinished })
        }
        End::Left => {
            printer.tell(format!("no executor has the run {}, and it is not finished", followed.run_name()))?;
            printer.tell(format!("help: continue it with: {} resume {named}", app.typed()))?;
            Ok(Exit::Paused)
        }
        End::Unwanted if is_left => {
            printer.tell(format!(
                "The run {} goes on; see it again: {} attach {named}",
                followed.run_name(),
                app.typed()
            ))?;
            Ok(Exit::Fine)
        }
        End::Read | End::Unwanted => Ok(Exit::Fine),
    }
}

fn face(app: &App, opened: &Opened, options: &Attach, printer: &Printer) -> Result<Face, Failure> {
    if options.format == Format::Json {
        return Ok(Face::Events);
    }
    if !printer.is_live() {
        return Ok(Face::Lines);
    }
    let (reading, (session, graph)) = (options.reading.into(), opened.runnable()?);
    let slots = app.status(opened)?.map_or(1, |status| status.running.len().max(1));
    let board = Board::new(session, graph, u32::try_from(slots).unwrap_or(u32::MAX), &app.expected(opened));
    let steered = Steered { app: app.clone(), session: PathBuf::from(&opened.path), reading, can_leave: true };
    Ok(Face::screen(board, steered, printer)?)
}

struct View {
    face: Face,
    /// What is told happened before the view was opened.
    is_past: bool,
    counts: Option<Counts>,
    failed: Option<Failure>,
}

impl View {
    /// Shows an event, or takes note that there are no more for the moment. Says whether more is wanted.
    fn take(&mut self, event: Option<Event>, printer: &mut Printer) -> bool {
        let Some(event) = event else {
            self.is_past = false;
            return self.failed.is_none() && !printer.reader_is_gone() && !self.face.is_left();
        };
        if let Kind::RunFinished { counts } = &event.kind {
            self.counts = Some(*counts);
        }
        let ago = ago(event.at);
        let shown = match self.is_past {
            true => self.face.recall(event, ago, printer),
            false => self.face.tell(event, printer),
        };
        self.failed = shown.err().map(Failure::from);
        self.failed.is_none()
    }
}

fn ago(at: Timestamp) -> Duration {
    let then = u64::try_from(at.as_micros()).unwrap_or(0);
    let then = SystemTime::UNIX_EPOCH + Duration::from_micros(then);
    then.elapsed().unwrap_or_default()
}

fn words(counts: Counts) -> String {
    let Counts { total, completed, failed, skipped, .. } = counts;
    format!("{completed} of {} completed, {failed} failed, {skipped} skipped", count(total, "task"))
}
