//! What one seed stands for: tasks, choices about the run, and which kinds of trouble there are. Each seed switches each
//! kind on or off, so that some meet without the others in their way.

use std::path::PathBuf;

use team_executor_core::run::{
    Agents, Backoff, Budget, Budgets, Cadence, Learned, Measure, NewTask, Policy, TaskPolicy, WaveFailed,
};
use team_executor_core::{
    Complexity, ExecMode, Graph, Millis, Position, Priority, RoleName, RunOn, Session, SessionId, Task, TaskId,
    TaskIndex, TaskStatus,
};

use team_executor_core::SessionStatus;
use team_executor_core::run::AtCheckpoint;
use team_executor_engine::Prices;
use team_executor_engine::control::Checkpoints;
use team_executor_engine::{Options, Workers};
use team_executor_files::Dialect;

use crate::chance::Chance;
use crate::replan::{self, Change, Plan};

/// What one seed stands for.
#[derive(Debug)]
pub struct Scenario {
    /// Where everything comes from.
    pub seed: u64,
    /// The session that is run.
    pub session: Session,
    /// How its tasks hang together.
    pub graph: Graph,
    /// What the program is told of how to run it.
    pub options: Options,
    /// The choices about the run.
    pub policy: Policy,
    /// How long each task is expected to take, in milliseconds; none where that is not known.
    pub expected: Vec<u32>,
    /// Which kinds of trouble there are.
    pub weather: Weather,
    /// How the plan may be changed while it is run.
    pub changes: Vec<Change>,
}

/// Which kinds of trouble there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weather {
    /// The machine can lose power.
    pub power: bool,
    /// Keepers can be killed.
    pub keepers: bool,
    /// The disk can fail, be full, or write less than asked.
    pub disk: bool,
    /// Bits of what is durable can rot.
    pub rot: bool,
    /// The clock can be set.
    pub clock: bool,
    /// Someone asks for things.
    pub requests: bool,
    /// Workers fail, hang and leave things behind.
    pub workers: bool,
    /// A second executor comes by.
    pub intruders: bool,
    /// Workers judge the work of others, deliveries are checked, and people are asked.
    pub judges: bool,
    /// What becomes of each task is the same however often it is tried.
    pub steady: bool,
    /// Workers say what they use, and there are budgets.
    pub money: bool,
    /// Some tasks can be done by several agents.
    pub fallbacks: bool,
}

impl Scenario {
    /// What a seed stands for; nothing if its tasks make no graph, which no seed does.
    pub fn new(seed: u64) -> Option<Self> {
        let mut chance = Chance::new(&[seed, 1]);
        let mut more = Chance::new(&[seed, 5]);
        let weather = Weather { money: more.once_in(3), fallbacks: more.once_in(3), ..Weather::new(&mut chance) };
        let mut tasks = tasks(&mut chance);
        let graph = Graph::seal(&tasks).graph?;
        let mut policy = policy(&mut chance, &weather, tasks.len(), seed);
        if weather.money {
            policy.budgets = budgets(&mut more, &tasks);
            policy.slots = more.pick(&[policy.slots, policy.slots, 8]);
        }
        if weather.fallbacks {
            let tasks = (0..).map(TaskIndex).take(tasks.len());
            policy.fallbacks = tasks.filter_map(|task| Some((task, fallbacks(&mut more)?))).collect();
        }
        let mut other = Chance::new(&[seed, 6]);
        if other.once_in(5) {
            let tasks = (0..).map(TaskIndex).take(tasks.len());
            policy.part = Some(tasks.filter(|_| other.once_in(2)).collect());
        }
        if other.once_in(2) && !weather.steady && policy.cadence == Cadence::Beat && tasks.len() > 2 {
            let first = 1 + other.index(tasks.len() - 1);
            tasks.iter_mut().skip(first).for_each(|task| task.status = TaskStatus::Pending);
            policy.later = (0..).map(TaskIndex).take(tasks.len()).skip(first).collect();
        }
        let mut known = Chance::new(&[seed, 7]);
        let mut expected = Vec::new();
        if known.once_in(3) {
            expected = tasks.iter().map(|_| 1 + known.count(100_000)).collect();
            policy.learned = Learned::new(&graph, &expected);
        }
        policy.agents = agents(&policy, tasks.len());
        let mut changing = Chance::new(&[seed, 8]);
        let may_change = policy.cadence == Cadence::Beat && !weather.steady && changing.once_in(2);
        let changes = if may_change { replan::changes(&mut changing, tasks.len()) } else { Vec::new() };
        let session = Session { tasks, ..Session::new(SessionId::parse("simulated").ok()?) };
        let options = options(&session, &graph, &policy);
        Some(Self { seed, session, graph, options, policy, expected, weather, changes })
    }

