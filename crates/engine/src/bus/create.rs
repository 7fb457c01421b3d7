//! A person adds a task to a session, or changes one: in its own file, through the writer of its dialect, and only if the session is valid
//! with it. While an executor has the run, it does that, so that the file has one writer.

use std::path::{Path, PathBuf};

use team_executor_beneath::io_error;
use team_executor_core::{Graph, RoleName, Session, Task, TaskId};
use team_executor_files::write::{replanned, task_analysis_with};
use team_executor_files::{Dialect, Folder, ReadError, Severity, limits, load, load_ignoring_results};
use team_executor_store::run_folder::{folder_name, project_root, run_path};
use team_executor_store::{Disk as _, DiskFolder, Durability, RealDisk, replace};

use super::Refusal;
use super::change::{self, TaskEdit};
use crate::begin::run_at;
use crate::control::request::Wanted;
use crate::control::{Answer, Request};
use crate::render::views::{OwnFile, own_file};
use crate::{clock, control, shell};

/// Where the tasks of a `tc` session are planned.
const ANALYSIS: &str = "task-analysis.json";

/// The task that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct NewTask<'a> {
    /// Unique in its session.
    pub id: &'a str,
    /// For people.
    pub title: &'a str,
    /// The work, in words.
    pub description: &'a str,
    /// Who does it.
    pub role: &'a str,
    /// What must be done before.
    pub dependencies: &'a [String],
    /// What waits for it from then on.
    pub before: &'a [String],
    /// The wave that is expected; it follows from the dependencies.
    pub wave: Option<u32>,
}

/// Adds a task, and gives the session with it. Nothing is changed unless all of it is valid. If an executor has the run of the
/// session, it adds the task to both.
pub fn create(
    session: &Session,
    dialect: Dialect,
    folder: &Path,
    current: &Path,
    new: &NewTask<'_>,
) -> Result<Session, Refusal> {
    let project = project_root(folder, current);
    let run = run_at::newest(&run_at::runs(&project), folder).map(|run| run_path(&project, &run));
    if let Some(run) = run.filter(|run| control::holder(run).is_some()) {
        return ask(&run, session, dialect, folder, new);
    }
    let draft = Draft::new(session, dialect, folder, new)?;
    draft.write()?;
    Ok(draft.session)
}

/// Lets the executor of a run add a task.
fn ask(run: &Path, session: &Session, dialect: Dialect, folder: &Path, new: &NewTask<'_>) -> Result<Session, Refusal> {
    let task = task(session, new)?;
    asked(run, folder, &Request::Create(Wanted::of(new)))?;
    let files = DiskFolder::open(folder).ok();
    let loaded = files.and_then(|files| load_ignoring_results(&files, &folder_name(folder), Some(dialect)).session);
    Ok(loaded.map_or_else(
        || Session { tasks: session.tasks.iter().cloned().chain([task]).collect(), ..session.clone() },
        |(session, _)| session,
    ))
}

/// Lets the executor of a run change its plan.
pub(super) fn asked(run: &Path, folder: &Path, request: &Request) -> Result<(), Refusal> {
    let named = shell::session(folder.display());
    let failed =
        |why: String| Refusal::new(why, format!("try again, or look at the run: team-executor status {named}"));
    match control::send(run, request) {
        Ok(Some(Answer { outcome: Err(why), .. })) => {
            Err(Refusal::new(why, format!("the session as it is: team-executor plan {named}")))
        }
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(failed("the executor of the run does not listen at the moment".to_owned())),
        Err(failure) => Err(failed(failure.to_string())),
    }
}

/// A session with one more task, and the text of its file, which is not written yet.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The session with the task.
    pub(crate) session: Session,
    pub(crate) graph: Graph,
    folder: PathBuf,
    name: &'static str,
    before: Vec<u8>,
    text: String,
}

