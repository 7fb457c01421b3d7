//! What never changes in a run about each task, except where a person steers it: its place in the order, its wave, whose worker and whose quota it uses.

use std::cmp::Reverse;

use super::policy::{Cadence, KeptWaves, Policy};
use crate::complexity::Complexity;
use crate::graph::{Graph, TaskIndex};
use crate::ids::{RoleName, TaskId};
use crate::map::Map;
use crate::task::{ExecMode, Position, Priority, RunOn, Task, TaskStatus};

/// What never changes about all tasks.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) tasks: Vec<TaskFacts>,
    /// The best task first.
    pub(super) by_rank: Vec<TaskIndex>,
    /// For each lane, whose resident worker takes its tasks and whose quota they use.
    pub(super) lanes: Vec<Lane>,
    /// Where tasks that use one quota queue; those of each role apart if there are budgets.
    pub(super) pools: Vec<Pool>,
    /// For each chain, who can do a task, the one that is wanted first.
    pub(super) chains: Vec<Vec<Choice>>,
    /// What the agents are called, by their numbers; empty where that is not known.
    pub(super) agents: Vec<String>,
    /// How many quotas there are.
    pub(super) quotas: usize,
    /// The roles, by their numbers.
    pub(super) roles: Vec<RoleName>,
    /// How many resident workers there are.
    pub(super) residents: usize,
    /// All tasks by wave, and where each wave begins in them.
    pub(super) by_wave: Vec<TaskIndex>,
    pub(super) wave_starts: Vec<usize>,
}

/// What never changes about one task.
#[derive(Debug, Clone)]
pub(super) struct TaskFacts {
    pub(super) id: TaskId,
    /// How it stood when the run was planned: pending or over.
    pub(super) initially: TaskStatus,
    pub(super) priority: Priority,
    pub(super) run_on: RunOn,
    pub(super) wave: u32,
    pub(super) turn: WaveTurn,
    pub(super) retries: u32,
    pub(super) rounds: u32,
    pub(super) asks: bool,
    pub(super) is_off: bool,
    pub(super) least: Option<Complexity>,
    /// Its position in the order of starting.
    pub(super) rank: u32,
    /// The number of its role.
    pub(super) role: usize,
    /// Whose quotas it can use.
    pub(super) chain: usize,
    /// What it queues with.
    pub(super) pool: usize,
    /// Where it queues, if a resident worker takes it.
    pub(super) lane: Option<usize>,
}

/// Who can do a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Choice {
    /// Whose quota that uses.
    pub(super) quota: usize,
    /// The number of the agent, where it is known.
    pub(super) agent: Option<usize>,
}

/// Tasks that can start or cannot, all of them at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pool {
    /// Whose quotas they can use.
    pub(super) chain: usize,
    /// The number of their role, if there are budgets or it has a limit.
    pub(super) role: Option<usize>,
    /// The task, if it has a budget of its own.
    pub(super) task: Option<TaskIndex>,
}

/// Where the tasks of one resident worker that use one quota queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub(super) resident: usize,
    pub(super) pool: usize,
}

/// Which tasks of a wave have their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WaveTurn {
    /// Conversations before the one-shot tasks, one after the other.
    Before,
    /// One-shot tasks, side by side.
    Together,
    /// Conversations after them, one after the other.
    After,
}

