//! What the tasks of a run changed in trees of their own, and the branch that the user gets of it.

use std::path::Path;

use serde::Serialize;
use team_executor_core::{Session, TaskIndex, TaskStatus};
use team_executor_engine::Status;
use team_executor_engine::control::{Request, ToRetry};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::folder_name;
pub use team_executor_trees::{Change, Consent, FileChange, Land, Landed, Overview, Place, Stored, Total};
use team_executor_trees::{Mark, Repository, Trees, Trouble};

use crate::asking::Asked;
use crate::error::Error;
use crate::open::{Opened, Reading};
use crate::{App, escape};

/// What became of what a task changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is merged with what others changed.
    Merged,
    /// It is tested with what is merged.
    Testing,
    /// It is checked, or waits to be merged.
    Waiting,
    /// Its task is to be done again, or has failed.
    NotAccepted,
    /// Its task is completed, and it does not merge.
    NotMerged,
    /// A worker left it that failed or was lost.
    Left,
}

impl Standing {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Testing => "testing",
            Self::Waiting => "waiting",
            Self::NotAccepted => "not accepted",
            Self::NotMerged => "not merged",
            Self::Left => "left behind",
        }
    }

    /// The same as the beginning of a line.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Merged => "Merged",
            Self::Testing => "Testing",
            Self::Waiting => "Waiting",
            Self::NotAccepted => "Not accepted",
            Self::NotMerged => "Not merged",
            Self::Left => "Left behind",
        }
    }

    /// For programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Testing => "testing",
            Self::Waiting => "waiting",
            Self::NotAccepted => "not_accepted",
            Self::NotMerged => "not_merged",
            Self::Left => "left",
        }
    }
}

/// What a task changed, and what became of it.
pub fn of_task<'s>(status: &'s Status, session: &Session, task: TaskIndex) -> Option<(&'s Change, Standing)> {
    let change = status.changes.as_ref()?.of_task(session.tasks[task.get()].id.as_str())?;
    let running = status.running.iter().find(|running| running.task == task);
    let is_at_work = status.is_heard && running.is_some_and(|running| running.attempt == change.attempt);
    let standing = match change.place {
        Place::Merged => Standing::Merged,
        Place::Left => Standing::Left,
        Place::Testing if is_at_work => Standing::Testing,
        Place::Testing | Place::Delivered if is_at_work => Standing::Waiting,
        _ if status.statuses.get(task.get()) == Some(&TaskStatus::Completed) => Standing::NotMerged,
        _ => Standing::NotAccepted,
    };
    Some((change, standing))
}

/// What the tasks of a run changed.
#[derive(Debug)]
pub struct RunChanges {
    /// The run.
    pub run: String,
    /// Everything that is merged.
    pub overview: Overview,
    /// The tasks that changed something, in the order of the session.
    pub tasks: Vec<TaskChanges>,
    /// The executor of the run is there.
    pub is_heard: bool,
    key: String,
    repository: Repository,
    /// How the session is named in commands.
    session: String,
}

/// What a task changed.
#[derive(Debug, Clone)]
pub struct TaskChanges {
    /// Its id.
    pub id: String,
    /// Who did it.
    pub role: String,
    /// The commit.
    pub change: Change,
    /// What became of it.
    pub standing: Standing,
}

impl App {
    /// What the tasks of the newest run of a session changed, or of the one with this unique part of a name.
    pub fn changes(&self, session: Option<&Path>, reading: Reading, run: Option<&str>) -> Result<RunChanges, Error> {
        let opened = self.open_run(session, reading, run)?;
        self.changes_of(&opened)
    }