impl Draft {
    /// Adds a task to the text of the session's own file. Refused unless the session is valid with it.
    pub(crate) fn new(session: &Session, dialect: Dialect, folder: &Path, new: &NewTask<'_>) -> Result<Self, Refusal> {
        let (path, named) = (folder.display(), shell::session(folder.display()));
        let planned = match dialect {
            Dialect::Chain => Some(("session.json", "the steps of its chain")),
            Dialect::TaskFiles => Some(("tasks/", "files of their own")),
            _ => None,
        };
        if let Some((file, how)) = planned {
            let help = format!("add it to {path}/{file}, then: team-executor validate {named}");
            return Err(Refusal::new(format!("tasks of this session are {how}"), help));
        }
        let (mut with, task) = (session.clone(), task(session, new)?);
        let name = if dialect == Dialect::Tc { ANALYSIS } else { own_file::name(dialect, folder) };
        with.tasks.push(task.clone());
        let files = DiskFolder::open(folder);
        let files = files.map_err(|_| Refusal::new(format!("{path} cannot be opened"), "check it with: ls -ld"))?;
        let before = files.read(name, limits::TASKS_BYTES).map_err(|error| Refusal::disk(name, error))?;
        let original = String::from_utf8_lossy(&before);
        // The new task's own wave is put right when the graph is known.
        let draft = graph(&with).map_err(|what| refused(what, folder))?;
        let mut text = match dialect {
            // The session's own file has only the state of these tasks.
            Dialect::Tc => task_analysis_with(&original, &task)
                .ok_or_else(|| refused(format!("{name} has no dependency_graph to add it to"), folder))?,
            _ => own_file::text(dialect, &OwnFile::of_session(name), &original, &with, &draft),
        };
        if !new.before.is_empty() {
            let before = (with.clone(), draft);
            change::come_before(&mut with, &task.id, new.before)?;
            let draft = graph(&with).map_err(|what| refused(what, folder))?;
            let changed = replanned(dialect, &text, (&before.0, &before.1), (&with, &draft));
            text = changed.ok_or_else(|| refused(format!("{name} cannot be changed"), folder))?;
        }
        let (session, graph) = valid(&Overlaid { files: &files, name, text: &text }, folder, dialect)?;
        let wave = graph.index_of(new.id).map(|index| graph.wave(index));
        if new.wave.is_some() && new.wave != wave {
            let what = format!("by its dependencies the task is in wave {}", wave.unwrap_or_default());
            return Err(Refusal::new(what, "leave --wave out, or change --deps"));
        }
        Ok(Self { session, graph, folder: folder.to_owned(), name, before, text })
    }

    /// Changes the text of the session's own file by an edit of a task. Refused unless the session is valid then.
    pub(crate) fn edited(
        (session, graph): (&Session, &Graph),
        dialect: Dialect,
        folder: &Path,
        edit: &TaskEdit,
    ) -> Result<Self, Refusal> {
        let (path, named) = (folder.display(), shell::session(folder.display()));
        let mut with = session.clone();
        edit.apply(&mut with)?;
        let sealed = self::graph(&with).map_err(|what| refused(what, folder))?;
        let name = if dialect == Dialect::Tc { ANALYSIS } else { own_file::name(dialect, folder) };
        let by_hand = || {
            let help = format!("change {path} by hand, then: team-executor validate {named}");
            Refusal::new("the file in which these tasks are planned cannot be changed by a command", help)
        };
        let files = DiskFolder::open(folder);
        let files = files.map_err(|_| Refusal::new(format!("{path} cannot be opened"), "check it with: ls -ld"))?;
        let before = match dialect {
            Dialect::TaskFiles | Dialect::Chain => return Err(by_hand()),
            _ => files.read(name, limits::TASKS_BYTES).map_err(|error| Refusal::disk(name, error))?,
        };
        let original = String::from_utf8_lossy(&before);
        let text = replanned(dialect, &original, (session, graph), (&with, &sealed)).ok_or_else(by_hand)?;
        let (session, graph) = valid(&Overlaid { files: &files, name, text: &text }, folder, dialect)?;
        // A file may have no place for what was changed.
        if !with.tasks.iter().map(change::plan).eq(session.tasks.iter().map(change::plan)) {
            return Err(by_hand());
        }
        Ok(Self { session, graph, folder: folder.to_owned(), name, before, text })
    }

