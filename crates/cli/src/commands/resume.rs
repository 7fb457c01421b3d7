//! `resume`: tells the executor of a paused run to go on, and shows how it stands; without one it is `run`.

use std::path::Path;

use team_executor_engine::control::{self, Request};

use super::{control as asking, status};
use crate::args::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Asks, or runs.
pub(crate) fn run(session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    if options.continued.is_some() {
        return super::run::run(session, options, true, printer);
    }
    let Some(found) = asking::find(session)? else { return super::run::run(session, options, true, printer) };
    let answer = match control::send(&found.folder, &Request::Resume) {
        Err(failure) => return Err(super::run::refused_to(failure, &asking::named(session), None)),
        Ok(None) => return super::run::run(session, options, true, printer),
        Ok(Some(answer)) => answer,
    };
    // What goes on already is as it was wanted.
    if answer.outcome.is_ok() || answer.stage != "going on" {
        asking::show(&found.run, &answer, &asking::named(session), options.start.format, printer)?;
    }
    status::show(session, &options.reading, options.start.format, false, printer)
}
