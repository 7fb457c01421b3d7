//! Where the two configuration files are, and what they say together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use team_executor_beneath::{Dir, is_system_failure, ours, words};
use team_executor_files::{Code, Finding, Findings, Source, Sources};

use super::read::{read, unknown_agents};
use super::{Origin, Settings, Spot, isolation, servers};
use crate::error::Error;

/// The file of a project.
pub const PROJECT_FILE: &str = "team-executor.toml";
/// The user's own file, below the folder for configuration.
const USER_FILE: &str = "team-executor/config.toml";
/// A longer one is refused.
const MAX_BYTES: u64 = 1 << 20;

/// What the user has settled beforehand.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// What the files say together, the project's first, over what is built in.
    pub(crate) settings: Settings,
    /// The project's file, then the user's.
    pub(crate) files: Vec<File>,
    /// The folder of the project, absolute.
    pub(crate) project: PathBuf,
    /// Where the trees of tasks are, unless that is set.
    pub(crate) trees: Option<PathBuf>,
}

/// One of the files.
#[derive(Debug, Clone)]
pub struct File {
    /// Whose it is.
    pub owner: &'static str,
    /// Where it is, or would be; as it is shown.
    pub path: Arc<str>,
    /// It is there.
    pub found: bool,
}

impl Config {
    /// Reads both files. What is wrong with them is told at once, and nothing else happens.
    pub(crate) fn load(
        project: &Path,
        current: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let path = if project == current { PathBuf::from(PROJECT_FILE) } else { project.join(PROJECT_FILE) };
        let mut loading =
            Loading { findings: Findings::default(), sources: Sources::default(), files: Vec::new(), failure: None };
        let home = variable("HOME").filter(|home| !home.is_empty());
        // Who wrote the project may not be the user: a link could lead to a file that its mistakes would show.
        let in_project = Dir::open(project).and_then(|project| project.read(PROJECT_FILE, MAX_BYTES));
        let project_file = loading.file("project", &path, in_project, Origin::Project, None);
        let user_file = match user_path(&variable, home.as_deref()) {
            Some(path) => {
                let read = ours::read_chosen(&path, MAX_BYTES);
                loading.file("user", &path, read, Origin::User, home.as_deref())
            }
            None => Settings::default(),
        };
        let settings = project_file.or(user_file).or(Settings::built_in());
        let Loading { mut findings, sources, files, failure } = loading;
        if let Some(finding) = failure {
            return Err(Error::io(finding));
        }
        if !findings.has_errors() {
            unknown_agents(&settings, &mut findings);
            servers::unknown(&settings, &mut findings);
        }
        if findings.has_errors() {
            return Err(Error::files(findings, sources));
        }
        let trees = isolation::default_root(&variable);
        Ok(Self { settings, files, project: project.to_owned(), trees })
    }

    /// Whether the user trusts the file of this project to choose programs.
    pub(crate) fn trusts_project(&self) -> bool {
        let is_in = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| self.project.starts_with(folder));
        self.settings.trusted_projects.as_ref().is_some_and(|set| set.value.iter().any(is_in))
    }
}

/// Where the user's own file is.
fn user_path(variable: &impl Fn(&str) -> Option<String>, home: Option<&str>) -> Option<PathBuf> {
    let configured = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    configured.or_else(|| Some(Path::new(home?).join(".config"))).map(|folder| folder.join(USER_FILE))
}

struct Loading {
    findings: Findings,
    sources: Sources,
    files: Vec<File>,
    /// The disk or the system failed, which says nothing about a file.
    failure: Option<Finding>,
}

impl Loading {
    /// What one file says; nothing if it is not there or cannot be read, which is noted.
    fn file(
        &mut self,
        owner: &'static str,
        path: &Path,
        read_bytes: Result<Vec<u8>, Errno>,
        origin: fn(Spot) -> Origin,
        home: Option<&str>,
    ) -> Settings {
        let name: Arc<str> = path.display().to_string().into();
        if let Err(errno) = &read_bytes
            && is_system_failure(*errno)
        {
            let finding = Finding::error(Code::FileUnreadable, format!("cannot read {name}: {}", words(*errno)));
            self.failure = Some(finding.help("once the cause is gone, the same command works"));
            return Settings::default();
        }
        let text = text(read_bytes);
        self.files.push(File { owner, path: name.clone(), found: !matches!(text, Ok(None)) });
        match text {
            Ok(None) => Settings::default(),
            Ok(Some(text)) => {
                let source = Source::new(text);
                let settings = read(&name, &source, origin, home, &mut self.findings);
                self.sources.insert(name, source);
                settings
            }
            Err(reason) => {
                let finding = Finding::error(Code::FileUnreadable, format!("{name} cannot be read: {reason}"));
                self.findings.push(finding.help(format!("look at it with: ls -l {name}")));
                Settings::default()
            }
        }
    }
}

/// The text of a file, if there is one.
fn text(read: Result<Vec<u8>, Errno>) -> Result<Option<String>, String> {
    match read {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(Errno::FBIG) => Err(format!("it has more than {MAX_BYTES} bytes")),
        Err(errno) => Err(words(errno)),
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned()),
    }
}
