//! The auditor's own idea of judgements: what follows from what a worker said, what goes back with what, and what a person
//! may decide.

use std::collections::BTreeSet;

use team_executor_core::{TaskStatus, Verdict};

use super::model::{Model, Stage, demand};
use super::reader::Record;
use crate::worker::Says;

impl Model {
    /// Whether a task need not run, although it could.
    pub(super) fn is_needless(&self, task: usize) -> bool {
        let facts = &self.facts.tasks[task];
        let found = self.needs[task].iter().filter_map(|on| self.tasks[*on].complexity).max();
        facts.is_off || facts.least.is_some_and(|least| found.is_some_and(|found| found < least))
    }

    /// Everything that depends on these, directly or not.
    fn behind(&self, tasks: &BTreeSet<usize>) -> BTreeSet<usize> {
        // Tasks come after what they need.
        let mut behind = BTreeSet::new();
        for task in 0..self.tasks.len() {
            if self.needs[task].iter().any(|on| tasks.contains(on) || behind.contains(on)) {
                behind.insert(task);
            }
        }
        behind
    }

    /// What was sent back could begin anew, and does not.
    pub(super) fn is_held_back(&self) -> bool {
        !self.recalled.is_empty() && !self.is_in_the_way()
    }

    /// Something runs that could not, if what was sent back had begun anew.
    fn is_in_the_way(&self) -> bool {
        let behind = self.behind(&self.recalled);
        let first = self.recalled.iter().map(|task| self.facts.tasks[*task].wave).min();
        self.running()
            .any(|task| behind.contains(&task) || self.facts.waves && Some(self.facts.tasks[task].wave) > first)
    }

    /// Takes what follows from a completed task.
    pub(super) fn heed(&mut self, task: usize, record: Record<'_>) {
        if record.text("ask").is_some() {
            self.ask(task);
        }
        for (task, _) in record.list("send_back") {
            self.tasks[task].rounds += 1;
            self.recalled.insert(task);
        }
    }

    pub(super) fn ask(&mut self, task: usize) {
        self.open.push(task);
        if !matches!(self.stage, Stage::Draining | Stage::Stopping) {
            self.stage = Stage::Paused;
        }
    }

    /// A person is to say how it goes on.
    pub(super) const fn asks(&self) -> bool {
        self.wave_failed || !self.open.is_empty()
    }

    pub(super) fn decide(&mut self, record: Record<'_>) {
        for (task, _) in record.tasks() {
            self.tasks[task].rounds = 0;
            self.recalled.insert(task);
        }
        if record.text("action") == Some("feedback") {
            return;
        }
        if self.open.is_empty() {
            (self.told, self.wave_failed) = (false, false);
        } else {
            self.open.remove(0);
        }
        // What is done again is judged again.
        let behind = self.behind(&self.recalled);
        self.open.retain(|task| !behind.contains(task) && !self.recalled.contains(task));
        self.stage = if self.told || !self.open.is_empty() { Stage::Paused } else { Stage::Going };
    }

    pub(super) fn take_back(&mut self, record: Record<'_>, at: i64) {
        for (task, _) in record.tasks() {
            let rounds = self.tasks[task].rounds;
            self.reset(task, at);
            self.tasks[task].rounds = rounds;
            self.tasks[task].returns += 1;
        }
    }

    /// Whether what follows from a completed task is right.
    pub(super) fn judge_judgement(&self, task: usize, says: Says, record: Record<'_>) -> Result<(), String> {
        let facts = &self.facts.tasks[task];
        let completed = |on: &&usize| self.tasks[**on].status == TaskStatus::Completed;
        let rejected: BTreeSet<usize> =
            self.needs[task].iter().filter(completed).filter(|_| says.rejects).copied().collect();
        let is_out = |on: &usize| self.tasks[*on].rounds >= self.facts.tasks[*on].rounds;
        let asks = if says.verdict == Some(Verdict::Block)
            || says.rejects && rejected.is_empty() && !self.needs[task].is_empty()
        {
            Some("blocked")
        } else if rejected.iter().any(is_out) {
            Some("out_of_rounds")
        } else if rejected.is_empty() && facts.asks {
            Some("planned")
        } else {
            None
        };
        demand!(record.text("ask") == asks, "I15: a person is to be asked: {asks:?}: {}", record.0);
        let sent: BTreeSet<usize> = record.list("send_back").into_iter().map(|(task, _)| task).collect();
        let right = if asks.is_none() { rejected } else { BTreeSet::new() };
        demand!(sent == right, "I15: {right:?} must go back: {}", record.0);
        let word = says.complexity.map(team_executor_core::Complexity::word);
        demand!(record.text("complexity") == word, "I15: what was found is forgotten: {}", record.0);
        Ok(())
    }

    /// Whether exactly what must go back does, and when it can.
    pub(super) fn judge_return(&self, record: Record<'_>) -> Result<(), String> {
        demand!(!self.recalled.is_empty(), "I15: nothing was sent back: {}", record.0);
        demand!(!self.is_in_the_way(), "I15: it goes back under a running worker: {}", record.0);
        let mut right = self.behind(&self.recalled);
        right.retain(|task| {
            let own = &self.tasks[*task];
            own.status.is_over() && (own.status != TaskStatus::Skipped || own.by_rule)
        });
        right.extend(&self.recalled);
        let said: BTreeSet<usize> = record.tasks().into_iter().map(|(task, _)| task).collect();
        demand!(said == right, "I15: {right:?} must go back: {}", record.0);
        Ok(())
    }

    /// Whether a person could decide so.
    pub(super) fn judge_decision(&self, record: Record<'_>) -> Result<(), String> {
        let action = record.text("action").unwrap_or_default();
        let paused = action == "feedback" || self.stage == Stage::Paused || self.asks();
        demand!(paused, "I15: a decision, and no person was asked: {}", record.0);
        let asked = self.open.first().copied();
        demand!(record.task("checkpoint") == asked, "I15: {asked:?} is to be decided: {}", record.0);
        let sends = !matches!(action, "feedback" | "resume");
        let tasks = record.tasks();
        demand!(tasks.is_empty() != sends, "I15: a decision about nothing: {}", record.0);
        let over = tasks.iter().all(|(task, _)| self.tasks[*task].status.is_over());
        demand!(over, "I15: what is not over is sent back: {}", record.0);
        Ok(())
    }
}
