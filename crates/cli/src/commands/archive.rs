//! `archive`: puts finished runs away.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_core::SessionStatus;
use team_executor_engine::{self as engine, Archived, Which};
use team_executor_files::{Code, Finding};

use super::report;
use super::run::refused;
use crate::args::{Archive, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonArchive<'a> {
    version: u32,
    archived: Vec<JsonRun<'a>>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    run: &'a str,
    to: String,
    already: bool,
    session: Option<&'static str>,
}

/// Finds the runs that are meant, and moves them.
pub(crate) fn run(session: Option<&Path>, options: &Archive, printer: &mut Printer) -> Result<Exit, Failure> {
    let current = open::current()?;
    let which = match (&options.run, session) {
        (Some(run), _) => Which::Run(run.clone()),
        (None, Some(_)) => Which::Session(open::place(session)?.folder),
        (None, None) if options.older_than.is_some() => Which::All,
        (None, None) => {
            let finding = Finding::error(Code::Usage, "nothing was named, so nothing was archived");
            return Err(finding.help("name a run, a session with --session=PATH, or an age: --older-than 30d").into());
        }
    };
    let (age, given_up) = (options.older_than.unwrap_or(0), options.give_up.as_deref());
    match engine::archive(&which, &current, age, SessionStatus::Archived, given_up) {
        Err(failure) => Err(refused(failure)),
        Ok(archived) => {
            match options.format {
                Format::Text => text(&archived, printer.out())?,
                Format::Json => json(&archived, printer.out())?,
            }
            Ok(Exit::Fine)
        }
    }
}

fn text(archived: &[Archived], out: &mut impl Write) -> std::io::Result<()> {
    if archived.is_empty() {
        writeln!(out, "Nothing to archive: no finished run is old enough")?;
    }
    archived.iter().try_for_each(|one| tell(one, out))
}

/// One run that was put away, for people.
pub(super) fn tell(archived: &Archived, out: &mut impl Write) -> std::io::Result<()> {
    let verb = if archived.already { "is archived already in" } else { "was archived to" };
    let to = escape::line(&archived.to.display().to_string());
    let session = archived.session.map(|status| format!("; its session is {status}")).unwrap_or_default();
    writeln!(out, "Run {} {verb} {to}{session}", escape::line(&archived.run))
}

fn json(archived: &[Archived], out: &mut impl Write) -> Result<(), Failure> {
    report::print(&JsonArchive { version: 1, archived: archived.iter().map(JsonRun::of).collect() }, out)
}

impl<'a> JsonRun<'a> {
    fn of(one: &'a Archived) -> Self {
        Self {
            run: &one.run,
            to: one.to.display().to_string(),
            already: one.already,
            session: one.session.map(SessionStatus::word),
        }
    }
}
