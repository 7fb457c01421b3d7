//! Whether the outcome of its dependencies lets a task run.

use super::event::{Event, SkipReason};
use super::state::Run;
use crate::graph::TaskIndex;
use crate::task::{RunOn, TaskStatus};

/// What a task's dependencies say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Not yet known.
    Wait,
    /// It can run.
    Run,
    /// It will never run.
    Skip,
}

/// Judges a task by how many of its dependencies are not over and how many failed or were skipped.
pub(super) const fn gate(run_on: RunOn, open: u32, bad: u32) -> Gate {
    match run_on {
        RunOn::Success if bad > 0 => Gate::Skip,
        _ if open > 0 => Gate::Wait,
        RunOn::Failure if bad == 0 => Gate::Skip,
        _ => Gate::Run,
    }
}

impl Run {
    /// Why a task that could run need not, if so.
    pub(super) fn needless(&self, task: TaskIndex) -> Option<SkipReason> {
        let facts = &self.facts.tasks[task.get()];
        if facts.is_off {
            return Some(SkipReason::SwitchedOff);
        }
        let least = facts.least?;
        let found = self
            .graph
            .dependencies(task)
            .iter()
            .filter_map(|on| self.state.tasks[on.get()].complexity.map(|complexity| (complexity, *on)));
        let (complexity, on) = found.max_by_key(|(complexity, _)| *complexity)?;
        (complexity < least).then_some(SkipReason::TooSimple(on, complexity))
    }

    /// The next task that will never run, and why; nothing if there is no more. Each skip can bring forth others.
    pub(super) fn next_skip(&self) -> Option<(TaskIndex, SkipReason)> {
        let task = *self.state.doomed.first()?;
        if let Some(reason) = self.skipped_at_end(task) {
            return Some((task, reason));
        }
        let state = &self.state.tasks[task.get()];
        if gate(self.facts.tasks[task.get()].run_on, state.open, state.bad) == Gate::Run {
            return self.needless(task).map(|reason| (task, reason));
        }
        let is_bad = |on: &&TaskIndex| !self.state.tasks[on.get()].not_needed;
        let reason = self.graph.dependencies(task).iter().filter(is_bad).find_map(|on| {
            match self.state.tasks[on.get()].status {
                TaskStatus::Failed => Some(SkipReason::DependencyFailed(*on)),
                TaskStatus::Skipped => Some(SkipReason::DependencySkipped(*on)),
                _ => None,
            }
        });
        Some((task, reason.unwrap_or(SkipReason::NoDependencyFailed)))
    }

    /// The reason in words, for people and for files.
    pub fn explain(&self, reason: &SkipReason) -> String {
        let id = |task: &TaskIndex| self.facts.tasks.get(task.get()).map_or("?", |facts| facts.id.as_str());
        match reason {
            SkipReason::DependencyFailed(on) => format!("dependency {} failed", id(on)),
            SkipReason::DependencySkipped(on) => format!("dependency {} was skipped", id(on)),
            SkipReason::NoDependencyFailed => "no dependency failed".to_owned(),
            SkipReason::TooSimple(on, complexity) => {
                format!("not needed: {} found the complexity {complexity}", id(on))
            }
            SkipReason::SwitchedOff => "not needed: switched off".to_owned(),
            SkipReason::Person(reason) => reason.clone(),
        }
    }
}

impl super::decide::Turn<'_> {
    /// Skips everything that will never run.
    pub(super) fn skip_all(&mut self) {
        while let Some((task, reason)) = self.run.next_skip() {
            self.emit(Event::Skipped { task, reason, at: self.now });
        }
    }
}
