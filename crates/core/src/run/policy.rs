//! The settings of a run. Chosen before it begins; a later incarnation may choose anew, except for the
//! cadence and the seed.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budgets;
use super::learned::Learned;
use crate::complexity::Complexity;
use crate::graph::{Graph, TaskIndex};
use crate::session::Session;
use crate::task::words;
use crate::time::Millis;

words! {
    /// What the start of a task waits for, beside its dependencies.
    Cadence {
        /// Nothing: every end of a task starts what can start.
        Beat = "beat",
        /// The end of all tasks of the wave before.
        Wave = "wave",
    }
}

words! {
    /// Which waves a run keeps, whatever the dependencies allow. Part of the plan, as the cadence is.
    KeptWaves {
        /// Those that follow from the dependencies.
        Computed = "computed",
        /// Those that were planned, wave by wave.
        Planned = "planned",
        /// Those that were planned, in every cadence: there are no dependencies.
        Barriers = "barriers",
    }
}

impl KeptWaves {
    /// What a run of a session keeps.
    pub fn plan(session: &Session, graph: &Graph, cadence: Cadence) -> Self {
        match cadence {
            _ if session.waves_are_barriers && graph.is_planned() => Self::Barriers,
            Cadence::Wave if graph.is_planned() => Self::Planned,
            _ => Self::Computed,
        }
    }
}

words! {
    /// What happens when all workers of a wave failed.
    WaveFailed {
        /// The run pauses until a person decides.
        Ask = "ask",
        /// The run stops.
        Abort = "abort",
        /// The next wave starts.
        GoOn = "go-on",
    }
}

words! {
    /// What happens at a checkpoint where no person can decide.
    AtCheckpoint {
        /// The run stops, and can be resumed.
        Stop = "stop",
        /// The run goes on.
        Resume = "resume",
    }
}

/// What a person may choose about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What the start of a task waits for.
    pub cadence: Cadence,
    /// Which waves it keeps.
    pub waves: KeptWaves,
    /// How many workers there are at a time; none counts as one.
    pub slots: u32,
    /// How often a failed task is tried again.
    pub retries: u32,
    /// How often a task is started again after its worker was lost.
    pub interruptions: u32,
    /// How often work that was not accepted is done again.
    pub rounds: u32,
    /// How often work had been sent back before the run.
    pub rounds_before: u32,
    /// How long a failed task waits.
    pub backoff: Backoff,
    /// What happens when all workers of a wave failed.
    pub wave_failed: WaveFailed,
    /// Where the jitter comes from.
    pub seed: u64,
    /// For tasks that several agents can do, whose quotas the others use, in the order in which they are wanted.
    pub fallbacks: BTreeMap<TaskIndex, Vec<u32>>,
    /// What the agents are called that do tasks.
    pub agents: Agents,
    /// How long a run waits at most until an agent has quota again; without it, as long as it takes.
    pub quota_wait: Option<Millis>,
    /// These tasks were not there when the run began.
    pub later: BTreeSet<TaskIndex>,
    /// Only these tasks start; all, where none are named.
    pub part: Option<BTreeSet<TaskIndex>>,
    /// What may be used.
    pub budgets: Budgets,
    /// What differs for single tasks.
    pub tasks: BTreeMap<TaskIndex, TaskPolicy>,
    /// How long tasks are expected to take: it decides which of those that are ready starts first.
    pub learned: Learned,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            cadence: Cadence::Beat,
            waves: KeptWaves::Computed,
            slots: 3,
            retries: 3,
            interruptions: 5,
            rounds: 2,
            rounds_before: 0,
            backoff: Backoff::default(),
            wave_failed: WaveFailed::Ask,
            seed: 0,
            fallbacks: BTreeMap::new(),
            agents: Agents::default(),
            quota_wait: None,
            later: BTreeSet::new(),
            part: None,
            budgets: Budgets::default(),
            tasks: BTreeMap::new(),
            learned: Learned::default(),
        }
    }
}

/// What the agents are called that do tasks, in the order in which they are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    /// Who can do tasks; there are few chains.
    pub chains: Vec<Vec<String>>,
    /// Which chain each task has; nothing where that is not known.
    pub of: Vec<usize>,
}

impl Agents {
    /// The number of a chain, which is added if it is new.
    pub(super) fn chain(&mut self, agents: Vec<String>) -> usize {
        self.chains.iter().position(|chain| *chain == agents).unwrap_or_else(|| {
            self.chains.push(agents);
            self.chains.len() - 1
        })
    }
}

/// What differs for one task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskPolicy {
    /// How often it is tried again, where that differs.
    pub retries: Option<u32>,
    /// How often it is done again when it was not accepted, where that differs.
    pub rounds: Option<u32>,
    /// The run pauses after it until a person decides.
    pub asks: bool,
    /// It is not run at all, and nothing is amiss.
    pub is_off: bool,
    /// It is run only if no task that it depends on finds the work simpler than this.
    pub least: Option<Complexity>,
    /// Whose quota it uses: agent, account and model as one number. There are few of them.
    pub pool: u32,
}

/// How long a failed task waits: longer each time, and never in step with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Millis,
    /// How many times longer each next time.
    pub factor: u32,
    /// Never longer than this, the jitter not counted.
    pub cap: Millis,
    /// How much longer at most by chance, in percent.
    pub jitter: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Millis(1000), factor: 2, cap: Millis(300_000), jitter: 50 }
    }
}

impl Backoff {
    /// How long to wait after that many failures; `chance` is any number, and each number has its own jitter.
    pub fn wait(&self, failures: u32, chance: u64) -> Millis {
        let times = u64::from(self.factor).saturating_pow(failures.saturating_sub(1));
        let wait = self.first.0.saturating_mul(times).min(self.cap.0);
        let most = (u128::from(wait) * u128::from(self.jitter) / 100).min(u128::from(u64::MAX));
        let more = (most * u128::from(chance)) >> 64;
        Millis(wait.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: D-05
    #[test]
    fn each_wait_is_twice_as_long_up_to_the_cap() {
        let backoff = Backoff::default();
        let waits: Vec<_> = (1..=11).map(|failures| backoff.wait(failures, 0).0 / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff.wait(u32::MAX, 0), Millis(300_000));
    }

    /// R: D-05
    #[test]
    fn the_jitter_makes_a_wait_at_most_half_as_long_again() {
        let backoff = Backoff::default();
        assert_eq!(backoff.wait(1, u64::MAX / 2), Millis(1249));
        assert_eq!(backoff.wait(1, u64::MAX), Millis(1499));
        assert_eq!(backoff.wait(99, u64::MAX), Millis(449_999));
    }

    #[test]
    fn no_setting_overflows() {
        let most = Backoff { first: Millis(u64::MAX), factor: u32::MAX, cap: Millis(u64::MAX), jitter: u32::MAX };
        assert_eq!(most.wait(u32::MAX, u64::MAX), Millis(u64::MAX));
        let none = Backoff { first: Millis(0), factor: 0, cap: Millis(0), jitter: 0 };
        assert_eq!(none.wait(0, u64::MAX), Millis(0));
    }
}