    /// The tasks.
    pub fn tasks(&self) -> &[Task] {
        &self.session.tasks
    }

    /// What the agents of a task are called, the one that is wanted first.
    pub fn agents(&self, task: u32) -> Vec<String> {
        self.policy.agents.chains.get(task as usize).cloned().unwrap_or_default()
    }

    /// The plan after the changes whose bits are set.
    pub fn plan(&self, made: u32) -> Plan {
        Plan::make(self.tasks(), &self.changes, made)
    }

    /// A task as it comes to a run that goes on.
    pub fn new_task(&self, policy: &Policy, made: u32, task: usize) -> NewTask {
        let index = TaskIndex(u32::try_from(task).unwrap_or(u32::MAX));
        NewTask {
            task: self.plan(made).tasks[task].clone(),
            policy: policy.tasks.get(&index).copied().unwrap_or_default(),
            fallbacks: policy.fallbacks.get(&index).cloned().unwrap_or_default(),
            agents: self.agents(index.0),
            budget: policy.budgets.tasks.get(&index).copied(),
            role_budget: None,
        }
    }

    /// The name of a task.
    pub fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks.get(task.get()).map_or("", |task| task.id.as_str())
    }
}

/// The options of the program. No person can be asked, and starting a run again resumes it.
fn options(session: &Session, graph: &Graph, policy: &Policy) -> Options {
    Options {
        session: session.clone(),
        graph: graph.clone(),
        dialect: Dialect::TasksCsv,
        folder: PathBuf::new(),
        current: PathBuf::new(),
        exe: PathBuf::new(),
        environment: Vec::new(),
        slots: policy.slots,
        limit: None,
        part: None,
        cadence: policy.cadence,
        retries: policy.retries,
        rounds: policy.rounds,
        proposals: 0,
        checkpoints: Checkpoints { wait: None, unattended: AtCheckpoint::Stop },
        run: None,
        goes_on: true,
        ask: None,
        backoff: policy.backoff,
        fallbacks: policy.fallbacks.clone(),
        quota_wait: policy.quota_wait,
        budgets: policy.budgets.clone(),
        prices: Prices::built_in_and([]),
        tasks: policy.tasks.clone(),
        learned: policy.learned.clone(),
        workers: Workers::default(),
        machine: None,
        chooser: None,
        trees: None,
        allow_network: false,
        at_end: SessionStatus::Completed,
        remembered: None,
    }
}

impl Weather {
    fn new(chance: &mut Chance) -> Self {
        let steady = chance.once_in(3);
        Self {
            power: !chance.once_in(4),
            keepers: chance.once_in(2),
            // A keeper that cannot write fails its attempt, and that is not what the tasks are about.
            disk: chance.once_in(2) && !steady,
            rot: chance.once_in(8),
            clock: chance.once_in(4),
            requests: chance.once_in(3) && !steady,
            workers: !chance.once_in(4),
            intruders: chance.once_in(4),
            judges: chance.once_in(2),
            steady,
            money: false,
            fallbacks: false,
        }
    }
}

fn tasks(chance: &mut Chance) -> Vec<Task> {
    let most = chance.pick(&[3, 5, 8, 8, 25]);
    let count = 1 + chance.index(most);
    let (near, dense) = (chance.once_in(3), 1 + chance.below(4));
    let (odd_rules, before) = (chance.once_in(2), chance.once_in(5));
    let residents: Vec<bool> = (0..4).map(|_| chance.once_in(3)).collect();
    let mut tasks: Vec<Task> = Vec::with_capacity(count);
    for nth in 0..count {
        let role = chance.index(residents.len());
        let (Ok(id), Ok(name)) = (TaskId::parse(&format!("T{nth}")), RoleName::parse(&format!("role{role}"))) else {
            continue;
        };
        let mut dependencies: Vec<TaskId> = Vec::new();
        for _ in 0..chance.below(dense + 1) {
            let on = if near { nth.saturating_sub(1 + chance.index(3)) } else { chance.index(nth) };
            if on < nth && !dependencies.contains(&tasks[on].id) {
                dependencies.push(tasks[on].id.clone());
            }
        }
        let over = [TaskStatus::Completed, TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Skipped];
        tasks.push(Task {
            dependencies,
            priority: chance.pick(Priority::ALL),
            exec_mode: ExecMode::of_role(residents[role]),
            position: chance.pick(Position::ALL),
            run_on: if odd_rules && chance.once_in(3) { chance.pick(RunOn::ALL) } else { RunOn::Success },
            status: if before && chance.once_in(4) { chance.pick(&over) } else { TaskStatus::Pending },
            ..Task::new(id, name)
        });
    }
    tasks
}

