//! Agents that cannot be used at the moment, others in their place, and when a run stops by itself: nothing can start, and no
//! time will change that.

use super::decide::Turn;
use super::event::{Event, Halt};
use super::facts::Rank;
use super::policy::Cadence;
use super::state::{Run, Stage, TaskState};
use crate::graph::TaskIndex;
use crate::task::TaskStatus;
use crate::time::Timestamp;

impl Run {
    /// Whose quota the last attempt at a task used.
    pub(super) fn quota(&self, task: TaskIndex) -> usize {
        let chain = &self.facts.chains[self.facts.tasks[task.get()].chain];
        chain.choice(self.state.tasks[task.get()].choice).quota
    }

    /// Which of the agents of a chain is used now: the first that can be.
    pub(super) fn choice(&self, chain: usize) -> Option<u32> {
        let mut wanted = self.facts.chains[chain].wanted();
        wanted.find(|(_, one)| self.is_usable(one.quota)).map(|(number, _)| number)
    }

    /// When one of the agents of a chain can be used again, if none can now and that is a matter of time.
    pub(super) fn usable_at(&self, chain: usize) -> Option<Timestamp> {
        let quotas = self.facts.chains[chain].wanted().map(|(_, one)| one.quota);
        let later = quotas.filter(|quota| !self.state.closed[*quota]).map(|quota| self.state.held[quota]);
        later.min().filter(|until| *until > self.state.clock)
    }

    /// Whether another agent than the one that was used last can do a task now.
    pub(super) fn has_another(&self, task: TaskIndex) -> bool {
        let used = self.quota(task);
        let chain = &self.facts.chains[self.facts.tasks[task.get()].chain];
        chain.wanted().any(|(_, one)| one.quota != used && self.is_usable(one.quota))
    }

    fn is_usable(&self, quota: usize) -> bool {
        !self.state.closed[quota] && self.state.held[quota] <= self.state.clock
    }

    /// Whether no agent that can do a task is logged in.
    fn is_closed(&self, task: TaskIndex) -> bool {
        self.facts.chains[self.facts.tasks[task.get()].chain].wanted().all(|(_, one)| self.state.closed[one.quota])
    }

    /// A task that was tried and is not done, and whose agents are not logged in.
    pub(super) fn refused_to_all(&self) -> Option<TaskIndex> {
        let was_tried =
            |task: &TaskState| task.attempt > 0 && matches!(task.status, TaskStatus::Pending | TaskStatus::Failed);
        let mut tasks = (0..).map(TaskIndex).zip(&self.state.tasks);
        tasks.find(|(index, task)| was_tried(task) && self.is_closed(*index)).map(|(index, _)| index)
    }

    /// Why nothing of what could start does.
    fn obstacle(&self) -> Option<Halt> {
        let queued = (0..self.facts.pools.len()).filter_map(|pool| self.state.queue.best(pool));
        let mut queued = queued.map(Rank::task);
        // What is left out of a wave keeps it open: then the wave is in the way of later ones, and nothing else is.
        let has_turn = |task| self.policy.cadence == Cadence::Beat || self.has_its_turn(task);
        if self.policy.part.is_some() && !queued.clone().any(has_turn) {
            return None;
        }
        let closed = queued.find(|task| self.is_closed(*task)).map(Halt::NotLoggedIn);
        closed.or_else(|| self.bound().map(|bound| Halt::Budget(Box::new(bound))))
    }
}

impl Turn<'_> {
    /// Stops at once if no agent that can do this task is logged in: other tasks would fail the same way.
    pub(super) fn stop_without_login(&mut self, task: TaskIndex) {
        if matches!(self.run.state.stage, Stage::Going | Stage::Paused(_)) && self.run.is_closed(task) {
            self.emit(Event::Halted { why: Halt::NotLoggedIn(task), at: self.now });
        }
    }

    /// Stops because the disk is full. Workers that run are let finish; what they come to still fits.
    pub(super) fn stop_without_room(&mut self) {
        let state = &self.run.state;
        let starts_or_waits = matches!(state.stage, Stage::Going | Stage::Paused(_) | Stage::Draining);
        if starts_or_waits && state.halt != Some(Halt::NoRoom) {
            self.emit(Event::Halted { why: Halt::NoRoom, at: self.now });
        }
    }

    /// Stops if nothing runs, and something is in the way of everything that could.
    pub(super) fn stop_if_stuck(&mut self) {
        let state = &self.run.state;
        let stands = state.stage == Stage::Going && state.slots.running() == 0 && state.recalled.is_empty();
        if stands
            && self.run.next_wake().is_none()
            && let Some(why) = self.run.obstacle()
        {
            self.emit(Event::Halted { why, at: self.now });
        }
    }
}
