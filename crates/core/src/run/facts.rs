//! What never changes in a run about each task, except where a person steers it: its place in the order, its wave, whose worker and whose quota it uses.

use std::borrow::Borrow;
use std::hash::Hash;

use super::policy::{Cadence, KeptWaves, Policy};
use crate::complexity::Complexity;
use crate::graph::{Graph, TaskIndex};
use crate::ids::{RoleName, TaskId};
use crate::map::Set;
use crate::task::{ExecMode, Position, Priority, RunOn, Task, TaskStatus};

/// What never changes about all tasks. What they share has numbers, which stay what they are when tasks are added.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) tasks: Vec<TaskFacts>,
    /// For each lane, whose resident worker takes its tasks and whose quota they use.
    pub(super) lanes: Set<Lane>,
    /// Where tasks that use one quota queue; those of each role apart if there are budgets.
    pub(super) pools: Set<Pool>,
    /// For each chain, who can do a task, the one that is wanted first.
    pub(super) chains: Set<Chain>,
    /// What the agents are called; none where that is not known.
    pub(super) agents: Set<String>,
    /// The quotas.
    pub(super) quotas: Set<u32>,
    /// The roles.
    pub(super) roles: Set<RoleName>,
    /// The roles that have a resident worker.
    pub(super) residents: Set<RoleName>,
    /// The highest wave.
    waves: u32,
    /// Where a run keeps waves: all tasks by wave, and where each wave begins in them.
    by_wave: Vec<TaskIndex>,
    wave_starts: Vec<usize>,
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
    /// Its place in the order of starting.
    pub(super) rank: Rank,
    /// The number of its role.
    pub(super) role: usize,
    /// Whose quotas it can use.
    pub(super) chain: usize,
    /// What it queues with.
    pub(super) pool: usize,
    /// Where it queues, if a resident worker takes it.
    pub(super) lane: Option<usize>,
}

/// Who can do tasks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Chain {
    pub(super) choices: Vec<Choice>,
    /// The one that a person chose: no other does these tasks.
    pub(super) only: Option<u32>,
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

/// The place of a task in the order of starting: by priority, then by the length of what hangs on it, then in order of
/// appearance; waves and their turns first, where tasks start wave by wave. A task that is added has its place without
/// moving any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u128);

impl Rank {
    fn new(turn: Option<(u32, WaveTurn)>, priority: Priority, remaining: u32, task: TaskIndex) -> Self {
        let (wave, turn) = turn.map_or((0, 0), |(wave, turn)| (wave, turn as u32));
        let parts = [wave, turn << 8 | priority as u32, !remaining, task.0];
        Self(parts.into_iter().fold(0, |rank, part| rank << 32 | u128::from(part)))
    }

    /// Whose place it is.
    pub(super) const fn task(self) -> TaskIndex {
        TaskIndex((self.0 & u32::MAX as u128) as u32)
    }
}

impl Facts {
    /// The graph is the one of these tasks.
    pub(super) fn collect(tasks: &[Task], graph: &Graph, policy: &Policy) -> Self {
        let mut facts = Self { tasks: Vec::with_capacity(tasks.len()), ..Self::default() };
        tasks.iter().for_each(|task| facts.add(task, graph, policy));
        facts.sort_waves(policy);
        facts
    }

