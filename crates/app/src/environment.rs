//! What the program finds around itself, as values: a face looks once and hands them over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_agents::probe;
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::project_root;

use crate::config::Config;
use crate::error::Error;
use crate::{App, escape};

/// What the program is called where it is installed.
const NAME: &str = "team-executor";

/// What the program finds around itself.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The current folder, absolute, or why there is none.
    pub current: Result<PathBuf, String>,
    /// The program's own file, or why it is not known.
    pub exe: Result<PathBuf, String>,
    /// The word that the program was started by.
    pub started_as: Option<String>,
    /// The environment variables.
    pub variables: Vec<(OsString, OsString)>,
}

impl App {
    /// The same in another current folder.
    pub fn within(&self, current: PathBuf) -> Self {
        Self { env: Arc::new(Environment { current: Ok(current), ..(*self.env).clone() }) }
    }

    /// Where the user is.
    pub fn current(&self) -> Result<&Path, Error> {
        self.env.current.as_deref().map_err(|error| {
            let finding = Finding::error(Code::Usage, format!("the current folder cannot be found: {error}"));
            finding.help("start it in a folder that exists").into()
        })
    }

    /// The program's own file.
    pub fn exe(&self) -> Result<&Path, Error> {
        self.env.exe.as_deref().map_err(|error| {
            let finding = Finding::error(Code::Usage, format!("this program cannot be found: {error}"));
            finding.help("start it by its path").into()
        })
    }

    /// A path that the user named, as it is seen from the current folder.
    pub(crate) fn path(&self, named: &Path) -> PathBuf {
        self.env.current.as_deref().map_or_else(|_| named.to_owned(), |current| current.join(named))
    }

    /// An environment variable; nothing if it is not text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variable_os(name)?.to_str()
    }

    pub(crate) fn variable_os(&self, name: &str) -> Option<&OsString> {
        self.env.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Where this program keeps what is the user's own, outside of all projects.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        let variable = |name| self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(variable("HOME")?.join(".local/state"));
        Some(variable("XDG_STATE_HOME").or_else(home)?.join(NAME))
    }

    /// All environment variables that are text.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(OsString, OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        self.env.variables.iter().filter_map(text).collect()
    }

    /// The program for a command that a user is to type: its name if `PATH` leads to it, else the path that it was started
    /// by or is at.
    pub fn program(&self) -> String {
        let exe = self.env.exe.as_deref().ok().and_then(|exe| exe.canonicalize().ok());
        let Some(exe) = exe else { return NAME.to_owned() };
        let is_this = |path: &Path| path.canonicalize().is_ok_and(|path| path == exe);
        let here = self.env.current.as_deref().unwrap_or(Path::new(""));
        if probe(NAME, self.variable("PATH"), here).is_ok_and(|found| is_this(&found)) {
            return NAME.to_owned();
        }
        let typed = self.env.started_as.as_ref();
        let typed = typed.filter(|typed| typed.contains('/') && is_this(&self.path(Path::new(typed))));
        typed.cloned().unwrap_or_else(|| exe.display().to_string())
    }

    /// The same as a shell reads it, on one line.
    pub fn typed(&self) -> String {
        escape::line(&escape::shell_word(&self.program()))
    }

    /// Where a session is, whatever is in its folder; without a session, where the user is.
    pub(crate) fn around(&self, session: Option<&Path>) -> Result<Place, Error> {
        let current = self.current()?.to_owned();
        let Some(session) = session else {
            return Ok(Place { app: self.clone(), folder: current.clone(), project: current.clone(), current });
        };
        let folder = self.path(session).canonicalize().map_err(|error| {
            let finding = Finding::error(Code::Usage, format!("the session folder cannot be found: {error}"));
            finding.help("check the path, and where you are with: pwd")
        })?;
        crate::open::must_be_no_run(&folder)?;
        Ok(Place { app: self.clone(), project: project_root(&folder, &current), folder, current })
    }
}

/// Where a session is: its folder, the project around it, and from where it is seen.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) app: App,
    /// The session's folder, absolute.
    pub(crate) folder: PathBuf,
    /// The current folder, absolute.
    pub(crate) current: PathBuf,
    /// The folder that workers work in.
    pub(crate) project: PathBuf,
}

impl Place {
    /// What is configured here.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        Config::load(&self.project, &self.current, |name| self.app.variable(name).map(str::to_owned))
    }
}

/// The project that a session, which is named by its absolute path, belongs to, seen from a folder.
pub fn project_of(session: &Path, current: &Path) -> PathBuf {
    project_root(session, current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use crate::open::Reading;

    fn app(current: &Path) -> App {
        let variables = vec![("HOME".into(), current.join("home").into())];
        let current = Ok(current.to_owned());
        App::new(Environment { current, exe: Ok("/x".into()), started_as: None, variables })
    }

    #[test]
    fn apps_of_one_process_see_their_own_folder_and_home() {
        let dirs = [("one", 1), ("two", 2)].map(|(id, retries)| {
            let dir = tempfile::tempdir().unwrap();
            let tasks = format!(r#"{{"session_id": "{id}", "tasks": []}}"#);
            std::fs::create_dir_all(dir.path().join("S")).unwrap();
            std::fs::write(dir.path().join("S/tasks.json"), tasks).unwrap();
            std::fs::create_dir_all(dir.path().join("home/.config/team-executor")).unwrap();
            let config = format!("[defaults]\nretries = {retries}\n");
            std::fs::write(dir.path().join("home/.config/team-executor/config.toml"), config).unwrap();
            dir
        });
        for (dir, retries) in dirs.iter().zip([1, 2]) {
            let app = app(dir.path());
            let opened = app.open(Some(Path::new("S")), Reading::default()).unwrap();
            assert_eq!(opened.path, "S");
            let config = app.config(None, &Flags::default()).unwrap();
            let set = config.entries.iter().find(|entry| entry.key == "defaults.retries").unwrap();
            assert_eq!(set.value, retries);
            assert!(app.open(Some(Path::new("T")), Reading::default()).is_err());
        }
    }

    #[test]
    fn without_a_current_folder_only_what_needs_it_is_refused() {
        let env =
            Environment { current: Err("gone".into()), exe: Ok("/x".into()), started_as: None, variables: vec![] };
        let app = App::new(env);
        assert!(app.current().is_err_and(|error| error.to_string().contains("gone")));
        assert_eq!(app.path(Path::new("/a")), Path::new("/a"));
    }
}
