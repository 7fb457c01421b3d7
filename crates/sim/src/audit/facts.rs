//! What the auditor works out by itself about the tasks: who waits for whom, the waves, whose quota.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use team_executor_core::run::{Budgets, Cadence, Policy, WaveFailed};
use team_executor_core::{Complexity, ExecMode, Position, Priority, RunOn, Task, TaskIndex, TaskStatus};

use crate::scenario::Scenario;

/// What never changes about the tasks.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) tasks: Vec<TaskFacts>,
    pub(crate) waves: bool,
    pub(crate) slots: usize,
    pub(crate) interruptions: u32,
    pub(crate) wave_failed: WaveFailed,
    pub(crate) budgets: Budgets,
    /// These tasks were not there when the run began.
    pub(crate) later: Vec<usize>,
    /// Only these tasks start.
    pub(crate) part: Option<BTreeSet<usize>>,
    /// In microseconds: after the first failure, at most, and how much more by chance in percent.
    pub(crate) backoff: (i64, i64, i64),
    /// For each set of changes of the plan, what each task waits for then, and which are gone.
    pub(crate) plans: Vec<(Vec<Vec<usize>>, Vec<bool>)>,
}

/// What never changes about a task.
#[derive(Debug)]
pub(crate) struct TaskFacts {
    pub(crate) needs: Vec<usize>,
    pub(crate) run_on: RunOn,
    pub(crate) before: TaskStatus,
    pub(crate) wave: u32,
    pub(crate) turn: u8,
    pub(crate) priority: Priority,
    /// How many tasks the longest way from it to an end has.
    pub(crate) path: u32,
    pub(crate) role: String,
    /// Whose quotas can be used, the one that is wanted first.
    pub(crate) quotas: Vec<u32>,
    /// What the agents are called.
    pub(crate) agents: Vec<String>,
    pub(crate) retries: u32,
    pub(crate) rounds: u32,
    /// The run pauses after it, it is switched off, or it is not for simpler work than this.
    pub(crate) asks: bool,
    pub(crate) is_off: bool,
    pub(crate) least: Option<Complexity>,
    /// The one resident worker of its role has it.
    pub(crate) resident: bool,
}

impl Facts {
    /// Budgets and the part that is run may have changed since the scenario was made.
    pub(crate) fn from_scenario(scenario: &Scenario, chosen: &Policy) -> Self {
        let mut tasks: Vec<TaskFacts> = Vec::new();
        for (index, task) in (0..).zip(scenario.tasks()) {
            let needs = task.dependencies.iter().filter_map(|id| super::reader::task(id.as_str()));
            let needs: Vec<usize> = needs.collect();
            let own = scenario.policy.tasks.get(&TaskIndex(index)).copied().unwrap_or_default();
            let resident = task.exec_mode == ExecMode::Interactive;
            tasks.push(TaskFacts {
                wave: 1 + needs.iter().map(|on| tasks[*on].wave).max().unwrap_or(0),
                needs,
                run_on: task.run_on,
                before: task.status,
                turn: if !resident {
                    1
                } else if task.position == Position::PreWave {
                    0
                } else {
                    2
                },
                priority: task.priority,
                path: scenario.expected.get(index as usize).copied().unwrap_or(1),
                role: task.role.to_string(),
                quotas: std::iter::once(&own.pool)
                    .chain(scenario.policy.fallbacks.get(&TaskIndex(index)).into_iter().flatten())
                    .copied()
                    .collect(),
                agents: scenario.agents(index),
                retries: own.retries.unwrap_or(scenario.policy.retries),
                rounds: own.rounds.unwrap_or(scenario.policy.rounds),
                asks: own.asks,
                is_off: own.is_off,
                least: own.least,
                resident,
            });
        }
        for task in (0..tasks.len()).rev() {
            for on in tasks[task].needs.clone() {
                let longer = tasks[task].path + scenario.expected.get(on).copied().unwrap_or(1);
                tasks[on].path = tasks[on].path.max(longer);
            }
        }
        let policy = &scenario.policy;
        let micros = |millis: u64| i64::try_from(millis.saturating_mul(1000)).unwrap_or(i64::MAX);
        let plan = |made: u32| {
            let plan = scenario.plan(made);
            let needs =
                |task: &Task| task.dependencies.iter().filter_map(|id| super::reader::task(id.as_str())).collect();
            (plan.tasks.iter().map(needs).collect(), plan.gone)
        };
        let plans = (0..1 << scenario.changes.len()).map(plan).collect();
        Self {
            tasks,
            plans,
            waves: policy.cadence == Cadence::Wave,
            slots: policy.slots as usize,
            interruptions: policy.interruptions,
            wave_failed: policy.wave_failed,
            budgets: chosen.budgets.clone(),
            later: chosen.later.iter().map(|task| task.get()).collect(),
            part: chosen.part.as_ref().map(|part| part.iter().map(|task| task.get()).collect()),
            backoff: (micros(policy.backoff.first.0), micros(policy.backoff.cap.0), i64::from(policy.backoff.jitter)),
        }
    }

    /// Whether one resident worker has both tasks.
    pub(crate) fn share_a_worker(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.tasks[one], &self.tasks[other]);
        one.resident && other.resident && one.role == other.role
    }

    /// Who of those that can start comes first has the smaller one.
    pub(crate) fn order(&self, task: usize) -> impl Ord {
        // What hangs on a task is counted anew when an executor starts, and not when a plan grows.
        let path = if self.later.is_empty() && self.plans.len() == 1 {
            Some((Reverse(self.tasks[task].path), task))
        } else {
            None
        };
        (self.tasks[task].priority, path)
    }

    /// The shortest and the longest wait after so many failures.
    pub(crate) fn wait(&self, failures: u32) -> (i64, i64) {
        let (first, cap, jitter) = self.backoff;
        let wait = first.saturating_mul(1 << failures.saturating_sub(1).min(40)).min(cap);
        (wait, wait + wait * jitter / 100)
    }
}

/// Whether what it needs lets a task run; nothing if that is not known yet. Of each the status, and whether it was not needed.
pub(crate) fn admits(run_on: RunOn, needs: impl Iterator<Item = (TaskStatus, bool)>) -> Option<bool> {
    let (mut open, mut bad) = (false, false);
    for (status, not_needed) in needs {
        open |= !status.is_over();
        bad |= matches!(status, TaskStatus::Failed | TaskStatus::Skipped) && !not_needed;
    }
    match run_on {
        RunOn::Success if bad => Some(false),
        _ if open => None,
        RunOn::Failure => Some(bad),
        RunOn::Success | RunOn::Always => Some(true),
    }
}
