//! `timeline`: when each attempt of a run was ready, at work and checked, and what made the run as long as it was.

mod text;

use std::io::Write as _;
use std::path::Path;

use team_executor_app::App;

use crate::args::{TimelineFormat, TimelineOf};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, terminal_size};

/// Prints the timeline of a run.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &TimelineOf,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    let timeline = app.timeline(&opened)?;
    let (session, _) = opened.runnable()?;
    match options.format {
        TimelineFormat::Text => {
            let rows = if options.all { usize::MAX } else { terminal_size().1 };
            let shown = text::shown(&timeline, session, printer.width(), rows);
            shown.lines.iter().try_for_each(|line| writeln!(printer.out(), "{line}"))?;
            if shown.is_cut {
                let all = format!("{} timeline --all {}", app.typed(), escape::session(&opened.path));
                writeln!(printer.out(), "All tasks: {all}")?;
            }
        }
        TimelineFormat::Json => printer.json(&timeline.json(session))?,
        TimelineFormat::Svg => write!(printer.out(), "{}", timeline.to_svg(session))?,
        TimelineFormat::Trace => timeline.write_trace(session, printer.out())?,
    }
    Ok(Exit::Fine)
}
