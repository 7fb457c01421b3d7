//! Which task starts next, and where. Per start: one look at each pool, and a step down a sorted set.

use super::decide::Turn;
use super::effect::Effect;
use super::event::Event;
use super::facts::Rank;
use super::input::Work;
use super::policy::Cadence;
use super::state::{Place, Run, Stage};
use crate::graph::TaskIndex;
use crate::time::Timestamp;

impl Run {
    /// Whether another worker may start.
    fn has_room(&self) -> bool {
        self.seats != Some(0) && self.has_own_room()
    }

    /// The same, whatever other runs do.
    fn has_own_room(&self) -> bool {
        let goes_on = self.state.stage == Stage::Going && self.state.recalled.is_empty();
        goes_on && self.state.slots.running() < self.most_workers() as usize
    }

    /// How many workers may start now, where other runs share a limit with this one. Each start takes one.
    pub const fn seats(&self) -> Option<usize> {
        self.seats
    }

    /// So many workers may start now, and no more.
    pub const fn seat(&mut self, seats: usize) {
        self.seats = Some(seats);
    }

    /// Whether a task could start if other runs let it.
    pub fn wants_worker(&self) -> bool {
        self.has_own_room() && self.best().is_some()
    }

    /// Whether tasks of a pool may start: an agent can be used, and no limit and no budget is in the way.
    fn is_open(&self, pool: usize) -> bool {
        let pool = &self.facts.pools[pool];
        self.choice(pool.chain).is_some() && self.is_within_limits(pool) && self.fits(pool)
    }

    fn open_pools(&self) -> impl Iterator<Item = usize> {
        self.queued_pools().filter(|pool| self.is_open(*pool))
    }

    /// The pools in which something could start, if there were nothing else in the way.
    pub(super) fn queued_pools(&self) -> impl Iterator<Item = usize> {
        (0..self.facts.pools.len()).filter(|pool| self.state.queue.best(*pool).is_some())
    }

    /// The best task that can start, whether or not there is a slot.
    fn best(&self) -> Option<TaskIndex> {
        let rank = self.open_pools().filter_map(|pool| self.state.queue.best(pool)).min()?;
        let task = rank.task();
        (self.policy.cadence == Cadence::Beat || self.has_its_turn(task)).then_some(task)
    }

    /// Says which attempts will begin next, at most so many at a time, as far as that was not said before. They may begin
    /// as soon as the answer is durable.
    pub fn intend(&mut self, most: usize, now: Timestamp) -> Option<Event> {
        if self.state.stage != Stage::Going || !self.state.recalled.is_empty() {
            return None;
        }
        let mut ranks: Vec<_> = self.open_pools().flat_map(|pool| self.state.queue.heads(pool).take(most)).collect();
        ranks.sort_unstable();
        let tasks = ranks.into_iter().take(most).map(Rank::task);
        let works = tasks.filter_map(|task| {
            let state = &self.state.tasks[task.get()];
            let work = Work { task, attempt: state.attempt.saturating_add(1) };
            let turn = self.policy.cadence == Cadence::Beat || self.has_its_turn(task);
            (turn && !self.is_intended(work)).then_some(work)
        });
        let works: Vec<_> = works.collect();
        let event = (!works.is_empty()).then(|| Event::Intended { works, at: self.state.clock.max(now) });
        event.inspect(|event| self.apply(event))
    }

    /// Whether it was said that this attempt may begin.
    pub fn is_intended(&self, work: Work) -> bool {
        self.state.tasks.get(work.task.get()).is_some_and(|task| task.intended == work.attempt)
    }

    /// The one task that a completed task made ready, if it is the best that can start: it overtakes no other
    /// task.
    fn successor(&self, completed: TaskIndex) -> Option<TaskIndex> {
        let is_ready = |task: &&TaskIndex| self.state.tasks[task.get()].place == Place::Queue;
        let mut ready = self.graph.dependents(completed).iter().filter(is_ready);
        let (&next, None) = (ready.next()?, ready.next()) else { return None };
        (self.best() == Some(next)).then_some(next)
    }

    /// The first time at which something can start that cannot start now; nothing if that is not a matter of time.
    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        let held = self.queued_pools().map(|pool| &self.facts.pools[pool]).filter(|pool| self.fits(pool));
        let held = held.filter_map(|pool| self.usable_at(pool.chain));
        let pool_of = |task: &TaskIndex| &self.facts.pools[self.facts.tasks[task.get()].pool];
        let waiting = self.state.waiting.iter().find(|(_, task)| self.fits(pool_of(task))).map(|(until, _)| *until);
        held.chain(waiting).min()
    }
}

impl Turn<'_> {
    /// Starts as many tasks as there are slots, the best first.
    pub(super) fn start_all(&mut self) {
        while self.run.has_room()
            && let Some(task) = self.run.best()
        {
            self.claim(task, self.run.state.slots.lowest(), false);
        }
    }

    /// A simple linear successor of a completed task starts at once in its slot, unless another task comes before it.
    pub(super) fn fast_advance(&mut self, completed: TaskIndex, slot: u32) {
        if self.run.has_room()
            && self.run.policy.cadence == Cadence::Beat
            && let Some(task) = self.run.successor(completed)
        {
            self.claim(task, slot, true);
        }
    }

    fn claim(&mut self, task: TaskIndex, slot: u32, fast_advance: bool) {
        let work = Work { task, attempt: self.run.state.tasks[task.get()].attempt.saturating_add(1) };
        let choice = self.run.choice(self.run.facts.tasks[task.get()].chain).unwrap_or(0);
        if let Some(seats) = &mut self.run.seats {
            *seats = seats.saturating_sub(1);
        }
        self.emit(Event::Claimed { work, slot, fast_advance, choice, at: self.now });
        debug_assert!(self.run.running(work).is_some(), "only what can start is claimed");
        let check_only = self.run.state.tasks[task.get()].check_only;
        self.effects.push(if check_only { Effect::Check { work, slot } } else { Effect::Spawn { work, slot } });
    }
}
