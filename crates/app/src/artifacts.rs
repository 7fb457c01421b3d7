//! What the runs of a session delivered, and whether it is still the same. Only looks.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use team_executor_core::{ArtifactKind, Validation};
pub use team_executor_engine::artifacts::{Fault, Past, Shelf, Shelved};
use team_executor_files::{Code, Finding, time};
use team_executor_trees::Mark;

use crate::changes::{Change, RunChanges, Standing, TaskChanges};
use crate::error::Error;
use crate::open::Reading;
use crate::{App, escape};

impl App {
    /// What the runs of a session delivered, or the one with this unique part of a name.
    pub fn artifacts(&self, session: Option<&Path>, reading: Reading, run: Option<&str>) -> Result<Delivered, Error> {
        let opened = self.open_run(session, reading, run)?;
        let (read, _) = opened.runnable()?;
        let place = self.place(session)?;
        let shelf = Shelf::read(&read.artifacts, (&place.folder, &place.current), opened.run.as_deref())?;
        let Some(shelf) = shelf else {
            return Err(self.never_run(&escape::session(&opened.path)).into());
        };
        let folder = self.status(&opened)?.map(|status| status.folder);
        // What git cannot say now, `verify` does.
        let commits = match folder.filter(|folder| Mark::read(folder).is_some()).map(|_| self.changes_of(&opened)) {
            None => Commits::None,
            Some(Ok(changes)) => Commits::Known(Box::new(changes)),
            Some(Err(error)) => Commits::Unknown(error.to_string()),
        };
        Ok(Delivered { shelf, session: opened.path, commits })
    }
}

/// What a run delivered.
#[derive(Debug)]
pub struct Delivered {
    /// All of it.
    pub shelf: Shelf,
    session: String,
    commits: Commits,
}

/// What tasks changed in trees of their own.
#[derive(Debug)]
enum Commits {
    /// No task has one.
    None,
    Known(Box<RunChanges>),
    /// Git does not say, for this reason.
    Unknown(String),
}

/// The prefix of a commit in the id and path of an artifact.
const GIT: &str = "git:";
/// With so many digits a commit is found.
const DIGITS: usize = 7;

impl Delivered {
    /// All of it, for programs.
    pub fn list(&self) -> JsonList<'_> {
        let mut artifacts: Vec<_> = self.shelf.artifacts.iter().map(json).collect();
        artifacts.extend(self.commits().map(|task| json_commit(task, &self.shelf.run)));
        JsonList { version: 1, run: &self.shelf.run, artifacts }
    }

    /// The commits of tasks with trees of their own.
    pub fn commits(&self) -> impl Iterator<Item = &TaskChanges> {
        let tasks = match &self.commits {
            Commits::Known(changes) => changes.tasks.as_slice(),
            Commits::None | Commits::Unknown(_) => &[],
        };
        tasks.iter().filter(|task| task.standing != Standing::Left)
    }

    /// One of them, by its id or the beginning of it.
    pub fn commit(&self, id: &str) -> Option<&TaskChanges> {
        let commit = id.strip_prefix(GIT).filter(|digits| digits.len() >= DIGITS)?;
        self.commits().find(|task| task.change.commit.starts_with(commit))
    }

    /// One of them, for programs.
    pub fn show_commit<'a>(&'a self, task: &'a TaskChanges) -> JsonCommit<'a> {
        JsonCommit {
            version: 1,
            run: &self.shelf.run,
            artifact: json_commit(task, &self.shelf.run),
            base: &task.change.base,
        }
    }

    /// The commits of which something is gone, or why none can be looked at.
    pub fn lost_commits(&self) -> Result<Vec<&TaskChanges>, &str> {
        match &self.commits {
            Commits::None => Ok(Vec::new()),
            Commits::Known(changes) => Ok(self.commits().filter(|task| !changes.is_whole(task)).collect()),
            Commits::Unknown(why) => Err(why),
        }
    }

    /// One artifact, by its id.
    pub fn find(&self, id: &str) -> Result<&Shelved, Error> {
        self.shelf.artifacts.iter().find(|one| one.artifact.id.as_str() == id).ok_or_else(|| {
            let finding = Finding::error(Code::Usage, format!("there is no artifact '{}'", escape::line(id)));
            finding.help(format!("list them: team-executor artifacts {}", escape::session(&self.session))).into()
        })
    }

    /// One artifact with its history, for programs.
    pub fn show<'a>(&'a self, shelved: &'a Shelved, history: &'a [Past]) -> JsonShow<'a> {
        JsonShow {
            version: 1,
            run: &self.shelf.run,
            artifact: json(shelved),
            file: self.shelf.path(shelved).display().to_string(),
            fault: self.shelf.fault(shelved).as_ref().map(Fault::word),
            history: history.iter().map(json_past).collect(),
        }
    }

    /// How many artifacts were judged good when they were delivered.
    pub fn judged(&self) -> usize {
        let is_judged = |one: &&Shelved| one.attempt > 0 && one.artifact.validation == Validation::Passed;
        self.shelf.artifacts.iter().filter(is_judged).count()
    }

    /// What is not as it was delivered, for programs.
    pub fn verify<'a>(
        &'a self,
        faults: &'a [(&'a Shelved, Fault)],
        lost_commits: &[&'a TaskChanges],
    ) -> JsonVerify<'a> {
        let list = faults.iter().map(|(shelved, fault)| JsonFault {
            id: shelved.artifact.id.as_str(),
            path: &shelved.artifact.path,
            task: shelved.artifact.task.as_ref().map(|task| task.as_str()),
            fault: fault.word(),
        });
        let lost = |task: &'a TaskChanges| JsonFault {
            id: task.change.commit.as_str(),
            path: task.change.commit.as_str(),
            task: Some(&task.id),
            fault: Fault::Missing.word(),
        };
        let list = list.chain(lost_commits.iter().copied().map(lost)).collect();
        let artifacts = self.judged() + self.commits().count();
        JsonVerify { version: 1, run: &self.shelf.run, artifacts, faults: list }
    }
}

