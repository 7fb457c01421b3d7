//! What agents used: one line for each attempt, in the executor's own folder, and sums of them. A line that is there twice,
//! because an end was heard again after a crash, counts once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use team_executor_agents::adapters::Usage;
use team_executor_store::run_folder::EXECUTOR;

const NAME: &str = "usage";

/// What one attempt used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The task.
    pub task: String,
    /// The role that worked on it.
    pub role: String,
    /// The agent, as the user calls it.
    pub agent: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How much.
    pub usage: Usage,
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
        for Spent { usage, .. } in spent {
            all.attempts += 1;
            all.input = all.input.saturating_add(usage.input);
            all.cached = all.cached.saturating_add(usage.cached);
            all.output = all.output.saturating_add(usage.output);
            let more = |sum: Option<u64>, one: Option<u64>| match (sum, one) {
                (Some(sum), Some(one)) => Some(sum.saturating_add(one)),
                (sum, one) => sum.or(one),
            };
            all.cost_micros = more(all.cost_micros, usage.cost_micros);
            all.turns = more(all.turns, usage.turns);
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
pub fn of_run(run: &Path) -> Vec<Spent> {
    let text = std::fs::read(run.join(EXECUTOR).join(NAME)).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| read(&serde_json::from_slice(line).ok()?));
    let by_attempt: BTreeMap<_, _> = lines.map(|spent| ((spent.task.clone(), spent.attempt), spent)).collect();
    by_attempt.into_values().collect()
}

/// Writes down what an attempt used, if it used anything.
pub(crate) fn note(run: &Path, spent: &Spent) -> Result<(), String> {
    let Spent { task, role, agent, attempt, usage } = spent;
    if usage.session_id.is_none() && usage.input == 0 {
        return Ok(());
    }
    let line = json!({
        "task": task, "role": role, "agent": agent, "attempt": attempt, "tokens_in": usage.input,
        "tokens_cached": usage.cached, "tokens_out": usage.output, "cost_micros": usage.cost_micros,
        "turns": usage.turns, "model": usage.model, "session_id": usage.session_id,
    });
    let path = run.join(EXECUTOR).join(NAME);
    // In front of each line too: what a crash cut off is no line, and this one is.
    let append = |mut file: File| file.write_all(format!("\n{line}\n").as_bytes());
    let opened = File::options().append(true).create(true).mode(0o600).open(path);
    opened.and_then(append).map_err(|error| format!("{task}: what it used was not written down: {error}"))
}

fn read(line: &Value) -> Option<Spent> {
    let text = |key: &str| Some(line.get(key)?.as_str()?.to_owned());
    let number = |key: &str| line.get(key)?.as_u64();
    Some(Spent {
        task: text("task")?,
        role: text("role")?,
        agent: text("agent")?,
        attempt: u32::try_from(number("attempt")?).ok()?,
        usage: Usage {
            input: number("tokens_in")?,
            cached: number("tokens_cached")?,
            output: number("tokens_out")?,
            cost_micros: number("cost_micros"),
            turns: number("turns"),
            model: text("model"),
            session_id: text("session_id"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(task: &str, role: &str, attempt: u32, cost_micros: Option<u64>) -> Spent {
        let usage = Usage { input: 100, cached: 10, output: 5, cost_micros, turns: Some(2), ..Usage::default() };
        Spent { task: task.to_owned(), role: role.to_owned(), agent: "a".to_owned(), attempt, usage }
    }

    #[test]
    fn what_was_noted_is_read_once_and_a_torn_line_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EXECUTOR);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(of_run(dir.path()), []);
        let all =
            [spent("A", "dev", 1, Some(140_000)), spent("A", "dev", 2, None), spent("B", "qa", 1, Some(2_000_000))];
        note(dir.path(), &all[2]).unwrap();
        note(dir.path(), &all[0]).unwrap();
        std::fs::OpenOptions::new().append(true).open(path.join(NAME)).unwrap().write_all(b"{\"task\":\"A").unwrap();
        note(dir.path(), &all[1]).unwrap();
        note(dir.path(), &all[1]).unwrap();
        assert_eq!(of_run(dir.path()), all);
        let roles = sums(&all, |spent| &spent.role);
        assert_eq!((roles["dev"].attempts, roles["dev"].cost_micros, roles["dev"].turns), (2, Some(140_000), Some(4)));
        assert_eq!(Sum::of(&all).words(), "300 tokens in (30 cached), 15 out, $2.14");
        assert_eq!(Sum::of(&[spent("A", "dev", 2, None)]).words(), "100 tokens in (10 cached), 5 out");
    }

    #[test]
    fn an_agent_that_never_spoke_used_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let silent = Spent { usage: Usage::default(), ..spent("A", "dev", 1, None) };
        assert_eq!((note(dir.path(), &silent), of_run(dir.path())), (Ok(()), Vec::new()));
    }
}
