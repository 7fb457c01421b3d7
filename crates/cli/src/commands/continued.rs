//! `--continue`: which run is meant, and of which session.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use team_executor_core::TaskStatus;
use team_executor_engine::runs::{self, KnownRun};
use team_executor_files::{Code, Dialect, Finding, load};
use team_executor_store::DiskFolder;

use super::control::shown;
use crate::escape;
use crate::failure::Failure;
use crate::open;
use crate::printer::{self, Printer};

/// A run to continue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Continued {
    pub(crate) id: String,
    pub(crate) session: PathBuf,
}

/// Finds the run that was named, or the newest one that is not finished. Without a match the user chooses among all.
pub(crate) fn choose(session: Option<&Path>, id: Option<&str>, printer: &mut Printer) -> Result<Continued, Failure> {
    let current = open::current()?;
    let folder = session.map(|session| open::place(Some(session)).map(|place| place.folder)).transpose()?;
    let mut known = runs::known(&runs::project(folder.as_deref(), &current));
    known.retain(|run| folder.as_ref().is_none_or(|folder| run.session == *folder));
    // A name is only ever compared: no path is made of it.
    let wanted = |run: &&KnownRun| id.map_or(!run.finished, |id| run.id == id);
    if let Some(run) = known.iter().find(wanted) {
        return Ok(continued(run));
    }
    let of = session.map(|_| format!(" of {}", shown(session))).unwrap_or_default();
    let problem = match id {
        Some(id) => format!("there is no run '{}'{of}", escape::line(id)),
        None => format!("there is no unfinished run{of}"),
    };
    if known.is_empty() {
        let finding = Finding::error(Code::Usage, problem);
        return Err(finding.help("begin one with: team-executor run --session=PATH").into());
    }
    let is_asked = std::io::stdin().is_terminal();
    let err = printer.err();
    let before = if is_asked { format!("{problem}. ") } else { String::new() };
    writeln!(err, "{before}The runs there are:")?;
    for (number, run) in (1..).zip(&known) {
        let number = if is_asked { format!("{number}  ") } else { String::new() };
        let session = escape::line(&run.session.display().to_string());
        writeln!(err, "  {number}{}  {}  {session}", escape::line(&run.id), progress(run))?;
    }
    if !is_asked {
        return Err(Finding::error(Code::Usage, problem).help("name one of these: --continue EX-ID").into());
    }
    write!(err, "Which one? [1-{}] ", known.len())?;
    err.flush()?;
    let answer = printer::typed(&mut std::io::stdin().lock())?.unwrap_or_default();
    let chosen = answer.trim().parse::<usize>().ok().and_then(|number| known.get(number.checked_sub(1)?));
    chosen.map(continued).ok_or_else(|| {
        Finding::error(Code::Usage, "no run was chosen, so nothing was started").help("type the number of a run").into()
    })
}

fn continued(run: &KnownRun) -> Continued {
    Continued { id: run.id.clone(), session: run.session.clone() }
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
