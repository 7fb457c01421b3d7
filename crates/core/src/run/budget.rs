//! Budgets of the whole run, of roles and of tasks.
//!
//! An attempt starts only if it fits into every budget that it comes under: what was used, what the attempts that run will
//! probably use, and what one more will, are together not more than the budget. What an attempt will probably use is what
//! others of its role used on average, or else others of the run; before anybody knows, few run at once. An attempt that uses
//! more than is left beside the others is [ended](Run::overspent). When nothing runs and a budget is in the way of everything
//! that could, the run stops, and the next incarnation goes on, if its budgets let it.

use std::collections::BTreeMap;

use super::facts::Pool;
use super::input::Work;
use super::state::Run;
use super::used::{Account, Used};
use crate::graph::TaskIndex;
use crate::ids::RoleName;
use crate::task::words;

/// So many attempts that come under a budget run at once before it is known what one uses.
pub const AT_FIRST: usize = 4;

words! {
    /// What is counted.
    Measure {
        /// Millionths of a dollar, as far as agents say so.
        Usd = "usd",
        /// Tokens that were sent and written.
        Tokens = "tokens",
        /// How many requests models answered, as far as that is seen.
        Turns = "turns",
        /// Milliseconds that workers ran, added up.
        Wall = "wall",
    }
}

/// How much may be used; what is left open is not bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Millionths of a dollar.
    pub usd: Option<u64>,
    /// Tokens that are sent and written.
    pub tokens: Option<u64>,
    /// How often models are asked.
    pub turns: Option<u64>,
    /// Milliseconds that workers run, added up.
    pub wall: Option<u64>,
}

impl Budget {
    /// How much of one measure.
    pub const fn limit(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Usd => self.usd,
            Measure::Tokens => self.tokens,
            Measure::Turns => self.turns,
            Measure::Wall => self.wall,
        }
    }

    /// Whether nothing is bounded.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// All budgets of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Of everything together.
    pub run: Budget,
    /// Of all tasks of a role together.
    pub roles: BTreeMap<RoleName, Budget>,
    /// Of all attempts at a task together.
    pub tasks: BTreeMap<TaskIndex, Budget>,
}

impl Budgets {
    /// Whether nothing is bounded.
    pub fn are_open(&self) -> bool {
        let mut all = self.roles.values().chain(self.tasks.values()).chain([&self.run]);
        all.all(Budget::is_open)
    }

    /// Whether it counts what agents cost.
    pub fn count_money(&self) -> bool {
        let mut all = self.roles.values().chain(self.tasks.values()).chain([&self.run]);
        all.any(|budget| budget.usd.is_some())
    }

    /// Whether it counts how long workers run.
    pub fn count_time(&self) -> bool {
        let mut all = self.roles.values().chain(self.tasks.values()).chain([&self.run]);
        all.any(|budget| budget.wall.is_some())
    }
}

/// What the attempts that run have used so far, as far as their agents say it while they work.
pub type Live = BTreeMap<Work, Used>;

/// Whose budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The run's.
    Run,
    /// A role's.
    Role(RoleName),
    /// A task's.
    Task(TaskIndex),
}

/// A budget that is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Whose.
    pub scope: Scope,
    /// Of what.
    pub measure: Measure,
    /// How much was used.
    pub used: u64,
    /// How much may be.
    pub budget: u64,
    /// How much one more attempt will probably use; 0 if nothing is known.
    pub next: u64,
}

impl Run {
    /// Whether one more attempt of a pool fits into all budgets.
    pub(super) fn fits(&self, pool: &Pool) -> bool {
        self.bound_of(pool).is_none() && !self.waits_to_know(pool)
    }

    /// Whether something could start if it were known what attempts use.
    pub fn must_learn(&self) -> bool {
        let mut queued = self.queued_pools().map(|pool| &self.facts.pools[pool]);
        !self.state.spending.is_known && queued.any(|pool| self.waits_to_know(pool))
    }

