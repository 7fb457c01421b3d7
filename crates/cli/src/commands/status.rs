//! `status`: how the newest run of a session stands. Only looks.

mod json;
mod text;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};

use team_executor_core::run::Cause;
use team_executor_core::{Graph, Session};
use team_executor_engine::{self as engine, Status, runs};
use team_executor_files::{Code, Finding};
use team_executor_store::JournalError;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL};

use super::report;
use super::run::{UNDO, nameless};
use crate::args::{Format, Reading, StatusOf};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

use json::json;
use text::text;
use watch::Watched;

/// Reads the session and its newest run, and shows both together.
pub(crate) fn run(session: Option<&Path>, options: &StatusOf, printer: &mut Printer) -> Result<Exit, Failure> {
    show(session, &options.reading, options.format, options.watch, printer)
}

/// Shows how the newest run of a session stands.
pub(super) fn show(
    session: Option<&Path>,
    reading: &Reading,
    format: Format,
    watch: bool,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = open::session(session, reading)?;
    if format == Format::Text && opened.session.is_none() {
        let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
        write!(printer.err(), "{findings}")?;
        return Ok(Exit::Invalid);
    }
    let (session, graph) = open::runnable(&opened)?;
    let width = printer.width();
    match (newest(session, graph, &opened.path)?, format) {
        (Some(status), format) if watch => {
            watch::watch(&Watched { session, graph, path: &opened.path, format }, &status, printer)?;
        }
        (Some(status), Format::Text) => {
            text(&Watched { session, graph, path: &opened.path, format }, &status, width, false, printer.out())?
        }
        (None, Format::Text) => writeln!(printer.out(), "Session {} was never run", escape::line(session.id.as_str()))?,
        (status, Format::Json) => report::print(&json(session, graph, status.as_ref()), printer.out())?,
    }
    Ok(Exit::Fine)
}

/// Where a run keeps what happened.
pub(super) fn journal(status: &Status) -> PathBuf {
    status.folder.join(EXECUTOR).join(JOURNAL)
}

/// How the newest run of a session stands.
pub(super) fn newest(session: &Session, graph: &Graph, path: &str) -> Result<Option<Status>, Failure> {
    let open::Place { folder, current } = open::place(Some(Path::new(path)))?;
    engine::status(session, graph, &folder, &current).map_err(|failure| unknown(&failure, &folder, &current, path))
}

/// How the newest run of a session stands, for somebody who has watched it: where no executor is heard any more, all that
/// the last one did is in it.
pub(super) fn latest(session: &Session, graph: &Graph, path: &str) -> Result<Option<Status>, Failure> {
    let found = newest(session, graph, path)?;
    // It may have ended behind what was read first.
    if found.as_ref().is_some_and(|status| !status.finished && !status.is_heard) {
        return newest(session, graph, path);
    }
    Ok(found)
}

/// Why it cannot be said how the newest run of a session stands, and what to do.
pub(super) fn unknown(failure: &engine::Failure, folder: &Path, current: &Path, path: &str) -> Failure {
    let named = escape::session(path);
    let help = match failure {
        engine::Failure::Journal(JournalError::Damaged(_)) => format!("team-executor doctor {named}"),
        engine::Failure::Nameless(run) => return nameless(failure, run, Exit::Invalid),
        engine::Failure::Changed(_) if is_finished(folder, current) => {
            format!("that run is finished; begin another with: team-executor run {named}")
        }
        engine::Failure::Changed(_) => UNDO.to_owned(),
        _ => format!("continue the run with: team-executor {named}"),
    };
    Finding::error(Code::Usage, failure.to_string()).help(help).into()
}

/// Whether the newest run of a session is finished. One that was put away is.
fn is_finished(folder: &Path, current: &Path) -> bool {
    let newest = runs::newest(folder, current);
    let known = runs::known(&runs::project(Some(folder), current));
    newest.is_none_or(|(id, _)| known.iter().any(|run| run.id == id && run.finished))
}

/// What a run is about, for people. Where no executor is heard, nothing goes on and nothing is about to end: it did.
pub(super) fn stage(word: &str, is_heard: bool) -> &str {
    match word {
        "going on" if !is_heard => "unfinished",
        "draining" | "stopping" if !is_heard => "stopped",
        word => word,
    }
}

/// Why a person is asked.
pub(crate) const fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Planned => "a person is to judge here",
        Cause::Blocked => "whoever judged it wants a person to decide",
        Cause::OutOfRounds => "work was sent back as often as it may be",
    }
}
