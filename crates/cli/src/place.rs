//! Where a run takes place: the session's folder, the project around it, this program and its environment.

use std::path::{Path, PathBuf};

use team_executor_agents::probe;
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::project_root;

use crate::config::Config;
use crate::escape;
use crate::failure::Failure;
use crate::open;

/// What this program is called where it is installed.
const NAME: &str = "team-executor";

/// This program for a command that a user is to type: its name if `PATH` leads to it, else the path that it was started by or
/// is at.
pub(crate) fn program() -> String {
    let Ok(exe) = std::env::current_exe().and_then(|exe| exe.canonicalize()) else { return NAME.to_owned() };
    let is_this = |path: &Path| path.canonicalize().is_ok_and(|path| path == exe);
    let here = std::env::current_dir().unwrap_or_default();
    if probe(NAME, std::env::var("PATH").ok().as_deref(), &here).is_ok_and(|found| is_this(&found)) {
        return NAME.to_owned();
    }
    let typed = std::env::args().next().filter(|typed| typed.contains('/') && is_this(Path::new(typed)));
    typed.unwrap_or_else(|| exe.display().to_string())
}

/// The same as a shell reads it, on one line.
pub(crate) fn typed() -> String {
    escape::line(&escape::shell_word(&program()))
}

/// Where a run takes place.
pub(crate) struct Place {
    /// The session's folder, absolute.
    pub(crate) folder: PathBuf,
    /// The current folder, absolute.
    pub(crate) current: PathBuf,
    /// The folder that workers work in.
    pub(crate) project: PathBuf,
    /// This program.
    pub(crate) exe: PathBuf,
    /// Its environment.
    pub(crate) environment: Vec<(String, String)>,
}

impl Place {
    /// Looks around. Without a session the project is the current folder.
    pub(crate) fn of(session: Option<&Path>) -> Result<Self, Failure> {
        let cannot = |what: &str, error: std::io::Error| {
            let finding = Finding::error(Code::Usage, format!("{what} cannot be found: {error}"));
            Failure::from(finding.help("check the path, and where you are with: pwd"))
        };
        let current = std::env::current_dir().map_err(|error| cannot("the current folder", error))?;
        let folder = match session {
            Some(session) => session.canonicalize().map_err(|error| cannot("the session folder", error))?,
            None => current.clone(),
        };
        open::must_be_no_run(&folder)?;
        let variables = std::env::vars_os();
        let as_texts = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Ok(Self {
            project: session.map_or_else(|| current.clone(), |_| project_root(&folder, &current)),
            folder,
            current,
            exe: std::env::current_exe().map_err(|error| cannot("this program", error))?,
            environment: variables.filter_map(as_texts).collect(),
        })
    }

    /// A variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What is configured here.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        Config::load(&self.project, &self.current, |name| self.variable(name).map(str::to_owned))
    }
}
