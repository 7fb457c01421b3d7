//! Copies what a run delivered to a folder of the user's, and puts finished runs away.

use std::path::Path;

use serde::Serialize;
use team_executor_core::SessionStatus;
use team_executor_engine::{self as engine, Which, runs};
pub use team_executor_engine::{Archived, Archiving, Exported};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::run_path;

use crate::asking::named;
use crate::error::Error;
use crate::{App, escape};

impl App {
    /// Copies what the runs of a session delivered to a folder, or the one with this unique part of a name.
    pub fn export(&self, session: Option<&Path>, run: Option<&str>, to: &Path) -> Result<Exported, Error> {
        let place = self.place(session)?;
        let run = run.map(|named| self.run_named(&place, named)).transpose()?;
        let exported =
            engine::export((&place.folder, &place.current), run.as_deref(), &self.path(to), &self.variables());
        exported.map_err(|failure| Error::of_run(failure, &named(session)))
    }

    /// Puts away a run, those of a session, or all that are finished since so many seconds; one that cannot be read only
    /// if it is `given_up` for a reason.
    pub fn archive(
        &self,
        session: Option<&Path>,
        run: Option<&str>,
        older_than: Option<u64>,
        given_up: Option<&str>,
    ) -> Result<Archiving, Error> {
        let current = self.current()?;
        let which = match (run, session) {
            (Some(run), _) => Which::Run(run.to_owned()),
            (None, Some(_)) => Which::Session(self.place(session)?.folder),
            (None, None) if older_than.is_some() => Which::All,
            (None, None) => {
                let finding = Finding::error(Code::Usage, "nothing was named, so nothing was archived");
                let help = "name a run, a session with --session=PATH, or an age: --older-than 30d";
                return Err(finding.help(help).into());
            }
        };
        let of_run = |run: &str| runs::session_of(&run_path(current, run));
        let named = session.map(Path::to_owned).or_else(|| run.and_then(of_run));
        let named = named.map_or_else(|| "--session=PATH".to_owned(), |session| escape::session(session.display()));
        let done = engine::archive(&which, current, older_than.unwrap_or(0), SessionStatus::Archived, given_up);
        done.map_err(|failure| Error::of_run(failure, &named))
    }
}

/// What becomes of a session whose tasks are all completed.
impl App {
    /// Puts its run away; the session, which is named by its absolute path, is completed.
    pub fn complete(&self, session: &Path) -> Result<Archiving, Error> {
        let which = Which::Session(session.to_owned());
        let done = engine::archive(&which, self.current()?, 0, SessionStatus::Completed, None);
        done.map_err(|failure| Error::of_run(failure, &named(Some(session))))
    }

    /// Keeps it for more work: the session is paused.
    pub fn keep(&self, session: &Path) -> Result<(), Error> {
        let kept = engine::keep(session, self.current()?);
        kept.map_err(|failure| Error::of_run(failure, &named(Some(session))))
    }
}

/// Names the runs that stay where they are because their journals cannot be read; nothing if there are none.
pub fn left(done: &Archiving) -> Option<Error> {
    let why = |(run, failure): &(String, engine::Failure)| format!("{run} stays where it is: {failure}");
    let why: Vec<_> = done.unknown.iter().map(why).collect();
    let mut finding = Finding::error(Code::Usage, why.join("; "));
    for (run, _) in &done.unknown {
        let run = escape::shell_word(run);
        finding = finding.help(format!("team-executor doctor --run={run}"));
        finding = finding.help(format!("if it cannot be recovered: team-executor archive {run} --give-up REASON"));
    }
    (!done.unknown.is_empty()).then(|| Error::io(finding))
}

/// What was exported, for programs.
#[derive(Debug, Serialize)]
pub struct JsonExport<'a> {
    version: u32,
    run: &'a str,
    to: String,
    copied: usize,
    were_there: usize,
    left_out: Vec<JsonLeft<'a>>,
    faults: Vec<JsonExportFault<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonExportFault<'a> {
    path: &'a str,
    fault: &'static str,
}

#[derive(Debug, Serialize)]
struct JsonLeft<'a> {
    path: &'a str,
    reason: &'static str,
}

/// What was exported, for programs.
pub fn json_export(exported: &Exported) -> JsonExport<'_> {
    JsonExport {
        version: 1,
        run: &exported.run,
        to: exported.to.display().to_string(),
        copied: exported.copied,
        were_there: exported.were_there,
        left_out: exported.left_out.iter().map(|(path, reason)| JsonLeft { path, reason }).collect(),
        faults: exported.faults.iter().map(|(path, fault)| JsonExportFault { path, fault: fault.word() }).collect(),
    }
}

/// What was put away, for programs.
#[derive(Debug, Serialize)]
pub struct JsonArchive<'a> {
    version: u32,
    archived: Vec<JsonArchivedRun<'a>>,
    unknown: Vec<JsonUnknown<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonArchivedRun<'a> {
    run: &'a str,
    to: String,
    already: bool,
    session: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct JsonUnknown<'a> {
    run: &'a str,
    error: String,
}

/// What was put away, for programs.
pub fn json_archive(done: &Archiving) -> JsonArchive<'_> {
    let unknown = done.unknown.iter().map(|(run, failure)| JsonUnknown { run, error: failure.to_string() });
    let archived = done.archived.iter().map(JsonArchivedRun::from_archived).collect();
    JsonArchive { version: 1, archived, unknown: unknown.collect() }
}

impl<'a> JsonArchivedRun<'a> {
    fn from_archived(one: &'a Archived) -> Self {
        Self {
            run: &one.run,
            to: one.to.display().to_string(),
            already: one.already,
            session: one.session.map(SessionStatus::word),
        }
    }
}
