//! What it costs to add a task to a run that goes on, by the number of tasks that the run has, and by those that the new one waits
//! for: the rules learn of it, add it, and start what can start.
//!
//! `cargo xtask bench adding`. The goal: it depends on the dependencies of the task, and not on the size of the run.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark says what it measured")]

use std::time::{Duration, Instant};

use team_executor_core::run::{Input, NewTask, Policy, Run};
use team_executor_core::{Graph, RoleName, Task, TaskId, Timestamp};

const RUNS: [usize; 3] = [1_000, 10_000, 100_000];
const EDGES: [usize; 3] = [1, 10, 100];
/// So many tasks are added one by one; the middle one of their times counts.
const ADDED: usize = 201;
/// A run of ten times as many tasks may cost so much more: caches are smaller than it.
const MOST: f64 = 4.0;

fn task(nth: usize, on: impl Iterator<Item = usize>) -> Task {
    let id = |nth: usize| TaskId::parse(&format!("T{nth}")).expect("an id");
    let role = RoleName::parse("developer").expect("a name");
    Task { dependencies: on.map(id).collect(), ..Task::new(id(nth), role) }
}

/// A run of layers of ten tasks that has begun.
fn begun(count: usize) -> Run {
    let tasks: Vec<Task> = (0..count).map(|nth| task(nth, (nth >= 10).then(|| nth - 10).into_iter())).collect();
    let graph = Graph::seal(&tasks).graph.expect("no cycles");
    let mut run = Run::new(&tasks, graph, Policy::default()).expect("its own graph");
    run.step(Input::Start { now: Timestamp::from_micros(1) });
    run
}

/// How long one more task takes, where it waits for so many.
fn measure(run: &mut Run, count: usize, edges: usize) -> Duration {
    let now = Timestamp::from_micros(2);
    let first = run.graph().len();
    let mut times: Vec<Duration> = (first..first + ADDED)
        .map(|nth| {
            let on = (0..edges).map(|edge| (nth * 7 + edge * 13) % count);
            let new = NewTask::plain(&task(nth, on));
            let began = Instant::now();
            let tasks = run.extend(vec![new], None).expect("it fits");
            let added = run.step(Input::Add { now, tasks });
            run.step(Input::Woke { now });
            let took = began.elapsed();
            assert_eq!(added.refused, None);
            took
        })
        .collect();
    times.sort();
    times[ADDED / 2]
}

fn main() {
    println!("{:>10} {}", "tasks", EDGES.map(|edges| format!("{edges:>12} deps")).join(""));
    let mut all = Vec::new();
    for count in RUNS {
        let mut run = begun(count);
        let times = EDGES.map(|edges| measure(&mut run, count, edges).as_secs_f64() * 1e6);
        println!("{count:>10} {}", times.map(|time| format!("{time:>14.1} µs")).join(""));
        all.push(times);
    }
    for (smaller, larger) in all.iter().zip(all.iter().skip(1)) {
        for (edges, (smaller, larger)) in EDGES.iter().zip(smaller.iter().zip(larger)) {
            assert!(larger < &(smaller * MOST + 5.0), "{edges} dependencies: {smaller:.1} µs, then {larger:.1} µs");
        }
    }
}
