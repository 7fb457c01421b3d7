//! `history.json` beside the runs of a project: replaced whole, bounded, and never written over if a newer version made it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use team_executor_beneath::ours;
use team_executor_store::run_folder::{RUNS, WORKFLOW};
use team_executor_store::{Durability, Lock, RealDisk, replace};

use super::{Doer, History, Sample};

const FILE: &str = "history.json";
/// Held while it is read and replaced: runs of several sessions may end at one time.
const LOCK: &str = "history.lock";
const PATIENCE: Duration = Duration::from_secs(2);
/// More is not read: it is none of ours.
const BYTES: u64 = 4 << 20;
const VERSION: u64 = 1;

impl History {
    /// What is known in a project; nothing where nothing can be read.
    pub fn read(project: &Path) -> Self {
        let read = ours::open(&project.join(WORKFLOW).join(RUNS)).and_then(|runs| runs.read(FILE, BYTES));
        read.ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    /// Adds what is newer to what is known in a project. It is only a memory, so that a failure is said and stops nothing.
    pub(super) fn note(project: &Path, newer: Vec<(Doer, Sample)>) -> Result<(), String> {
        let folder = project.join(WORKFLOW).join(RUNS);
        let disk = RealDisk::open_folder(&folder).map_err(|error| error.to_string())?;
        let _held = Lock::take(&disk, LOCK, PATIENCE).map_err(|error| error.to_string())?;
        let there = ours::open(&folder).and_then(|runs| runs.read(FILE, BYTES)).unwrap_or_default();
        if version(&there).is_some_and(|version| version > VERSION) {
            return Err(format!("{FILE} was written by a newer team-executor"));
        }
        let mut history = Self::parse(&there).unwrap_or_default();
        history.add(newer);
        replace(&disk, FILE, history.text().as_bytes(), Durability::Whole).map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        let line = |(doer, sample): &(Doer, Sample)| {
            let Sample { ms, tokens, cost_micros, is_completed } = sample;
            json!([doer.role, doer.agent, doer.model, ms, tokens, cost_micros, is_completed]).to_string()
        };
        let lines: Vec<String> = self.samples.iter().map(line).collect();
        let fields = "role, agent, model, ms, tokens, cost_micros, completed";
        format!("{{\"version\":{VERSION},\"fields\":\"{fields}\",\"samples\":[\n{}\n]}}\n", lines.join(",\n"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let all: Value = serde_json::from_slice(bytes).ok().filter(|_| version(bytes) == Some(VERSION))?;
        let sample = |line: &Value| {
            let text = |nth: usize| line[nth].as_str().map(str::to_owned);
            let doer = Doer { role: text(0)?, agent: text(1)?, model: text(2) };
            let (tokens, cost_micros) = (line[4].as_u64(), line[5].as_u64());
            Some((doer, Sample { ms: line[3].as_u64()?, tokens, cost_micros, is_completed: line[6].as_bool()? }))
        };
        let mut history = Self::default();
        history.add(all["samples"].as_array()?.iter().filter_map(sample));
        Some(history)
    }
}

fn version(bytes: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(bytes).ok()?["version"].as_u64()
}