    /// The same of a session that was opened.
    pub(crate) fn changes_of(&self, opened: &Opened) -> Result<RunChanges, Error> {
        let named = escape::session(&opened.path);
        let Some(status) = self.status(opened)? else {
            let finding =
                Finding::error(Code::Usage, format!("the session {} was never run", escape::line(&opened.path)));
            return Err(finding.help(format!("run it with: team-executor run {named}")).into());
        };
        let (session, graph) = opened.runnable()?;
        let place = self.place(Some(Path::new(&opened.path)))?;
        let (mut repository, overview, key) = match self.overview(&status.folder).map_err(of_git)? {
            Some((of, overview)) => (of.repository, overview, of.key),
            None => {
                let finding =
                    Finding::error(Code::Usage, format!("no task of the run {} has a tree of its own", status.run));
                let help = "the next run has them with isolation = \"worktree\" in [defaults] of team-executor.toml";
                return Err(finding.help(help).into());
            }
        };
        repository.leave_out(&place.folder);
        let of = |task: &TaskIndex| {
            let (change, standing) = of_task(&status, session, *task)?;
            let task = &session.tasks[task.get()];
            let (id, role) = (task.id.to_string(), task.role.to_string());
            Some(TaskChanges { id, role, change: change.clone(), standing })
        };
        let tasks = graph.order().iter().filter_map(of).collect();
        let (run, is_heard) = (status.run, status.is_heard);
        Ok(RunChanges { run, overview, tasks, is_heard, key, repository, session: named })
    }

    /// The trees of the run in a folder, to look at and to remove; nothing if no task of it has any. To remove some, hold the
    /// lock of the run.
    pub fn trees(&self, run: &Path) -> Result<Option<Trees>, Error> {
        let Some(mark) = Mark::read(run) else { return Ok(None) };
        let repository = Repository::find(project_of(run), &self.variables()).map_err(of_git)?;
        Trees::of_run(repository, &folder_name(run), mark).map_err(of_git)
    }

    /// What the refs of the run in a folder say; nothing if no task of it has a tree.
    pub(crate) fn overview(&self, run: &Path) -> Result<Option<(OfRun, Overview)>, Trouble> {
        let Some(mark) = Mark::read(run) else { return Ok(None) };
        let repository = Repository::find(project_of(run), &self.variables())?;
        let overview = repository.overview(&folder_name(run), &mark.key)?;
        Ok(overview.map(|overview| (OfRun { repository, key: mark.key }, overview)))
    }

    /// Does completed tasks again whose changes do not merge: all of them, or these, and what was built on them. Each begins with both
    /// sides.
    pub fn merge_again(
        &self,
        session: Option<&Path>,
        reading: Reading,
        tasks: &[String],
    ) -> Result<Option<Asked>, Error> {
        let changes = self.changes(session, reading, None)?;
        let open = |task: &&TaskChanges| task.standing == Standing::NotMerged;
        let open: Vec<&str> = changes.tasks.iter().filter(open).map(|task| task.id.as_str()).collect();
        if let Some(other) = tasks.iter().find(|task| !open.contains(&task.as_str())) {
            let message = match changes.tasks.iter().find(|task| task.id == **other) {
                Some(known) => format!("'{other}' has no changes that do not merge: it is {}", known.standing.words()),
                None => format!("there is no task '{}' with changes", escape::line(other)),
            };
            let help = format!("see what is not merged: team-executor merge {}", changes.session);
            return Err(Finding::error(Code::Usage, message).help(help).into());
        }
        let wanted: Vec<String> = match tasks {
            [] => open.iter().map(|task| (*task).to_owned()).collect(),
            tasks => tasks.to_vec(),
        };
        if wanted.is_empty() {
            return Ok(None);
        }
        let feedback = "what it changed does not merge with what other tasks changed: resolve the conflicts".to_owned();
        let request = Request::Retry { which: ToRetry::Tasks(wanted), downstream: true, feedback, with: None };
        self.ask_or_note(session, reading, &request).map(Some)
    }
}

/// The project of the run in a folder, also when it was put away.
fn project_of(run: &Path) -> &Path {
    run.ancestors().nth(3).unwrap_or(run)
}

/// Where the refs of a run are, and what they are called.
pub(crate) struct OfRun {
    pub(crate) repository: Repository,
    pub(crate) key: String,
}