impl Facts {
    /// The graph is the one of these tasks.
    pub(super) fn collect(tasks: &[Task], graph: &Graph, policy: &Policy) -> Self {
        let mut residents: Map<&RoleName, ()> = Map::default();
        let mut quotas: Map<u32, ()> = Map::default();
        let mut agents: Map<&str, ()> = Map::default();
        let mut chains: Map<Vec<Choice>, ()> = Map::default();
        let mut wanted = Vec::new();
        let mut roles: Map<&RoleName, ()> = Map::default();
        let mut pools: Map<Pool, ()> = Map::default();
        let has_budgets = !policy.budgets.are_open();
        let mut lanes: Map<Lane, ()> = Map::default();
        let mut facts = Vec::with_capacity(tasks.len());
        for (index, task) in (0..).map(TaskIndex).zip(tasks) {
            let own = policy.tasks.get(&index).copied().unwrap_or_default();
            let others = policy.fallbacks.get(&index).into_iter().flatten();
            let mut names =
                policy.agents.of.get(index.get()).and_then(|of| policy.agents.chains.get(*of)).into_iter().flatten();
            wanted.clear();
            wanted.extend(std::iter::once(&own.pool).chain(others).map(|quota| Choice {
                quota: quotas.insert_full(*quota, ()).0,
                agent: names.next().map(|name| agents.insert_full(name, ()).0),
            }));
            let chain = chains.get_index_of(&wanted).unwrap_or_else(|| chains.insert_full(wanted.clone(), ()).0);
            let role = roles.insert_full(&task.role, ()).0;
            let apart = has_budgets.then_some(role);
            let alone = policy.budgets.tasks.contains_key(&index).then_some(index);
            let pool = pools.insert_full(Pool { chain, role: apart, task: alone }, ()).0;
            let lane = (task.exec_mode == ExecMode::Interactive).then(|| {
                let resident = residents.insert_full(&task.role, ()).0;
                lanes.insert_full(Lane { resident, pool }, ()).0
            });
            facts.push(TaskFacts {
                id: task.id.clone(),
                initially: if task.status.is_over() { task.status } else { TaskStatus::Pending },
                priority: task.priority,
                run_on: task.run_on,
                wave: if policy.waves == KeptWaves::Computed { graph.depth(index) } else { graph.wave(index) },
                turn: WaveTurn::from_task(task),
                retries: own.retries.unwrap_or(policy.retries),
                rounds: own.rounds.unwrap_or(policy.rounds),
                asks: own.asks,
                is_off: own.is_off,
                least: own.least,
                rank: 0,
                role,
                chain,
                pool,
                lane,
            });
        }
        let by_rank = by_rank(&facts, graph, policy.cadence);
        for (rank, task) in (0..).zip(&by_rank) {
            facts[task.get()].rank = rank;
        }
        let lanes = lanes.into_keys().collect();
        let (by_wave, wave_starts) = by_wave(&facts);
        let (pools, quotas, residents) = (pools.into_keys().collect(), quotas.len(), residents.len());
        let (roles, chains) = (roles.into_keys().cloned().collect(), chains.into_keys().collect());
        let agents = agents.into_keys().map(str::to_owned).collect();
        Self { tasks: facts, by_rank, lanes, pools, chains, agents, quotas, roles, residents, by_wave, wave_starts }
    }

    /// From now on a task queues with others of its role only.
    pub(super) fn set_apart(&mut self, task: TaskIndex) {
        let own = &mut self.tasks[task.get()];
        let pool = Pool { role: Some(own.role), ..self.pools[own.pool] };
        own.pool = number_of(&mut self.pools, pool);
        own.lane = own.lane.map(|lane| {
            let lane = Lane { pool: own.pool, ..self.lanes[lane] };
            number_of(&mut self.lanes, lane)
        });
    }

    /// Puts the tasks in the order of their waves, after some of these have changed.
    pub(super) fn sort_waves(&mut self) {
        (self.by_wave, self.wave_starts) = by_wave(&self.tasks);
    }

    /// How many waves there are.
    pub(super) fn wave_count(&self) -> u32 {
        u32::try_from(self.wave_starts.len()).unwrap_or(u32::MAX)
    }

    /// The tasks of a wave.
    pub(super) fn of_wave(&self, wave: u32) -> &[TaskIndex] {
        let starts = &self.wave_starts;
        let Some(&start) = starts.get(wave as usize - 1) else { return &[] };
        &self.by_wave[start..starts.get(wave as usize).copied().unwrap_or(self.by_wave.len())]
    }
}

/// The number of one of few things, which is added if it is new.
fn number_of<T: PartialEq>(known: &mut Vec<T>, one: T) -> usize {
    known.iter().position(|other| *other == one).unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    })
}

/// All tasks by wave, and where each wave begins in them.
fn by_wave(facts: &[TaskFacts]) -> (Vec<TaskIndex>, Vec<usize>) {
    let mut order: Vec<_> = (0..).map(TaskIndex).take(facts.len()).collect();
    order.sort_by_key(|task| (facts[task.get()].wave, *task));
    let mut starts = Vec::new();
    for (at, task) in order.iter().enumerate() {
        while starts.len() < facts[task.get()].wave as usize {
            starts.push(at);
        }
    }
    (order, starts)
}

impl WaveTurn {
    const fn from_task(task: &Task) -> Self {
        match (task.exec_mode, task.position) {
            (ExecMode::CsvWave, _) => Self::Together,
            (ExecMode::Interactive, Position::PreWave) => Self::Before,
            (ExecMode::Interactive, Position::PostWave) => Self::After,
        }
    }
}

/// By priority, then by the length of what hangs on it, then in order of appearance; waves and their turns first.
fn by_rank(facts: &[TaskFacts], graph: &Graph, cadence: Cadence) -> Vec<TaskIndex> {
    let mut order = graph.order().to_vec();
    order.sort_by_key(|task| {
        let own = &facts[task.get()];
        let turn = (cadence == Cadence::Wave).then_some((own.wave, own.turn));
        (turn, own.priority, Reverse(graph.remaining(*task)), *task)
    });
    order
}
