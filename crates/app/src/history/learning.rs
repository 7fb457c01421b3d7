//! What the attempts of a run take, as its events tell it.

use std::collections::HashMap;
use std::path::PathBuf;

use team_executor_core::Timestamp;
use team_executor_engine::event::{Event, Kind};

use super::{Doer, History, OF_ONE, Sample};
use crate::attempts::between;

/// How often what was learned is written down while a run goes on, in microseconds.
const EVERY: i64 = 60_000_000;

/// Collects what attempts take. It remembers those that are at work and a sample of each kind, and no more.
#[derive(Debug)]
pub struct Learning {
    project: PathBuf,
    at_work: HashMap<String, (Doer, Timestamp, Sample)>,
    learned: HashMap<Doer, (u64, Vec<Sample>)>,
    noted: Option<Timestamp>,
    chance: u64,
}

impl Learning {
    /// For a project.
    pub fn new(project: PathBuf) -> Self {
        let (at_work, learned) = (HashMap::new(), HashMap::new());
        Self { project, at_work, learned, noted: None, chance: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Takes note of what happened in the run.
    pub fn take(&mut self, event: &Event) {
        if event.seq.is_none() {
            return;
        }
        match &event.kind {
            Kind::TaskStarted { task, role, agent, .. } => {
                let doer = Doer { role: role.clone(), agent: agent.clone(), model: None };
                self.at_work.insert(task.clone(), (doer, event.at, Sample::default()));
            }
            Kind::TaskUsed { task, model, tokens_in, tokens_out, cost_micros, .. } => {
                if let Some((doer, _, sample)) = self.at_work.get_mut(task) {
                    doer.model.clone_from(model);
                    sample.tokens = Some(tokens_in.saturating_add(*tokens_out));
                    sample.cost_micros = *cost_micros;
                }
            }
            Kind::TaskCompleted { task, .. } => self.ended(task, event.at, true),
            Kind::TaskFailed { task, short: false, .. } => self.ended(task, event.at, false),
            Kind::TaskFailed { task, .. } | Kind::TaskInterrupted { task, .. } => drop(self.at_work.remove(task)),
            _ => {}
        }
    }

    fn ended(&mut self, task: &str, at: Timestamp, is_completed: bool) {
        let Some((doer, started, sample)) = self.at_work.remove(task) else { return };
        let ms = u64::try_from(between(started, at).as_millis()).unwrap_or(u64::MAX);
        let sample = Sample { ms, is_completed, ..sample };
        let (seen, samples) = self.learned.entry(doer).or_default();
        *seen += 1;
        if samples.len() < OF_ONE {
            samples.push(sample);
        } else {
            // Each attempt has the same chance to be among those that are kept.
            self.chance ^= self.chance << 13;
            self.chance ^= self.chance >> 7;
            self.chance ^= self.chance << 17;
            let nth = usize::try_from(self.chance % *seen).unwrap_or(OF_ONE);
            if let Some(place) = samples.get_mut(nth) {
                *place = sample;
            }
        }
        let noted = *self.noted.get_or_insert(at);
        if at.as_micros().saturating_sub(noted.as_micros()) >= EVERY {
            self.noted = Some(at);
            self.note().ok(); // said at the end, if it still fails
        }
    }

    /// Writes down what was learned since the last time. Nothing depends on it; the caller may say why it failed.
    pub fn note(&mut self) -> Result<(), String> {
        let learned = std::mem::take(&mut self.learned).into_iter();
        let of = |(doer, (_, samples)): (Doer, (u64, Vec<Sample>))| {
            samples.into_iter().map(move |sample| (doer.clone(), sample)).collect::<Vec<_>>()
        };
        let mut newer: Vec<(Doer, Sample)> = learned.flat_map(of).collect();
        newer.sort_by(|one, other| one.0.cmp(&other.0));
        if newer.is_empty() { Ok(()) } else { History::note(&self.project, newer) }
    }
}