impl RunChanges {
    /// What a task changed, by its id.
    pub fn task(&self, id: &str) -> Result<&TaskChanges, Error> {
        self.tasks.iter().find(|task| task.id == id).ok_or_else(|| {
            let finding = Finding::error(Code::Usage, format!("there are no changes of a task '{}'", escape::line(id)));
            finding.help(format!("see those that there are: team-executor changes {}", self.session)).into()
        })
    }

    /// From which commit to which one a task changed something, or all merged tasks together.
    fn range(&self, task: Option<&str>) -> Result<(&str, &str), Error> {
        Ok(match task {
            Some(id) => {
                let change = &self.task(id)?.change;
                (&change.base, &change.commit)
            }
            None => (&self.overview.base, &self.overview.trunk),
        })
    }

    /// How each file differs.
    pub fn files(&self, task: Option<&str>) -> Result<Vec<FileChange>, Error> {
        let (from, to) = self.range(task)?;
        self.repository.files_between(from, to).map_err(of_git)
    }

    /// The difference, as `git apply` takes it.
    pub fn patch(&self, task: Option<&str>) -> Result<Vec<u8>, Error> {
        let (from, to) = self.range(task)?;
        self.repository.patch_between(from, to).map_err(of_git)
    }

    /// Makes a branch of what a task changed, on top of what it builds on, or of everything that is merged. Returns its commit.
    pub fn make_branch(&self, task: Option<&str>, name: &str) -> Result<&str, Error> {
        let (_, commit) = self.range(task)?;
        self.repository.make_branch(name, commit).map_err(of_git)?;
        Ok(commit)
    }

    /// Whether everything in the commit of a task is still there.
    pub fn is_whole(&self, task: &TaskChanges) -> bool {
        self.repository.is_whole(&task.change.base, &task.change.commit)
    }

    /// Gives the user everything that is merged. The executor of the run may go on meanwhile.
    pub fn land(&self, how: Land) -> Result<Landed, Error> {
        self.repository.land((&self.run, &self.key), how).map_err(of_git)
    }

    /// How many tasks stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.tasks.iter().filter(|task| task.standing == standing).count()
    }

    /// The flag that names the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// All of it, for programs; with the files of each where they are wanted.
    pub fn json(&self, task: Option<&str>, with_files: bool) -> Result<JsonChanges<'_>, Error> {
        let files = |task: Option<&str>| with_files.then(|| self.files(task)).transpose();
        let chosen = task.map(|id| self.task(id)).transpose()?;
        let tasks = self.tasks.iter().filter(|task| chosen.is_none_or(|chosen| chosen.id == task.id));
        let one = |task: &'_ TaskChanges| {
            files(Some(&task.id)).map(|files| files.map(|files| files.iter().map(JsonFile::from).collect()))
        };
        let mut shown = Vec::new();
        for task in tasks {
            shown.push(JsonTaskChanges {
                task: task.id.clone(),
                change: JsonChange::new(&task.change, task.standing),
                files_changed: one(task)?,
            });
        }
        let Overview { base, trunk, total, branch, branch_at, .. } = &self.overview;
        Ok(JsonChanges {
            version: 1,
            run: &self.run,
            base,
            trunk,
            files: total.files,
            added: total.added,
            removed: total.removed,
            branch: branch_at.as_ref().map(|_| branch.as_str()),
            landed: self.overview.is_landed(),
            tasks: shown,
        })
    }
}

/// What git refuses or fails of.
pub(crate) fn of_git(trouble: Trouble) -> Error {
    match trouble {
        Trouble::Refused { why, help } => Finding::error(Code::Usage, why).help(help).into(),
        Trouble::Failed(why) => {
            let finding = Finding::error(Code::Usage, why);
            Error::io(finding.help("git fsck shows what is wrong with the repository; once it is mended, ask again"))
        }
    }
}

