use std::cmp::Reverse;
use std::collections::BinaryHeap;

use team_executor_core::run::{Effect, Input, Learned, Outcome, Policy, Run, WorkEnded};
use team_executor_core::{Millis, RoleName, Task, TaskId, Timestamp};

use super::*;

/// Numbers that look like chance (SplitMix64).
struct Chance(u64);

impl Chance {
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const MEANS: [f64; 3] = [60_000.0, 300_000.0, 20_000.0];

/// Builders in six chains beside each other, and a short test behind each: roles take very different times.
fn tasks() -> (Vec<Task>, Vec<usize>) {
    let (mut tasks, mut roles) = (Vec::new(), Vec::new());
    let mut add = |id: String, role: usize, after: Option<String>| {
        let dependencies = after.iter().map(|id| TaskId::parse(id).unwrap()).collect();
        let task = Task::new(TaskId::parse(&id).unwrap(), RoleName::parse(&format!("r{role}")).unwrap());
        tasks.push(Task { dependencies, ..task });
        roles.push(role);
    };
    add("P".to_owned(), 0, None);
    for nth in 0..48 {
        add(format!("B{nth}"), 1, Some(if nth < 6 { "P".to_owned() } else { format!("B{}", nth - 6) }));
        add(format!("T{nth}"), 2, Some(format!("B{nth}")));
    }
    (tasks, roles)
}

/// Runs it, and gives what was said to be left when a third of the tasks were over, and what was.
fn at_a_third(seed: u64, is_known: bool) -> (f64, f64) {
    let (tasks, roles) = tasks();
    let graph = Graph::seal(&tasks).graph.unwrap();
    let mut chance = Chance(seed);
    let takes: Vec<u64> = roles.iter().map(|role| (MEANS[*role] * (0.5 + chance.part())) as u64).collect();
    let expected: Vec<u32> = roles.iter().map(|role| MEANS[*role] as u32).collect();
    let expected = if is_known { expected } else { Vec::new() };
    let mut left = Left::new(&graph, &expected);
    left.begin(&vec![TaskStatus::Pending; tasks.len()]);
    let slots = 3;
    let learned = if is_known { Learned::new(&graph, &expected) } else { Learned::default() };
    let mut run = Run::new(&tasks, graph, Policy { slots, learned, ..Policy::default() }).unwrap();
    let (mut now, mut ends, mut running) = (Timestamp::from_micros(0), BinaryHeap::new(), Vec::new());
    let (mut said, mut over) = (None, 0);
    let seconds = |from: Timestamp, to: Timestamp| (to.as_micros() - from.as_micros()) as f64 / 1e6;
    let mut input = Input::Start { now };
    loop {
        for effect in run.step(input).effects {
            if let Effect::Spawn { work, .. } = effect {
                left.wait(work.task, false);
                running.push((work.task, now));
                ends.push(Reverse((now.after(Millis(takes[work.task.get()])), work)));
            }
        }
        if said.is_none() && over * 3 >= tasks.len() {
            let at_work: Vec<_> =
                running.iter().map(|(task, since)| (*task, Duration::from_secs_f64(seconds(*since, now)))).collect();
            said = left.left(&at_work, slots).map(|left| (left.as_secs_f64(), now));
        }
        let Some(Reverse((at, work))) = ends.pop() else { break };
        now = at;
        over += 1;
        let nth = running.iter().position(|(task, _)| *task == work.task).unwrap();
        let (task, since) = running.remove(nth);
        left.measure(task, Duration::from_secs_f64(seconds(since, now)));
        let outcome = Outcome::Completed { findings: None, review: None };
        input = Input::Ended { now, ended: WorkEnded { work, outcome } };
    }
    let (said, at) = said.unwrap();
    (said, seconds(at, now))
}

/// R: U-03
#[test]
fn time_left_with_a_history_is_mostly_right() {
    let right = |is_known| {
        (0..100)
            .filter(|seed| {
                let (said, actual) = at_a_third(*seed, is_known);
                (said - actual).abs() <= actual * 0.2
            })
            .count()
    };
    let (known, unknown) = (right(true), right(false));
    assert!(known > 80 && known > unknown, "{known} of 100 within a fifth, without a history {unknown}");
}

#[test]
fn time_left_is_known_from_the_begin_where_times_are() {
    let (tasks, roles) = tasks();
    let graph = Graph::seal(&tasks).graph.unwrap();
    let statuses = vec![TaskStatus::Pending; tasks.len()];
    let of = |expected: &[u32]| {
        let mut left = Left::new(&graph, expected);
        left.begin(&statuses);
        left.left(&[], 100)
    };
    assert_eq!(of(&[]), None);
    let expected: Vec<u32> = roles.iter().map(|role| MEANS[*role] as u32).collect();
    assert_eq!(of(&expected), Some(Duration::from_secs(60 + 8 * 300 + 20)), "the longest chain");
    assert_eq!(of(&expected[1..]), None, "times of other tasks");
}

/// R: U-04
#[test]
fn expected_future_begins_with_running_tasks() {
    let task = |id: &str, after: Option<&str>| {
        let task = Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap());
        Task { dependencies: after.iter().map(|id| TaskId::parse(id).unwrap()).collect(), ..task }
    };
    let tasks = [task("A", None), task("B", Some("A")), task("C", None)];
    let graph = Graph::seal(&tasks).graph.unwrap();
    let mut left = Left::new(&graph, &[10_000, 20_000, 5_000]);
    left.begin(&[TaskStatus::InProgress, TaskStatus::Pending, TaskStatus::Ready]);
    let mut told = Vec::new();
    let running = [(TaskIndex(0), Duration::from_secs(4))];
    left.future(&running, 1, &mut |task, from, to| told.push((task.get(), from.as_secs(), to.as_secs())));
    assert_eq!(told, [(0, 0, 6), (1, 6, 26), (2, 26, 31)], "the longest chain first");
    assert_eq!(left.left(&running, 1), Some(Duration::from_secs(31)));
}
