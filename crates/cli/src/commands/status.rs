//! `status`: how the newest run of a session stands. Only looks.

mod text;
mod watch;

use std::io::Write;
use std::path::Path;

use team_executor_app::{App, Opened};
use team_executor_core::run::Cause;

use crate::args::{Format, Reading, StatusOf};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

use text::text;
use watch::Watched;

/// Reads the session and its newest run, and shows both together.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &StatusOf,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    show_opened(app, &opened, options.format, options.watch, printer)
}

/// Shows how the newest run of a session stands.
pub(super) fn show(
    app: &App,
    session: Option<&Path>,
    reading: Reading,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = app.open(session, reading.into())?;
    show_opened(app, &opened, format, false, printer)
}

fn show_opened(
    app: &App,
    opened: &Opened,
    format: Format,
    watch: bool,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    if format == Format::Text && opened.session.is_none() {
        let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
        write!(printer.err(), "{findings}")?;
        return Ok(Exit::Invalid);
    }
    let (session, graph) = opened.runnable()?;
    if watch {
        app.wait_for_run(opened, &mut || printer.reader_is_gone())?;
    }
    let watched = Watched { app, opened, session, graph, path: &opened.path, format };
    let width = printer.width();
    match (app.status(opened)?, format) {
        (Some(status), _) if watch => watch::watch(&watched, &status, printer)?,
        (Some(status), Format::Text) => text(&watched, &status, width, false, printer.out())?,
        (None, Format::Text) => writeln!(printer.out(), "Session {} was never run", escape::line(session.id.as_str()))?,
        (status, Format::Json) => printer.json(&app.status_json(opened, status.as_ref())?)?,
    }
    Ok(Exit::Fine)
}

/// The stage of a run, for people. Where no executor is heard, nothing runs and nothing is about to end.
pub(super) fn stage(word: &str, is_heard: bool) -> &str {
    match word {
        "going on" if !is_heard => "unfinished",
        "going on" => "running",
        "draining" | "stopping" if !is_heard => "stopped",
        word => word,
    }
}

/// Why a person is asked.
pub(crate) const fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Planned => "review it and decide",
        Cause::Blocked => "a reviewer blocked it; you decide",
        Cause::OutOfRounds => "work was sent back as often as it may be",
    }
}
