//! From the name of a session to one that has been read.

use std::path::{Path, PathBuf};

use team_executor_beneath::ours;
use team_executor_core::{Graph, Session, TaskIndex, letters_apart};
use team_executor_engine as engine;
use team_executor_engine::runs::OfSession;
use team_executor_files::{
    Code, Dialect, Finding, Findings, Folder, Loaded, Sources, load, load_ignoring_results, load_tasks, stated_id,
};
use team_executor_store::run_folder::{WORKFLOW, folder_name};
use team_executor_store::{DiskFolder, OpenError};

use crate::config::nearest;
use crate::environment::Place;
use crate::error::Error;
use crate::{App, escape};

/// How a session is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// How the folder is written; detected from its files unless given.
    pub dialect: Option<Dialect>,
    /// Every warning is an error.
    pub strict: bool,
    /// Files beside the table that report results say nothing.
    pub ignore_results: bool,
}

/// A session that has been read, fit to be run or not.
#[derive(Debug)]
pub struct Opened {
    /// The folder, as the user named it.
    pub path: String,
    /// How it was read.
    pub dialect: Dialect,
    /// The session and its graph, unless there is an error.
    pub session: Option<(Session, Graph)>,
    /// What is wrong or odd.
    pub findings: Findings,
    /// What findings point into.
    pub sources: Sources,
    /// The folder of the run that is looked at, if it is not the newest.
    pub run: Option<PathBuf>,
}

impl Opened {
    /// The session, if it can be run.
    pub fn runnable(&self) -> Result<(&Session, &Graph), Error> {
        let session = self.session.as_ref().map(|(session, graph)| (session, graph));
        session.ok_or_else(|| {
            let finding = Finding::error(Code::Usage, "the session cannot be read");
            finding.help(format!("see why: team-executor validate {}", escape::session(&self.path))).into()
        })
    }

    /// The session, if it can be run, and one of its tasks.
    pub fn task(&self, id: &str) -> Result<(&Session, &Graph, TaskIndex), Error> {
        let (session, graph) = self.runnable()?;
        let Some(task) = graph.index_of(id) else {
            let finding = Finding::error(Code::Usage, format!("there is no task '{id}'"));
            let finding = match nearest(id, session.tasks.iter().map(|task| task.id.as_str())) {
                Some(near) => finding.help(format!("did you mean {near}?")),
                None => finding,
            };
            let named = escape::session(&self.path);
            return Err(finding.help(format!("list the tasks: team-executor plan {named}")).into());
        };
        Ok((session, graph, task))
    }

    /// The path that the user named.
    pub(crate) fn named(&self) -> Option<&Path> {
        Some(Path::new(&self.path))
    }
}

type Load = fn(&dyn Folder, &str, Option<Dialect>) -> Loaded;

impl App {
    /// Reads the session that the user named.
    pub fn open(&self, path: Option<&Path>, reading: Reading) -> Result<Opened, Error> {
        let own = path.and_then(|path| self.path(path).canonicalize().ok());
        // What a run has taken over or set back is in its journal; files from before say nothing about it.
        let was_run =
            || own.is_some_and(|own| self.current().is_ok_and(|current| OfSession::new(&own, current).exist()));
        self.read(path, reading, if reading.ignore_results || was_run() { load_ignoring_results } else { load })
    }

    /// Reads the session that the user named, to look at one of its runs: the newest, or the one with this unique part of a name.
    /// Where the session has other tasks by now, they are those of that run.
    pub fn open_run(&self, path: Option<&Path>, reading: Reading, run: Option<&str>) -> Result<Opened, Error> {
        let mut opened = self.open(path, reading)?;
        let Some(named) = run else { return Ok(opened) };
        let place = self.place(path)?;
        let run = self.run_named(&place, named)?;
        if opened.session.as_ref().is_none_or(|(session, _)| !engine::runs::is_of(&run, session)) {
            let tasks = engine::runs::tasks_of(&run, &place.folder).ok_or_else(|| {
                let message = format!("the tasks of the run {} cannot be read any more", folder_name(&run));
                let folder = escape::shell_word(&run.display().to_string());
                Finding::error(Code::Usage, message).help(format!("look at its files: ls {folder}"))
            })?;
            opened.session = Some(tasks);
        }
        opened.run = Some(run);
        Ok(opened)
    }

