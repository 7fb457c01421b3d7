//! A person wants tasks to run again: which ones begin anew.

use std::collections::BTreeSet;

use super::assign::Wish;
use super::decide::Turn;
use super::event::Event;
use super::input::{Refused, Which};
use super::policy::Cadence;
use super::skip::{Gate, gate};
use super::state::{Run, TaskState};
use crate::graph::TaskIndex;
use crate::moves::{IllegalMove, Moves};
use crate::task::TaskStatus;

impl Turn<'_> {
    pub(super) fn retry(&mut self, which: Which, downstream: bool, wish: Wish) -> Result<(), Refused> {
        let (which, pending) = self.run.without_pending(which, &wish);
        let named = if let Which::Tasks(tasks) = &which { tasks.clone() } else { Vec::new() };
        let mut first =
            if wish.is_empty() { Vec::new() } else { self.run.first_to_reset(which.clone(), downstream)? };
        let is_needless = matches!(&which, Which::Tasks(tasks) if tasks.is_empty());
        let tasks = if is_needless { Vec::new() } else { self.run.to_reset(which, downstream)? };
        if let Some(refused) = named.into_iter().find_map(|task| self.run.skipped_again(task, &tasks)) {
            return Err(refused);
        }
        first.extend(pending);
        self.wish_for(&first, wish);
        if !tasks.is_empty() {
            self.emit(Event::Reset { tasks, at: self.now });
        }
        Ok(())
    }
}

impl Run {
    /// Tasks that wait need not begin anew to be another agent's.
    fn without_pending(&self, which: Which, wish: &Wish) -> (Which, Vec<TaskIndex>) {
        match which {
            Which::Tasks(tasks) if wish.with.is_some() => {
                let is_pending =
                    |task: &TaskIndex| self.has(*task) && self.state.tasks[task.get()].status == TaskStatus::Pending;
                let (pending, others) = tasks.into_iter().partition(is_pending);
                (Which::Tasks(others), pending)
            }
            which => (which, Vec::new()),
        }
    }

    /// The tasks that begin anew, in order of appearance.
    pub(super) fn to_reset(&self, which: Which, downstream: bool) -> Result<Vec<TaskIndex>, Refused> {
        let mut next = self.first_to_reset(which, downstream)?;
        let mut tasks: BTreeSet<_> = next.iter().copied().collect();
        while let Some(task) = next.pop() {
            for &dependent in self.graph.dependents(task) {
                let state = &self.state.tasks[dependent.get()];
                if state.status == TaskStatus::InProgress {
                    return Err(Refused::DependentRuns(dependent));
                }
                if follows(state, downstream) && tasks.insert(dependent) {
                    next.push(dependent);
                }
            }
        }
        let wave = |task: &TaskIndex| self.facts.tasks[task.get()].wave;
        let first = tasks.iter().map(wave).min();
        if self.policy.cadence == Cadence::Wave
            && let Some(later) = self.state.slots.tasks().find(|running| Some(wave(running)) > first)
        {
            return Err(Refused::LaterWaveRuns(later));
        }
        Ok(tasks.into_iter().collect())
    }

    /// Whether something runs that could not run if this task were not over.
    pub(super) fn is_behind(&self, task: TaskIndex) -> bool {
        let runs = |task: &TaskIndex| self.state.tasks[task.get()].status == TaskStatus::InProgress;
        let wave = |task: TaskIndex| self.facts.tasks[task.get()].wave;
        self.graph.dependents(task).iter().any(runs)
            || self.policy.cadence == Cadence::Wave
                && self.state.slots.tasks().any(|running| wave(running) > wave(task))
    }

    /// Why it is in vain that a task begins anew together with these: its other dependencies are over, and
    /// decide again that it does not run.
    fn skipped_again(&self, task: TaskIndex, anew: &[TaskIndex]) -> Option<Refused> {
        let stays = |on: &&TaskIndex| anew.binary_search(on).is_err();
        let is_open = |on: &&TaskIndex| !stays(on) || !self.state.tasks[on.get()].status.is_over();
        let is_bad = |on: &&TaskIndex| stays(on) && self.is_bad(**on);
        let dependencies = || self.graph.dependencies(task).iter();
        let (open, bad) = (dependencies().filter(is_open).count(), dependencies().filter(is_bad).count());
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        match gate(self.facts.tasks[task.get()].run_on, count(open), count(bad)) {
            Gate::Skip => Some(Refused::SkippedAgain { task, on: dependencies().find(is_bad).copied() }),
            Gate::Run if self.needless(task).is_some() => Some(Refused::SkippedAgain { task, on: None }),
            _ => None,
        }
    }

    fn is_bad(&self, task: TaskIndex) -> bool {
        let TaskState { status, not_needed, .. } = &self.state.tasks[task.get()];
        matches!(status, TaskStatus::Failed | TaskStatus::Skipped) && !not_needed
    }

    fn first_to_reset(&self, which: Which, downstream: bool) -> Result<Vec<TaskIndex>, Refused> {
        match which {
            Which::Tasks(tasks) => {
                for task in &tasks {
                    let status = self.state.tasks.get(task.get()).ok_or(Refused::NoSuchTask(*task))?.status;
                    match status {
                        TaskStatus::Failed | TaskStatus::Skipped => {}
                        TaskStatus::Completed if downstream => {}
                        _ => return Err(illegal(status).into()),
                    }
                }
                Ok(tasks)
            }
            Which::AllFailed => {
                let failed = |task: &TaskIndex| self.state.tasks[task.get()].status == TaskStatus::Failed;
                let tasks: Vec<_> = self.graph.order().iter().copied().filter(failed).collect();
                if tasks.is_empty() { Err(Refused::NothingFailed) } else { Ok(tasks) }
            }
        }
    }
}

/// Whether a task begins anew together with one that it depends on. What a person skipped stays skipped.
pub(super) fn follows(task: &TaskState, downstream: bool) -> bool {
    match task.status {
        TaskStatus::Skipped => task.skipped_by_rule,
        status => downstream && status.is_over(),
    }
}

fn illegal(from: TaskStatus) -> IllegalMove {
    IllegalMove { machine: TaskStatus::MACHINE, from: from.name(), to: TaskStatus::Pending.name() }
}
