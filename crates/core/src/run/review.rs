//! What a worker says about the work that its task builds on, and what becomes of it: bounded rounds of doing it again, or a
//! question to a person.

use std::collections::BTreeSet;

use super::decide::Turn;
use super::effect::Effect;
use super::event::Event;
use super::input::Work;
use super::reset::follows;
use super::state::Run;
use crate::complexity::Complexity;
use crate::graph::TaskIndex;
use crate::task::{TaskStatus, Verdict, words};

/// What a worker says about the work that its task builds on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// A supervisor's word.
    pub verdict: Option<Verdict>,
    /// What must be done again. Only what the task builds on, directly or not, counts.
    pub rejects: Vec<TaskIndex>,
    /// Why.
    pub critique: String,
    /// How often at most, where this kind of rejection has a bound of its own.
    pub rounds: Option<u32>,
    /// How much there is to the work.
    pub complexity: Option<Complexity>,
}

/// A review, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewed {
    /// A supervisor's word.
    pub verdict: Option<Verdict>,
    /// How much there is to the work.
    pub complexity: Option<Complexity>,
    /// What becomes of the run.
    pub then: ReviewThen,
}

/// What becomes of a run after a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewThen {
    /// It goes on.
    GoOn,
    /// Some tasks are done again, and then everything that was built on them.
    SendBack {
        /// Which.
        tasks: Vec<TaskIndex>,
        /// What is wrong with them.
        critique: String,
    },
    /// It pauses until a person decides.
    Ask {
        /// Why.
        cause: Cause,
        /// What was not accepted. Where that is nothing, it is all that the task builds on directly.
        tasks: Vec<TaskIndex>,
        /// What is wrong with it, if the verdict says so.
        critique: String,
    },
}

words! {
    /// Why a person is asked at a checkpoint.
    Cause {
        /// The plan wants it after this task.
        Planned = "planned",
        /// A supervisor said `block`.
        Blocked = "blocked",
        /// Work was sent back as often as it may be, and is still not accepted.
        OutOfRounds = "out_of_rounds",
    }
}

impl Run {
    /// The review that follows from a completed task's report; `None` if it has no verdict and no person must
    /// decide.
    pub(super) fn after_review(&self, work: Work, review: Option<Box<Review>>) -> Option<Box<Reviewed>> {
        let planned = self.facts.tasks[work.task.get()].asks;
        if review.is_none() && !planned {
            return None;
        }
        let Review { verdict, rejects, critique, rounds, complexity } = *review.unwrap_or_default();
        let rejected = if rejects.is_empty() { Vec::new() } else { self.built_on(work.task, &rejects) };
        let bound = |task: &TaskIndex| rounds.unwrap_or(self.facts.tasks[task.get()].rounds);
        let has_rounds = |task: &TaskIndex| self.state.tasks[task.get()].rounds < bound(task);
        let then = match verdict {
            Some(Verdict::Block) => ReviewThen::Ask { cause: Cause::Blocked, tasks: rejected, critique },
            _ if !rejects.is_empty() && rejected.is_empty() => {
                ReviewThen::Ask { cause: Cause::Blocked, tasks: rejected, critique }
            }
            _ if !rejected.iter().all(has_rounds) => {
                ReviewThen::Ask { cause: Cause::OutOfRounds, tasks: rejected, critique }
            }
            _ if !rejected.is_empty() => ReviewThen::SendBack { tasks: rejected, critique },
            _ if planned => ReviewThen::Ask { cause: Cause::Planned, tasks: rejected, critique },
            _ => ReviewThen::GoOn,
        };
        Some(Box::new(Reviewed { verdict, complexity, then }))
    }

    /// Which of these tasks are completed and lie below the task.
    fn built_on(&self, task: TaskIndex, of: &[TaskIndex]) -> Vec<TaskIndex> {
        let mut below = BTreeSet::new();
        let mut next = vec![task];
        while let Some(task) = next.pop() {
            next.extend(self.graph.dependencies(task).iter().filter(|on| below.insert(**on)));
        }
        let is_completed = |task: &TaskIndex| self.state.tasks[task.get()].status == TaskStatus::Completed;
        let wanted: BTreeSet<_> = of.iter().copied().collect();
        wanted.into_iter().filter(|task| below.contains(task)).filter(is_completed).collect()
    }

    /// Everything that was built on what is sent back, and that itself: what is over, and what still runs.
    pub(super) fn sent_back(&self) -> (Vec<TaskIndex>, Vec<Work>) {
        let mut over = self.state.recalled.clone();
        let (mut seen, mut running) = (over.clone(), Vec::new());
        let mut next: Vec<_> = over.iter().copied().collect();
        while let Some(task) = next.pop() {
            for &dependent in self.graph.dependents(task) {
                let state = &self.state.tasks[dependent.get()];
                if !seen.insert(dependent) {
                    continue;
                }
                next.push(dependent);
                if state.status == TaskStatus::InProgress {
                    running.push(Work { task: dependent, attempt: state.attempt });
                } else if follows(state, true) {
                    over.insert(dependent);
                }
            }
        }
        (over.into_iter().collect(), running)
    }
}

impl Turn<'_> {
    /// Workers that build on what is sent back are ended: what they do is void.
    pub(super) fn end_what_is_void(&mut self) {
        if !self.run.state.recalled.is_empty() {
            let (_, running) = self.run.sent_back();
            self.effects.extend(running.into_iter().map(|work| Effect::EndWorker { work }));
        }
    }

    /// What was sent back begins anew as soon as nothing runs that could not run then.
    pub(super) fn return_all(&mut self) {
        if self.run.state.recalled.is_empty() {
            return;
        }
        let (tasks, running) = self.run.sent_back();
        // Also behind what a person skipped, which stays as it is.
        if running.is_empty() && !tasks.iter().any(|task| self.run.is_behind(*task)) {
            self.emit(Event::Returned { tasks, at: self.now });
        }
    }
}
