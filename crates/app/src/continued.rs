//! Which run is continued, and of which session.

use std::path::{Path, PathBuf};

use team_executor_core::TaskStatus;
use team_executor_engine::runs::{self, KnownRun};
use team_executor_files::{Code, Dialect, Finding, load};
use team_executor_store::DiskFolder;

use crate::error::Error;
use crate::{App, escape};

/// A run that can be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// Its id.
    pub id: String,
    /// The folder of its session, absolute.
    pub session: PathBuf,
    /// How far it is, in words.
    pub progress: String,
}

/// The run that is meant, or those that could be.
#[derive(Debug)]
pub enum ToContinue {
    /// This one.
    One(Continued),
    /// None of these is what was asked for; the finding says so.
    Several(Vec<Continued>, Finding),
}

impl App {
    /// Finds the run that was named, or the newest one that is not finished.
    pub fn to_continue(&self, session: Option<&Path>, id: Option<&str>) -> Result<ToContinue, Error> {
        let current = self.current()?;
        let folder = session.map(|session| self.place(Some(session)).map(|place| place.folder)).transpose()?;
        let mut known = runs::known(&runs::project(folder.as_deref(), current));
        known.retain(|run| folder.as_ref().is_none_or(|folder| run.session == *folder));
        // A name is only ever compared: no path is made of it.
        let wanted = |run: &&KnownRun| id.map_or(!run.finished, |id| run.id == id);
        if let Some(run) = known.iter().find(wanted) {
            return Ok(ToContinue::One(continued(run)));
        }
        let of = session.map(|session| format!(" of {}", escape::line(&session.display().to_string())));
        let of = of.unwrap_or_default();
        let problem = match id {
            Some(id) => format!("there is no run '{}'{of}", escape::line(id)),
            None => format!("there is no unfinished run{of}"),
        };
        let finding = Finding::error(Code::Usage, problem);
        if known.is_empty() {
            return Err(finding.help("begin one with: team-executor run --session=PATH").into());
        }
        Ok(ToContinue::Several(known.iter().map(continued).collect(), finding))
    }
}

fn continued(run: &KnownRun) -> Continued {
    Continued { id: run.id.clone(), session: run.session.clone(), progress: progress(run) }
}

/// How far a run is, by the table that it leaves for people.
fn progress(run: &KnownRun) -> String {
    let table = DiskFolder::open(&run.folder).ok().map(|folder| load(&folder, &run.id, Some(Dialect::TasksCsv)));
    let how = if run.finished { "finished" } else { "unfinished" };
    match table.and_then(|table| table.session) {
        Some((session, _)) => {
            let done = session.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
            format!("{how}  {done}/{}", session.tasks.len())
        }
        None => format!("{how}  -"),
    }
}
