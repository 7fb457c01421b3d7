//! The session's own files, in its dialect, patched into their present text.

use std::path::{Path, PathBuf};

use team_executor_beneath::Dir;
use team_executor_core::{Graph, Session, TaskId};
use team_executor_files::task_files::{self, Words};
use team_executor_files::{Dialect, chain, tasks_csv, write};
use team_executor_store::DiskFolder;

use super::PagePlace;

/// The state of the tasks that a planner keeps beside `team-session.json`.
const TASKS_JSON: &str = "tasks.json";

/// A file in which a session says where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFile {
    pub(crate) place: PagePlace,
    pub(crate) name: String,
    /// The only task that it tells of, where each has a file, and the words that its planner uses.
    pub(crate) task: Option<(TaskId, Words)>,
}

impl OwnFile {
    /// The task that it tells of alone.
    pub(crate) fn only_task(&self) -> Option<&TaskId> {
        self.task.as_ref().map(|(task, _)| task)
    }

    /// One that tells of all tasks.
    pub(crate) fn of_session(name: &str) -> Self {
        Self { place: PagePlace::Session, name: name.to_owned(), task: None }
    }

    /// Where it is.
    pub(crate) fn path(&self, session: &Path) -> PathBuf {
        match self.place {
            PagePlace::Tasks => tasks_folder(session).map_or_else(PathBuf::new, |folder| folder.join(&self.name)),
            _ => session.join(&self.name),
        }
    }
}

/// The name of the file in which a session says where it stands as a whole.
pub(crate) fn name(dialect: Dialect, folder: &Path) -> &'static str {
    match dialect {
        Dialect::Tc => "team-session.json",
        Dialect::Tls if Dir::open(folder).is_ok_and(|folder| folder.has("team-session.json")) => "team-session.json",
        Dialect::Tls => "session.json",
        Dialect::TasksJson => TASKS_JSON,
        Dialect::TasksCsv => "tasks.csv",
        Dialect::TaskFiles => "tasks",
        Dialect::Chain => chain::FILE,
    }
}

/// The folder of the tasks' own files, if the session has one.
pub(crate) fn tasks_folder(session: &Path) -> Option<PathBuf> {
    task_files::folder_of(&DiskFolder::open(session).ok()?).map(|name| session.join(name))
}

/// All files in which a session of that dialect says where it stands.
pub(crate) fn all(dialect: Dialect, folder: &Path) -> Vec<OwnFile> {
    let own = OwnFile::of_session(name(dialect, folder));
    match dialect {
        Dialect::TaskFiles => {
            let Ok(folder) = DiskFolder::open(folder) else { return Vec::new() };
            let (files, words) = task_files::files(&folder);
            let file = |(name, id): (String, String)| {
                Some(OwnFile { place: PagePlace::Tasks, name, task: Some((TaskId::parse(&id).ok()?, words)) })
            };
            files.into_iter().filter_map(file).collect()
        }
        Dialect::Tc if Dir::open(folder).is_ok_and(|folder| folder.has(TASKS_JSON)) => {
            vec![own, OwnFile::of_session(TASKS_JSON)]
        }
        _ => vec![own],
    }
}

/// The text of one of them. What the format does not know stays.
pub(crate) fn text(dialect: Dialect, file: &OwnFile, original: &str, session: &Session, graph: &Graph) -> String {
    if let Some((task, words)) = &file.task {
        let task = graph.index_of(task.as_str()).and_then(|index| session.tasks.get(index.get()));
        return task.map_or_else(|| original.to_owned(), |task| write::task_file(original, task, *words));
    }
    match dialect {
        Dialect::Tc if file.name == TASKS_JSON => write::tasks_beside(original, session, graph),
        Dialect::Tc => write::team_session(Some(original), session),
        Dialect::Tls => write::lifecycle(Some(original), session),
        Dialect::TasksJson => write::tasks_json(Some(original), session, graph),
        Dialect::TasksCsv => tasks_csv::patch(original, session, graph),
        Dialect::TaskFiles => original.to_owned(),
        Dialect::Chain => write::chain(original, session),
    }
}
