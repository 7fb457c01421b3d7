//! The session that a command is about: said in one line where it was inferred, and chosen by a person among several.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use team_executor_app::{App, Meant, choose_one};

use crate::escape;
use crate::failure::Failure;
use crate::printer::Printer;

/// The session that a command without `--session` is about. A person at a terminal is asked to choose among several.
pub(crate) fn inferred(app: &App, printer: &mut Printer) -> Result<Option<PathBuf>, Failure> {
    match app.inferred()? {
        Meant::None => Ok(None),
        Meant::One(path, why) => {
            printer.tell(format!("Session {} ({why})", escape::line(&path.display().to_string())))?;
            Ok(Some(path))
        }
        Meant::Several(found) if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            chosen(found, printer).map(Some)
        }
        Meant::Several(found) => Err(choose_one(&found).into()),
    }
}

/// Lets a person choose.
fn chosen(mut found: Vec<PathBuf>, printer: &mut Printer) -> Result<PathBuf, Failure> {
    for (number, path) in (1..).zip(&found) {
        writeln!(printer.err(), "  {number}  {}", escape::line(&path.display().to_string()))?;
    }
    let answer = printer.ask(&format!("Which session? [1-{}] ", found.len()))?.unwrap_or_default();
    match answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|nth| *nth < found.len()) {
        Some(nth) => Ok(found.swap_remove(nth)),
        None => Err(choose_one(&found).into()),
    }
}
