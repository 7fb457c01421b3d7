//! Who does tasks that are added while a run goes on: chosen as at its start, by the configuration that was in force then. What the
//! user did not agree to then is refused.

use std::collections::BTreeMap;

use team_executor_core::run::{Assignment, Budgets};
use team_executor_core::{Session, TaskIndex};
use team_executor_engine::{Choice, Chooser, Worker};

use super::Prepared;
use crate::config::choose::{self, Accounts, Chosen, Program};
use crate::config::hire::{Hired, in_a_line};
use crate::config::{Config, Flags, budget, check};
use crate::environment::Place;
use crate::error::Error;

/// Chooses for tasks that are added to a run.
#[derive(Debug)]
pub(super) struct Newcomers {
    place: Place,
    config: Config,
    flags: Flags,
    /// What the run may start.
    agreed: Vec<Program>,
    /// The project's file may choose programs.
    trusts: bool,
    /// Whose quotas the run knows.
    accounts: Accounts,
}

impl Prepared {
    /// Chooses for tasks that are added later.
    pub(super) fn newcomers(&self) -> Newcomers {
        Newcomers {
            place: self.place.clone(),
            config: self.config.clone(),
            flags: self.wanted.flags.clone(),
            agreed: self.chosen.programs.clone(),
            trusts: self.wanted.trust_project,
            accounts: self.chosen.accounts.clone(),
        }
    }
}

impl Newcomers {
    fn chosen(&mut self, new: &Session) -> Result<(Chosen, Budgets), Error> {
        let exe = self.place.app.exe()?;
        let mut chosen = choose::choose_with(&self.config, &self.flags, new, exe, self.accounts.clone())?;
        check::programs_exist(&mut chosen.workers, &self.place)?;
        check::agents_are_new_enough(&mut chosen.workers, &self.place)?;
        Ok((chosen, budget::budgets(&self.config, &self.flags, new)))
    }
}

impl Newcomers {
    /// By the configuration as it is now: a person named the agent.
    fn given(&self, session: &Session, tasks: &[TaskIndex], to: &Assignment) -> Result<Vec<Worker>, Error> {
        let hired = Hired::find(&self.place, &self.flags, session, tasks, to)?;
        hired.must_be_trusted(|program| !self.agreed.contains(program), self.trusts)?;
        hired.into_workers(tasks.len(), &self.place)
    }
}

impl Chooser for Newcomers {
    fn give(&self, session: &Session, tasks: &[TaskIndex], to: &Assignment) -> Result<Vec<Worker>, String> {
        self.given(session, tasks, to).map_err(|why| in_a_line(&why))
    }

    fn choose(&mut self, new: &Session) -> Result<Vec<Choice>, String> {
        let (mut chosen, budgets) = self.chosen(new).map_err(|error| error.to_string())?;
        if let Some(program) = chosen.programs.iter().find(|program| !self.agreed.contains(program)) {
            let Program { agent, command, .. } = program;
            return Err(format!("a new task would start '{command}' ({agent}), which this run was not started with"));
        }
        self.accounts = chosen.accounts.clone();
        let mut fallbacks: BTreeMap<_, _> = chosen.fallbacks(new);
        let choice = |(index, task): (TaskIndex, &team_executor_core::Task)| Choice {
            workers: chosen.workers.all_of(index),
            policy: chosen.tasks.get(&index).copied().unwrap_or_default(),
            fallbacks: fallbacks.remove(&index).unwrap_or_default(),
            budget: budgets.tasks.get(&index).copied(),
            role_budget: budgets.roles.get(&task.role).copied(),
            scope: chosen.scopes.get(&index).cloned(),
            is_isolated: chosen.isolated.get(index.get()).copied().unwrap_or(false),
        };
        Ok((0..).map(TaskIndex).zip(&new.tasks).map(choice).collect())
    }
}
