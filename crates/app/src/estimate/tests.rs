use team_executor_core::{RoleName, SessionId, Task, TaskId, TaskIndex};
use team_executor_engine::Workers;

use super::drawing::Chance;
use super::*;
use crate::history::{Doer, History};

/// What attempts of a role really take.
type Truth = fn(role: usize, &mut Chance) -> Sample;

const ROLES: [&str; 3] = ["planner", "builder", "tester"];

fn attempt(ms: f64, is_completed: bool) -> Sample {
    Sample { ms: ms as u64, tokens: Some(ms as u64), cost_micros: Some(ms as u64 * 3), is_completed }
}

/// Roles of different speed, and little chance.
fn steady(role: usize, chance: &mut Chance) -> Sample {
    let mean = [60_000.0, 300_000.0, 120_000.0][role];
    attempt(mean * (0.3 * chance.normal()).exp(), true)
}

/// Some attempts take ten times as long as others.
fn heavy_tailed(role: usize, chance: &mut Chance) -> Sample {
    let least = [20_000.0, 60_000.0, 30_000.0][role];
    attempt((least * (1.0 - chance.part()).powf(-1.0 / 1.8)).min(least * 60.0), true)
}

/// A fifth fails and is tried again; a failure is short.
fn failing(role: usize, chance: &mut Chance) -> Sample {
    let is_completed = chance.part() > 0.2;
    let sample = steady(role, chance);
    attempt(sample.ms as f64 * if is_completed { 1.0 } else { 0.3 }, is_completed)
}

/// A plan, builders beside each other in layers, and a test behind each.
fn session() -> (Session, Graph, Vec<usize>) {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    let mut roles = Vec::new();
    let mut add = |id: String, role: usize, after: Vec<String>| {
        let dependencies = after.iter().map(|id| TaskId::parse(id).unwrap()).collect();
        let task = Task::new(TaskId::parse(&id).unwrap(), RoleName::parse(ROLES[role]).unwrap());
        session.tasks.push(Task { dependencies, ..task });
        roles.push(role);
    };
    add("PLAN".to_owned(), 0, Vec::new());
    for nth in 0..8 {
        let after = if nth < 4 { "PLAN".to_owned() } else { format!("B{}", nth - 4) };
        add(format!("B{nth}"), 1, vec![after]);
        add(format!("T{nth}"), 2, vec![format!("B{nth}")]);
    }
    let graph = Graph::seal(&session.tasks).graph.unwrap();
    (session, graph, roles)
}

/// What really happens.
struct Real<'a> {
    truth: Truth,
    chance: &'a mut Chance,
}

impl Fate for Real<'_> {
    fn draw(&mut self, role: usize) -> Sample {
        (self.truth)(role, self.chance)
    }
}

fn terms() -> Terms {
    Terms { slots: 3, cadence: Cadence::Beat, retries: 3 }
}

/// How often of a hundred times what really happens lies within what a history of so many attempts a role makes expect.
fn hits(truth: Truth, samples: usize) -> (u32, u32) {
    let (session, graph, roles) = session();
    let (mut in_time, mut in_cost) = (0, 0);
    for seed in 0..100 {
        let mut chance = Chance::new(seed * 7919 + 1);
        let mut history = History::default();
        for (role, name) in ROLES.iter().enumerate() {
            let doer = Doer { role: (*name).to_owned(), agent: "a".to_owned(), model: None };
            history.add((0..samples).map(|_| (doer.clone(), truth(role, &mut chance))));
        }
        let known = history.of_tasks(&session, &Workers::default()).unwrap();
        let estimate = estimate(&session, &graph, terms(), &known).unwrap();
        assert_eq!((estimate.samples, estimate.guessed_tasks), (samples * 3, 0));
        let learned = Learned::new(&graph, &known.expected());
        let policy = Policy { slots: terms().slots, retries: terms().retries, learned, ..Policy::default() };
        let run = Run::new(&session.tasks, graph.clone(), policy).unwrap();
        let by_role = Known { pools: Vec::new(), of: roles.clone() };
        let actual = simulate(run, &by_role, &mut Real { truth, chance: &mut chance });
        let is_within = |range: Range, actual: u64| (range.low..=range.high).contains(&actual);
        in_time += u32::from(is_within(estimate.time_ms, actual.ms));
        in_cost += u32::from(is_within(estimate.cost_micros.unwrap(), actual.cost_micros));
    }
    (in_time, in_cost)
}

/// R: U-03
#[test]
fn what_happens_lies_within_the_range_of_the_estimate() {
    for (name, truth, samples) in
        [("steady", steady as Truth, 10), ("heavy-tailed", heavy_tailed, 40), ("failing", failing, 30)]
    {
        let (time, cost) = hits(truth, samples);
        assert!(time >= 80 && cost >= 80, "{name}: {time} and {cost} of 100");
    }
}

#[test]
fn very_many_tasks_are_not_estimated() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    let task = |nth: usize| Task::new(TaskId::parse(&nth.to_string()).unwrap(), RoleName::parse("r").unwrap());
    session.tasks = (0..=MOST).map(task).collect();
    let graph = Graph::seal(&session.tasks).graph.unwrap();
    let known = Known { pools: Vec::new(), of: vec![0; session.tasks.len()] };
    assert_eq!(estimate(&session, &graph, terms(), &known), None);
}

/// A range that everything lies within says nothing.
#[test]
fn range_of_a_steady_history_is_narrow() {
    let (session, graph, _) = session();
    let mut chance = Chance::new(3);
    let mut history = History::default();
    for (role, name) in ROLES.iter().enumerate() {
        let doer = Doer { role: (*name).to_owned(), agent: "a".to_owned(), model: None };
        history.add((0..30).map(|_| (doer.clone(), steady(role, &mut chance))));
    }
    let known = history.of_tasks(&session, &Workers::default()).unwrap();
    let Range { low, likely, high } = estimate(&session, &graph, terms(), &known).unwrap().time_ms;
    assert!(low < likely && likely < high && high < low * 2, "{low} {likely} {high}");
    // The same again is the same, and what is over takes no time.
    let mut done = session.clone();
    done.tasks.iter_mut().for_each(|task| task.status = team_executor_core::TaskStatus::Completed);
    assert_eq!(estimate(&done, &graph, terms(), &known), None);
    assert_eq!(estimate(&session, &graph, terms(), &known), estimate(&session, &graph, terms(), &known));
    assert!(graph.dependencies(TaskIndex(1)).len() == 1);
}
