//! What a session costs grows with its tasks and edges and not faster. Sixteen times as many tasks may cost twice
//! sixteen as much processor time, for caches and neighbours; what looks at all tasks for each of them costs 256 times as much.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use team_executor_core::run::{Effect, Input, Outcome, Policy, Stage, WorkEnded};
use team_executor_core::{Graph, Plan, Session, Task, Timestamp};
use team_executor_engine::rules;
use team_executor_engine::seam::Conductor;
use team_executor_files::{MemoryFolder, load};
use team_executor_store::{Journal, RealDisk};

const FEW: usize = 2_500;
const TIMES: usize = 16;
const WIDTH: usize = 64;
const NOW: Timestamp = Timestamp::from_micros(1);

/// What each part of a run cost.
#[derive(Debug)]
struct Cost {
    load: Duration,
    plan: Duration,
    run: Duration,
    resume: Duration,
}

/// Layers of tasks, each waiting for up to three of the layer before; or none waits for another.
fn table(tasks: usize, layered: bool) -> String {
    let mut text = String::from("id,title,description,role,deps,wave,status\n");
    for task in 0..tasks {
        let mut on = Vec::new();
        if layered && task >= WIDTH {
            let layer = (task / WIDTH - 1) * WIDTH;
            on.extend((0..=task % 3).map(|nth| format!("T-{}", layer + (task * 7 + nth * 11) % WIDTH)));
            on.sort();
            on.dedup();
        }
        let wave = if layered { task / WIDTH + 1 } else { 1 };
        writeln!(text, "T-{task},t,d,worker,{},{wave},pending", on.join(";")).unwrap();
    }
    text
}

/// The processor time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

fn measured<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = spent();
    let done = work();
    (done, spent() - before)
}

/// Runs all tasks, each as soon as it may, with sixteen workers that end together.
fn run(session: &Session, graph: &Graph, disk: &RealDisk) {
    let policy = Policy { slots: 16, ..Policy::default() };
    let none = std::iter::empty::<&str>();
    let rules = rules(&session.tasks, graph, "linear", policy, none).unwrap();
    let mut conductor = Conductor::new(&session.tasks, rules, Journal::create(disk, "journal").unwrap());
    let mut inputs = vec![Input::Start { now: NOW }];
    while !inputs.is_empty() {
        let effects = conductor.take(inputs, NOW).unwrap().effects.into_iter();
        let ended = |effect| match effect {
            Effect::Spawn { work, .. } => Some(WorkEnded { work, outcome: Outcome::completed(Some("found".into())) }),
            _ => None,
        };
        inputs = effects.filter_map(ended).map(|ended| Input::Ended { now: NOW, ended }).collect();
        conductor.happened();
    }
    conductor.commit(NOW).unwrap();
    assert_eq!(*conductor.rules().stage(), Stage::Finished);
}

fn resume(tasks: &[Task], graph: &Graph, disk: &RealDisk) {
    let (_, history) = Journal::open(disk, "journal").unwrap();
    let records = history.records().map(|record| record.json);
    let rules = rules(tasks, graph, "linear", Policy { slots: 16, ..Policy::default() }, records).unwrap();
    assert_eq!(*rules.stage(), Stage::Finished);
}

fn cost(tasks: usize, layered: bool) -> Cost {
    let folder = MemoryFolder::default().with("tasks.csv", table(tasks, layered));
    let (loaded, load) = measured(|| load(&folder, "S", None));
    let (session, graph) = loaded.session.unwrap();
    assert_eq!(session.tasks.len(), tasks);
    let (_, plan) = measured(|| Plan::make(&session, graph.clone()));
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::open_folder(dir.path()).unwrap();
    let ((), run) = measured(|| run(&session, &graph, &disk));
    let ((), resume) = measured(|| resume(&session.tasks, &graph, &disk));
    Cost { load, plan, run, resume }
}

/// R: X-06
#[test]
fn sixteen_times_as_many_tasks_cost_about_sixteen_times_as_much() {
    for layered in [false, true] {
        // Neighbours may disturb a measurement, but not three of them.
        let mut too_much = String::new();
        let is_linear = (0..3).any(|_| {
            too_much = excess(&cost(FEW, layered), &cost(FEW * TIMES, layered));
            too_much.is_empty()
        });
        assert!(is_linear, "layered {layered}: {too_much}");
    }
}

/// Which parts cost too much for so many tasks.
fn excess(few: &Cost, many: &Cost) -> String {
    let pairs = [
        ("load", few.load, many.load),
        ("plan", few.plan, many.plan),
        ("run", few.run, many.run),
        ("resume", few.resume, many.resume),
    ];
    let mut text = String::new();
    for (part, few, many) in pairs {
        if many >= few.max(Duration::from_millis(5)) * u32::try_from(TIMES * 2).unwrap() {
            write!(text, "{part}: {few:?} for {FEW} tasks, {many:?} for {TIMES} times as many; ").unwrap();
        }
    }
    text
}
