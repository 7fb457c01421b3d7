//! How many workers there may be at a time: of the run, of a role, of an agent. A person may change that while it goes on;
//! workers beyond a new limit go on, and no other takes their place.

use std::collections::BTreeMap;

use super::decide::Turn;
use super::event::Event;
use super::facts::Pool;
use super::input::{Refused, Work};
use super::state::{Place, Run, Stage};
use crate::graph::TaskIndex;
use crate::ids::RoleName;

/// Which workers a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    /// All of the run.
    All,
    /// Those that do tasks of this role.
    Role(RoleName),
    /// Those of this agent, as the user calls it.
    Agent(String),
}

/// The limits that a person has set in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many workers there may be; as the run was started, if that was not changed.
    pub run: Option<u32>,
    /// How many of single roles.
    pub roles: BTreeMap<RoleName, u32>,
    /// How many of single agents.
    pub agents: BTreeMap<String, u32>,
}

impl Run {
    /// The limits that a person has set.
    pub const fn limits(&self) -> &Limits {
        &self.state.limits
    }

    /// How many workers there may be at a time now: fewer than were chosen, if the system had too little for more.
    pub fn most_workers(&self) -> u32 {
        let chosen = self.state.limits.run.unwrap_or(self.policy.slots);
        self.state.slots.at_most(chosen.max(1))
    }

    /// Whether another attempt of a pool, with the agent that would do it now, stays within the limits of its role and agent.
    pub(super) fn is_within_limits(&self, pool: &Pool) -> bool {
        let Limits { roles, agents, .. } = &self.state.limits;
        if roles.is_empty() && agents.is_empty() {
            return true;
        }
        let of_role = pool.role.and_then(|role| Some((role, roles.get(&self.facts.roles[role])?)));
        let role_is_full = of_role.is_some_and(|(role, most)| {
            let in_role = |work: &Work| self.facts.tasks[work.task.get()].role == role;
            self.at_work().filter(in_role).count() >= *most as usize
        });
        let next = self.choice(pool.chain).and_then(|choice| self.agent_of(pool.chain, choice));
        let of_agent = next.and_then(|agent| Some((agent, agents.get(&self.facts.agents[agent])?)));
        let agent_is_full = of_agent.is_some_and(|(agent, most)| {
            let by_agent = |work: &Work| self.agent_at(work.task) == Some(agent);
            self.at_work().filter(by_agent).count() >= *most as usize
        });
        !role_is_full && !agent_is_full
    }

    fn agent_of(&self, chain: usize, choice: u32) -> Option<usize> {
        self.facts.chains[chain].choice(choice).agent
    }

    /// The agent that does the last attempt at a task.
    fn agent_at(&self, task: TaskIndex) -> Option<usize> {
        self.agent_of(self.facts.tasks[task.get()].chain, self.state.tasks[task.get()].choice)
    }

    /// A limit was set, or lifted.
    pub(super) fn limited(&mut self, group: &Group, most: Option<u32>) {
        match group {
            Group::All => self.state.limits.run = most,
            Group::Role(role) => {
                self.set_apart(role);
                set(&mut self.state.limits.roles, role, most);
            }
            Group::Agent(agent) => set(&mut self.state.limits.agents, agent, most),
        }
    }

    /// From now on the tasks of a role queue apart from others.
    fn set_apart(&mut self, name: &RoleName) {
        let Some(role) = self.facts.roles.get_index_of(name) else { return };
        let of_role = |task: &TaskIndex| {
            let facts = &self.facts.tasks[task.get()];
            facts.role == role && self.facts.pools[facts.pool].role.is_none()
        };
        let tasks: Vec<TaskIndex> = (0..).map(TaskIndex).take(self.graph.len()).filter(of_role).collect();
        for task in tasks {
            let in_queue = self.state.tasks[task.get()].place == Place::Queue;
            if in_queue {
                self.state.queue.remove(&self.facts.tasks[task.get()]);
            }
            self.facts.set_apart(task);
            self.state.queue.grow(&self.facts);
            if in_queue {
                self.state.queue.insert(&self.facts.tasks[task.get()]);
            }
        }
    }
}

fn set<K: Ord + Clone>(limits: &mut BTreeMap<K, u32>, of: &K, most: Option<u32>) {
    match most {
        Some(most) => drop(limits.insert(of.clone(), most)),
        None => drop(limits.remove(of)),
    }
}

impl Turn<'_> {
    /// A person wants at most so many workers at a time.
    pub(super) fn limit(&mut self, group: Group, most: Option<u32>) -> Result<(), Refused> {
        if self.run.state.stage == Stage::Finished {
            return Err(self.wrong_stage());
        }
        let facts = &self.run.facts;
        match &group {
            _ if most == Some(0) => return Err(Refused::NoWorkers),
            Group::Role(role) if !facts.roles.contains(role) => return Err(Refused::NoSuchRole),
            // At rest it is not known who does what.
            Group::Agent(agent) if !facts.agents.is_empty() && !facts.agents.contains(agent) => {
                return Err(Refused::NoSuchAgent);
            }
            _ => {}
        }
        self.emit(Event::Limited { group, most, at: self.now });
        Ok(())
    }
}