    fn waits_to_know(&self, pool: &Pool) -> bool {
        let of_task = |work: &Work| &self.facts.pools[self.facts.tasks[work.task.get()].pool];
        !self.state.spending.is_known
            && self.has_budget(pool)
            && self.at_work().filter(|work| self.has_budget(of_task(work))).count() >= AT_FIRST
    }

    /// Whether attempts of a pool come under a budget.
    fn has_budget(&self, pool: &Pool) -> bool {
        let Budgets { run, roles, .. } = &self.policy.budgets;
        let of_role = |role: usize| !run.is_open() || roles.contains_key(&self.facts.roles[role]);
        pool.task.is_some() || pool.role.is_some_and(of_role)
    }

    /// What is left for an attempt at a task of the budgets that it comes under, beside what the other attempts that run have
    /// used by now or probably will; nothing if none bounds this.
    pub fn budget_left(&self, task: TaskIndex, measure: Measure, live: &Live) -> Option<u64> {
        let scopes = self.scopes().filter(|scope| self.comes_under(task, &scope.0));
        let left = scopes.filter_map(|(scope, budget, account)| {
            let used = account.map_or(0, |account| account.sum(measure));
            let others = self.uncounted(&scope).filter(|work| work.task != task);
            let reserved = others.map(|work| self.reserved(work, measure, live));
            Some(budget.limit(measure)?.saturating_sub(reserved.fold(used, u64::saturating_add)))
        });
        left.min()
    }

    /// Which attempts that run use more than is left for them, and of which budget. Where all that was used is as much as the
    /// budget, or would be with one more request, these are all that come under it. Otherwise it is the one that went furthest beyond what it
    /// would probably use, if together with that of the others it is too much. Only what is in `live` can be ended.
    pub fn overspent(&self, live: &Live) -> Vec<(Work, Bound)> {
        let scopes: Vec<_> = self.scopes().collect();
        let all = scopes.iter().flat_map(|(scope, budget, account)| {
            let measures = [Measure::Usd, Measure::Tokens, Measure::Turns].into_iter();
            measures.filter_map(move |measure| {
                let (budget, counted) = (budget.limit(measure)?, account.map_or(0, |account| account.sum(measure)));
                Some((scope, measure, budget, counted))
            })
        });
        let mut ended: Vec<(Work, Bound)> = Vec::new();
        for (scope, measure, budget, counted) in all {
            let running = || self.uncounted(scope);
            let now = |work: &Work| live.get(work).map_or(0, |used| used.amount(measure));
            let request =
                |work: &Work| live.get(work).map_or(0, |used| used.amount(measure) / used.turns.unwrap_or(0).max(1));
            let used = running().map(|work| now(&work)).fold(counted, u64::saturating_add);
            let next = running().map(|work| request(&work)).max().unwrap_or(0);
            let reserved = running().map(|work| self.reserved(work, measure, live));
            let bound = Bound { scope: scope.clone(), measure, used, budget, next: 0 };
            let beyond = |work: &Work| now(work).saturating_sub(self.expected(*work, measure));
            if used.saturating_add(next) > budget {
                ended.extend(running().filter(|work| live.contains_key(work)).map(|work| (work, bound.clone())));
            } else if reserved.fold(counted, u64::saturating_add) > budget {
                let furthest = running().max_by_key(beyond).filter(|work| beyond(work) > 0);
                ended.extend(furthest.map(|work| (work, bound)));
            }
        }
        ended.sort_by_key(|(work, _)| *work);
        ended.dedup_by_key(|(work, _)| *work);
        ended
    }

    /// All budgets, with what was used of each.
    fn scopes(&self) -> impl Iterator<Item = (Scope, &Budget, Option<&Account>)> {
        let Budgets { run, roles, tasks } = &self.policy.budgets;
        let spending = &self.state.spending;
        let of_roles = self.facts.roles.iter().enumerate().filter_map(|(index, name)| {
            Some((Scope::Role(name.clone()), roles.get(name)?, spending.roles.get(&index)))
        });
        let of_tasks = tasks.iter().map(|(task, budget)| (Scope::Task(*task), budget, spending.tasks.get(task)));
        std::iter::once((Scope::Run, run, Some(&spending.run))).chain(of_roles).chain(of_tasks)
    }

