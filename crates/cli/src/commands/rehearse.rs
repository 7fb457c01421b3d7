//! `rehearse`: the whole run beforehand, on a copy of the session, and when each task would run.

mod timeline;

use std::path::Path;

use team_executor_app::App;
use team_executor_app::event::Event as RunEvent;
use team_executor_app::rehearse::RehearsalOptions;
use team_executor_core::run::Cadence;

use self::timeline::Timeline;
use super::run::{ending, invalid, remarked, tell_findings};
use crate::args::{Format, Rehearse};
use crate::exit::Exit;
use crate::face::{Face, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

/// Copies, rehearses and shows what happened.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Rehearse,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = app.open(session, options.reading.into())?;
    let (width, format) = (printer.width(), options.format);
    tell_findings(&opened, format, printer)?;
    let Some((session, graph)) = &opened.session else {
        return invalid("Nothing was rehearsed", &opened, format, printer);
    };
    let wanted = RehearsalOptions {
        fail: &options.fail,
        slow: &options.slow,
        concurrency: options.concurrency,
        cadence: options.cadence.map(Cadence::from),
        speed: options.speed,
    };
    let mut rehearsal = remarked(format, printer, |remarks| app.rehearsal(&opened, &wanted, remarks))?;
    let mut timeline = Timeline::new(rehearsal.durations().into_iter());
    let mut face = if format == Format::Json { Face::Events } else { Face::Lines };
    let mut failed = None;
    let report = rehearsal.run(&mut |event: RunEvent| {
        timeline.note(&event.kind, graph);
        if failed.is_none() {
            failed = face.tell(event, printer).err();
        }
    })?;
    match format {
        Format::Text => timeline.print(session, graph, width, printer.out())?,
        Format::Json => print_event(&timeline.event(session), printer.out())?,
    }
    ending::tell(&report, None, format, printer)
}