fn policy(chance: &mut Chance, weather: &Weather, tasks: usize, seed: u64) -> Policy {
    let pools = 1 + chance.count(3);
    let mut own = std::collections::BTreeMap::new();
    for task in (0..).map(TaskIndex).take(tasks) {
        let retries = chance.once_in(6).then(|| chance.count(3));
        let mut policy = TaskPolicy { retries, pool: chance.count(pools), ..TaskPolicy::default() };
        if weather.judges {
            policy.rounds = chance.once_in(4).then(|| chance.count(3));
            (policy.asks, policy.is_off) = (chance.once_in(8), chance.once_in(10));
            policy.least = chance.once_in(5).then(|| chance.pick(Complexity::ALL));
        }
        own.insert(task, policy);
    }
    let first = chance.pick(&[0, 100, 1000]);
    let jitter = chance.pick(&[0, 50]);
    Policy {
        cadence: chance.pick(Cadence::ALL),
        slots: chance.pick(&[1, 2, 3, 5]),
        retries: chance.count(4),
        interruptions: if weather.steady { 1000 } else { 1 + chance.count(5) },
        backoff: Backoff { first: Millis(first), factor: 2, cap: Millis(4000), jitter },
        wave_failed: chance.pick(WaveFailed::ALL),
        rounds: chance.count(3),
        seed,
        tasks: own,
        ..Policy::default()
    }
}

/// Small ones, so that they are in the way now and then.
fn budgets(chance: &mut Chance, tasks: &[Task]) -> Budgets {
    let of = |chance: &mut Chance| {
        let most = Some(chance.below(40 * tasks.len() as u64));
        match chance.pick(Measure::ALL) {
            Measure::Usd => Budget { usd: most, ..Budget::default() },
            Measure::Tokens => Budget { tokens: most, ..Budget::default() },
            Measure::Turns => Budget { turns: most, ..Budget::default() },
            Measure::Wall => Budget { wall: most, tokens: most, ..Budget::default() },
        }
    };
    let mut budgets = Budgets::default();
    if chance.once_in(2) {
        budgets.run = of(chance);
    }
    for (index, task) in (0..).map(TaskIndex).zip(tasks) {
        if chance.once_in(4) {
            budgets.roles.insert(task.role.clone(), of(chance));
        }
        if chance.once_in(8) {
            budgets.tasks.insert(index, of(chance));
        }
    }
    budgets
}

/// What agents are called: some have several quotas, as one has who uses several models.
fn agents(policy: &Policy, tasks: usize) -> Agents {
    let tasks = (0..).map(TaskIndex).take(tasks);
    let chain = |task: TaskIndex| {
        let own = policy.tasks.get(&task).map_or(0, |own| own.pool);
        let others = policy.fallbacks.get(&task).into_iter().flatten();
        std::iter::once(&own).chain(others).map(|quota| format!("agent{}", quota % 3)).collect()
    };
    let chains: Vec<Vec<String>> = tasks.map(chain).collect();
    Agents { of: (0..chains.len()).collect(), chains }
}

/// Whose quotas others use who can do a task, too, if there are any. The same one may come twice.
fn fallbacks(chance: &mut Chance) -> Option<Vec<u32>> {
    let others = chance.below(4);
    (others > 0).then(|| (0..others).map(|_| chance.count(4)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_graphs_of_every_kind() {
        let all: Vec<_> = (0..300).filter_map(Scenario::new).collect();
        assert_eq!(all.len(), 300);
        let any = |wanted: fn(&Scenario) -> bool| all.iter().any(wanted);
        assert!(any(|s| s.graph.len() == 1) && any(|s| s.graph.len() > 20));
        assert!(any(|s| s.graph.wave_count() > 6) && any(|s| s.graph.len() > 3 && s.graph.wave_count() == 1));
        assert!(any(|s| s.policy.cadence == Cadence::Wave) && any(|s| s.policy.slots == 1));
        assert!(any(|s| s.tasks().iter().any(|task| task.run_on == RunOn::Failure)));
        assert!(any(|s| s.tasks().iter().any(|task| task.status.is_over())));
        assert!(any(|s| s.weather.rot) && any(|s| !s.weather.power));
        assert!(any(|s| s.policy.tasks.values().any(|own| own.asks)) && any(|s| s.policy.rounds == 0));
        assert!(any(|s| s.policy.budgets.run.usd.is_some()) && any(|s| !s.policy.budgets.tasks.is_empty()));
        assert!(any(|s| !s.policy.fallbacks.is_empty() && s.policy.budgets.are_open()));
    }
}
