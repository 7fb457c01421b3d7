//! What there is below `.workflow/`: sessions and runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Serialize, Serializer};
use team_executor_beneath::{Dir, ours};
use team_executor_core::{TaskStatus, Timestamp};
use team_executor_engine::control;
use team_executor_engine::runs::{self, KnownRun};
use team_executor_files::{Code, Dialect, Finding, load, time};
use team_executor_store::run_folder::{ARCHIVE, EXECUTOR, NESTED, SESSIONS, WORKFLOW};
use team_executor_store::{DiskFolder, OpenError};

use crate::App;
use crate::error::Error;

/// One session or run.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names of the columns say it")]
pub struct SessionRow {
    pub path: String,
    id: String,
    pub kind: &'static str,
    pub dialect: &'static str,
    pub status: &'static str,
    pub tasks: usize,
    pub completed: usize,
    pub failed: usize,
    pub errors: usize,
    pub warnings: usize,
    /// The first other session that has its id.
    pub same_id_as: Option<String>,
}

/// All sessions and runs of a project.
#[derive(Debug, Serialize)]
pub struct SessionList {
    version: u32,
    /// Each of them.
    pub sessions: Vec<SessionRow>,
}

/// All runs of a project, the newest first.
#[derive(Debug, Serialize)]
pub struct RunList {
    version: u32,
    /// Each of them.
    pub runs: Vec<RunRow>,
}

/// One run.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names of the columns say it")]
pub struct RunRow {
    pub run: String,
    pub state: RunState,
    pub session: String,
    pub tasks: usize,
    pub completed: usize,
    pub failed: usize,
    /// The process that executes it.
    pub process: Option<u32>,
    pub folder: String,
    #[serde(serialize_with = "rfc3339")]
    pub began: Timestamp,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// An executor has it.
    Running,
    /// It can be resumed.
    Paused,
    /// Every task is over.
    Finished,
}

impl RunState {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
        }
    }
}

fn rfc3339<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&time::format(*at))
}

impl App {
    /// The runs of the project that a folder is.
    pub fn runs(&self, folder: &Path) -> Result<RunList, Error> {
        let project = self.path(folder);
        if Dir::open(&self.path(&workflow(folder))).is_err() {
            return Err(no_workflow(folder, "runs"));
        }
        let runs = runs::known(&project).into_iter().map(|known| self.run_row(&project, known)).collect();
        Ok(RunList { version: 1, runs })
    }

    fn run_row(&self, project: &Path, known: KnownRun) -> RunRow {
        let KnownRun { id, folder, session, made, finished } = known;
        let process = control::executor(&folder);
        let state = match process {
            Some(_) => RunState::Running,
            None if control::holder(&folder).is_some() => RunState::Running, // it begins, or it ends
            None if finished => RunState::Finished,
            None => RunState::Paused,
        };
        let row = self.row(&folder);
        let count = |of: fn(&SessionRow) -> usize| row.as_ref().map_or(0, of);
        RunRow {
            run: id,
            state,
            session: session.strip_prefix(project).unwrap_or(&session).display().to_string(),
            tasks: count(|row| row.tasks),
            completed: count(|row| row.completed),
            failed: count(|row| row.failed),
            process,
            folder: folder.strip_prefix(project).unwrap_or(&folder).display().to_string(),
            began: made,
        }
    }

    /// Finds and reads what there is below the `.workflow/` of a folder.
    pub fn sessions(&self, folder: &Path) -> Result<SessionList, Error> {
        let workflow = workflow(folder);
        if Dir::open(&self.path(&workflow)).is_err() {
            return Err(no_workflow(folder, "sessions"));
        }
        let mut sessions: Vec<SessionRow> =
            self.candidates(&workflow).iter().filter_map(|path| self.row(path)).collect();
        let mut first: HashMap<String, String> = HashMap::new();
        for row in sessions.iter_mut().filter(|row| row.kind == "session") {
            row.same_id_as = first.get(&row.id).cloned();
            first.entry(row.id.clone()).or_insert_with(|| row.path.clone());
        }
        Ok(SessionList { version: 1, sessions })
    }

