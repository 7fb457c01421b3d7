//! What agents used, as the journal says it, and sums of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use team_executor_core::run::{Run, Used, Work};
use team_executor_core::{Session, TaskIndex};

use crate::event::AtWork;
use crate::render::run_report::seconds;

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

impl Spent {
    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        !is_unknown(&self.used)
    }
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
    /// In millionths of a dollar, as far as that is known.
    pub cost_micros: Option<u64>,
    /// How many requests models answered, as far as that is seen.
    pub turns: Option<u64>,
    /// How long they ran, in milliseconds.
    pub wall_ms: u64,
    /// Part of it is an estimate: agents did not say it.
    pub is_estimated: bool,
    /// Of how many attempts nothing is known.
    pub unknown: u64,
    /// Of how many others it is not known what they cost.
    pub unpriced: u64,
}

impl Sum {
    /// All of them together.
    pub fn total<'s>(spent: impl IntoIterator<Item = &'s Spent>) -> Self {
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
            all.wall_ms = all.wall_ms.saturating_add(used.wall_ms);
            all.is_estimated |= used.is_estimated;
            let (is_unknown, is_unpriced) = (is_unknown(used), used.cost_micros.is_none());
            all.unknown += u64::from(is_unknown);
            all.unpriced += u64::from(is_unpriced && !is_unknown);
        }
        all
    }

    /// In a few words: `12k tokens, ~$0.14`. Nothing if nothing was used.
    pub fn brief(&self) -> String {
        let tokens = match self.input.saturating_add(self.output) {
            0 => None,
            tokens @ 1..10_000 => Some(format!("{tokens} tokens")),
            tokens @ 10_000..10_000_000 => Some(format!("{}k tokens", tokens / 1000)),
            tokens => Some(format!("{}M tokens", tokens / 1_000_000)),
        };
        let about = if self.is_estimated { "~" } else { "" };
        let cost = self.cost_micros.map(|micros| format!("{about}{}", dollars(micros)));
        [tokens, cost].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// For people: `12345 tokens in (100 cached), 678 out, about $0.14 (2 of 5 attempts without a price)`.
    pub fn words(&self) -> String {
        let cached = if self.cached > 0 { format!(" ({} cached)", self.cached) } else { String::new() };
        let about = if self.is_estimated { "about " } else { "" };
        let cost = self.cost_micros.map(|micros| format!(", {about}{}", dollars(micros))).unwrap_or_default();
        let part =
            |count: u64, what: &str| (count > 0).then(|| format!("{count} of {} attempts {what}", self.attempts));
        let unpriced = part(if self.cost_micros.is_some() { self.unpriced } else { 0 }, "without a price");
        let parts = unpriced.into_iter().chain(part(self.unknown, "unknown")).collect::<Vec<_>>().join(", ");
        let parts = if parts.is_empty() { parts } else { format!(" ({parts})") };
        let output = if self.is_estimated && self.cost_micros.is_none() { " (estimated)" } else { "" };
        format!("{} tokens in{cached}, {} out{output}{cost}{parts}", self.input, self.output)
    }
}

