//! What attempts in this project took so far: time, tokens and cost, by role, agent and model. A bounded sample of them is kept beside
//! the runs in `history.json`, which only estimates and the order of starting are made of: nothing is wrong without it.

mod file;
mod learning;

use std::collections::HashMap;

use team_executor_core::{RoleName, Session};
use team_executor_engine::Workers;

pub use learning::Learning;

use crate::{App, Opened};

/// How many samples are kept of one role, agent and model, and of all.
const OF_ONE: usize = 64;
const OF_ALL: usize = 4096;
/// From so many samples on a narrower choice is preferred to a wider one.
const ENOUGH: usize = 3;

/// Who did an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Doer {
    /// The role.
    pub role: String,
    /// The agent, as the user calls it.
    pub agent: String,
    /// Its model, where that is known.
    pub model: Option<String>,
}

/// What one attempt took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// From its start to its outcome, in milliseconds.
    pub ms: u64,
    /// Tokens that were sent and written; none where that is not known.
    pub tokens: Option<u64>,
    /// In millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// It completed its task.
    pub is_completed: bool,
}

/// What attempts in a project took, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    samples: Vec<(Doer, Sample)>,
}

impl History {
    /// How many attempts are known.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Adds what is newer. Of each role, agent and model the newest are kept, and of all.
    pub fn add(&mut self, newer: impl IntoIterator<Item = (Doer, Sample)>) {
        self.samples.extend(newer);
        let mut counts = HashMap::<&Doer, usize>::new();
        let mut keep: Vec<bool> = self
            .samples
            .iter()
            .rev()
            .map(|(doer, _)| {
                let count = counts.entry(doer).or_default();
                *count += 1;
                *count <= OF_ONE
            })
            .collect();
        keep.reverse();
        let mut kept = keep.into_iter();
        self.samples.retain(|_| kept.next().unwrap_or(false));
        let too_many = self.samples.len().saturating_sub(OF_ALL);
        self.samples.drain(..too_many);
    }

    /// What is known of tasks like one that this one will do: of the same role, agent and model, if there is enough of that; else
    /// of the role and the agent, of the role, of the agent, or of all.
    fn like(&self, doer: &Doer) -> (Vec<Sample>, bool) {
        let of = |fits: &dyn Fn(&Doer) -> bool| -> Vec<Sample> {
            self.samples.iter().filter(|(known, _)| fits(known)).map(|(_, sample)| *sample).collect()
        };
        let has_model = doer.model.is_some();
        let narrow: [&dyn Fn(&Doer) -> bool; 3] = [
            &|known| has_model && known == doer,
            &|known| known.role == doer.role && known.agent == doer.agent,
            &|known| known.role == doer.role,
        ];
        if let Some(found) = narrow.iter().map(|fits| of(fits)).find(|found| found.len() >= ENOUGH) {
            return (found, true);
        }
        let of_agent = of(&|known| known.agent == doer.agent);
        (if of_agent.len() >= ENOUGH { of_agent } else { of(&|_| true) }, false)
    }

    /// What is known of tasks like each of a session; nothing where nothing is known at all.
    pub fn of_tasks(&self, session: &Session, workers: &Workers) -> Option<Known> {
        if self.is_empty() {
            return None;
        }
        let mut known = Known { pools: Vec::new(), of: Vec::with_capacity(session.tasks.len()) };
        let mut numbers = HashMap::<(&RoleName, &str, Option<&str>), usize>::new();
        for (task, index) in session.tasks.iter().zip((0..).map(team_executor_core::TaskIndex)) {
            let worker = workers.first(index);
            let agent = worker.map_or("", |worker| worker.agent.as_str());
            let model = worker.and_then(|worker| worker.setup.as_ref()?.model.as_deref());
            let number = *numbers.entry((&task.role, agent, model)).or_insert_with(|| {
                let (agent, model) = (agent.to_owned(), model.map(str::to_owned));
                let (samples, is_own) = self.like(&Doer { role: task.role.to_string(), agent, model });
                known.pools.push(Pool { samples, is_own });
                known.pools.len() - 1
            });
            known.of.push(number);
        }
        Some(known)
    }
}

impl App {
    /// How many milliseconds each task of a session is expected to take, by its role; nothing where that is not known.
    pub fn expected(&self, opened: &Opened) -> Vec<u32> {
        let place = self.around(opened.named());
        let (Ok(place), Some((session, _))) = (place, &opened.session) else { return Vec::new() };
        let known = History::read(&place.project).of_tasks(session, &Workers::default());
        known.map(|known| known.expected()).unwrap_or_default()
    }
}

/// What is known of attempts at tasks of one kind.
#[derive(Debug, Clone)]
pub struct Pool {
    /// What attempts took; there is one at least.
    pub samples: Vec<Sample>,
    /// They are of the role, and not of others.
    pub is_own: bool,
}

/// What is known of attempts at each task of a session.
#[derive(Debug, Clone)]
pub struct Known {
    /// The kinds of tasks.
    pub pools: Vec<Pool>,
    /// Of which kind each task is.
    pub of: Vec<usize>,
}

impl Known {
    /// How long each task takes on average with all of its attempts, in milliseconds.
    pub fn expected(&self) -> Vec<u32> {
        let of_pool = |pool: &Pool| {
            let (sum, completed) = pool.samples.iter().fold((0_u64, 0_u64), |(sum, completed), one| {
                (sum.saturating_add(one.ms), completed + u64::from(one.is_completed))
            });
            u32::try_from(sum / completed.max(1)).unwrap_or(u32::MAX).max(1)
        };
        let of_pools: Vec<u32> = self.pools.iter().map(of_pool).collect();
        self.of.iter().map(|pool| of_pools[*pool]).collect()
    }
}

#[cfg(test)]
mod tests;