    /// Folders two levels below `.workflow/`: `.team/TC-…`, `.csv-wave/EX-…` and whatever else planners make; then the teams of
    /// `sessions/<id>/runs/<run>/work/team`, and what is in such a folder if it is no session itself.
    pub(crate) fn candidates(&self, workflow: &Path) -> Vec<PathBuf> {
        let folders = |path: &Path| -> Vec<PathBuf> {
            let Ok(folder) = Dir::open(&self.path(path)) else { return Vec::new() };
            let names = folder.list().unwrap_or_default().into_iter();
            // One that may not be looked into is listed too.
            let is_folder = |name: &String| matches!(folder.dir_inside(name), Ok(_) | Err(Errno::ACCESS | Errno::PERM));
            names.filter(is_folder).map(|name| path.join(name)).collect()
        };
        let mut found: Vec<PathBuf> = folders(workflow).iter().flat_map(|path| folders(path)).collect();
        let sessions = folders(&workflow.join(SESSIONS));
        for run in sessions.iter().flat_map(|session| folders(&session.join("runs"))) {
            let team = NESTED.iter().fold(run, |path, part| path.join(part));
            match DiskFolder::open(&self.path(&team)).map(|folder| Dialect::detect(&folder)) {
                Ok(Some(_)) => found.push(team),
                Ok(None) => found.extend(folders(&team)),
                Err(_) => {}
            }
        }
        found
    }

    fn row(&self, path: &Path) -> Option<SessionRow> {
        let is_run = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("EX-"));
        let folder = match DiskFolder::open(&self.path(path)) {
            Ok(folder) => folder,
            Err(OpenError::Refused(_)) if is_run => return Some(self.denied(path)),
            Err(_) => return None,
        };
        let dialect = Dialect::detect(&folder)?;
        let loaded = load(&folder, &self.name_of(path), Some(dialect));
        let tasks = loaded.session.as_ref().map_or(&[][..], |(session, _)| &session.tasks);
        let with = |status| tasks.iter().filter(|task| task.status == status).count();
        let listed = loaded.session.as_ref().map_or(0, |(session, _)| session.completed_tasks.len());
        Some(SessionRow {
            path: path.display().to_string(),
            id: self.id_of(&folder, path),
            kind: if is_run { "run" } else { "session" },
            dialect: dialect.name(),
            status: match &loaded.session {
                None => "invalid",
                Some(_) if is_run && ours::open(&self.path(path).join(EXECUTOR)).is_ok() => of_run(&self.path(path)),
                Some((session, _)) => session.status.word(),
            },
            tasks: tasks.len(),
            completed: with(TaskStatus::Completed).max(listed),
            failed: with(TaskStatus::Failed),
            errors: loaded.findings.error_count(),
            warnings: loaded.findings.warning_count(),
            same_id_as: None,
        })
    }

    /// A run that only another user may look into.
    fn denied(&self, path: &Path) -> SessionRow {
        SessionRow {
            path: path.display().to_string(),
            id: self.name_of(path),
            kind: "run",
            dialect: Dialect::TasksCsv.name(),
            status: "denied",
            tasks: 0,
            completed: 0,
            failed: 0,
            errors: 0,
            warnings: 0,
            same_id_as: None,
        }
    }
}

fn no_workflow(folder: &Path, command: &str) -> Error {
    let finding = Finding::error(Code::NoSession, format!("there is no .workflow/ folder in {}", folder.display()));
    let finding = finding.help(format!("name the folder that holds it: team-executor {command} DIR"));
    finding.help("or make a session: team-executor init 'Fix the export'").into()
}

/// The `.workflow/` of a folder, as the user sees it.
pub fn workflow(folder: &Path) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(WORKFLOW) } else { folder.join(WORKFLOW) }
}

/// How a run stands, which its table has no place for.
fn of_run(path: &Path) -> &'static str {
    let is_away = path.parent().is_some_and(|folder| folder.ends_with(ARCHIVE));
    if is_away {
        "archived"
    } else if runs::is_finished(path) {
        "finished"
    } else if control::is_heard(path) {
        "active"
    } else {
        "paused"
    }
}
