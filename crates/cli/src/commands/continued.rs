//! `--continue`: which run is meant, chosen by a person where it is not clear.

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_app::App;
use team_executor_app::continued::{Continued, ToContinue};
use team_executor_files::{Code, Finding};

use crate::escape;
use crate::failure::Failure;
use crate::printer::{self, Printer};

/// Finds the run that was named, or the newest one that is not finished. Without a match the user chooses among all.
pub(crate) fn choose(
    app: &App,
    session: Option<&Path>,
    id: Option<&str>,
    printer: &mut Printer,
) -> Result<Continued, Failure> {
    let (mut known, problem) = match app.to_continue(session, id)? {
        ToContinue::One(run) => return Ok(run),
        ToContinue::Several(known, problem) => (known, problem),
    };
    let is_asked = std::io::stdin().is_terminal();
    let err = printer.err();
    let before = if is_asked { format!("{}. ", problem.message) } else { String::new() };
    writeln!(err, "{before}The runs there are:")?;
    for (number, run) in (1..).zip(&known) {
        let number = if is_asked { format!("{number}  ") } else { String::new() };
        let session = escape::line(&run.session.display().to_string());
        writeln!(err, "  {number}{}  {}  {session}", escape::line(&run.id), run.progress)?;
    }
    if !is_asked {
        return Err(problem.help("name one of these: --continue EX-ID").into());
    }
    write!(err, "Which one? [1-{}] ", known.len())?;
    err.flush()?;
    let answer = printer::typed(&mut std::io::stdin().lock())?.unwrap_or_default();
    let nth = answer.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    nth.filter(|nth| *nth < known.len()).map(|nth| known.swap_remove(nth)).ok_or_else(|| {
        Finding::error(Code::Usage, "no run was chosen, so nothing was started").help("type the number of a run").into()
    })
}
