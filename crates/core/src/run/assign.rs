//! A person gives tasks to another agent, from their next attempt on. Earlier attempts keep theirs, so the agents of a task
//! are only ever added to.

use super::decide::Turn;
use super::event::Event;
use super::facts::{Chain, Choice, TaskFacts, number_of};
use super::state::{NEVER, Place, Run};
use crate::graph::TaskIndex;

/// Who is to do tasks from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The agent, as the user calls it.
    pub agent: String,
    /// Its model; the agent's own, unless one is named.
    pub model: Option<String>,
}

/// What a person wants of the next attempts at tasks.
pub(super) struct Wish {
    /// In the person's words; may be empty.
    pub(super) feedback: String,
    pub(super) with: Option<Assignment>,
}

impl Wish {
    pub(super) const fn is_empty(&self) -> bool {
        self.feedback.is_empty() && self.with.is_none()
    }
}

impl Turn<'_> {
    /// Gives the next attempts at these tasks the feedback, and the agent that the person chose.
    pub(super) fn wish_for(&mut self, tasks: &[TaskIndex], Wish { feedback, with }: Wish) {
        let at = self.now;
        if !feedback.is_empty() {
            self.emit(Event::Advised { tasks: tasks.to_vec(), text: feedback, at });
        }
        if let Some(to) = with {
            self.emit(Event::Assigned { tasks: tasks.to_vec(), to, at });
        }
    }
}

impl Run {
    /// Which of the agents of a task this is or would be, as [`Event::Claimed`] has it.
    pub fn choice_of(&self, task: TaskIndex, to: &Assignment) -> Option<u32> {
        let known = self.state.assigned.get(&task).map_or(&[][..], Vec::as_slice);
        let agents = self.facts.chains[self.facts.tasks.get(task.get())?.chain].choices.len();
        let position = known.iter().position(|one| one == to).unwrap_or(known.len());
        u32::try_from(agents - known.len() + position).ok()
    }

    /// Whom tasks were given to since the run was planned, and which of their agents that is.
    pub fn assigned(&self) -> impl Iterator<Item = (TaskIndex, u32, &Assignment)> {
        let all = self.state.assigned.iter().flat_map(|(task, all)| all.iter().map(move |one| (*task, one)));
        all.filter_map(|(task, one)| Some((task, self.choice_of(task, one)?, one)))
    }

    /// Whether the next attempt at a task would be this agent's, if there is one.
    pub fn is_for(&self, task: TaskIndex, choice: u32) -> bool {
        let only = |facts: &TaskFacts| self.facts.chains[facts.chain].only;
        let is_over = self.state.tasks.get(task.get()).is_none_or(|task| task.status.is_over());
        !is_over && self.facts.tasks.get(task.get()).and_then(only) == Some(choice)
    }

    /// Tasks are done by this agent from now on.
    pub(super) fn assign(&mut self, tasks: &[TaskIndex], to: &Assignment) {
        for &task in tasks {
            let Some(choice) = self.choice_of(task, to) else { continue };
            let own = &self.facts.tasks[task.get()];
            let mut chain = self.facts.chains[own.chain].clone();
            if choice as usize == chain.choices.len() {
                chain.choices.push(self.choice_for(to));
                self.state.assigned.entry(task).or_default().push(to.clone());
            }
            chain.only = Some(choice);
            self.follow_chain(task, chain);
            // It may have waited for the one that does it no more.
            self.state.tasks[task.get()].not_before = NEVER;
            self.put_in_place(task);
        }
    }

    /// An agent uses the quota that it uses elsewhere, unless a model is named that it does not use there.
    fn choice_for(&mut self, to: &Assignment) -> Choice {
        let given = self.assigned().find(|(_, _, one)| *one == to);
        if let Some((task, choice, _)) = given {
            return *self.facts.chains[self.facts.tasks[task.get()].chain].choice(choice);
        }
        // At rest it is not known who does what.
        let is_known = !self.facts.agents.is_empty();
        let agent = is_known.then(|| number_of(&mut self.facts.agents, &to.agent));
        let of_agent = |one: &&Choice| agent.is_some() && to.model.is_none() && one.agent == agent;
        let known = self.facts.chains.iter().flat_map(|chain| &chain.choices).find(of_agent);
        let quota = known.map(|one| one.quota).unwrap_or_else(|| {
            // The numbers from 0 on are those of accounts that the executor knows.
            let quotas = &mut self.facts.quotas;
            let number = (0..=u32::MAX).rev().find(|number| !quotas.contains(number)).unwrap_or(u32::MAX);
            quotas.insert_full(number).0
        });
        self.state.held.resize(self.facts.quotas.len(), NEVER);
        self.state.closed.resize(self.facts.quotas.len(), false);
        Choice { quota, agent }
    }

    /// From now on a task queues with those whom the same agents can do.
    fn follow_chain(&mut self, task: TaskIndex, chain: Chain) {
        let is_queued = self.state.tasks[task.get()].place == Place::Queue;
        if is_queued {
            self.state.queue.remove(&self.facts.tasks[task.get()]);
        }
        self.facts.follow_chain(task, chain);
        self.state.queue.grow(&self.facts);
        if is_queued {
            self.state.queue.insert(&self.facts.tasks[task.get()]);
        }
    }
}
