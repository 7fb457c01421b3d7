//! `resume`: tells the executor of a paused run to go on, and shows how it stands; without one it is `run`.

use std::path::Path;

use team_executor_app::App;

use super::{control, status};
use crate::args::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Asks, or runs.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    let asked = if options.continued.is_some() { None } else { app.resume(session)? };
    let Some(asked) = asked else { return super::run::run(app, session, options, true, printer) };
    // What goes on already is as it was wanted.
    if asked.outcome.is_ok() || asked.stage != "going on" {
        control::show(asked, options.start.format, printer)?;
    }
    status::show(app, session, options.reading, options.start.format, printer)
}
