//! The graph against slow and obvious oracles, on small random graphs, and against its own depth on large ones.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;
use team_executor_core::{Cycle, Edge, Graph, Problem, RoleName, Task, TaskId, TaskIndex};

/// Tasks `T0`, `T1`, …, and for each the tasks that it waits for.
fn tasks(dependencies: &[Vec<usize>]) -> Vec<Task> {
    let role = RoleName::parse("developer").unwrap();
    let ids: Vec<_> = (0..dependencies.len()).map(|n| TaskId::parse(&format!("T{n}")).unwrap()).collect();
    let task = |(id, on): (&TaskId, &Vec<usize>)| Task {
        dependencies: on.iter().map(|on| ids[*on].clone()).collect(),
        ..Task::new(id.clone(), role.clone())
    };
    ids.iter().zip(dependencies).map(task).collect()
}

/// Who reaches whom by at least one dependency, without the cut ones.
fn reachable(dependencies: &[Vec<usize>], cut: &[Edge]) -> Vec<Vec<bool>> {
    let n = dependencies.len();
    let mut reach = vec![vec![false; n]; n];
    for (task, list) in dependencies.iter().enumerate() {
        for (nth, on) in list.iter().enumerate() {
            reach[task][*on] |= !cut.contains(&edge(task, nth));
        }
    }
    for via in 0..n {
        for from in 0..n {
            for to in 0..n {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
        }
    }
    reach
}

fn edge(task: usize, nth: usize) -> Edge {
    Edge { task: TaskIndex(task as u32), nth: nth as u32 }
}

/// The task that an edge waits for.
fn target(dependencies: &[Vec<usize>], edge: Edge) -> usize {
    dependencies[edge.task.get()][edge.nth as usize]
}

/// The length of the shortest cycle through any of these tasks, by powers of the adjacency matrix.
fn shortest_cycle(dependencies: &[Vec<usize>], knot: &[usize]) -> Option<usize> {
    let n = dependencies.len();
    let mut ends: Vec<Vec<bool>> = (0..n).map(|from| (0..n).map(|to| to == from).collect()).collect();
    for length in 1..=n {
        for row in &mut ends {
            let from = std::mem::replace(row, vec![false; n]);
            for via in (0..n).filter(|via| from[*via]) {
                for on in &dependencies[via] {
                    row[*on] = true;
                }
            }
        }
        if knot.iter().any(|task| ends[*task][*task]) {
            return Some(length);
        }
    }
    None
}

/// The size of the smallest cut: over all orders of the knot, the fewest edges that go backwards. Built up from the
/// best orders of all smaller sets of tasks.
fn smallest_cut(dependencies: &[Vec<usize>], knot: &[usize]) -> usize {
    let mut fewest = vec![0; 1 << knot.len()];
    for set in 1..fewest.len() {
        let members = || (0..knot.len()).filter(|at| set >> at & 1 == 1);
        let with_last = |last: usize| {
            let backwards = members().filter(|at| dependencies[knot[last]].contains(&knot[*at])).count();
            fewest[set & !(1 << last)] + backwards
        };
        fewest[set] = members().map(with_last).min().unwrap();
    }
    fewest[fewest.len() - 1]
}

fn breaks(dependencies: &[Vec<usize>], knot: &[usize], cut: &[Edge]) -> bool {
    let reach = reachable(dependencies, cut);
    knot.iter().all(|task| !reach[*task][*task])
}

fn cycles(problems: &[Problem]) -> Vec<&Cycle> {
    problems.iter().filter_map(|problem| if let Problem::Cycle(cycle) = problem { Some(cycle) } else { None }).collect()
}

/// Checks everything that is said about the knots of a graph; with `small`, also that no smaller cut exists.
fn check_cycles(dependencies: &[Vec<usize>], problems: &[Problem], small: bool) -> Result<(), TestCaseError> {
    let reach = reachable(dependencies, &[]);
    let mut knots: Vec<Vec<usize>> = (0..dependencies.len())
        .filter(|task| reach[*task][*task])
        .map(|task| (0..dependencies.len()).filter(|other| reach[task][*other] && reach[*other][task]).collect())
        .collect();
    knots.sort();
    knots.dedup();
    let found = cycles(problems);
    prop_assert_eq!(found.len(), knots.len());
    for (cycle, knot) in found.into_iter().zip(&knots) {
        prop_assert_eq!(cycle.tasks, knot.len());
        prop_assert_eq!(Some(cycle.path.len()), shortest_cycle(dependencies, knot));
        prop_assert!(cycle.path.iter().all(|edge| knot.contains(&edge.task.get())));
        prop_assert_eq!(cycle.path[0].task, cycle.path.iter().map(|edge| edge.task).min().unwrap());
        for (edge, next) in cycle.path.iter().zip(cycle.path.iter().cycle().skip(1)) {
            prop_assert_eq!(target(dependencies, *edge), next.task.get());
        }
        prop_assert!(cycle.cut.is_sorted());
        prop_assert!(breaks(dependencies, knot, &cycle.cut));
        if small {
            prop_assert!(cycle.cut_is_smallest);
            prop_assert_eq!(cycle.cut.len(), smallest_cut(dependencies, knot));
        }
    }
    Ok(())
}

/// For each task, a list of other tasks, each once.
fn graphs(tasks: std::ops::Range<usize>, edges: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    tasks.prop_flat_map(move |n| {
        prop::collection::vec((0..n.max(1), 0..n.max(1)), 0..=edges).prop_map(move |pairs| {
            let mut lists = vec![Vec::new(); n];
            for (task, on) in pairs.into_iter().filter(|(task, on)| task != on && *task.max(on) < n) {
                if !lists[task].contains(&on) {
                    lists[task].push(on);
                }
            }
            lists
        })
    })
}

/// The same without cycles: everything waits for earlier tasks of a shuffled list.
fn graphs_without_cycles(tasks: usize, edges: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let order = Just((0..tasks).collect::<Vec<_>>()).prop_shuffle();
    (graphs(0..tasks, edges), order).prop_map(|(mut lists, order)| {
        for (task, list) in lists.iter_mut().enumerate() {
            list.retain(|on| order[*on] < order[task]);
        }
        lists
    })
}

/// The longest path in a graph without cycles, by walking all of them.
fn longest(next: &dyn Fn(usize) -> Vec<usize>, from: usize) -> u32 {
    1 + next(from).into_iter().map(|on| longest(next, on)).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// R: W-04
    #[test]
    fn small_graphs_have_a_graph_or_cycles(dependencies in graphs(0..8, 14)) {
        let sealed = Graph::seal(&tasks(&dependencies));
        let reach = reachable(&dependencies, &[]);
        prop_assert_eq!(sealed.graph.is_none(), (0..dependencies.len()).any(|task| reach[task][task]));
        check_cycles(&dependencies, &sealed.problems, true)?;
    }

    /// R: W-04
    #[test]
    fn dense_graphs_get_a_smallest_cut(dependencies in graphs(7..10, 45)) {
        check_cycles(&dependencies, &Graph::seal(&tasks(&dependencies)).problems, true)?;
    }

    /// R: W-04
    #[test]
    fn larger_graphs_have_a_graph_or_cycles(dependencies in graphs(20..30, 60)) {
        let sealed = Graph::seal(&tasks(&dependencies));
        check_cycles(&dependencies, &sealed.problems, false)?;
    }

    /// R: W-04
    #[test]
    fn waves_and_paths_are_those_of_all_walks(dependencies in graphs_without_cycles(9, 16)) {
        let n = dependencies.len();
        let sealed = Graph::seal(&tasks(&dependencies));
        prop_assert_eq!(&sealed.problems, &[]);
        let graph = sealed.graph.unwrap();
        let dependents = |task: usize| (0..n).filter(|other| dependencies[*other].contains(&task)).collect::<Vec<_>>();
        for task in 0..n {
            let index = TaskIndex(task as u32);
            prop_assert_eq!(graph.wave(index), longest(&|task| dependencies[task].clone(), task));
            prop_assert_eq!(graph.remaining(index), longest(&dependents, task));
            prop_assert_eq!(graph.dependencies(index).iter().map(|t| t.get()).collect::<Vec<_>>(), dependencies[task].clone());
            prop_assert_eq!(graph.dependents(index).iter().map(|t| t.get()).collect::<Vec<_>>(), dependents(task));
            prop_assert_eq!(graph.index_of(&format!("T{task}")), Some(index));
        }
        let mut order: Vec<_> = (0..n as u32).map(TaskIndex).collect();
        order.sort_by_key(|task| (graph.wave(*task), *task));
        prop_assert_eq!(graph.order(), order);
        prop_assert_eq!(graph.wave_count(), (0..n as u32).map(|t| graph.wave(TaskIndex(t))).max().unwrap_or(0));
        prop_assert_eq!(graph.edge_count(), dependencies.iter().map(Vec::len).sum::<usize>());
        prop_assert_eq!((graph.len(), graph.is_empty()), (n, n == 0));
    }
}

proptest! {
    /// What is added behind a sealed graph is the same as if all had been sealed.
    #[test]
    fn extended_graph_is_the_sealed_one(dependencies in graphs_without_cycles(9, 16), first in 0..9_usize, half in 0..9_usize) {
        // Each task waits for tasks before it only.
        let n = dependencies.len();
        let backwards: Vec<Vec<usize>> = (0..n).map(|task| dependencies[task].iter().copied().filter(|on| *on < task).collect()).collect();
        let (all, first) = (tasks(&backwards), first.min(n));
        let half = half.clamp(first, n.max(first));
        let sealed = Graph::seal(&all).graph.unwrap();
        let mut graph = Graph::seal(&all[..first]).graph.unwrap();
        prop_assert!(graph.extend(&all[first..half]));
        let before = graph.clone();
        prop_assert!(!graph.extend(all[half..].iter().chain(&all[..1.min(n)])) || n == 0, "one is there already");
        for (now, then) in (0..half as u32).map(|task| (graph.dependents(TaskIndex(task)), before.dependents(TaskIndex(task)))) {
            prop_assert_eq!(now, then);
        }
        prop_assert!(graph.extend(&all[half..]));
        prop_assert_eq!((graph.len(), graph.edge_count(), graph.wave_count()), (n, sealed.edge_count(), sealed.wave_count()));
        prop_assert_eq!(graph.order(), sealed.order());
        for task in (0..n as u32).map(TaskIndex) {
            prop_assert_eq!(graph.dependencies(task), sealed.dependencies(task));
            prop_assert_eq!(graph.dependents(task), sealed.dependents(task));
            prop_assert_eq!((graph.wave(task), graph.depth(task)), (sealed.wave(task), sealed.depth(task)));
            prop_assert_eq!(graph.index_of(&format!("T{}", task.0)), Some(task));
        }
    }
}

/// R: W-04
#[test]
fn a_chain_of_100_000_tasks_is_an_ordinary_session() {
    let chain: Vec<Vec<usize>> = (0..100_000_usize).map(|n| n.checked_sub(1).into_iter().collect()).collect();
    let graph = Graph::seal(&tasks(&chain)).graph.unwrap();
    assert_eq!(graph.wave_count(), 100_000);
    assert_eq!(graph.remaining(TaskIndex(0)), 100_000);
}

/// R: W-04
#[test]
fn ring_of_100_000_tasks_is_cut_against_the_file_order() {
    let ring: Vec<Vec<usize>> = (0..100_000).map(|n| vec![(n + 99_999) % 100_000]).collect();
    let sealed = Graph::seal(&tasks(&ring));
    assert!(sealed.graph.is_none());
    let [cycle] = cycles(&sealed.problems)[..] else { panic!("one cycle") };
    assert_eq!((cycle.tasks, cycle.path.len()), (100_000, 100_000));
    assert_eq!((cycle.path[0], cycle.path[1]), (edge(0, 0), edge(99_999, 0)));
    assert_eq!((cycle.cut.clone(), cycle.cut_is_smallest), (vec![edge(0, 0)], true));
}

/// R: M-06
#[test]
fn two_tasks_that_wait_for_each_other_are_cut_at_the_later_edge() {
    let sealed = Graph::seal(&tasks(&[vec![], vec![0, 2], vec![0, 1]]));
    let cycle = Cycle { path: vec![edge(1, 1), edge(2, 1)], tasks: 2, cut: vec![edge(2, 1)], cut_is_smallest: true };
    assert_eq!(sealed.problems, [Problem::Cycle(cycle)]);
}

/// R: W-04
#[test]
fn large_tangle_is_cut_and_a_small_one_keeps_its_proof() {
    let mut tangle: Vec<Vec<usize>> = (0..600).map(|n| vec![(n + 1) % 600, n * n % 599, n * 7 % 593]).collect();
    for (n, list) in tangle.iter_mut().enumerate() {
        list.retain(|on| *on != n);
        list.sort_unstable();
        list.dedup();
    }
    tangle.extend([vec![601], vec![600]]);
    let sealed = Graph::seal(&tasks(&tangle));
    let [cycle, small] = cycles(&sealed.problems)[..] else { panic!("two cycles") };
    assert_eq!((small.tasks, small.cut_is_smallest), (2, true));
    assert_eq!((cycle.tasks, cycle.cut_is_smallest), (600, false));
    let mut left = tasks(&tangle);
    for edge in small.cut.iter().chain(cycle.cut.iter().rev()) {
        left[edge.task.get()].dependencies.remove(edge.nth as usize);
    }
    assert_eq!(Graph::seal(&left).problems, []);
    assert_eq!(Graph::seal(&tasks(&tangle)).problems, sealed.problems, "the same answer every time");
}
