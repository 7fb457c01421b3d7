//! What agents used, as the journal says it, and sums of it.

use std::collections::BTreeMap;

use team_executor_core::Session;
use team_executor_core::run::{Run, Used};

/// What one attempt used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The task.
    pub task: String,
    /// The role that worked on it.
    pub role: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How much.
    pub used: Used,
}

/// What several attempts used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many attempts.
    pub attempts: u64,
    /// Tokens that were sent, those from a cache included.
    pub input: u64,
    /// Of them, those that came from a cache.
    pub cached: u64,
    /// Tokens that were written.
    pub output: u64,
    /// In millionths of a dollar, as far as agents say so.
    pub cost_micros: Option<u64>,
    /// How often models were asked, as far as agents say so.
    pub turns: Option<u64>,
}

impl Sum {
    /// All of them together.
    pub fn of<'s>(spent: impl IntoIterator<Item = &'s Spent>) -> Self {
        let mut all = Self::default();
        for Spent { used, .. } in spent {
            all.attempts += 1;
            all.input = all.input.saturating_add(used.input);
            all.cached = all.cached.saturating_add(used.cached);
            all.output = all.output.saturating_add(used.output);
            let more = |sum: Option<u64>, one: Option<u64>| match (sum, one) {
                (Some(sum), Some(one)) => Some(sum.saturating_add(one)),
                (sum, one) => sum.or(one),
            };
            all.cost_micros = more(all.cost_micros, used.cost_micros);
            all.turns = more(all.turns, used.turns);
        }
        all
    }

    /// For people: `12345 tokens in (100 cached), 678 out, $0.14`.
    pub fn words(&self) -> String {
        let cached = if self.cached > 0 { format!(" ({} cached)", self.cached) } else { String::new() };
        let cents = self.cost_micros.map(|micros| micros.saturating_add(5000) / 10_000);
        let cost = cents.map(|cents| format!(", ${}.{:02}", cents / 100, cents % 100)).unwrap_or_default();
        format!("{} tokens in{cached}, {} out{cost}", self.input, self.output)
    }
}

/// What attempts used together, by what `key` says of each.
pub fn sums<'s>(spent: &'s [Spent], key: impl Fn(&'s Spent) -> &'s str) -> BTreeMap<&'s str, Sum> {
    let mut by: BTreeMap<&str, Vec<&Spent>> = BTreeMap::new();
    spent.iter().for_each(|one| by.entry(key(one)).or_default().push(one));
    by.into_iter().map(|(key, spent)| (key, Sum::of(spent))).collect()
}

/// What the attempts of a run used, by task and attempt; nothing if no agent said so.
pub(crate) fn of(rules: &Run, session: &Session) -> Vec<Spent> {
    let said = rules.used().filter(|(_, used)| used.session_id.is_some() || used.input > 0);
    let spent = said.filter_map(|(work, used)| {
        let task = session.tasks.get(work.task.get())?;
        let (task, role, attempt) = (task.id.to_string(), task.role.to_string(), work.attempt);
        Some(Spent { task, role, attempt, used: used.clone() })
    });
    spent.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(task: &str, role: &str, attempt: u32, cost_micros: Option<u64>) -> Spent {
        let used = Used { input: 100, cached: 10, output: 5, cost_micros, turns: Some(2), ..Used::default() };
        Spent { task: task.to_owned(), role: role.to_owned(), attempt, used }
    }

    #[test]
    fn what_was_used_is_summed_as_far_as_it_was_said() {
        let all =
            [spent("A", "dev", 1, Some(140_000)), spent("A", "dev", 2, None), spent("B", "qa", 1, Some(2_000_000))];
        let roles = sums(&all, |spent| &spent.role);
        assert_eq!((roles["dev"].attempts, roles["dev"].cost_micros, roles["dev"].turns), (2, Some(140_000), Some(4)));
        assert_eq!(Sum::of(&all).words(), "300 tokens in (30 cached), 15 out, $2.14");
        assert_eq!(Sum::of(&[spent("A", "dev", 2, None)]).words(), "100 tokens in (10 cached), 5 out");
    }
}
