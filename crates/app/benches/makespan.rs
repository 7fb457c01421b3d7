//! What it is worth to know how long tasks take: the makespan of heavy-tailed graphs, over the lower bound that no schedule beats, with
//! all tasks counted alike, with times learned from 30 earlier attempts of each role, and with the exact times.
//!
//! `cargo xtask bench makespan`. The goal: learned times are better on average, and never much worse.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark says what it measured")]

use team_executor_app::estimate::{Fate, simulate};
use team_executor_app::history::{Known, Pool, Sample};
use team_executor_core::run::{Learned, Policy, Run};
use team_executor_core::{Graph, RoleName, Session, SessionId, Task, TaskId, TaskIndex};

const SEEDS: u64 = 60;
const TASKS: usize = 400;
const ROLES: usize = 12;
const KNOWN: usize = 30;

/// Numbers that look like chance (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }

    /// A time with a heavy tail, of at least this.
    fn time(&mut self, least: f64) -> u64 {
        (least * (1.0 - self.part()).powf(-1.0 / 1.5)).min(least * 200.0) as u64
    }
}

/// Every attempt takes the time of its task.
struct Exact<'a>(&'a [u64]);

impl Fate for Exact<'_> {
    fn draw(&mut self, task: usize) -> Sample {
        Sample { ms: self.0[task], is_completed: true, ..Sample::default() }
    }
}

/// One graph, with what its tasks take and what is known of their roles.
struct World {
    tasks: Vec<Task>,
    graph: Graph,
    takes: Vec<u64>,
    learned: Vec<u32>,
}

impl World {
    /// Layers, in which each task waits for some of the layer before; or trees that grow from one task.
    fn new(seed: u64, shape: &str) -> Self {
        let mut chance = Chance(seed);
        let scales: Vec<f64> = (0..ROLES).map(|_| chance.time(1000.0) as f64).collect();
        let role_of: Vec<usize> = (0..TASKS).map(|_| chance.below(ROLES)).collect();
        let width = 20;
        let mut session = Session::new(SessionId::parse("bench").expect("an id"));
        for (nth, role) in role_of.iter().enumerate() {
            let before = match shape {
                "layers" if nth >= width => {
                    let first = (nth / width - 1) * width;
                    (0..2).map(|_| first + chance.below(width)).collect::<Vec<_>>()
                }
                "chains" if nth >= 40 => vec![nth - 40],
                "tree" if nth > 0 => vec![chance.below(nth)],
                _ => Vec::new(),
            };
            let mut before: Vec<_> =
                before.into_iter().map(|nth| TaskId::parse(&format!("T{nth}")).expect("an id")).collect();
            before.sort();
            before.dedup();
            let role = RoleName::parse(&format!("role{role}")).expect("a name");
            let task = Task::new(TaskId::parse(&format!("T{nth}")).expect("an id"), role);
            session.tasks.push(Task { dependencies: before, ..task });
        }
        let graph = Graph::seal(&session.tasks).graph.expect("a graph");
        let takes = role_of.iter().map(|role| chance.time(scales[*role])).collect();
        let mean = |role: usize, chance: &mut Chance| -> u32 {
            let sum: u64 = (0..KNOWN).map(|_| chance.time(scales[role])).sum();
            u32::try_from(sum / KNOWN as u64).unwrap_or(u32::MAX)
        };
        let means: Vec<u32> = (0..ROLES).map(|role| mean(role, &mut chance)).collect();
        let learned = role_of.iter().map(|role| means[*role]).collect();
        Self { tasks: session.tasks, graph, takes, learned }
    }

    fn makespan(&self, slots: u32, learned: Learned) -> f64 {
        let policy = Policy { slots, learned, ..Policy::default() };
        let run = Run::new(&self.tasks, self.graph.clone(), policy).expect("rules");
        // Each task is a kind of its own.
        let known = Known { pools: Vec::<Pool>::new(), of: (0..self.tasks.len()).collect() };
        simulate(run, &known, &mut Exact(&self.takes)).ms as f64
    }

    /// No schedule is shorter than the longest path, nor than all work shared by all slots.
    fn bound(&self, slots: u32) -> f64 {
        let mut paths = self.takes.clone();
        for task in self.graph.order().iter().rev() {
            let then = self.graph.dependents(*task).iter().map(|next| paths[next.get()]).max().unwrap_or(0);
            paths[task.get()] += then;
        }
        let longest = paths.iter().max().copied().unwrap_or(0) as f64;
        longest.max(self.takes.iter().sum::<u64>() as f64 / f64::from(slots))
    }

    fn exact(&self) -> Learned {
        let takes: Vec<u32> = self.takes.iter().map(|ms| u32::try_from(*ms).unwrap_or(u32::MAX)).collect();
        Learned::new(&self.graph, &takes)
    }
}

fn main() {
    println!("makespan over the lower bound, mean of {SEEDS} graphs of {TASKS} tasks");
    println!("{:8} {:>5}  {:>6}  {:>7}  {:>6}  better  worse", "shape", "slots", "alike", "learned", "exact");
    for shape in ["layers", "chains", "tree"] {
        for slots in [4, 8, 16] {
            let (mut sums, mut better, mut worse) = ([0.0; 3], 0, 0);
            for seed in 0..SEEDS {
                let world = World::new(seed, shape);
                assert!(world.graph.index_of("T0") == Some(TaskIndex(0)));
                let bound = world.bound(slots);
                let learned = Learned::new(&world.graph, &world.learned);
                let all =
                    [Learned::default(), learned, world.exact()].map(|known| world.makespan(slots, known) / bound);
                sums.iter_mut().zip(all).for_each(|(sum, one)| *sum += one / SEEDS as f64);
                better += u32::from(all[1] < all[0] * 0.999);
                worse += u32::from(all[1] > all[0] * 1.001);
            }
            println!("{shape:8} {slots:5}  {:6.3}  {:7.3}  {:6.3}  {better:6}  {worse:5}", sums[0], sums[1], sums[2]);
        }
    }
}
