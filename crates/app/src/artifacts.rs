//! What the runs of a session delivered, and whether it is still the same. Only looks.

use std::path::Path;

use serde::Serialize;
use team_executor_core::Validation;
pub use team_executor_engine::artifacts::{Fault, Past, Shelf, Shelved};
use team_executor_files::{Code, Finding, time};

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
        Ok(Delivered { shelf, session: opened.path })
    }
}

/// What a run delivered.
#[derive(Debug)]
pub struct Delivered {
    /// All of it.
    pub shelf: Shelf,
    session: String,
}

impl Delivered {
    /// All of it, for programs.
    pub fn list(&self) -> JsonList<'_> {
        JsonList { version: 1, run: &self.shelf.run, artifacts: self.shelf.artifacts.iter().map(json).collect() }
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
    pub fn verify<'a>(&'a self, faults: &'a [(&'a Shelved, Fault)]) -> JsonVerify<'a> {
        let list = faults.iter().map(|(shelved, fault)| JsonFault {
            id: shelved.artifact.id.as_str(),
            path: &shelved.artifact.path,
            task: shelved.artifact.task.as_ref().map(|task| task.as_str()),
            fault: fault.word(),
        });
        JsonVerify { version: 1, run: &self.shelf.run, artifacts: self.judged(), faults: list.collect() }
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
    id: &'a str,
    r#type: &'static str,
    path: &'a str,
    r#in: &'static str,
    state: &'static str,
    summary: Option<&'a str>,
    version: Option<&'a str>,
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
        id: artifact.id.as_str(),
        r#type: artifact.kind.word(),
        path: &artifact.path,
        r#in: place.word(),
        state: artifact.validation.word(),
        summary: artifact.validation_summary.as_deref(),
        version: artifact.version.as_deref(),
        size: artifact.file_size,
        checksum: artifact.checksum.as_deref(),
        task: artifact.task.as_ref().map(|task| task.as_str()),
        role: artifact.creator.as_str(),
        attempt: *attempt,
        run,
        dependencies: artifact.dependencies.iter().map(|id| id.as_str()).collect(),
    }
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
