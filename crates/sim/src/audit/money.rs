//! The auditor's own idea of money: what attempts used counts once, and nothing starts that a budget is in the way of.

use std::collections::BTreeMap;

use team_executor_core::run::{Budget, Used, Work};

use super::Truth;
use super::model::{Model, Stage, demand, index};
use super::reader::Record;

/// How much of each measure.
fn amounts(used: &Used) -> [u64; 4] {
    [used.cost_micros.unwrap_or(0), used.input + used.output, used.turns.unwrap_or(0), used.wall_ms]
}

/// The same, as a record tells it.
fn told(record: Record<'_>) -> [u64; 4] {
    let number = |key: &str| record.number(key).and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    [number("cost_micros"), number("tokens_in") + number("tokens_out"), number("turns"), number("wall_ms")]
}

/// The bounds of a budget, in the same order.
const fn bounds(budget: &Budget) -> [Option<u64>; 4] {
    [budget.usd, budget.tokens, budget.turns, budget.wall]
}

impl Model {
    /// Whether one more attempt at a task comes under no budget that is in the way.
    pub(super) fn fits(&self, task: usize) -> bool {
        let (facts, budgets) = (&self.facts, &self.facts.budgets);
        let role = &facts.tasks[task].role;
        let of_role = budgets.roles.iter().find(|(name, _)| name.as_str() == role).map(|(_, budget)| budget);
        let fits = |budget: Option<&Budget>, comes_under: &dyn Fn(usize) -> bool| {
            let bounds = budget.map(bounds).unwrap_or_default();
            (0..4).all(|measure| bounds[measure].is_none_or(|most| self.is_left(most, measure, task, comes_under)))
        };
        let has_budget = |task: usize| {
            let of_role = budgets.roles.keys().any(|name| name.as_str() == facts.tasks[task].role);
            budgets.run != Budget::default() || of_role || budgets.tasks.contains_key(&index(task))
        };
        let blind =
            !self.is_known && has_budget(task) && self.running().filter(|other| has_budget(*other)).count() >= 4;
        !blind
            && fits(Some(&budgets.run), &|_| true)
            && fits(of_role, &|other| facts.tasks[other].role == *role)
            && fits(budgets.tasks.get(&index(task)), &|other| other == task)
    }

    /// Whether so much is not used, and will probably not be when one more attempt at a task has ended.
    fn is_left(&self, most: u64, measure: usize, task: usize, comes_under: &dyn Fn(usize) -> bool) -> bool {
        let counted = self.used.iter().filter(|(work, _)| comes_under(work.task.get()));
        let used: u64 = counted.map(|(_, amounts)| amounts[measure]).sum();
        let uncounted = self.running().filter(|other| comes_under(*other)).filter(|other| {
            let attempt = self.tasks[*other].attempt;
            !self.used.contains_key(&Work { task: index(*other), attempt })
        });
        let expected: u64 = uncounted.chain([task]).map(|task| self.probably(task, measure)).sum();
        used < most && used + expected <= most
    }

    /// What one more attempt at a task will probably use: as much as others of its role, or of all roles, on average.
    fn probably(&self, task: usize, measure: usize) -> u64 {
        let role = &self.facts.tasks[task].role;
        let mean = |of: &dyn Fn(usize) -> bool| {
            let all = self.used.iter().filter(|(work, _)| of(work.task.get())).map(|(_, amounts)| amounts[measure]);
            let all: Vec<u64> = all.collect();
            (!all.is_empty()).then(|| all.iter().sum::<u64>().div_ceil(all.len() as u64))
        };
        mean(&|other| self.facts.tasks[other].role == *role).or_else(|| mean(&|_| true)).unwrap_or(0)
    }

    pub(super) fn count(&mut self, task: usize, attempt: u32, record: Record<'_>) {
        self.used.insert(Work { task: index(task), attempt }, told(record));
        self.is_known = true;
    }

    /// Whether it may stop now by itself.
    pub(super) fn judge_halt(&self, record: Record<'_>) -> Result<(), String> {
        if record.value("no_room").is_some() {
            let starts_or_waits = matches!(self.stage, Stage::Going | Stage::Paused | Stage::Draining);
            demand!(starts_or_waits, "I12: it halts, and is not under way: {}", record.0);
            return Ok(());
        }
        if let Some(task) = record.task("not_logged_in") {
            let starts_or_waits = matches!(self.stage, Stage::Going | Stage::Paused);
            demand!(starts_or_waits && self.is_closed(task), "I12: it halts without a reason: {}", record.0);
            return Ok(());
        }
        if record.value("part_done").is_some() {
            let rests = self.stage == Stage::Going && self.running().next().is_none() && self.recalled.is_empty();
            demand!(rests && self.facts.part.is_some(), "I18: it halts, and all is to be run: {}", record.0);
            let other = (0..self.tasks.len()).find(|task| self.can_start(*task, self.settled));
            demand!(other.is_none(), "I18: it halts, and T{} could start", other.unwrap_or(0));
            demand!(!self.all_over(), "I18: it halts, and nothing is left: {}", record.0);
            return Ok(());
        }
        let rests = self.stage == Stage::Going && self.running().next().is_none() && self.recalled.is_empty();
        demand!(rests, "I16: it halts for its budgets, and something runs: {}", record.0);
        let wanted: Vec<usize> = (0..self.tasks.len()).filter(|task| self.is_wanted(*task)).collect();
        let other = wanted.iter().find(|task| self.fits(**task));
        demand!(other.is_none(), "I16: it halts for its budgets, and T{} fits", other.unwrap_or(&0));
        demand!(!wanted.is_empty(), "I16: it halts for its budgets, and nothing could start: {}", record.0);
        Ok(())
    }

    /// Whether what an attempt used is told as it was, once, and not later than how it ended.
    pub(super) fn judge_money(&self, record: Record<'_>, truth: &BTreeMap<Work, Truth>) -> Result<(), String> {
        let kind = record.text("type").unwrap_or_default();
        let (Some(task), Some(attempt)) = (record.task("task"), record.number("attempt")) else { return Ok(()) };
        let work = Work { task: index(task), attempt: u32::try_from(attempt).unwrap_or(0) };
        let really = truth.get(&work).and_then(|really| really.used.as_ref()).map(amounts);
        let is_counted = self.used.contains_key(&work);
        match kind {
            "used" => {
                demand!(!is_counted, "I16: what was used counts twice: {}", record.0);
                demand!(Some(told(record)) == really, "I16: it really used {really:?}: {}", record.0);
            }
            "completed" | "failed" => {
                demand!(is_counted || really.is_none(), "I16: what it used is forgotten: {}", record.0);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::Measure;

    use super::*;

    #[test]
    fn the_measures_are_in_their_order() {
        let used = Used { cost_micros: Some(1), input: 2, output: 3, turns: Some(4), wall_ms: 6, ..Used::default() };
        assert_eq!(Measure::ALL.iter().map(|measure| used.amount(*measure)).collect::<Vec<_>>(), amounts(&used));
        let budget = Budget { usd: Some(1), tokens: Some(5), turns: Some(4), wall: Some(6) };
        assert_eq!(Measure::ALL.iter().map(|measure| budget.limit(*measure)).collect::<Vec<_>>(), bounds(&budget));
    }
}
