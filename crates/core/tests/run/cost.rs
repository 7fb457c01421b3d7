//! What the schedule costs: in tasks looked at per event, and in time against the best that any schedule could do.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use team_executor_core::run::{Effect, Ending, Input, Outcome, Policy, Run, Work, WorkEnded};
use team_executor_core::{ExecMode, Graph, RoleName, Task};

use crate::plan::{at, id};

/// Small whole numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Tasks that wait for these.
fn tasks(dependencies: &[Vec<usize>]) -> Vec<Task> {
    let role = RoleName::parse("developer").unwrap();
    let task = |(nth, on): (usize, &Vec<usize>)| Task {
        dependencies: on.iter().map(|on| id(&format!("T{on}"))).collect(),
        ..Task::new(id(&format!("T{nth}")), role.clone())
    };
    dependencies.iter().enumerate().map(task).collect()
}

fn run(tasks: &[Task], policy: Policy) -> Run {
    Run::new(tasks, Graph::seal(tasks).graph.unwrap(), policy).unwrap()
}

/// Runs everything, each task for its duration; gives back when the last one ended.
fn makespan(run: &mut Run, duration: impl Fn(usize) -> i64) -> i64 {
    let mut running: BinaryHeap<Reverse<(i64, Work)>> = BinaryHeap::new();
    let mut now = 0;
    let mut step = run.step(Input::Start { now: at(now) });
    loop {
        for effect in &step.effects {
            match effect {
                Effect::Spawn { work, .. } => running.push(Reverse((now + duration(work.task.get()), *work))),
                Effect::Over { ending: Ending::AllCompleted } => return now,
                other => panic!("{other:?}"),
            }
        }
        let Reverse((end, work)) = running.pop().unwrap();
        now = end;
        let ended = WorkEnded { work, outcome: Outcome::completed(None) };
        step = run.step(Input::Ended { now: at(now), ended });
        assert_eq!(step.refused, None);
    }
}

/// 100,000 tasks in shapes that punish every look at more than the neighbours of a task: no user would wait
/// for 10,000,000,000 looks.
///
/// R: E-02
#[test]
fn a_run_of_100_000_tasks_looks_only_at_neighbours() {
    const N: usize = 100_000;
    let chain: Vec<_> = (0..N).map(|task| (0..task).next_back().into_iter().collect()).collect();
    let wide = vec![Vec::new(); N];
    let hub = |task: usize| match task.cmp(&(N / 2)) {
        Ordering::Less => Vec::new(),
        Ordering::Equal => (0..task).collect(),
        Ordering::Greater => vec![N / 2],
    };
    let hub = (0..N).map(hub).collect();
    for (shape, talk) in [(chain, false), (wide.clone(), false), (wide, true), (hub, false)] {
        let mut tasks = tasks(&shape);
        if talk {
            tasks.iter_mut().for_each(|task| task.exec_mode = ExecMode::Interactive);
        }
        let mut run = run(&tasks, Policy { slots: 16, ..Policy::default() });
        makespan(&mut run, |task| 1 + (task % 7) as i64);
        assert_eq!(run.counts().completed, N);
    }
}

/// Three shapes of 300 tasks.
fn shapes(chance: &mut Chance) -> [(&'static str, Vec<Vec<usize>>); 3] {
    let wide = vec![Vec::new(); 300];
    let layered = |task: usize, chance: &mut Chance| {
        let mut on: Vec<_> = (0..3).map(|_| (task / 60 * 60).saturating_sub(60) + chance.below(60)).collect();
        on.sort_unstable();
        on.dedup();
        if task < 60 { Vec::new() } else { on }
    };
    let layers = (0..300).map(|task| layered(task, chance)).collect();
    let near = |task: usize| task.saturating_sub(40)..task;
    let random = (0..300).map(|task| near(task).filter(|_| chance.below(20) == 0).collect()).collect();
    [("wide", wide), ("layers", layers), ("random", random)]
}

/// The length of the longest path, and the work.
fn measure(dependencies: &[Vec<usize>], durations: &[i64]) -> (i64, i64) {
    let mut ends = vec![0; durations.len()];
    for (task, on) in dependencies.iter().enumerate() {
        ends[task] = durations[task] + on.iter().map(|on| ends[*on]).max().unwrap_or(0);
    }
    (ends.into_iter().max().unwrap_or(0), durations.iter().sum())
}

/// No schedule is faster than the longest path, nor than the work divided by the slots. Without knowing how long tasks
/// take, a run is on average at most a twentieth slower than the longer of these, and never slower than their sum.
///
/// R: E-02
#[test]
fn a_run_takes_hardly_longer_than_any_schedule_must() {
    let mut chance = Chance(7);
    let mut sums: BTreeMap<(&str, u32), i64> = BTreeMap::new();
    for _ in 0..20 {
        for (name, shape) in shapes(&mut chance) {
            for slots in [4, 16] {
                let durations: Vec<_> = (0..300).map(|_| 10 + i64::try_from(chance.below(90)).unwrap()).collect();
                let mut run = run(&tasks(&shape), Policy { slots, ..Policy::default() });
                let took = makespan(&mut run, |task| durations[task]);
                let (path, work) = measure(&shape, &durations);
                let least = path.max(work / i64::from(slots));
                assert!(took >= least && took <= path + work / i64::from(slots), "{name} {slots}");
                *sums.entry((name, slots)).or_default() += took * 1000 / least;
            }
        }
    }
    assert!(sums.values().all(|sum| sum / 20 <= 1050), "per mille of what must be, 20 times: {sums:?}");
}
