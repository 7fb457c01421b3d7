//! The use of attempts as their agents report it, and sums of it. Each attempt counts once, however often it
//! is reported.

use std::collections::BTreeMap;

use super::budget::Measure;
use super::input::Work;
use super::state::Run;
use crate::graph::TaskIndex;

/// What one attempt used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// The agent, as the user calls it.
    pub agent: String,
    /// Which model.
    pub model: Option<String>,
    /// The conversation, by the agent's own name for it.
    pub session_id: Option<String>,
    /// The command with which a person opens that conversation, where there is one.
    pub attach: Option<String>,
    /// Tokens that were sent, those from a cache included.
    pub input: u64,
    /// Of them, those that came from a cache.
    pub cached: u64,
    /// Of the tokens that were sent, those that were put into a cache, where the agent says so.
    pub stored: u64,
    /// Tokens that were written.
    pub output: u64,
    /// In millionths of a dollar, where the agent says so or its model has a price.
    pub cost_micros: Option<u64>,
    /// How many requests the model answered, as far as that is seen.
    pub turns: Option<u64>,
    /// How long it ran, in milliseconds.
    pub wall_ms: u64,
    /// Its cost or its tokens are an estimate: the agent did not say them.
    pub is_estimated: bool,
}

impl Used {
    /// How much of one measure.
    pub fn amount(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Usd => self.cost_micros.unwrap_or(0),
            Measure::Tokens => self.input.saturating_add(self.output),
            Measure::Turns => self.turns.unwrap_or(0),
            Measure::Wall => self.wall_ms,
        }
    }
}

/// What all attempts used, and sums of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spending {
    used: BTreeMap<Work, Used>,
    /// The attempts of each conversation.
    conversations: BTreeMap<String, Vec<Work>>,
    /// An attempt reported its use, or completed without a report of it.
    pub(super) is_known: bool,
    pub(super) run: Account,
    /// By the number of the role.
    pub(super) roles: BTreeMap<usize, Account>,
    pub(super) tasks: BTreeMap<TaskIndex, Account>,
}

/// What several attempts used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Account {
    attempts: u64,
    sums: [u64; Measure::ALL.len()],
}

impl Account {
    fn add(&mut self, used: &Used) {
        self.attempts += 1;
        for (sum, measure) in self.sums.iter_mut().zip(Measure::ALL) {
            *sum = sum.saturating_add(used.amount(*measure));
        }
    }

    /// How much was used.
    pub(super) const fn sum(&self, measure: Measure) -> u64 {
        self.sums[measure as usize]
    }

    /// How much an attempt used on average, rounded up; nothing if there was none.
    pub(super) const fn mean(&self, measure: Measure) -> Option<u64> {
        if self.attempts == 0 { None } else { Some(self.sum(measure).div_ceil(self.attempts)) }
    }
}

impl Run {
    /// What each attempt used that said so, by task and attempt.
    pub fn used(&self) -> impl Iterator<Item = (Work, &Used)> {
        self.state.spending.used.iter().map(|(work, used)| (*work, used))
    }

    /// What each attempt in a conversation used.
    pub fn used_in(&self, session_id: &str) -> impl Iterator<Item = (Work, &Used)> {
        let Spending { used, conversations, .. } = &self.state.spending;
        let works = conversations.get(session_id).into_iter().flatten();
        works.filter_map(|work| Some((*work, used.get(work)?)))
    }

    /// Whether it is known what an attempt used.
    pub(super) fn is_counted(&self, work: Work) -> bool {
        self.state.spending.used.contains_key(&work)
    }

    /// An attempt used this; ignored if that is known.
    pub(super) fn count(&mut self, work: Work, used: &Used) {
        let Some(role) = self.facts.tasks.get(work.task.get()).map(|task| task.role) else { return };
        let Spending { used: known, conversations, is_known, run, roles, tasks } = &mut self.state.spending;
        if known.contains_key(&work) {
            return;
        }
        *is_known = true;
        run.add(used);
        roles.entry(role).or_default().add(used);
        tasks.entry(work.task).or_default().add(used);
        if let Some(session_id) = &used.session_id {
            conversations.entry(session_id.clone()).or_default().push(work);
        }
        known.insert(work, used.clone());
    }
}
