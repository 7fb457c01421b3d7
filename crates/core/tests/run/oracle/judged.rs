//! Consequences of verdicts of workers and people: who is asked, which tasks go back.

use std::collections::BTreeSet;

use team_executor_core::run::{Cause, Review, ReviewThen, Reviewed, Work};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus, Verdict};

use super::{Oracle, Seen, Stage, must};

impl Oracle<'_> {
    /// What must follow from what a worker says.
    pub(crate) fn expect(&self, work: Work, review: Option<&Review>) -> Option<ReviewThen> {
        let planned = self.own(work.task.get()).asks;
        let nothing = Review::default();
        let Review { verdict, rejects, critique, rounds, .. } = review.unwrap_or(&nothing);
        let counts = |task: &usize| {
            rejects.iter().any(|wanted| wanted.get() == *task)
                && self.behind(*task).contains(&work.task.get())
                && self.tasks[*task].status == TaskStatus::Completed
        };
        let rejected: Vec<_> = (0..self.tasks.len()).filter(counts).collect();
        let out = |task: &usize| {
            let bound = self.own(*task).rounds.unwrap_or(self.plan.policy.rounds);
            self.tasks[*task].rounds >= rounds.unwrap_or(bound)
        };
        let tasks = || rejected.iter().copied().map(crate::plan::index).collect();
        let ask = |cause| ReviewThen::Ask { cause, tasks: tasks(), critique: critique.clone() };
        if review.is_none() && !planned || self.tasks[work.task.get()].cancelled.is_some() {
            None
        } else if *verdict == Some(Verdict::Block) || !rejects.is_empty() && rejected.is_empty() {
            Some(ask(Cause::Blocked))
        } else if rejected.iter().any(out) {
            Some(ask(Cause::OutOfRounds))
        } else if !rejected.is_empty() {
            Some(ReviewThen::SendBack { tasks: tasks(), critique: critique.clone() })
        } else if planned {
            Some(ask(Cause::Planned))
        } else {
            Some(ReviewThen::GoOn)
        }
    }

    pub(super) fn done(&mut self, work: Work, reviewed: Option<&Reviewed>) -> Result<(), String> {
        self.ended(work, TaskStatus::Completed)?;
        self.fewer = self.fewer.map(|fewer| fewer + 1);
        let Some(reviewed) = reviewed else { return Ok(()) };
        self.tasks[work.task.get()].complexity = reviewed.complexity;
        match &reviewed.then {
            ReviewThen::GoOn => {}
            ReviewThen::Ask { .. } => self.ask(work.task.get()),
            ReviewThen::SendBack { tasks, .. } => {
                must!(!tasks.is_empty(), "nothing is sent back");
                for task in tasks.iter().map(|task| task.get()) {
                    self.tasks[task].rounds += 1;
                    self.recalled.insert(task);
                }
            }
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, task: usize) {
        self.open.push(task);
        if !matches!(self.stage, Stage::Draining | Stage::Stopping) {
            self.stage = Stage::Paused;
        }
    }

    pub(super) const fn asks(&self) -> bool {
        self.wave_failed || !self.open.is_empty()
    }

    pub(super) fn decided(
        &mut self,
        checkpoint: Option<TaskIndex>,
        action: CheckpointAction,
        tasks: &[TaskIndex],
    ) -> Result<(), String> {
        let first = self.open.first().copied();
        must!(checkpoint.map(TaskIndex::get) == first, "{checkpoint:?} is decided, and {first:?} is to be");
        let none = matches!(action, CheckpointAction::Feedback | CheckpointAction::Resume);
        must!(tasks.is_empty() == none, "{action:?} sends back {tasks:?}");
        for task in tasks.iter().map(|task| task.get()) {
            must!(self.tasks[task].status.is_over(), "{task} is not over and sent back");
            self.tasks[task].rounds = 0;
            self.recalled.insert(task);
        }
        if action != CheckpointAction::Feedback {
            must!(self.stage == Stage::Paused || self.asks(), "{action:?} while {:?}", self.stage);
            match first {
                Some(_) => drop(self.open.remove(0)),
                None => (self.told, self.wave_failed) = (false, false),
            }
            // What is done again is judged again.
            let again: BTreeSet<_> =
                self.recalled.iter().flat_map(|task| self.behind(*task).into_iter().chain([*task])).collect();
            self.open.retain(|task| !again.contains(task));
            self.stage = if self.told || !self.open.is_empty() { Stage::Paused } else { Stage::Going };
        }
        Ok(())
    }

    pub(super) fn returned(&mut self, tasks: &[TaskIndex]) -> Result<(), String> {
        let goes_back = |seen: &Seen| seen.status.is_over() && (seen.status != TaskStatus::Skipped || seen.by_rule);
        let behind = self.recalled.iter().flat_map(|task| self.behind(*task));
        let behind = behind.filter(|task| goes_back(&self.tasks[*task]));
        let all: BTreeSet<_> = self.recalled.iter().copied().chain(behind).collect();
        let listed: BTreeSet<_> = tasks.iter().map(|task| task.get()).collect();
        must!(!self.recalled.is_empty() && listed == all, "{listed:?} begin anew, not {all:?}");
        must!(!listed.iter().any(|task| self.later_wave_runs(*task)), "a later wave runs");
        let rounds: Vec<_> = self.tasks.iter().map(|task| task.rounds).collect();
        self.reset(tasks, true)?;
        self.tasks.iter_mut().zip(rounds).for_each(|(task, rounds)| task.rounds = rounds);
        Ok(())
    }
}