/// Millionths of a dollar, for people: `$0.14`.
pub fn dollars(micros: u64) -> String {
    let cents = micros.saturating_add(5000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// The titles of the columns of [`table`].
pub const COLUMNS: [&str; 7] = ["TASK", "AGENT", "MODEL", "TOKENS IN", "OUT", "COST", "TIME"];

/// What attempts used, by task, agent and model, in the order of the attempts.
pub fn table(spent: &[Spent]) -> Vec<[String; COLUMNS.len()]> {
    let mut order: Vec<(&str, &str, &str)> = Vec::new();
    let mut by: BTreeMap<(&str, &str, &str), Vec<&Spent>> = BTreeMap::new();
    for one in spent.iter().filter(|one| one.is_known()) {
        let key = (one.task.as_str(), one.used.agent.as_str(), one.used.model.as_deref().unwrap_or("-"));
        let known = by.entry(key).or_default();
        if known.is_empty() {
            order.push(key);
        }
        known.push(one);
    }
    let row = |key: (&str, &str, &str)| {
        let sum = Sum::total(by.get(&key).into_iter().flatten().copied());
        let (task, agent, model) = key;
        let about = if sum.is_estimated { "~" } else { "" };
        let cost = sum.cost_micros.map_or_else(|| "-".to_owned(), |micros| format!("{about}{}", dollars(micros)));
        let time = seconds(Duration::from_millis(sum.wall_ms));
        [task.to_owned(), agent.to_owned(), model.to_owned(), sum.input.to_string(), sum.output.to_string(), cost, time]
    };
    order.into_iter().map(row).collect()
}

/// What attempts used together, by what `key` says of each.
pub fn sums<'s>(spent: &'s [Spent], key: impl Fn(&'s Spent) -> &'s str) -> BTreeMap<&'s str, Sum> {
    let mut by: BTreeMap<&str, Vec<&Spent>> = BTreeMap::new();
    spent.iter().for_each(|one| by.entry(key(one)).or_default().push(one));
    by.into_iter().map(|(key, spent)| (key, Sum::total(spent))).collect()
}

/// What the attempts of a run used, by task and attempt; nothing if no agent said so. Where some did, the others are unknown.
pub(crate) fn collect(rules: &Run, session: &Session) -> Vec<Spent> {
    let known: BTreeMap<Work, &Used> = rules.used().filter(|(_, used)| !is_unknown(used)).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let nothing = Used::default();
    let running: BTreeSet<Work> = rules.at_work().collect();
    let tasks = (0..).map(TaskIndex).zip(&session.tasks);
    let all = tasks.flat_map(|(index, task)| {
        let last = rules.view(index).map_or(0, |view| view.attempt);
        (1..=last).map(move |attempt| (task, Work { task: index, attempt }))
    });
    let ended = all.filter(|(_, work)| !running.contains(work) || known.contains_key(work));
    let spent = ended.map(|(task, work)| {
        let (task, role, attempt) = (task.id.to_string(), task.role.to_string(), work.attempt);
        Spent { task, role, attempt, used: known.get(&work).map_or(&nothing, |used| *used).clone() }
    });
    spent.collect()
}

/// Adds running attempts whose agents say what they use.
pub(crate) fn add_running(spent: &mut Vec<Spent>, at_work: &[AtWork], session: &Session) {
    for AtWork { task, attempt, agent, activity, .. } in at_work.iter().filter(|one| one.activity.input > 0) {
        let is_counted = spent.iter().any(|one| one.task == *task && one.attempt == *attempt);
        let Some(role) = session.tasks.iter().find(|one| one.id.as_str() == task).map(|one| one.role.to_string())
        else {
            continue;
        };
        let used = Used {
            agent: agent.clone(),
            model: activity.model.clone(),
            session_id: activity.session_id.clone(),
            input: activity.input,
            cached: activity.cached,
            output: activity.output,
            cost_micros: activity.cost_micros,
            turns: activity.turns,
            is_estimated: activity.is_estimated,
            ..Used::default()
        };
        spent.extend((!is_counted).then(|| Spent { task: task.clone(), role, attempt: *attempt, used }));
    }
}

/// Whether nothing is known of what an attempt used.
fn is_unknown(used: &Used) -> bool {
    used.session_id.is_none() && used.input == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(task: &str, role: &str, attempt: u32, cost_micros: Option<u64>) -> Spent {
        let used = Used { input: 100, cached: 10, output: 5, cost_micros, turns: Some(2), ..Used::default() };
        Spent { task: task.to_owned(), role: role.to_owned(), attempt, used }
    }

    #[test]
    fn table_has_a_row_for_each_task_agent_and_model() {
        let by = |task: &str, agent: &str, model: Option<&str>| {
            let one = spent(task, "dev", 1, Some(140_000));
            let model = model.map(str::to_owned);
            Spent { used: Used { agent: agent.to_owned(), model, wall_ms: 65_000, ..one.used }, ..one }
        };
        let all = [by("B", "claude", Some("opus")), by("A", "codex", None), by("B", "claude", Some("opus"))];
        let rows = table(&all);
        assert_eq!(rows[0], ["B", "claude", "opus", "200", "10", "$0.28", "2 min 10 s"]);
        assert_eq!(rows[1], ["A", "codex", "-", "100", "5", "$0.14", "1 min 5 s"]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn reported_usage_is_summed() {
        let all =
            [spent("A", "dev", 1, Some(140_000)), spent("A", "dev", 2, None), spent("B", "qa", 1, Some(2_000_000))];
        let roles = sums(&all, |spent| &spent.role);
        assert_eq!((roles["dev"].attempts, roles["dev"].cost_micros, roles["dev"].turns), (2, Some(140_000), Some(4)));
        assert_eq!(
            Sum::total(&all).words(),
            "300 tokens in (30 cached), 15 out, $2.14 (1 of 3 attempts without a price)"
        );
        let mut some = all.to_vec();
        some[0].used.is_estimated = true;
        some[1].used = Used::default();
        assert_eq!(
            Sum::total(&some).words(),
            "200 tokens in (20 cached), 10 out, about $2.14 (1 of 3 attempts unknown)"
        );
        assert_eq!(Sum::total(&[spent("A", "dev", 2, None)]).words(), "100 tokens in (10 cached), 5 out");
    }
}
