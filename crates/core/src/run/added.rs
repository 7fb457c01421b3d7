//! Tasks that are added to a run. The rules know them from the beginning of a replay, or since the plan got longer, so that
//! indexes stay what they are, but they count from the record on that adds them.

use super::decide::Turn;
use super::event::Event;
use super::input::Refused;
use super::policy::Cadence;
use super::state::{Run, Stage};
use crate::graph::TaskIndex;
use crate::task::TaskStatus;

impl Run {
    /// The tasks that the session has and the run does not yet.
    pub fn absent(&self) -> Vec<TaskIndex> {
        (0..).map(TaskIndex).zip(&self.state.tasks).filter(|(_, task)| task.is_absent).map(|(index, _)| index).collect()
    }

    /// Whether the run has a task.
    pub(super) fn has(&self, task: TaskIndex) -> bool {
        self.state.tasks.get(task.get()).is_some_and(|task| !task.is_absent)
    }

    /// Tasks are there from now on, pending; what depends on them waits for them.
    pub(super) fn add(&mut self, tasks: &[TaskIndex]) {
        let new: Vec<TaskIndex> =
            tasks.iter().copied().filter(|task| !self.has(*task) && task.get() < self.state.tasks.len()).collect();
        for task in &new {
            self.state.tasks[task.get()].is_absent = false;
            self.state.counts.pending += 1;
            let wave = self.wave_to_join(*task);
            self.facts.move_to_wave(*task, wave, &self.graph, &self.policy);
            let turn = self.facts.tasks[task.get()].turn;
            self.state.waves[wave as usize - 1].open[turn as usize] += 1;
            self.state.merged = self.state.merged.min(wave - 1);
        }
        self.facts.sort_waves(&self.policy);
        for &task in &new {
            self.count_dependencies(task);
            for nth in 0..self.graph.dependents(task).len() {
                let dependent = self.graph.dependents(task)[nth];
                self.count_dependencies(dependent);
                let state = &mut self.state.tasks[dependent.get()];
                state.intended = state.intended.min(state.attempt); // it waits for more than when that was said
                self.put_in_place(dependent);
            }
        }
        for &task in &new {
            self.put_in_place(task);
            self.move_front(self.facts.tasks[task.get()].wave);
        }
    }

    /// The wave of a task that is added. Wave by wave it is not one that is merged: what runs now goes on.
    fn wave_to_join(&self, task: TaskIndex) -> u32 {
        let own = self.facts.tasks[task.get()].wave;
        let current = self.current_wave().filter(|_| self.policy.cadence == Cadence::Wave);
        current.map_or(own, |current| own.max(current))
    }

    /// Counts the dependencies of a task that are not over, and those that failed or were skipped.
    pub(super) fn count_dependencies(&mut self, task: TaskIndex) {
        let there = self.graph.dependencies(task).iter().filter(|on| self.has(**on));
        let states = there.map(|on| &self.state.tasks[on.get()]);
        let (mut open, mut bad) = (0, 0);
        for on in states {
            open += u32::from(!on.status.is_over());
            bad += u32::from(on.status.is_over() && on.status != TaskStatus::Completed && !on.not_needed);
        }
        let state = &mut self.state.tasks[task.get()];
        (state.open, state.bad) = (open, bad);
    }
}

impl Turn<'_> {
    /// Tasks are added. Nothing that runs or ran may wait for them.
    pub(super) fn person_adds(&mut self, tasks: Vec<TaskIndex>) -> Result<(), Refused> {
        if self.run.state.stage == Stage::Finished {
            return Err(self.wrong_stage());
        }
        for &task in &tasks {
            let is_new = self.run.state.tasks.get(task.get()).is_some_and(|task| task.is_absent);
            if !is_new {
                return Err(Refused::NoSuchTask(task));
            }
            let has_begun = |on: &&TaskIndex| {
                let state = &self.run.state.tasks[on.get()];
                !state.is_absent && state.status != TaskStatus::Pending
            };
            if let Some(begun) = self.run.graph.dependents(task).iter().find(has_begun) {
                return Err(Refused::HasBegun(*begun));
            }
        }
        self.emit(Event::Added { tasks, at: self.now });
        Ok(())
    }
}
