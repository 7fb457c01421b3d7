//! What a run's rules do not keep: since when something is so, and because of what; and machines that are lost, which only its
//! executor knows. Only those who look at a run ask for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use team_executor_core::run::{ErrorClass, Event, Run, SkipReason, Then, WaveThen};
use team_executor_core::{TaskIndex, Timestamp};

use crate::attempt_times::{AttemptTimes, Collected};

/// An agent that has no quota at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What the user calls it.
    pub agent: String,
    /// When it said so first.
    pub since: Timestamp,
    /// When it will be tried again.
    pub until: Timestamp,
}

/// A machine that had workers of the run, and is not heard of any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LostHost {
    /// Its name.
    pub lost_host: String,
    /// Since when it counts as lost.
    #[serde(with = "micros")]
    pub since: Timestamp,
    /// Where one can ask for it.
    pub backend: String,
}

/// A moment as a number.
mod micros {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use team_executor_core::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.as_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_micros)
    }
}

/// Collects it, event by event.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    times: Collected,
    stage_since: Option<Timestamp>,
    /// Why tasks were skipped.
    because: BTreeMap<TaskIndex, TaskIndex>,
    /// The tasks whose last failure was that their work was not accepted.
    rejected: BTreeSet<TaskIndex>,
    held: BTreeMap<Arc<str>, (Timestamp, Timestamp)>,
}

impl Circumstances {
    /// Takes an event before the rules do.
    pub(crate) fn take(&mut self, rules: &Run, event: &Event, record: &str) {
        self.times.take(rules, event, record);
        match event {
            Event::Paused { at, .. }
            | Event::Halted { at, .. }
            | Event::Draining { at }
            | Event::Stopping { at }
            | Event::Resumed { at }
            | Event::Recovered { at }
            | Event::Finished { at } => self.stage_since = Some(*at),
            Event::WaveMerged { then: WaveThen::Ask, at, .. } => self.stage_since = Some(*at),
            Event::Completed { at, reviewed: Some(_), .. } => self.stage_since = Some(*at),
            Event::Skipped { task, reason, .. } => {
                let because = match reason {
                    SkipReason::DependencyFailed(on) | SkipReason::DependencySkipped(on) => Some(*on),
                    _ => None,
                };
                match because {
                    Some(on) => drop(self.because.insert(*task, on)),
                    None => drop(self.because.remove(task)),
                }
            }
            Event::Failed { work, class, then, at, .. } => {
                if *class == ErrorClass::Rejected && *then == Then::Over {
                    self.rejected.insert(work.task);
                } else {
                    self.rejected.remove(&work.task);
                }
                if let Some(until) = no_quota_until(*class, *then) {
                    let agent = self.times.agent(work.task);
                    let held = self.held.entry(agent).or_insert((*at, until));
                    // One that had quota in between has none since now.
                    *held = if held.1 < *at { (*at, until) } else { (held.0, held.1.max(until)) };
                }
            }
            _ => {}
        }
    }

    pub(crate) const fn stage_since(&self) -> Option<Timestamp> {
        self.stage_since
    }

    pub(crate) fn because(&self, task: TaskIndex) -> Option<TaskIndex> {
        self.because.get(&task).copied()
    }

    pub(crate) fn was_rejected(&self, task: TaskIndex) -> bool {
        self.rejected.contains(&task)
    }

    /// The agents that have no quota then.
    pub(crate) fn held(&self, now: Timestamp) -> Vec<Held> {
        let held = self.held.iter().filter(|(_, (_, until))| *until > now);
        held.map(|(agent, (since, until))| Held { agent: agent.to_string(), since: *since, until: *until }).collect()
    }

    pub(crate) fn into_times(self) -> Vec<Vec<AttemptTimes>> {
        self.times.into_times()
    }
}

/// Until when the agent of an attempt has no quota, if that is why the attempt failed.
pub(crate) fn no_quota_until(class: ErrorClass, then: Then) -> Option<Timestamp> {
    let (ErrorClass::Quota { until }, Then::Again { not_before }) = (class, then) else { return None };
    Some(until.map_or(not_before, |until| until.max(not_before)))
}
