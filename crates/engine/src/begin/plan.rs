//! The first record of a journal: what is decided once, when a run is made, and never changes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use team_executor_core::run::{Cadence, KeptWaves, Policy};
use team_executor_core::{Session, Task, TaskId, TaskIndex, TaskStatus, Timestamp, fnv};
use team_executor_files::json::{self, Layout, Value, Writer};
use team_executor_store::records::{self, Amended};
use team_executor_store::run_folder::project_root;

use crate::conclude;

/// The decisions made once, when a run is created: the first record of its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) session: PathBuf,
    pub(crate) digest: String,
    pub(crate) cadence: Cadence,
    /// Which waves are kept, and what was planned about them; an older run knows only those that it computed.
    pub(crate) waves: KeptWaves,
    pub(crate) planned: Option<String>,
    pub(crate) seed: u64,
    /// How often work had been sent back before the run.
    pub(crate) rounds: u32,
    /// How many tasks there were; an older run has those that the session has.
    pub(crate) tasks: Option<u32>,
    /// Tasks that were over before the run.
    pub(crate) over: Vec<(String, TaskStatus)>,
    pub(crate) at: Timestamp,
    /// What the run has made of it since; no part of the record.
    pub(crate) amended: Amended,
}

impl Plan {
    /// The record.
    pub(crate) fn write(&self) -> String {
        let mut out = Writer::new(Layout::Compact);
        out.begin_object();
        for (key, text) in [
            ("type", "plan"),
            ("session", &*self.session.to_string_lossy()),
            ("digest", &self.digest),
            ("cadence", self.cadence.word()),
        ] {
            out.key(key);
            out.text(text);
        }
        if let Some(planned) = &self.planned {
            out.key("waves");
            out.text(self.waves.word());
            out.key("planned_waves");
            out.text(planned);
        }
        let numbers =
            [("version", records::VERSION.into()), ("at", self.at.as_micros()), ("rounds", self.rounds.into())];
        for (key, number) in numbers {
            out.key(key);
            out.plain(number);
        }
        if let Some(tasks) = self.tasks {
            out.key("tasks");
            out.plain(tasks);
        }
        out.key("seed");
        out.text(&self.seed.to_string());
        out.key("over");
        out.begin_object();
        for (task, status) in &self.over {
            out.key(task);
            out.text(status.word());
        }
        out.end_object();
        out.end_object();
        out.finish().trim_end().to_owned()
    }

    /// The plan of the run in a folder. A session below the `.workflow` of a project is where the project is now, which may
    /// have been moved since the run was made.
    pub(crate) fn of_run(json: &str, run: &Path) -> Option<Self> {
        let mut plan = Self::read(json)?;
        let below = plan.session.strip_prefix(project_root(&plan.session, Path::new(""))).ok()?;
        plan.session = run.ancestors().nth(3)?.join(below);
        Some(plan)
    }

