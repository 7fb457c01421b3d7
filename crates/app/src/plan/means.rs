//! With what a plan would be carried out: who does the tasks of each role, with which model, and what they may use.

use std::path::Path;

use serde_json::{Map, Value, json};
use team_executor_core::run::{Budget, Budgets, Measure};
use team_executor_core::{Session, TaskIndex};
use team_executor_engine::Workers;
use team_executor_engine::amount;

use crate::config::{Config, Flags, budget, choose};

/// An agent, and its model if that is set.
type Doer = (String, Option<String>);
/// A role, and for each sort of its tasks who does it, the one that is wanted first.
type Doers = (String, Vec<Vec<Doer>>);

/// With what a plan would be carried out.
#[derive(Debug)]
pub struct Means {
    /// Nothing if no agent is named.
    roles: Vec<Doers>,
    budgets: Budgets,
}

impl Means {
    /// As the configuration says, and the workers of whom it speaks. `exe` is this program.
    pub(super) fn collect(session: &Session, config: &Config, exe: &Path) -> (Self, Workers) {
        let flags = Flags::default();
        // Who is to do the work may be said later, with a flag of `run`.
        let workers = choose::choose(config, &flags, session, exe).map(|chosen| chosen.workers).unwrap_or_default();
        let roles = if workers.iter().next().is_some() { roles(session, &workers) } else { Vec::new() };
        (Self { roles, budgets: budget::budgets(config, &flags, session) }, workers)
    }

    /// For people: `writer: claude (opus), else codex`.
    pub fn agents(&self) -> Vec<String> {
        let one = |(agent, model): &Doer| match model {
            Some(model) => format!("{agent} ({model})"),
            None => agent.clone(),
        };
        let chain = |chain: &Vec<Doer>| chain.iter().map(one).collect::<Vec<_>>().join(", else ");
        let line =
            |(role, chains): &Doers| format!("{role}: {}", chains.iter().map(chain).collect::<Vec<_>>().join(" or "));
        self.roles.iter().map(line).collect()
    }

    /// For people: `the run $20.00 and 5000 tokens`.
    pub fn budgets(&self, session: &Session) -> Vec<String> {
        let line = |(of, name, budget): (&str, String, &Budget)| {
            let amounts = Measure::ALL.iter().filter_map(|measure| Some(amount(*measure, budget.limit(*measure)?)));
            let name = if name.is_empty() { name } else { format!(" {name}") };
            format!("{of}{name} {}", amounts.collect::<Vec<_>>().join(" and "))
        };
        self.each(session).into_iter().map(line).collect()
    }

    /// For programs.
    pub(super) fn json(&self, session: &Session) -> (Value, Value) {
        let one = |(agent, model): &Doer| json!({"agent": agent, "model": model});
        let chain = |chain: &Vec<Doer>| Value::Array(chain.iter().map(one).collect());
        let role =
            |(role, chains): &Doers| json!({"role": role, "agents": chains.iter().map(chain).collect::<Vec<_>>()});
        let budget = |(of, name, budget): (&str, String, &Budget)| {
            let mut value = Map::from_iter([("of".to_owned(), json!(of.trim_start_matches("the ")))]);
            value.insert("name".to_owned(), if name.is_empty() { Value::Null } else { json!(name) });
            let keys = ["usd_micros", "tokens", "turns", "wall_ms"].into_iter().zip(Measure::ALL);
            value.extend(keys.map(|(key, measure)| (key.to_owned(), json!(budget.limit(*measure)))));
            Value::Object(value)
        };
        (self.roles.iter().map(role).collect(), self.each(session).into_iter().map(budget).collect())
    }

    fn each(&self, session: &Session) -> Vec<(&'static str, String, &Budget)> {
        let Budgets { run, roles, tasks } = &self.budgets;
        let roles = roles.iter().map(|(role, budget)| ("role", role.to_string(), budget));
        let id = |task: &TaskIndex| session.tasks.get(task.get()).map(|task| task.id.to_string()).unwrap_or_default();
        let tasks = tasks.iter().map(|(task, budget)| ("task", id(task), budget));
        let run = (!run.is_open()).then(|| ("the run", String::new(), run));
        run.into_iter().chain(roles).chain(tasks).collect()
    }
}

/// Who does the tasks of each role, in the order of the tasks.
fn roles(session: &Session, workers: &Workers) -> Vec<Doers> {
    let mut roles: Vec<Doers> = Vec::new();
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        let count = u32::try_from(workers.chain_of(index).len()).unwrap_or(0);
        let chain = (0..count).filter_map(|choice| workers.nth(index, choice));
        let chain = chain.map(|one| (one.agent.clone(), one.setup.as_ref().and_then(|setup| setup.model.clone())));
        let chain: Vec<_> = chain.collect();
        match roles.iter_mut().find(|(role, _)| role == task.role.as_str()) {
            Some((_, chains)) if chains.contains(&chain) => {}
            Some((_, chains)) => chains.push(chain),
            None => roles.push((task.role.to_string(), vec![chain])),
        }
    }
    roles
}
