//! `resume`: tells the executor of a paused run to go on, and shows how it stands; without one it is `run`.

use std::path::Path;

use team_executor_app::{App, Request};
use team_executor_core::run::Group;

use super::run::warn;
use super::{control, status};
use crate::args::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Asks, or runs.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    let asked = if options.continued.is_some() { None } else { app.resume(session)? };
    let Some(asked) = asked else { return super::run::run(app, session, options, true, printer) };
    if let Some(most) = options.settings.concurrency {
        let request = Request::Limit { group: Group::All, most: Some(most) };
        control::anyway(app, session, options.reading, &request, options.start.format, printer)?;
    }
    let changed = app.remembered(session, None).map(|started| started.changed((&options.settings).into()));
    if let Some(words) = changed.filter(|words| !words.is_empty()) {
        let message = format!("the executor keeps the options that it began with; not in effect: {}", words.join(" "));
        warn(&message, options.start.format, printer)?;
    }
    // What goes on already is as it was wanted.
    if asked.outcome.is_ok() || asked.stage != "going on" {
        control::show(asked, options.start.format, printer)?;
    }
    status::show(app, session, options.reading, options.start.format, printer)
}
