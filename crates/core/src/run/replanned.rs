//! The plan is changed while its run goes on: what tasks that have not begun wait for, who does them, and which of them are
//! there at all. What runs or ran stays as it is. The rules are told of the new plan beforehand; it counts from the record on
//! that says so. A replay knows the new plan from the beginning, and comes to the same, since nothing of it had begun before.

use super::decide::Turn;
use super::event::Event;
use super::input::Refused;
use super::longer::NewTask;
use super::policy::{Cadence, KeptWaves};
use super::state::{NEVER, NotTheGraph, Place, Run, Stage};
use super::wave_cadence::WaveState;
use crate::graph::{Graph, TaskIndex};
use crate::ids::TaskId;
use crate::task::TaskStatus;

/// A plan that counts soon.
#[derive(Debug, Clone)]
pub struct NextPlan {
    /// How all tasks hang together, those of the run at their places. Removed ones wait for nothing, and nothing waits for them.
    pub graph: Graph,
    /// Tasks that are done by someone else, or in another way.
    pub anew: Vec<(TaskIndex, NewTask)>,
}

/// What makes a changed plan the same plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanMark {
    /// Of all its tasks.
    pub digest: String,
    /// How many these are.
    pub tasks: u32,
}

impl Run {
    /// The plan is this one from the next [`Event::Replanned`] on.
    pub fn plan_next(&mut self, next: NextPlan) -> Result<(), NotTheGraph> {
        let all = (0..).map(TaskIndex).take(self.state.tasks.len());
        let is_same = |task: TaskIndex| next.graph.index_of(self.id(task)) == Some(task);
        if next.graph.len() != self.state.tasks.len() || !all.into_iter().all(is_same) {
            return Err(NotTheGraph);
        }
        self.next = Some(Box::new(next));
        Ok(())
    }

    /// Whether the run has a task, which it does not before that is added, and after it is removed.
    pub fn is_there(&self, task: TaskIndex) -> bool {
        self.has(task)
    }

    /// Whether the plan of a task may still be changed: it waits, and no attempt at it was ever made.
    pub fn is_untouched(&self, task: TaskIndex) -> bool {
        let state = self.state.tasks.get(task.get()).filter(|task| !task.is_absent);
        state.is_some_and(|task| task.status == TaskStatus::Pending && task.attempt == 0 && task.cancelled.is_none())
    }

    /// Whether the plan of a run can be changed at all: where it keeps waves, these are settled.
    pub fn keeps_waves(&self) -> bool {
        self.policy.cadence == Cadence::Wave || self.policy.waves != KeptWaves::Computed
    }

    /// The tasks wait for others from now on, are done by others, or are not there any more.
    pub(super) fn replanned(&mut self, changed: &[TaskIndex], removed: &[TaskId]) {
        for task in (0..).map(TaskIndex).take(self.state.tasks.len()) {
            if self.state.tasks[task.get()].place == Place::Queue {
                self.state.queue.remove(&self.facts.tasks[task.get()]);
                self.state.tasks[task.get()].place = Place::Nowhere;
            }
        }
        if let Some(next) = self.next.take() {
            self.graph = next.graph;
            next.anew.into_iter().for_each(|(task, new)| self.learn_anew(task, new));
        }
        for id in removed {
            let is_waiting =
                |task: &TaskIndex| self.has(*task) && self.state.tasks[task.get()].status == TaskStatus::Pending;
            if let Some(task) = self.graph.index_of(id.as_str()).filter(is_waiting) {
                let state = &mut self.state.tasks[task.get()];
                state.is_absent = true;
                state.intended = state.intended.min(state.attempt); // a replay may not know what was intended of it
                self.state.counts.pending -= 1;
                self.count_dependencies(task); // it waits for nothing
            }
        }
        let known = self.state.tasks.len();
        for &task in changed.iter().filter(|task| task.get() < known) {
            self.count_dependencies(task);
            let state = &mut self.state.tasks[task.get()];
            state.intended = state.intended.min(state.attempt); // it was said of another plan
        }
        self.count_waves();
        self.state.queue.grow(&self.facts);
        (0..).map(TaskIndex).take(self.state.tasks.len()).for_each(|task| self.put_in_place(task));
    }

    /// Gives each task the wave that its dependencies give it, and counts the waves anew.
    fn count_waves(&mut self) {
        if self.keeps_waves() {
            return;
        }
        let Self { graph, facts, policy, state, .. } = self;
        facts.compute_waves(graph, policy);
        state.waves = vec![WaveState::default(); facts.wave_count() as usize];
        for (facts, task) in facts.tasks.iter().zip(&state.tasks).filter(|(_, task)| !task.is_absent) {
            let wave = &mut state.waves[facts.wave as usize - 1];
            wave.open[facts.turn as usize] += 1;
            wave.count(facts.turn, TaskStatus::Pending, task.status, task.attempt > 0);
        }
        state.held.resize(facts.quotas.len(), NEVER);
        state.closed.resize(facts.quotas.len(), false);
        state.front = 1;
        self.move_front(1);
    }
}

impl Turn<'_> {
    /// A person changes the plan of tasks that have not begun. All of it is taken, or nothing.
    pub(super) fn person_replans(
        &mut self,
        changed: Vec<TaskIndex>,
        removed: Vec<TaskId>,
        plan: PlanMark,
    ) -> Result<(), Refused> {
        let changed = match self.allowed(changed, &removed) {
            Ok(changed) => changed,
            Err(refused) => {
                self.run.next = None;
                return Err(refused);
            }
        };
        self.emit(Event::Replanned { changed, removed, plan, at: self.now });
        Ok(())
    }

    /// All tasks whose plan is changed, if nothing is in the way.
    fn allowed(&self, mut changed: Vec<TaskIndex>, removed: &[TaskId]) -> Result<Vec<TaskIndex>, Refused> {
        let run = &*self.run;
        if run.state.stage == Stage::Finished {
            return Err(self.wrong_stage());
        }
        if run.keeps_waves() {
            return Err(Refused::KeepsWaves);
        }
        let index = |id: &TaskId| run.graph.index_of(id.as_str()).filter(|task| run.has(*task));
        let gone: Vec<TaskIndex> = removed.iter().filter_map(index).collect();
        if let Some(next) = &run.next {
            for task in (0..).map(TaskIndex).take(run.state.tasks.len()) {
                let (now, then) = (run.graph.dependencies(task), next.graph.dependencies(task));
                if now != then && !gone.contains(&task) {
                    changed.push(task);
                }
                let is_missing = |on: &&TaskIndex| !run.has(**on) || gone.contains(on);
                if let Some(on) = then.iter().find(is_missing).filter(|_| run.has(task)) {
                    return Err(Refused::NoSuchTask(*on));
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        match changed.iter().chain(&gone).find(|task| !run.is_untouched(**task)) {
            Some(task) => Err(Refused::Begun(*task)),
            None => Ok(changed),
        }
    }
}
