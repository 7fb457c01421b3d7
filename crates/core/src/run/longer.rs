//! A plan gets longer while its run goes on: the rules learn of tasks that the run does not have yet. [`Input::Add`] adds them.
//!
//! [`Input::Add`]: super::Input::Add

use super::budget::Budget;
use super::policy::TaskPolicy;
use super::state::{NEVER, NotTheGraph, Place, Run, TaskState};
use super::wave_cadence::WaveState;
use crate::graph::{Graph, TaskIndex};
use crate::task::{Priority, Task};

/// A task that a plan has now, and who does it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// The task.
    pub task: Task,
    /// What differs for it.
    pub policy: TaskPolicy,
    /// Where several agents can do it, whose quotas the others use.
    pub fallbacks: Vec<u32>,
    /// What its agents are called, the one that is wanted first; nothing where that is not known.
    pub agents: Vec<String>,
    /// What it may use.
    pub budget: Option<Budget>,
    /// What all tasks of its role may use; counts if the run does not say that yet.
    pub role_budget: Option<Budget>,
}

impl NewTask {
    /// A task without a chosen agent.
    pub fn plain(task: &Task) -> Self {
        let (policy, agents) = (TaskPolicy::default(), Vec::new());
        Self { task: task.clone(), policy, fallbacks: Vec::new(), agents, budget: None, role_budget: None }
    }
}

impl Run {
    /// The plan has these tasks too, behind all others. What this costs depends on what is new only, except where the graph of
    /// all tasks was sealed anew because the known one cannot be [extended](Graph::extend).
    pub fn extend(&mut self, new: Vec<NewTask>, sealed: Option<Graph>) -> Result<Vec<TaskIndex>, NotTheGraph> {
        let first = self.state.tasks.len();
        let index = |nth: usize| index_at(first + nth);
        let is_all_of = |graph: &Graph| {
            let known = (0..first).map(index_at).map(|task| (self.id(task), task));
            let behind = new.iter().enumerate().map(|(nth, new)| (new.task.id.as_str(), index(nth)));
            known.chain(behind).all(|(id, task)| graph.index_of(id) == Some(task))
        };
        match sealed {
            Some(graph) if graph.len() == first + new.len() && is_all_of(&graph) => self.graph = graph,
            None if self.graph.extend(new.iter().map(|new| &new.task)) => {}
            _ => return Err(NotTheGraph),
        }
        let tasks: Vec<TaskIndex> = (0..new.len()).map(index).collect();
        for (task, new) in tasks.iter().copied().zip(new) {
            self.learn(task, new);
        }
        let Self { facts, state, .. } = self;
        state.held.resize(facts.quotas.len(), NEVER);
        state.closed.resize(facts.quotas.len(), false);
        state.waves.resize(facts.wave_count() as usize, WaveState::default());
        state.queue.grow(facts);
        Ok(tasks)
    }

    /// A task has another priority from now on. That is no event: it is in the plan, which a replay reads.
    pub fn prioritise(&mut self, task: TaskIndex, priority: Priority) {
        let Some(state) = self.state.tasks.get(task.get()) else { return };
        let is_queued = state.place == Place::Queue;
        if is_queued {
            self.state.queue.remove(&self.facts.tasks[task.get()]);
        }
        let facts = &mut self.facts.tasks[task.get()];
        facts.priority = priority;
        let wave = facts.wave;
        self.facts.move_to_wave(task, wave, &self.graph, &self.policy);
        if is_queued {
            self.state.queue.insert(&self.facts.tasks[task.get()]);
        }
    }

    fn learn(&mut self, task: TaskIndex, new: NewTask) {
        let own = self.settle(task, new);
        self.facts.add(&own, &self.graph, &self.policy);
        self.set_apart_by_limit(task);
        self.state.tasks.push(TaskState { is_absent: true, ..TaskState::new(0) });
    }

    /// A task that has not begun is done by someone else, or in another way. It is in no queue.
    pub(super) fn learn_anew(&mut self, task: TaskIndex, new: NewTask) {
        if task.get() >= self.facts.tasks.len() {
            return;
        }
        let own = self.settle(task, new);
        self.facts.replace(task, &own, &self.graph, &self.policy);
        self.set_apart_by_limit(task);
    }

    /// Keeps what differs for a task.
    fn settle(&mut self, task: TaskIndex, new: NewTask) -> Task {
        let NewTask { task: own, policy: of_task, fallbacks, agents, budget, role_budget } = new;
        let policy = &mut self.policy;
        policy.tasks.insert(task, of_task);
        policy.budgets.tasks.remove(&task);
        policy.budgets.tasks.extend(budget.map(|budget| (task, budget)));
        if let Some(budget) = role_budget {
            policy.budgets.roles.entry(own.role.clone()).or_insert(budget);
        }
        policy.fallbacks.remove(&task);
        if !fallbacks.is_empty() {
            policy.fallbacks.insert(task, fallbacks);
        }
        if !agents.is_empty() {
            let chain = policy.agents.chain(agents);
            match policy.agents.of.get_mut(task.get()) {
                Some(of) => *of = chain,
                None => policy.agents.of.push(chain),
            }
        }
        own
    }

    /// Where the role of a task has a limit, its tasks queue apart.
    fn set_apart_by_limit(&mut self, task: TaskIndex) {
        let role = &self.facts.roles[self.facts.tasks[task.get()].role];
        if self.state.limits.roles.contains_key(role) {
            self.facts.set_apart(task);
        }
    }
}

fn index_at(nth: usize) -> TaskIndex {
    TaskIndex(u32::try_from(nth).unwrap_or(u32::MAX))
}