    /// The plan as the records behind it have changed it.
    pub(crate) fn amend<'r>(self, records: impl Iterator<Item = &'r str>) -> Self {
        Self { amended: records::amended(records), ..self }
    }

    /// Whether the session still has the tasks that the run has. Others may have come behind them.
    pub(crate) fn is_of(&self, session: &Session) -> bool {
        let (first, known) = self.last(session);
        let is_planned = |planned: &String| *planned == planned_waves(session, first);
        first <= session.tasks.len() && known == digest(session, first) && self.planned.as_ref().is_none_or(is_planned)
    }

    /// How many tasks there were when the plan was changed last, and what makes them the same.
    fn last(&self, session: &Session) -> (usize, &str) {
        match &self.amended.last {
            Some(mark) => (mark.tasks as usize, &mark.digest),
            None => (self.tasks.map_or(session.tasks.len(), |tasks| tasks as usize), &self.digest),
        }
    }

    /// Whether the session has exactly the tasks that the run has.
    pub(crate) fn is_all_of(&self, session: &Session) -> bool {
        self.is_of(session) && self.last(session).0 + self.amended.behind == session.tasks.len()
    }

    /// The tasks that the run did not begin with.
    pub(crate) fn later(&self, session: &Session) -> BTreeSet<TaskIndex> {
        let gone = self.amended.removed.iter().filter(|id| !self.amended.added.contains(*id)).count();
        let first = self.tasks.map_or(session.tasks.len(), |first| (first as usize).saturating_sub(gone));
        (0..).map(TaskIndex).take(session.tasks.len()).skip(first).collect()
    }

    /// Gives tasks the status that they had before the run.
    pub(crate) fn put_into(&self, tasks: &mut [Task]) {
        let over: BTreeMap<&str, TaskStatus> = self.over.iter().map(|(id, status)| (id.as_str(), *status)).collect();
        for task in tasks {
            task.status = over.get(task.id.as_str()).copied().unwrap_or(TaskStatus::Pending);
        }
    }

    /// The settings of the run that a read-only caller knows.
    pub(crate) fn policy(&self, session: &Session) -> Policy {
        Policy {
            cadence: self.cadence,
            waves: self.waves,
            seed: self.seed,
            rounds_before: self.rounds,
            later: self.later(session),
            tasks: conclude::with_checkpoints(BTreeMap::new(), session),
            ..Policy::default()
        }
    }

    /// What the record says; nothing if it is none of this version.
    pub(crate) fn read(record: &str) -> Option<Self> {
        let document = json::parse(record).ok()?;
        let root = document.root();
        let text = |name: &str| root.get(name).and_then(Value::as_text).map(|text| text.into_owned());
        let number = |name: &str| root.get(name).and_then(Value::as_i64);
        if text("type")? != "plan" || number("version")? != i64::from(records::VERSION) {
            return None;
        }
        Some(Self {
            session: text("session")?.into(),
            digest: text("digest")?,
            cadence: Cadence::from_word(&text("cadence")?)?,
            waves: text("waves").and_then(|word| KeptWaves::from_word(&word)).unwrap_or(KeptWaves::Computed),
            planned: text("planned_waves"),
            seed: text("seed")?.parse().ok()?,
            rounds: number("rounds").and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(0),
            tasks: number("tasks").and_then(|tasks| u32::try_from(tasks).ok()),
            over: root
                .get("over")?
                .entries()
                .filter_map(|entry| Some((entry.name().into_owned(), TaskStatus::from_word(&entry.value.as_text()?)?)))
                .collect(),
            at: Timestamp::from_micros(number("at")?),
            amended: Amended::default(),
        })
    }
}

/// What makes the first tasks the same tasks: their ids, roles and dependencies on each other, in order.
pub(crate) fn digest(session: &Session, first: usize) -> String {
    let mut hash = Hash::default();
    let later: HashSet<&TaskId> = session.tasks.iter().skip(first).map(|task| &task.id).collect();
    for task in session.tasks.iter().take(first) {
        hash.add(task.id.as_str());
        hash.add(task.role.as_str());
        let known = task.dependencies.iter().filter(|dependency| later.is_empty() || !later.contains(*dependency));
        known.for_each(|dependency| hash.add(dependency.as_str()));
        hash.add("");
    }
    hash.text()
}

/// What makes planned waves the same waves: those of the first tasks, in order.
pub(crate) fn planned_waves(session: &Session, first: usize) -> String {
    let mut hash = Hash::default();
    hash.add(if session.waves_are_barriers { "barriers" } else { "" });
    for task in session.tasks.iter().take(first) {
        hash.add(&task.declared_wave.unwrap_or(0).to_string());
    }
    hash.text()
}

struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(fnv::START)
    }
}

impl Hash {
    fn add(&mut self, text: &str) {
        self.0 = fnv::add(self.0, text.bytes().chain([0xFF]));
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_back() {
        let plan = Plan {
            session: "/tmp/a \"b\"/TC-x".into(),
            digest: "00ff".to_owned(),
            cadence: Cadence::Wave,
            waves: KeptWaves::Planned,
            planned: Some("ff00".to_owned()),
            seed: u64::MAX,
            rounds: 3,
            tasks: Some(2),
            over: vec![("任务".to_owned(), TaskStatus::Completed), ("2".to_owned(), TaskStatus::Skipped)],
            at: Timestamp::from_micros(5),
            amended: Amended::default(),
        };
        assert_eq!(Plan::read(&plan.write()), Some(plan.clone()));
        let older = Plan { waves: KeptWaves::Computed, planned: None, tasks: None, ..plan };
        assert!(!older.write().contains("waves") && !older.write().contains("tasks"));
        assert_eq!(Plan::read(&older.write()), Some(older));
        assert_eq!(Plan::read("{}"), None);
    }
}