    /// The file.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// What it is to say.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file is the one in which a run keeps the state of the session.
    pub(crate) fn is_own(&self) -> bool {
        self.name != ANALYSIS
    }

    /// Replaces the file if it is still what the task was added to.
    pub(crate) fn write(&self) -> Result<(), Refusal> {
        write(&self.folder, self.name, &self.before, &self.text)
    }
}

pub(super) fn task(session: &Session, new: &NewTask<'_>) -> Result<Task, Refusal> {
    let wrong = |what: String, help: &str| Refusal::new(what, help);
    let id = TaskId::parse(new.id).map_err(|error| wrong(error.to_string(), "choose another id"))?;
    if session.tasks.iter().any(|task| task.id == id) {
        return Err(wrong(format!("task '{id}' already exists"), "choose another id"));
    }
    let role = RoleName::parse(new.role).map_err(|error| wrong(error.to_string(), "name the role: --assignee ROLE"))?;
    let dependencies = new.dependencies.iter().map(|id| {
        let known = session.tasks.iter().find(|task| task.id.as_str() == id);
        let known = known.map(|task| task.id.clone());
        known.ok_or_else(|| {
            wrong(format!("unknown dependency '{id}'"), "see the ids of the session's tasks, or create that one first")
        })
    });
    Ok(Task {
        title: new.title.to_owned(),
        description: new.description.to_owned(),
        dependencies: dependencies.collect::<Result<_, _>>()?,
        created_at: Some(clock::now()),
        updated_at: Some(clock::now()),
        ..Task::new(id, role)
    })
}

/// The session as its files say it then.
fn valid(files: &Overlaid<'_>, folder: &Path, dialect: Dialect) -> Result<(Session, Graph), Refusal> {
    let loaded = load(files, &folder_name(folder), Some(dialect));
    if let Some(error) = loaded.findings.iter().find(|finding| finding.severity == Severity::Error) {
        return Err(refused(error.message.clone(), folder));
    }
    loaded.session.ok_or_else(|| refused("it is not valid".to_owned(), folder))
}

fn graph(session: &Session) -> Result<Graph, String> {
    let sealed = Graph::seal(&session.tasks);
    sealed.graph.ok_or_else(|| "the dependencies would have errors".to_owned())
}

fn refused(what: String, folder: &Path) -> Refusal {
    let named = shell::session(folder.display());
    let help = format!("nothing was changed; the session as it is: team-executor plan {named}");
    Refusal::new(format!("the session with this task is not valid: {what}"), help)
}

/// Replaces the file if it is still what the task was added to.
fn write(folder: &Path, name: &str, before: &[u8], text: &str) -> Result<(), Refusal> {
    let disk = RealDisk::open_folder(folder).map_err(|errno| Refusal::disk(name, io_error(errno)))?;
    if disk.read(name).ok().as_deref() != Some(before) {
        return Err(Refusal::new(format!("{name} changed at the same moment"), "try again"));
    }
    replace(&disk, name, text.as_bytes(), Durability::Durable).map_err(|error| Refusal::disk(name, error))
}

/// A session folder in which one file says something else.
struct Overlaid<'a> {
    files: &'a DiskFolder,
    name: &'a str,
    text: &'a str,
}

impl Folder for Overlaid<'_> {
    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        if path == self.name { Ok(self.text.as_bytes().to_vec()) } else { self.files.read(path, limit) }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.files.list(path)
    }

    fn has(&self, path: &str) -> bool {
        self.files.has(path)
    }

    fn read_in_project(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.files.read_in_project(path, limit)
    }
}