    fn comes_under(&self, task: TaskIndex, scope: &Scope) -> bool {
        match scope {
            Scope::Run => true,
            Scope::Role(name) => {
                self.facts.tasks.get(task.get()).is_some_and(|facts| self.facts.roles[facts.role] == *name)
            }
            Scope::Task(only) => *only == task,
        }
    }

    /// The attempts that run and come under a budget, unless it is known what they used.
    fn uncounted(&self, scope: &Scope) -> impl Iterator<Item = Work> {
        self.at_work().filter(move |work| self.comes_under(work.task, scope) && !self.is_counted(*work))
    }

    fn expected(&self, work: Work, measure: Measure) -> u64 {
        self.probably(self.facts.tasks[work.task.get()].role, measure)
    }

    /// What an attempt that runs has used, or probably will.
    fn reserved(&self, work: Work, measure: Measure, live: &Live) -> u64 {
        live.get(&work).map_or(0, |used| used.amount(measure)).max(self.expected(work, measure))
    }

    /// The first budget that one more attempt of a pool does not fit into: the run's, the role's, the task's.
    fn bound_of(&self, pool: &Pool) -> Option<Bound> {
        let role = pool.role?;
        let Budgets { run, roles, tasks } = &self.policy.budgets;
        let name = &self.facts.roles[role];
        let spending = &self.state.spending;
        let in_role = |work: &Work| self.facts.tasks[work.task.get()].role == role;
        let of_run = self.bound_by(run, Some(&spending.run), role, |_| true);
        if let Some(bound) = of_run {
            return Some(Bound { scope: Scope::Run, ..bound });
        }
        let of_role = roles.get(name).and_then(|own| self.bound_by(own, spending.roles.get(&role), role, in_role));
        if let Some(bound) = of_role {
            return Some(Bound { scope: Scope::Role(name.clone()), ..bound });
        }
        let task = pool.task?;
        let bound = self.bound_by(tasks.get(&task)?, spending.tasks.get(&task), role, |work| work.task == task)?;
        Some(Bound { scope: Scope::Task(task), ..bound })
    }

    /// Which measure of a budget is in the way of one more attempt of a role. `comes_under` says which attempts count.
    fn bound_by(
        &self,
        budget: &Budget,
        account: Option<&Account>,
        role: usize,
        comes_under: impl Fn(&Work) -> bool,
    ) -> Option<Bound> {
        let bound = |measure: &Measure| {
            let (measure, budget) = (*measure, budget.limit(*measure)?);
            let used = account.map_or(0, |account| account.sum(measure));
            let next = self.probably(role, measure);
            let running = self.at_work().filter(|work| comes_under(work) && !self.is_counted(*work));
            let reserved = running.map(|work| self.probably(self.facts.tasks[work.task.get()].role, measure));
            let together = reserved.fold(used.saturating_add(next), u64::saturating_add);
            let is_in_the_way = used >= budget || together > budget;
            is_in_the_way.then_some(Bound { scope: Scope::Run, measure, used, budget, next })
        };
        Measure::ALL.iter().find_map(bound)
    }

    /// What an attempt of a role will probably use.
    fn probably(&self, role: usize, measure: Measure) -> u64 {
        let spending = &self.state.spending;
        let of_role = spending.roles.get(&role).and_then(|account| account.mean(measure));
        of_role.or_else(|| spending.run.mean(measure)).unwrap_or(0)
    }

    /// The budget that is in the way of the best task that could start or will; nothing if none is.
    pub(super) fn bound(&self) -> Option<Bound> {
        let queued = (0..self.facts.pools.len()).filter_map(|pool| Some((self.state.queue.best(pool)?, pool)));
        let waiting = self.state.waiting.iter().map(|(_, task)| self.facts.tasks[task.get()].pool);
        let pools = queued.min().map(|(_, pool)| pool).into_iter().chain(waiting);
        pools.map(|pool| &self.facts.pools[pool]).find_map(|pool| self.bound_of(pool))
    }
}
