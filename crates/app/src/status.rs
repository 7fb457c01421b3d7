//! How the newest run of a session stands. Only looks.

mod json;

use std::path::PathBuf;
use std::time::Duration;

use team_executor_engine::{self as engine, Status, runs};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, RUNS, WORKFLOW};
use team_executor_store::{Changes, JournalError};

use crate::environment::Place;
use crate::error::{Error, Kind, UNDO};
use crate::open::Opened;
use crate::{App, escape};

pub use self::json::JsonStatus;

/// How often is looked whether there is a run.
const LOOK: Duration = Duration::from_secs(1);

/// Where a run keeps what happened.
pub fn journal(status: &Status) -> PathBuf {
    status.folder.join(EXECUTOR).join(JOURNAL)
}

impl App {
    /// How the run of a session that was opened stands; nothing if it was never run.
    pub fn status(&self, opened: &Opened) -> Result<Option<Status>, Error> {
        let (session, graph) = opened.runnable()?;
        let place = self.place(opened.named())?;
        let status = engine::status(session, graph, (&place.folder, &place.current), opened.run.as_deref());
        let mut status = status.map_err(|failure| unknown(&failure, &place, &opened.path))?;
        if let Some(status) = &mut status {
            // Where git cannot say it, all else still can be said; `changes` says why.
            status.changes = self.overview(&status.folder).ok().flatten().map(|(_, overview)| overview);
        }
        Ok(status)
    }

    /// Waits until a session that was never run has a run, or until the caller gives up.
    pub fn wait_for_run(&self, opened: &Opened, is_given_up: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let workflow = self.place(opened.named())?.project.join(WORKFLOW);
        while self.status(opened)?.is_none() && !is_given_up() {
            Changes::adding_to(&[&workflow, &workflow.join(RUNS)]).wait(Some(LOOK));
        }
        Ok(())
    }

    /// The same after watching it: where no executor is heard any more, all that the last one did is in it.
    pub fn latest_status(&self, opened: &Opened) -> Result<Option<Status>, Error> {
        let found = self.status(opened)?;
        // It may have ended behind what was read first.
        if found.as_ref().is_some_and(|status| !status.finished && !status.is_heard) {
            return self.status(opened);
        }
        Ok(found)
    }

    /// What the worker of a task would be told now.
    pub fn prompt(&self, opened: &Opened, task: &str) -> Result<String, Error> {
        let (session, graph, task) = opened.task(task)?;
        let place = self.around(opened.named())?;
        let prompt = engine::prompt(session, graph, (&place.folder, &place.current), opened.run.as_deref(), task);
        prompt.map_err(|failure| unknown(&failure, &place, &opened.path))
    }
}

/// Why it cannot be said how the newest run of a session stands, and what to do.
pub(crate) fn unknown(failure: &engine::Failure, place: &Place, path: &str) -> Error {
    let named = escape::session(path);
    let help = match failure {
        engine::Failure::Journal(JournalError::Damaged(_)) => format!("team-executor doctor {named}"),
        engine::Failure::Nameless(run) => return Error::nameless(failure, run, Kind::Invalid),
        engine::Failure::Changed(_) if is_finished(place) => {
            format!("that run is finished; begin another with: team-executor run {named}")
        }
        engine::Failure::Changed(_) => UNDO.to_owned(),
        _ => format!("continue the run with: team-executor {named}"),
    };
    Finding::error(Code::Usage, failure.to_string()).help(help).into()
}

/// Whether the newest run of a session is finished. One that was put away is.
fn is_finished(place: &Place) -> bool {
    let newest = runs::newest(&place.folder, &place.current);
    let known = runs::known(&runs::project(Some(&place.folder), &place.current));
    newest.is_none_or(|(id, _)| known.iter().any(|run| run.id == id && run.finished))
}
