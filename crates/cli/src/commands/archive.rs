//! `archive`: puts finished runs away.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_core::SessionStatus;
use team_executor_engine::{self as engine, Archived, Archiving, Which, runs};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::run_path;

use super::report;
use super::run::refused_to;
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
    unknown: Vec<JsonUnknown<'a>>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    run: &'a str,
    to: String,
    already: bool,
    session: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonUnknown<'a> {
    run: &'a str,
    error: String,
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
    let of_run = |run: &String| runs::session_of(&run_path(&current, run));
    let named = session.map(Path::to_owned).or_else(|| options.run.as_ref().and_then(of_run));
    let named = named.map_or_else(|| "--session=PATH".to_owned(), |session| escape::session(session.display()));
    let (age, given_up) = (options.older_than.unwrap_or(0), options.give_up.as_deref());
    let done = engine::archive(&which, &current, age, SessionStatus::Archived, given_up);
    let done = done.map_err(|failure| refused_to(failure, &named, None))?;
    match options.format {
        Format::Json => json(&done, printer.out())?,
        Format::Text => text(&done, printer.out())?,
    }
    match options.format {
        _ if done.unknown.is_empty() => Ok(Exit::Fine),
        Format::Json => Ok(Exit::Io),
        Format::Text => Err(unknown(&done.unknown)),
    }
}

fn text(done: &Archiving, out: &mut impl Write) -> std::io::Result<()> {
    if done.archived.is_empty() && done.unknown.is_empty() {
        writeln!(out, "Nothing to archive: no finished run is old enough")?;
    }
    done.archived.iter().try_for_each(|one| tell(one, out))
}

/// Names the runs that stay where they are because their journals cannot be read.
fn unknown(runs: &[(String, engine::Failure)]) -> Failure {
    let why: Vec<_> = runs.iter().map(|(run, failure)| format!("{run} stays where it is: {failure}")).collect();
    let mut finding = Finding::error(Code::Usage, why.join("; "));
    for (run, _) in runs {
        let run = escape::shell_word(run);
        finding = finding.help(format!("team-executor doctor --run={run}"));
        finding = finding.help(format!("if it cannot be recovered: team-executor archive {run} --give-up REASON"));
    }
    Failure::Refused(Box::new(finding), Exit::Io)
}

/// One run that was put away, for people.
pub(super) fn tell(archived: &Archived, out: &mut impl Write) -> std::io::Result<()> {
    let verb = if archived.already { "is archived already in" } else { "was archived to" };
    let to = escape::line(&archived.to.display().to_string());
    let session = archived.session.map(|status| format!("; its session is {status}")).unwrap_or_default();
    writeln!(out, "Run {} {verb} {to}{session}", escape::line(&archived.run))
}

fn json(done: &Archiving, out: &mut impl Write) -> Result<(), Failure> {
    let unknown = done.unknown.iter().map(|(run, failure)| JsonUnknown { run, error: failure.to_string() });
    let archived = done.archived.iter().map(JsonRun::of).collect();
    report::print(&JsonArchive { version: 1, archived, unknown: unknown.collect() }, out)
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