    /// The folder of the run of a session with this unique part of a name.
    pub(crate) fn run_named(&self, place: &Place, named: &str) -> Result<PathBuf, Error> {
        const SHOWN: usize = 10;
        let all = engine::runs::of_session(&place.folder, &place.current);
        let whole = all.iter().find(|(id, _)| id == named);
        let mut fitting: Vec<_> = match whole {
            Some(one) => vec![one],
            None => all.iter().filter(|(id, _)| id.contains(named)).collect(),
        };
        if let ([one], false) = (&fitting[..], named.is_empty()) {
            return Ok(one.1.clone());
        }
        let message = match fitting.len() {
            0 => format!("the session has no run {}", escape::line(named)),
            several => format!("{several} runs of the session have '{}' in their name", escape::line(named)),
        };
        if fitting.is_empty() {
            fitting = all.iter().collect();
        }
        let shown = fitting.iter().take(SHOWN).map(|(id, _)| format!("--run {}", escape::shell_word(id)));
        let finding = shown.fold(Finding::error(Code::Usage, message), Finding::help);
        Err(match fitting.len().saturating_sub(SHOWN) {
            0 if fitting.is_empty() => finding.help("the session was never run"),
            0 => finding,
            more => finding.help(format!("and {more} more")),
        }
        .into())
    }

    /// Reads the tasks of the session that the user named, and nothing that stands beside them.
    pub fn open_tasks(&self, path: Option<&Path>, reading: Reading) -> Result<Opened, Error> {
        self.read(path, reading, load_tasks)
    }

    /// Reads the session that the user named, and finds out whether another one in the project has its id.
    pub fn open_unique(&self, path: Option<&Path>, reading: Reading) -> Result<Opened, Error> {
        let mut opened = self.open(path, reading)?;
        let twins = self.twins(Path::new(&opened.path));
        if let Some(first) = twins.first() {
            let more = if twins.len() > 1 { format!(" and {} more", twins.len() - 1) } else { String::new() };
            let message = format!("another session has the same id: {}{more}", first.display());
            let finding = Finding::warning(Code::DuplicateId, message);
            opened.findings.push(finding.help("give one of them another `session_id`"));
            if reading.strict {
                opened.findings.make_strict();
                opened.session = None;
            }
        }
        Ok(opened)
    }

    fn read(&self, path: Option<&Path>, reading: Reading, load: Load) -> Result<Opened, Error> {
        let path = path.ok_or_else(|| self.session_required())?;
        let folder = DiskFolder::open(&self.path(path)).map_err(|error| self.cannot_open(path, &error))?;
        let mut loaded = load(&folder, &self.name_of(path), reading.dialect);
        if let Some((file, reason)) = folder.failure() {
            return Err(cannot_read(&path.join(file), reason));
        }
        if reading.strict {
            loaded.findings.make_strict();
        }
        let session = if loaded.findings.has_errors() { None } else { loaded.session };
        Ok(Opened {
            path: path.display().to_string(),
            dialect: loaded.dialect,
            session,
            findings: loaded.findings,
            sources: loaded.sources,
            run: None,
        })
    }

