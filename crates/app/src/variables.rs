//! Which environment variables a worker is given, by name: never with values.

use serde::Serialize;
use team_executor_agents::environment::{CONTRACT, passes};
use team_executor_agents::token::TOKEN;

use team_executor_core::TaskIndex;
use team_executor_engine::bus::propose;
use team_executor_engine::{Worker, Workers};

use crate::App;
use crate::config::{Flags, choose};
use crate::error::Error;
use crate::open::Opened;

/// A variable that a worker is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub from: Source,
}

/// Where a variable of a worker comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It is one of the usual ones, which pass to every worker.
    Usual,
    /// `pass_env` names it, or its agent is known to need it.
    Passed,
    /// It is set by the configuration, or for its agent.
    Set,
    /// It says what the task is.
    Contract,
}

impl Source {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Usual => "from your environment",
            Self::Passed => "from your environment, passed for this agent or role",
            Self::Set => "set by the config or for this agent",
            Self::Contract => "set for each attempt",
        }
    }
}

impl App {
    /// The variables that the worker of a task is given, as the configuration says; those of no agent if none is configured.
    pub fn variables_of(&self, opened: &Opened, task: &str) -> Result<Vec<Variable>, Error> {
        let (session, _, task) = opened.task(task)?;
        let config = self.around(opened.named())?.config()?;
        let chosen = choose::choose(&config, &Flags::default(), session, self.exe()?);
        let workers = chosen.map(|chosen| chosen.workers).unwrap_or_default();
        Ok(self.named_variables(&workers, task))
    }

    fn named_variables(&self, workers: &Workers, task: TaskIndex) -> Vec<Variable> {
        let worker = workers.first(task);
        let given = |of: fn(&Worker) -> Vec<String>| worker.map(of).unwrap_or_default();
        let pass_env = given(|worker| worker.pass_env.clone());
        let set = given(|worker| worker.env.iter().map(|(name, _)| name.clone()).collect());
        let mut all = Vec::new();
        for (name, _) in self.variables() {
            if passes(&name, &pass_env) && !set.contains(&name) {
                let from = if passes(&name, &[]) { Source::Usual } else { Source::Passed };
                all.push(Variable { name, from });
            }
        }
        all.extend(set.into_iter().map(|name| Variable { name, from: Source::Set }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.dedup_by(|a, b| a.name == b.name);
        let contract = CONTRACT.into_iter().chain([TOKEN, propose::MOST]);
        all.extend(contract.map(|name| Variable { name: name.to_owned(), from: Source::Contract }));
        all
    }
}