/// What tasks changed, for programs.
#[derive(Debug, Serialize)]
pub struct JsonChanges<'a> {
    version: u32,
    run: &'a str,
    base: &'a str,
    trunk: &'a str,
    files: usize,
    added: u64,
    removed: u64,
    branch: Option<&'a str>,
    landed: bool,
    tasks: Vec<JsonTaskChanges>,
}

#[derive(Debug, Serialize)]
struct JsonTaskChanges {
    task: String,
    #[serde(flatten)]
    change: JsonChange,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_changed: Option<Vec<JsonFile>>,
}

/// What a task changed, for programs.
#[derive(Debug, Serialize)]
pub struct JsonChange {
    attempt: u32,
    state: &'static str,
    base: String,
    commit: String,
    files: usize,
    added: u64,
    removed: u64,
}

impl JsonChange {
    /// From what it is.
    pub fn new(change: &Change, standing: Standing) -> Self {
        let Change { attempt, base, commit, total: Total { files, added, removed }, .. } = change.clone();
        Self { attempt, state: standing.word(), base, commit, files, added, removed }
    }
}

#[derive(Debug, Serialize)]
struct JsonFile {
    path: String,
    added: Option<u64>,
    removed: Option<u64>,
}

impl From<&FileChange> for JsonFile {
    fn from(file: &FileChange) -> Self {
        let (added, removed) = file.lines.unzip();
        Self { path: file.path.clone(), added, removed }
    }
}

/// What is merged and what the user has of it, for programs.
#[derive(Debug, Serialize)]
pub struct JsonMerge<'a> {
    version: u32,
    run: &'a str,
    base: &'a str,
    trunk: &'a str,
    files: usize,
    added: u64,
    removed: u64,
    branch: &'a str,
    branch_commit: Option<&'a str>,
    landed: bool,
    merged: Vec<&'a str>,
    testing: Vec<&'a str>,
    waiting: Vec<&'a str>,
    not_accepted: Vec<&'a str>,
    not_merged: Vec<&'a str>,
}

impl RunChanges {
    /// The tasks that stand so.
    pub fn standing(&self, standing: Standing) -> Vec<&str> {
        self.tasks.iter().filter(|task| task.standing == standing).map(|task| task.id.as_str()).collect()
    }

    /// What is merged, for programs.
    pub fn json_merge(&self) -> JsonMerge<'_> {
        let Overview { base, trunk, total, branch, branch_at, .. } = &self.overview;
        JsonMerge {
            version: 1,
            run: &self.run,
            base,
            trunk,
            files: total.files,
            added: total.added,
            removed: total.removed,
            branch,
            branch_commit: branch_at.as_deref(),
            landed: self.overview.is_landed(),
            merged: self.standing(Standing::Merged),
            testing: self.standing(Standing::Testing),
            waiting: self.standing(Standing::Waiting),
            not_accepted: self.standing(Standing::NotAccepted),
            not_merged: self.standing(Standing::NotMerged),
        }
    }
}

/// What the user got, for programs.
#[derive(Debug, Serialize)]
pub struct JsonLanded<'a> {
    version: u32,
    run: &'a str,
    landed: bool,
    branch: Option<&'a str>,
    commit: Option<&'a str>,
    fast_forward: bool,
    why: Option<&'a str>,
}

impl RunChanges {
    /// What the user got, for programs.
    pub fn json_landed<'a>(&'a self, landed: &'a Landed) -> JsonLanded<'a> {
        let (is_landed, branch, commit, fast_forward, why) = match landed {
            Landed::Nothing => (false, None, None, false, Some("nothing is merged yet")),
            Landed::Branch { name, commit, instead } => (true, Some(name), Some(commit), false, instead.as_deref()),
            Landed::FastForward { branch, commit } => (true, Some(branch), Some(commit), true, None),
            Landed::Not { name, why } => (false, Some(name), None, false, Some(why.as_str())),
        };
        let (branch, commit) = (branch.map(String::as_str), commit.map(String::as_str));
        JsonLanded { version: 1, run: &self.run, landed: is_landed, branch, commit, fast_forward, why }
    }
}
