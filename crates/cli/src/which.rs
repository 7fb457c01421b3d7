//! The session of a command: shown in one line where it was inferred, and chosen by a person among several.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use team_executor_app::{App, Meant};

use crate::escape;
use crate::failure::Failure;
use crate::printer::Printer;

/// The session that `--session` names. If it was found by its name, its path is shown.
pub(crate) fn named(app: &App, given: &Path, printer: &mut Printer) -> Result<PathBuf, Failure> {
    let found = app.named(given)?;
    if found != given {
        tell(&found, "found by its name", printer)?;
    }
    Ok(found)
}

/// The session of a command without `--session`. A person at a terminal chooses among several.
pub(crate) fn inferred(app: &App, printer: &mut Printer) -> Result<Option<PathBuf>, Failure> {
    match app.inferred()? {
        Meant::None => Ok(None),
        Meant::One(path, why) => tell(&path, &why, printer).map(|()| Some(path)),
        Meant::Several(found) if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            chosen(app, found, printer).map(Some)
        }
        Meant::Several(found) => Err(app.choose_one(&found).into()),
    }
}

/// The session to run if there are no arguments at all: only one that is certain.
pub(crate) fn certain(app: &App, printer: &mut Printer) -> Result<Option<PathBuf>, Failure> {
    match app.inferred()? {
        Meant::One(path, why) => tell(&path, &why, printer).map(|()| Some(path)),
        Meant::None | Meant::Several(_) => Ok(None),
    }
}

fn tell(path: &Path, why: &str, printer: &mut Printer) -> Result<(), Failure> {
    Ok(printer.tell(format!("Session {} ({why})", escape::line(&path.display().to_string())))?)
}

/// Lets a person choose.
fn chosen(app: &App, mut found: Vec<PathBuf>, printer: &mut Printer) -> Result<PathBuf, Failure> {
    for (number, path) in (1..).zip(&found) {
        writeln!(printer.err(), "  {number}  {}", escape::line(&path.display().to_string()))?;
    }
    let answer = printer.ask(&format!("Which session? [1-{}] ", found.len()))?.unwrap_or_default();
    match answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|nth| *nth < found.len()) {
        Some(nth) => Ok(found.swap_remove(nth)),
        None => Err(app.choose_one(&found).into()),
    }
}
