//! Which session is meant, where `--session` does not say it whole: a part of a name, a variable, or where the user is.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Component, Path, PathBuf};

use team_executor_agents::environment::{ATTEMPT, SESSION};
use team_executor_engine::runs;
use team_executor_files::{Code, Dialect, Finding};
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{DiskFolder, OpenError};

use crate::commands::sessions::candidates;
use crate::escape;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// How many sessions an error names.
const NAMED: usize = 10;

/// The session that a bare name or a unique part of one means. Any other path stays as it is.
pub(crate) fn named(given: &Path) -> Result<PathBuf, Failure> {
    let mut parts = given.components();
    let (Some(Component::Normal(name)), None) = (parts.next(), parts.next()) else { return Ok(given.to_owned()) };
    if !matches!(DiskFolder::open(given), Err(OpenError::Missing)) {
        return Ok(given.to_owned());
    }
    let name = name.to_string_lossy();
    let mut found = around(&open::current()?);
    if let Some(whole) = found.iter().find(|session| open::name_of(session) == name) {
        return Ok(whole.clone());
    }
    found.retain(|session| open::name_of(session).contains(&*name));
    match &found[..] {
        [] => Ok(given.to_owned()),
        [only] => Ok(only.clone()),
        several => {
            let message = format!("{} sessions have '{}' in their name", several.len(), escape::line(&name));
            Err(listed(Finding::error(Code::SessionRequired, message), several).into())
        }
    }
}

/// The session that a command without `--session` is about, said in one line. Nothing for a worker, whose attempt names it,
/// and where no session can be found. A person at a terminal is asked to choose among several.
pub(crate) fn inferred(printer: &mut Printer) -> Result<Option<PathBuf>, Failure> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if variable(ATTEMPT).is_some() {
        return Ok(None);
    }
    if let Some(path) = variable(SESSION).map(PathBuf::from) {
        return say(path, &format!("from {SESSION}"), printer);
    }
    let current = open::current()?;
    if let Some(path) = enclosing(&current) {
        return say(path, "the current folder is in it", printer);
    }
    let found = around(&current);
    if let [only] = &found[..] {
        return say(only.clone(), "the only one here", printer);
    }
    if let Some((path, run)) = unfinished(&found) {
        return say(path, &format!("its run {} is not finished", escape::line(&run)), printer);
    }
    if found.is_empty() {
        return Ok(None);
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(listed(open::session_required(), &found).into());
    }
    chosen(found, printer).map(Some)
}

fn say(path: PathBuf, why: &str, printer: &mut Printer) -> Result<Option<PathBuf>, Failure> {
    printer.tell(format!("Session {} ({why})", escape::line(&path.display().to_string())))?;
    Ok(Some(path))
}

fn is_session(path: &Path) -> bool {
    DiskFolder::open(path).is_ok_and(|folder| Dialect::detect(&folder).is_some()) && runs::session_of(path).is_none()
}

/// The session that a folder is, or that it lies in below a `.workflow`.
fn enclosing(current: &Path) -> Option<PathBuf> {
    let inside = current.ancestors().take_while(|folder| !folder.ends_with(WORKFLOW)).count();
    let has_workflow = current.ancestors().nth(inside).is_some();
    let levels = if has_workflow { inside } else { 1 };
    let up = current.ancestors().take(levels).position(is_session)?;
    Some(if up == 0 { PathBuf::from(".") } else { above(up) })
}

/// The sessions of the nearest project that has any: the current folder, or one above it.
fn around(current: &Path) -> Vec<PathBuf> {
    let levels = current.ancestors().count();
    let of_level = |up: usize| -> Vec<PathBuf> {
        let found = candidates(&above(up).join(WORKFLOW)).into_iter();
        found.filter(|path| path.canonicalize().is_ok_and(|path| is_session(&path))).collect()
    };
    (0..levels).map(of_level).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The way up from the current folder; nothing if it is that one.
fn above(levels: usize) -> PathBuf {
    std::iter::repeat_n("..", levels).collect()
}

/// The session with the newest run that is not finished, and that run.
fn unfinished(found: &[PathBuf]) -> Option<(PathBuf, String)> {
    let absolute = |path: &PathBuf| path.canonicalize().ok();
    let project = runs::project(absolute(found.first()?).as_deref(), Path::new(""));
    let open = runs::known(&project).into_iter().filter(|run| !run.finished);
    { open }.find_map(|run| {
        let session = found.iter().find(|path| absolute(path).as_ref() == Some(&run.session))?;
        Some((session.clone(), run.id))
    })
}

fn listed(finding: Finding, found: &[PathBuf]) -> Finding {
    let named = |finding: Finding, path: &PathBuf| finding.help(escape::session(path.display()));
    let finding = found.iter().take(NAMED).fold(finding.help("name one of these"), named);
    match found.len().saturating_sub(NAMED) {
        0 => finding,
        more => finding.help(format!("{more} more: team-executor sessions lists all")),
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
        None => Err(listed(open::session_required(), &found).into()),
    }
}
