//! What a run, a role or a task may use: `[budget]`, `[roles.NAME.budget]`, `[tasks."ID".budget]` and the flags.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::json;
use team_executor_agents::adapters::{Adapter, Setup};
use team_executor_agents::rehearsal;
use team_executor_core::Session;
use team_executor_core::TaskIndex;
use team_executor_core::run::{self, Budgets};
use team_executor_engine::Prices;
use team_executor_engine::Workers;
use toml::de::{DeTable, DeValue};

use super::Flags;
use super::show::List;
use super::show::quoted;
use super::values::{Reader, get};
use super::{Config, Origin, Own, Set, Settings, Time};

pub(super) const KEYS: &[&str] = &["usd", "tokens", "turns", "wall"];

/// What may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) usd: Option<Set<Dollars>>,
    pub(crate) tokens: Option<Set<u64>>,
    pub(crate) turns: Option<Set<u64>>,
    /// How long workers may run, added up.
    pub(crate) wall: Option<Set<Time>>,
}

/// An amount of money in millionths of a dollar, more than none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars(pub u64);

impl FromStr for Dollars {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected dollars, as 20 or 2.50".to_owned();
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| (1..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 6 {
            return Err(wrong());
        }
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let micros = number(whole)? * 1_000_000 + number(&format!("{part:0<6}"))?;
        if micros == 0 { Err("the budget must be greater than 0".to_owned()) } else { Ok(Self(micros)) }
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, format!("{:06}", self.0 % 1_000_000));
        let part = part.trim_end_matches('0');
        f.pad(&format!("{whole}.{part:0<2}"))
    }
}

impl Budget {
    /// This one, and what it leaves open from another.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            usd: self.usd.or(other.usd),
            tokens: self.tokens.or(other.tokens),
            turns: self.turns.or(other.turns),
            wall: self.wall.or(other.wall),
        }
    }

    /// What the command line says.
    pub(crate) fn of_flags(flags: &Flags) -> Self {
        fn flag<T>(value: Option<T>, name: &'static str) -> Option<Set<T>> {
            value.map(|value| Set { value, from: Origin::Flag(name) })
        }
        Self {
            usd: flag(flags.budget_usd, "--budget-usd"),
            tokens: flag(flags.budget_tokens, "--budget-tokens"),
            turns: flag(flags.budget_turns, "--budget-turns"),
            wall: flag(flags.budget_wall, "--budget-wall"),
        }
    }

    /// Reads the table `budget` of a section, if there is one.
    pub(super) fn read(reader: &mut Reader<'_>, table: &DeTable<'_>, section: &str) -> Self {
        let Some(table) = reader.table(table, "budget") else { return Self::default() };
        let section = if section.is_empty() { "budget".to_owned() } else { format!("{section}.budget") };
        reader.only(table, &section, KEYS);
        let dollars = |value: &DeValue<'_>| match value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        Self {
            usd: reader.set(table, "usd", "dollars, as 20 or 2.50", dollars),
            tokens: whole(reader, table, "tokens"),
            turns: whole(reader, table, "turns"),
            wall: reader.time(table, "wall"),
        }
    }

    /// Lists what is set.
    pub(super) fn show(&self, list: &mut List, section: &str) {
        let all = [
            ("usd", self.usd.as_ref().map(|set| (json!(set.value.to_string()), &set.from))),
            ("tokens", self.tokens.as_ref().map(|set| (json!(set.value), &set.from))),
            ("turns", self.turns.as_ref().map(|set| (json!(set.value), &set.from))),
            ("wall", self.wall.as_ref().map(|set| (json!(set.value.to_string()), &set.from))),
        ];
        for (key, value, from) in all.into_iter().filter_map(|(key, set)| set.map(|(value, from)| (key, value, from))) {
            list.add(&format!("{section}.{key}"), value, from.clone());
        }
    }

    fn values(&self) -> run::Budget {
        run::Budget {
            usd: self.usd.as_ref().map(|set| set.value.0),
            tokens: self.tokens.as_ref().map(|set| set.value),
            turns: self.turns.as_ref().map(|set| set.value),
            wall: self.wall.as_ref().and_then(|set| set.value.0),
        }
    }
}