/// All artifacts of a run.
#[derive(Debug, Serialize)]
pub struct JsonList<'a> {
    version: u32,
    run: &'a str,
    artifacts: Vec<JsonShelved<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonShelved<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    path: Cow<'a, str>,
    r#in: &'static str,
    state: &'static str,
    summary: Option<&'a str>,
    version: Option<Cow<'a, str>>,
    size: Option<u64>,
    checksum: Option<&'a str>,
    task: Option<&'a str>,
    role: &'a str,
    attempt: u32,
    run: &'a str,
    dependencies: Vec<&'a str>,
}

fn json(shelved: &Shelved) -> JsonShelved<'_> {
    let Shelved { artifact, place, attempt, run } = shelved;
    JsonShelved {
        id: artifact.id.as_str().into(),
        r#type: artifact.kind.word(),
        path: artifact.path.as_str().into(),
        r#in: place.word(),
        state: artifact.validation.word(),
        summary: artifact.validation_summary.as_deref(),
        version: artifact.version.as_deref().map(Cow::from),
        size: artifact.file_size,
        checksum: artifact.checksum.as_deref(),
        task: artifact.task.as_ref().map(|task| task.as_str()),
        role: artifact.creator.as_str(),
        attempt: *attempt,
        run,
        dependencies: artifact.dependencies.iter().map(|id| id.as_str()).collect(),
    }
}

/// The state of a commit, as artifacts have states.
pub const fn validation(standing: Standing) -> Validation {
    match standing {
        Standing::Merged => Validation::Passed,
        Standing::Testing | Standing::Waiting => Validation::Validating,
        Standing::NotAccepted | Standing::NotMerged | Standing::Left => Validation::Failed,
    }
}

fn json_commit<'a>(task: &'a TaskChanges, run: &'a str) -> JsonShelved<'a> {
    let Change { attempt, commit, .. } = &task.change;
    JsonShelved {
        id: format!("{GIT}{commit}").into(),
        r#type: ArtifactKind::Code.word(),
        path: format!("{GIT}{commit}").into(),
        r#in: "git",
        state: validation(task.standing).word(),
        summary: Some(task.standing.words()),
        version: Some(attempt.to_string().into()),
        size: None,
        checksum: None,
        task: Some(&task.id),
        role: &task.role,
        attempt: *attempt,
        run,
        dependencies: Vec::new(),
    }
}

/// One commit.
#[derive(Debug, Serialize)]
pub struct JsonCommit<'a> {
    version: u32,
    run: &'a str,
    #[serde(flatten)]
    artifact: JsonShelved<'a>,
    base: &'a str,
}

/// One artifact with its history.
#[derive(Debug, Serialize)]
pub struct JsonShow<'a> {
    version: u32,
    run: &'a str,
    #[serde(flatten)]
    artifact: JsonShelved<'a>,
    file: String,
    fault: Option<&'static str>,
    history: Vec<JsonPast<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonPast<'a> {
    task: Option<&'a str>,
    attempt: u32,
    version: Option<&'a str>,
    state: &'static str,
    summary: Option<&'a str>,
    size: Option<u64>,
    checksum: Option<&'a str>,
    at: Option<String>,
}

fn json_past(Past { artifact, attempt }: &Past) -> JsonPast<'_> {
    JsonPast {
        task: artifact.task.as_ref().map(|task| task.as_str()),
        attempt: *attempt,
        version: artifact.version.as_deref(),
        state: artifact.validation.word(),
        summary: artifact.validation_summary.as_deref(),
        size: artifact.file_size,
        checksum: artifact.checksum.as_deref(),
        at: artifact.created_at.map(time::format),
    }
}

/// What is not as it was delivered.
#[derive(Debug, Serialize)]
pub struct JsonVerify<'a> {
    version: u32,
    run: &'a str,
    artifacts: usize,
    faults: Vec<JsonFault<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonFault<'a> {
    id: &'a str,
    path: &'a str,
    task: Option<&'a str>,
    fault: &'static str,
}
