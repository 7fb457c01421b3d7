//! What workers use while they work, and what becomes of one that uses more than its budgets leave.

use std::time::Duration;

use team_executor_agents::adapters::{Adapter, Usage};
use team_executor_core::run::{ErrorClass, Input, Measure, Outcome, Run, Used, Work};

use super::desk::RealDesk;
use crate::conclude;
use crate::cost::budget::of_bound;
use crate::dispatch::inbox::Message;
use crate::event;
use crate::prepare::{resident, talk};

/// How long an agent that was asked to end its turn and its conversation has for both, before it is ended like any other.
const WINDING_UP: Duration = Duration::from_secs(15);

impl RealDesk<'_> {
    /// A worker has used so much by now. Those that use more than their budgets leave are ended; what they made stays.
    pub(super) fn uses(&mut self, rules: &Run, slot: usize, key: &str, usage: &Usage) -> Vec<usize> {
        let mut ends = Vec::new();
        let Some(work) = rules.in_slot(slot) else { return ends };
        if self.at.key(self.id(work.task), work.attempt) != key {
            return ends; // of the one before
        }
        let Some(worker) = self.worker(rules, work.task) else { return ends };
        let Some(setup) = &worker.setup else { return ends };
        // Of a single task Codex says nothing before its end, and an estimate ends no attempt.
        let is_seen = setup.converses || setup.adapter != Adapter::Codex;
        let Some(used) = conclude::from_usage(usage, setup, worker, None) else { return ends };
        let used = resident::own_part(used, (&self.workers, &self.options.prices), rules, work);
        self.tell_unpriced(&used);
        self.live.insert(work, *used);
        if usage.goes_on && is_seen {
            self.going_on.insert(work);
        } else {
            self.going_on.remove(&work); // it has its last answer, and is let finish
        }
        for (work, bound) in rules.overspent(&self.live) {
            if self.overspent.contains_key(&work) || !self.going_on.contains(&work) {
                continue;
            }
            let words = format!("stopped, its files are kept: {}", of_bound(&bound, &self.session));
            self.overspent.insert(work, words);
            ends.extend(self.wind_up(rules, work));
        }
        ends
    }

    /// Says in which slot an attempt is to be ended whose budget is used up. An agent that converses is asked by its own protocol
    /// first, so that its session is saved and can be taken up.
    fn wind_up(&self, rules: &Run, work: Work) -> Option<usize> {
        let setup = self.worker(rules, work.task).and_then(|worker| worker.setup.as_ref());
        if !setup.is_some_and(|setup| setup.converses) {
            return rules.slot_of(work);
        }
        let (run, task, outbox) = (self.at.path.clone(), self.id(work.task).to_owned(), self.outbox.clone());
        // The conversation may take a moment, and the run does not wait for it.
        std::thread::spawn(move || {
            if talk::wind_up(&run, &task, work.attempt) {
                std::thread::sleep(WINDING_UP);
            }
            outbox.send(Message::Overdue(work))
        });
        None
    }

    /// What an attempt came to. One that was ended for its budget, and had not done its task by then, spends no retry.
    pub(super) fn unless_overspent(&mut self, rules: &Run, work: Work, outcome: Outcome) -> Outcome {
        match (self.overspent.remove(&work), outcome) {
            (Some(error), Outcome::Interrupted | Outcome::Failed { .. }) => {
                Outcome::Failed { class: ErrorClass::Budget, error }
            }
            // The agent may have been told less by the user's own arguments.
            (None, Outcome::Failed { class: ErrorClass::Budget, error }) if !self.is_used_up(rules, work) => {
                Outcome::Failed { class: ErrorClass::Transient, error }
            }
            (_, outcome) => outcome,
        }
    }

    /// Whether an attempt that has ended used all that was left for it.
    fn is_used_up(&self, rules: &Run, work: Work) -> bool {
        let used = self.used.iter().rev().find_map(|input| match input {
            Input::Used { work: other, used } if *other == work => Some(used),
            _ => None,
        });
        let left = |measure| rules.budget_left(work.task, measure, &self.live);
        let is_used_up = |measure| used.zip(left(measure)).is_some_and(|(used, left)| used.amount(measure) >= left);
        is_used_up(Measure::Usd) || is_used_up(Measure::Turns)
    }

    /// Notes what an attempt used, to be told with the next inputs. Where its agent says no sum, or was interrupted before it could
    /// say a whole one, what was counted while it worked is the least.
    pub(super) fn count(&mut self, rules: &Run, work: Work, used: Option<Box<Used>>) {
        self.going_on.remove(&work);
        let live = self.live.remove(&work).filter(|live| live.input > 0).map(Box::new);
        let is_whole = !self.overspent.contains_key(&work);
        let is_said = is_whole && used.as_ref().is_some_and(|used| !used.is_estimated);
        let used = used.map(|used| resident::own_part(used, (&self.workers, &self.options.prices), rules, work));
        let used = match (used, live) {
            (Some(used), Some(live)) if !is_said && live.input > used.input => {
                Some(Box::new(Used { wall_ms: used.wall_ms, is_estimated: true, ..*live }))
            }
            (used, live) => used.or(live),
        };
        self.used.extend(used.map(|used| Input::Used { work, used }));
    }

    /// Warns once of each model without a price, where that matters.
    fn tell_unpriced(&mut self, used: &Used) {
        let Some(model) = used.model.as_deref().filter(|_| used.cost_micros.is_none()) else { return };
        if self.options.budgets.count_money() && !self.unpriced.contains(model) {
            let told = format!(
                "the budget in dollars does not count {}: its model `{model}` has no price; \
                 help: add [prices.\"{model}\"] with input and output to team-executor.toml, or use --budget-tokens",
                used.agent
            );
            (self.tell)(event::warning(told));
            self.unpriced.insert(model.to_owned());
        }
    }
}
