//! `archive`: puts finished runs away.

use std::io::Write;
use std::path::Path;

use team_executor_app::App;
use team_executor_app::putting_away::{Archived, Archiving, json_archive, left};

use crate::args::{Archive, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Finds the runs that are meant, and moves them.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Archive,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let done = app.archive(session, options.run.as_deref(), options.older_than, options.give_up.as_deref())?;
    match options.format {
        Format::Json => printer.json(&json_archive(&done))?,
        Format::Text => text(&done, printer.out())?,
    }
    match (left(&done), options.format) {
        (None, _) => Ok(Exit::Fine),
        (Some(_), Format::Json) => Ok(Exit::Io),
        (Some(left), Format::Text) => Err(left.into()),
    }
}

fn text(done: &Archiving, out: &mut impl Write) -> std::io::Result<()> {
    if done.archived.is_empty() && done.unknown.is_empty() {
        writeln!(out, "Nothing to archive: no finished run is old enough")?;
    }
    done.archived.iter().try_for_each(|one| tell(one, out))
}

/// One run that was put away, for people.
pub(super) fn tell(archived: &Archived, out: &mut impl Write) -> std::io::Result<()> {
    let verb = if archived.already { "is archived already in" } else { "was archived to" };
    let to = escape::line(&archived.to.display().to_string());
    let session = archived.session.map(|status| format!("; its session is {status}")).unwrap_or_default();
    writeln!(out, "Run {} {verb} {to}{session}", escape::line(&archived.run))
}