    /// The next task. Where waves are kept they are to be [sorted](Self::sort_waves) afterwards.
    pub(super) fn add(&mut self, task: &Task, graph: &Graph, policy: &Policy) {
        let index = TaskIndex(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
        let facts = self.facts_of(index, task, graph, policy);
        self.waves = self.waves.max(facts.wave);
        self.tasks.push(facts);
    }

    /// A task that is in no queue is another one; how it stood before the run stays.
    pub(super) fn replace(&mut self, index: TaskIndex, task: &Task, graph: &Graph, policy: &Policy) {
        let facts = self.facts_of(index, task, graph, policy);
        let initially = self.tasks[index.get()].initially;
        self.tasks[index.get()] = TaskFacts { initially, ..facts };
    }

    fn facts_of(&mut self, index: TaskIndex, task: &Task, graph: &Graph, policy: &Policy) -> TaskFacts {
        let own = policy.tasks.get(&index).copied().unwrap_or_default();
        let role = number_of(&mut self.roles, &task.role);
        let chain = self.chain(index, own.pool, policy);
        let has_budgets = !policy.budgets.are_open();
        let alone = policy.budgets.tasks.contains_key(&index).then_some(index);
        let pool = self.pools.insert_full(Pool { chain, role: has_budgets.then_some(role), task: alone }).0;
        let lane = (task.exec_mode == ExecMode::Interactive).then(|| {
            let resident = number_of(&mut self.residents, &task.role);
            self.lanes.insert_full(Lane { resident, pool }).0
        });
        let wave = if policy.waves == KeptWaves::Computed { graph.depth(index) } else { graph.wave(index) };
        let turn = WaveTurn::from_task(task);
        TaskFacts {
            id: task.id.clone(),
            initially: if task.status.is_over() { task.status } else { TaskStatus::Pending },
            priority: task.priority,
            run_on: task.run_on,
            wave,
            turn,
            retries: own.retries.unwrap_or(policy.retries),
            rounds: own.rounds.unwrap_or(policy.rounds),
            asks: own.asks,
            is_off: own.is_off,
            least: own.least,
            rank: rank(policy, (wave, turn), task.priority, graph, index),
            role,
            chain,
            pool,
            lane,
        }
    }

    /// Who can do a task.
    fn chain(&mut self, index: TaskIndex, pool: u32, policy: &Policy) -> usize {
        let others = policy.fallbacks.get(&index).into_iter().flatten();
        let names = policy.agents.of.get(index.get()).and_then(|of| policy.agents.chains.get(*of));
        let mut names = names.into_iter().flatten();
        let Self { quotas, agents, .. } = self;
        let choices: Vec<Choice> = std::iter::once(&pool)
            .chain(others)
            .map(|quota| Choice {
                quota: quotas.insert_full(*quota).0,
                agent: names.next().map(|name| number_of(agents, name)),
            })
            .collect();
        number_of(&mut self.chains, &Chain { choices, only: None })
    }

    /// A task is in another wave.
    pub(super) fn move_to_wave(&mut self, task: TaskIndex, wave: u32, graph: &Graph, policy: &Policy) {
        let own = &mut self.tasks[task.get()];
        own.wave = wave;
        own.rank = rank(policy, (wave, own.turn), own.priority, graph, task);
        self.waves = self.waves.max(wave);
    }

    /// Each task is in the wave that its dependencies give it.
    pub(super) fn compute_waves(&mut self, graph: &Graph, policy: &Policy) {
        self.waves = 0;
        let all = (0..).map(TaskIndex).take(self.tasks.len());
        all.for_each(|task| self.move_to_wave(task, graph.depth(task), graph, policy));
    }

    /// From now on a task queues with others of its role only.
    pub(super) fn set_apart(&mut self, task: TaskIndex) {
        let own = &self.tasks[task.get()];
        let pool = Pool { role: Some(own.role), ..self.pools[own.pool] };
        self.queue_in(task, pool);
    }

    /// From now on a task queues with others whom the same agents can do.
    pub(super) fn follow_chain(&mut self, task: TaskIndex, chain: Chain) {
        let own = &mut self.tasks[task.get()];
        own.chain = self.chains.insert_full(chain).0;
        let pool = Pool { chain: own.chain, ..self.pools[own.pool] };
        self.queue_in(task, pool);
    }

    fn queue_in(&mut self, task: TaskIndex, pool: Pool) {
        let own = &mut self.tasks[task.get()];
        own.pool = self.pools.insert_full(pool).0;
        own.lane = own.lane.map(|lane| {
            let lane = Lane { pool: own.pool, ..self.lanes[lane] };
            self.lanes.insert_full(lane).0
        });
    }

    /// Puts the tasks in the order of their waves, after some of these have changed. Only a run that keeps waves asks for that.
    pub(super) fn sort_waves(&mut self, policy: &Policy) {
        if policy.waves != KeptWaves::Computed {
            (self.by_wave, self.wave_starts) = by_wave(&self.tasks);
        }
    }

    /// How many waves there are.
    pub(super) const fn wave_count(&self) -> u32 {
        self.waves
    }

    /// The tasks of a wave.
    pub(super) fn of_wave(&self, wave: u32) -> &[TaskIndex] {
        let starts = &self.wave_starts;
        let Some(&start) = starts.get(wave as usize - 1) else { return &[] };
        &self.by_wave[start..starts.get(wave as usize).copied().unwrap_or(self.by_wave.len())]
    }
}

/// The number of one of few things, which is added if it is new.
pub(super) fn number_of<T, Q>(known: &mut Set<T>, one: &Q) -> usize
where
    T: Borrow<Q> + Hash + Eq,
    Q: ToOwned<Owned = T> + Hash + Eq + ?Sized,
{
    known.get_index_of(one).unwrap_or_else(|| known.insert_full(one.to_owned()).0)
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

impl Chain {
    /// Those who may do the next attempt, with their numbers, the one that is wanted first.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (u32, &Choice)> {
        let is_wanted = |(number, _): &(u32, &Choice)| self.only.is_none_or(|only| only == *number);
        (0..).zip(&self.choices).filter(is_wanted)
    }

    /// The one of this number; what is not there any more is as before.
    pub(super) fn choice(&self, number: u32) -> &Choice {
        self.choices.get(number as usize).unwrap_or(&self.choices[0])
    }
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

fn rank(policy: &Policy, turn: (u32, WaveTurn), priority: Priority, graph: &Graph, task: TaskIndex) -> Rank {
    let turn = (policy.cadence == Cadence::Wave).then_some(turn);
    Rank::new(turn, priority, policy.learned.remaining(graph, task), task)
}
