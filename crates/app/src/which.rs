//! Which session is meant, where the user does not say it whole: a part of a name, a variable, or where the user is.

use std::path::{Component, Path, PathBuf};

use team_executor_agents::environment::{ATTEMPT, SESSION};
use team_executor_beneath::Dir;
use team_executor_engine::runs;
use team_executor_files::{Code, Dialect, Finding};
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{DiskFolder, OpenError};

use crate::error::Error;
use crate::{App, escape};

/// How many sessions an error names.
const NAMED: usize = 10;

/// What is meant where no session was named.
#[derive(Debug, PartialEq, Eq)]
pub enum Meant {
    /// This one, and why.
    One(PathBuf, String),
    /// One of these: the user has to choose.
    Several(Vec<PathBuf>),
    /// None: there is no session here, or a worker asks, whose attempt names it.
    None,
}

impl App {
    /// The session that a bare name or a unique part of one means. Any other path stays as it is.
    pub fn named(&self, given: &Path) -> Result<PathBuf, Error> {
        let mut parts = given.components();
        let (Some(Component::Normal(name)), None) = (parts.next(), parts.next()) else { return Ok(given.to_owned()) };
        if !matches!(DiskFolder::open(&self.path(given)), Err(OpenError::Missing)) {
            return Ok(given.to_owned());
        }
        let name = name.to_string_lossy();
        let mut found = self.sessions_around(self.current()?);
        if let Some(whole) = found.iter().find(|session| self.name_of(session) == name) {
            return Ok(whole.clone());
        }
        found.retain(|session| self.name_of(session).contains(&*name));
        match &found[..] {
            [] => Ok(given.to_owned()),
            [only] => Ok(only.clone()),
            several => {
                let message = format!("{} sessions have '{}' in their name", several.len(), escape::line(&name));
                Err(listed(Finding::error(Code::SessionRequired, message), several).into())
            }
        }
    }

    /// The session that is meant where none was named.
    pub fn inferred(&self) -> Result<Meant, Error> {
        let variable = |name| self.variable_os(name).filter(|value| !value.is_empty());
        if variable(ATTEMPT).is_some() {
            return Ok(Meant::None);
        }
        if let Some(path) = variable(SESSION).map(PathBuf::from) {
            return Ok(Meant::One(path, format!("from {SESSION}")));
        }
        let current = self.current()?;
        if let Some(path) = enclosing(current) {
            return Ok(Meant::One(path, "the current folder is in it".to_owned()));
        }
        let found = self.sessions_around(current);
        if let [only] = &found[..] {
            return Ok(Meant::One(only.clone(), "the only one here".to_owned()));
        }
        if let Some((path, run)) = self.unfinished(&found) {
            return Ok(Meant::One(path, format!("its run {} is not finished", escape::line(&run))));
        }
        Ok(if found.is_empty() { Meant::None } else { Meant::Several(found) })
    }

    /// The folder of the project of a session, or else of the nearest project: the current folder, or one above it.
    pub fn project(&self, session: Option<&Path>) -> Result<PathBuf, Error> {
        if session.is_some() {
            return Ok(self.place(session)?.project);
        }
        let current = self.current()?;
        let has_any = |folder: &&Path| Dir::open(&folder.join(WORKFLOW)).is_ok();
        Ok(current.ancestors().find(has_any).unwrap_or(current).to_owned())
    }

    /// The sessions of the nearest project that has any: the current folder, or one above it.
    pub(crate) fn sessions_around(&self, current: &Path) -> Vec<PathBuf> {
        let levels = current.ancestors().count();
        let of_level = |up: usize| -> Vec<PathBuf> {
            let found = self.candidates(&above(up).join(WORKFLOW)).into_iter();
            found.filter(|path| self.path(path).canonicalize().is_ok_and(|path| is_session(&path))).collect()
        };
        (0..levels).map(of_level).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// That one of several sessions has to be named.
    pub fn choose_one(&self, found: &[PathBuf]) -> Error {
        listed(self.session_required(), found).into()
    }

    /// The session with the newest run that is not finished, and that run.
    fn unfinished(&self, found: &[PathBuf]) -> Option<(PathBuf, String)> {
        let absolute = |path: &PathBuf| self.path(path).canonicalize().ok();
        let project = runs::project(absolute(found.first()?).as_deref(), Path::new(""));
        let open = runs::known(&project).into_iter().filter(|run| !run.finished);
        { open }.find_map(|run| {
            let session = found.iter().find(|path| absolute(path).as_ref() == Some(&run.session))?;
            Some((session.clone(), run.id))
        })
    }
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

/// The way up from the current folder; nothing if it is that one.
fn above(levels: usize) -> PathBuf {
    std::iter::repeat_n("..", levels).collect()
}

fn listed(finding: Finding, found: &[PathBuf]) -> Finding {
    let named = |finding: Finding, path: &PathBuf| finding.help(escape::session(path.display()));
    let finding = found.iter().take(NAMED).fold(finding.help("name one of these"), named);
    match found.len().saturating_sub(NAMED) {
        0 => finding,
        more => finding.help(format!("and {more} more; list them all: team-executor sessions")),
    }
}