    /// The other sessions below the `.workflow/` that a session stands in which have its id.
    fn twins(&self, path: &Path) -> Vec<PathBuf> {
        let Ok(own) = self.path(path).canonicalize() else { return Vec::new() };
        let workflow = own.ancestors().skip(1).find(|folder| folder.ends_with(WORKFLOW));
        let Some(workflow) = workflow else { return Vec::new() };
        let all = self.candidates(workflow);
        if !all.contains(&own) {
            return Vec::new();
        }
        let id = |path: &Path| DiskFolder::open(path).ok().map(|folder| self.id_of(&folder, path));
        let wanted = id(&own);
        let is_run = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("EX-"));
        let others = all.into_iter().filter(|other| *other != own && !is_run(other));
        others.filter(|other| id(other) == wanted && other.canonicalize().is_ok_and(|other| other != own)).collect()
    }

    /// The id of a session: the one that it states, or the name of its folder.
    pub(crate) fn id_of(&self, folder: &DiskFolder, path: &Path) -> String {
        stated_id(folder).unwrap_or_else(|| self.name_of(path))
    }

    /// What the folder is called, whatever way leads there.
    pub(crate) fn name_of(&self, path: &Path) -> String {
        let resolved = self.path(path).canonicalize().unwrap_or_else(|_| path.to_owned());
        Some(folder_name(&resolved)).filter(|name| !name.is_empty()).unwrap_or_else(|| "session".to_owned())
    }

    /// Where the session is that the user named. It need not be fit to be run.
    pub(crate) fn place(&self, path: Option<&Path>) -> Result<Place, Error> {
        let path = path.ok_or_else(|| self.session_required())?;
        DiskFolder::open(&self.path(path)).map_err(|error| self.cannot_open(path, &error))?;
        let place = self.around(Some(path))?;
        runs_can_be_read(&place)?;
        Ok(place)
    }

    /// What is said when no session was named and none could be inferred.
    pub(crate) fn session_required(&self) -> Finding {
        let finding = Finding::error(Code::SessionRequired, "Session required. Usage: --session=<path-to-TC-folder>");
        match ours::list(&self.path(Path::new(WORKFLOW))) {
            Ok(names) if !names.is_empty() => {
                finding.help("list the sessions below .workflow/: team-executor sessions")
            }
            _ => finding.help("make one: team-executor init 'Fix the export'"),
        }
    }

    fn cannot_open(&self, path: &Path, error: &OpenError) -> Error {
        let shown = path.display();
        let finding = match error {
            OpenError::Failed(reason) => return cannot_read(path, reason),
            OpenError::Missing => {
                let not_found = format!("Session directory not found: {shown}");
                let mut finding = Finding::error(Code::SessionNotFound, not_found);
                for near in self.near_matches(path) {
                    finding = finding.help(format!("did you mean {}?", escape::session(near)));
                }
                finding.help("list the sessions below .workflow/: team-executor sessions")
            }
            OpenError::NotAFolder => {
                Finding::error(Code::SessionNotFound, format!("Session directory not found: {shown}"))
                    .help("this is a file; name the folder that holds the session's files")
            }
            OpenError::Refused(reason) => {
                Finding::error(Code::SessionNotFound, format!("Session directory not readable: {shown}: {reason}"))
                    .help(format!("check it with: ls -ld {}", escape::shell_word(&shown.to_string())))
            }
        };
        finding.into()
    }

    /// Sessions below `.workflow/.team/` whose names are most like the one that was named.
    fn near_matches(&self, path: &Path) -> Vec<String> {
        const SHOWN: usize = 3;
        let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Ok(entries) = ours::list(&self.path(Path::new(".workflow/.team"))) else { return Vec::new() };
        let mut names: Vec<(usize, String)> = entries
            .into_iter()
            .take(1000)
            .filter_map(|name| Some((letters_apart(&wanted, &name, wanted.len() / 2)?, name)))
            .collect();
        names.sort();
        names.into_iter().take(SHOWN).map(|(_, name)| format!(".workflow/.team/{name}")).collect()
    }
}

/// Refuses what needs the newest run of a session where another user's permissions hide it: it was not "never run".
pub(crate) fn runs_can_be_read(place: &Place) -> Result<(), Error> {
    let Some(closed) = OfSession::new(&place.folder, &place.current).closed() else { return Ok(()) };
    let shown = closed.strip_prefix(&place.current).unwrap_or(&closed).display().to_string();
    let finding = Finding::error(Code::Usage, format!("{shown} cannot be read: permission denied"));
    let finding = finding.help(format!("see whose it is with: ls -ld {}", escape::shell_word(&shown)));
    Err(Error::io(finding.help("go on as that user, or ask for permission to read it")))
}

/// Refuses the folder of a run, which looks like a session: running it would do everything again beside the run.
pub(crate) fn must_be_no_run(folder: &Path) -> Result<(), Error> {
    let Some(session) = engine::runs::session_of(folder) else { return Ok(()) };
    let finding = Finding::error(Code::Usage, format!("{} is the folder of a run", folder.display()));
    Err(finding.help(format!("name its session: {}", escape::session(session.display()))).into())
}

/// What is said when the disk or the system fails: it says nothing about the session.
fn cannot_read(path: &Path, reason: &str) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot read {}: {reason}", path.display()));
    Error::io(finding.help("once the cause is gone, the same command works"))
}