/// Reads how long a run waits at most for quota; `off` is not at all.
pub(super) fn quota_wait(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Set<Time>> {
    let is_off = get(table, "quota_wait").is_some_and(|value| value.get_ref().as_str() == Some("off"));
    if is_off {
        return reader.set(table, "quota_wait", "", |_| Some(Time(Some(0))));
    }
    reader.time(table, "quota_wait")
}

/// Lists how long a run waits at most for quota.
pub(super) fn show_quota_wait(list: &mut List, set: &Set<Time>) {
    let word = if set.value == Time(Some(0)) { "off".to_owned() } else { set.value.to_string() };
    list.add("defaults.quota_wait", json!(word), set.from.clone());
}

/// Whether a task comes under a budget of dollars, tokens or turns.
pub(super) fn binds(settings: &Settings, flags: &Flags, owns: [Option<&Own>; 2]) -> bool {
    let own = owns.into_iter().flatten().map(|own| own.budget.clone());
    let mut all = own.chain([Budget::of_flags(flags), settings.budget.clone()]);
    all.any(|budget| budget.usd.is_some() || budget.tokens.is_some() || budget.turns.is_some())
}

/// What a budget does not count, one line each, before anything is started.
pub(crate) fn blind_spots(budgets: &Budgets, workers: &Workers, session: &Session, prices: &Prices) -> Vec<String> {
    let (mut told, mut commands) = (BTreeSet::new(), BTreeSet::new());
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        let own = [Some(&budgets.run), budgets.roles.get(&task.role), budgets.tasks.get(&index)];
        let own: Vec<_> = own.into_iter().flatten().collect();
        let any = |of: fn(&run::Budget) -> bool| own.iter().any(|budget| of(budget));
        let counts = any(|it| it.usd.is_some() || it.tokens.is_some() || it.turns.is_some());
        let used = workers.chain_of(index).iter().filter(|_| counts).filter_map(|nth| workers.iter().nth(*nth));
        let in_dollars = any(|it| it.usd.is_some());
        for worker in used {
            match &worker.setup {
                None if worker.command.iter().any(|word| word == rehearsal::ARGUMENT) => {}
                None => _ = commands.insert(worker.agent.as_str()),
                Some(setup) => told.extend(blind_spot(&worker.agent, setup, in_dollars, prices)),
            }
        }
    }
    let names: Vec<_> = commands.into_iter().collect();
    let of_commands = (!names.is_empty()).then(|| {
        format!(
            "the budget counts {} only by `usage` in result files: a command reports nothing else; \
             help: `--budget-wall 2h` bounds the time that workers run",
            names.join(", ")
        )
    });
    of_commands.into_iter().chain(told).collect()
}

/// What a budget does not count of a coding agent.
fn blind_spot(agent: &str, setup: &Setup, in_dollars: bool, prices: &Prices) -> Option<String> {
    let table =
        |model: &str| format!("help: add [prices.{}] with input and output to team-executor.toml", quoted(model));
    match &setup.model {
        Some(model) if in_dollars && setup.adapter != Adapter::Claude && prices.find(model).is_none() => Some(format!(
            "the budget in dollars does not count {agent}: its model `{model}` has no price; {}",
            table(model)
        )),
        None if in_dollars && setup.adapter != Adapter::Claude => Some(format!(
            "the budget in dollars counts {agent} only if the model that it chooses has a price; \
             help: set model in [agents.{}]",
            quoted(agent)
        )),
        _ if setup.adapter == Adapter::Codex && !setup.converses => Some(format!(
            "the budget counts {agent} only when an attempt has ended: it says nothing before; \
             help: remove `converse = false` from [agents.{}]",
            quoted(agent)
        )),
        _ => None,
    }
}

/// All budgets of a run of a session.
pub(crate) fn budgets(config: &Config, flags: &Flags, session: &Session) -> Budgets {
    let settings = &config.settings;
    let bounds = |budget: &run::Budget| !budget.is_open();
    let roles = session.tasks.iter().filter_map(|task| {
        let budget = settings.roles.get(task.role.as_str())?.budget.values();
        Some((task.role.clone(), budget))
    });
    let tasks = (0..).map(TaskIndex).zip(&session.tasks).filter_map(|(index, task)| {
        let budget = settings.tasks.get(task.id.as_str())?.budget.values();
        Some((index, budget))
    });
    Budgets {
        run: Budget::of_flags(flags).or(settings.budget.clone()).values(),
        roles: roles.filter(|(_, budget)| bounds(budget)).collect(),
        tasks: tasks.filter(|(_, budget)| bounds(budget)).collect(),
    }
}

fn whole(reader: &mut Reader<'_>, table: &DeTable<'_>, key: &str) -> Option<Set<u64>> {
    reader.set(table, key, "a whole number of at least 1", |value| {
        let number = value.as_integer()?;
        u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| *number > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_and_shown_as_people_write_them() {
        let micros = |text: &str| text.parse::<Dollars>().map(|dollars| dollars.0);
        assert_eq!(micros("20"), Ok(20_000_000));
        assert_eq!(micros("2.5"), Ok(2_500_000));
        assert_eq!(micros("0.000001"), Ok(1));
        for wrong in ["", ".", "1.", ".5", "-1", "$1", "1e3", "1.0000001", "1234567890123", "0", "0.00", "inf"] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
        for (text, shown) in [("20", "20.00"), ("2.5", "2.50"), ("0.000001", "0.000001"), ("1.25", "1.25")] {
            assert_eq!(text.parse::<Dollars>().map(|dollars| dollars.to_string()), Ok(shown.to_owned()));
        }
    }
}
