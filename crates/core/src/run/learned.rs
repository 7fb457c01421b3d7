//! How long what hangs on a task is expected to take, where it is known what tasks like it took.

use std::sync::Arc;

use crate::graph::{Graph, TaskIndex};

/// The longest path that starts in each task, in expected milliseconds. Where nothing is known tasks count alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    paths: Arc<[u32]>,
    /// Of a task that was added since.
    typical: u32,
}

impl Learned {
    /// From how long each task of a graph is expected to take, in milliseconds.
    pub fn new(graph: &Graph, expected: &[u32]) -> Self {
        let mut paths: Vec<u32> = expected.to_vec();
        for task in graph.order().iter().rev() {
            let then = graph.dependents(*task).iter().filter_map(|next| paths.get(next.get()).copied()).max();
            if let Some(own) = paths.get_mut(task.get()) {
                *own = own.saturating_add(then.unwrap_or(0));
            }
        }
        let sum: u64 = expected.iter().map(|one| u64::from(*one)).sum();
        let typical = u32::try_from(sum / (expected.len().max(1) as u64)).unwrap_or(u32::MAX);
        Self { paths: paths.into(), typical }
    }

    /// How much hangs on a task, itself included: in time, or in tasks.
    pub(super) fn remaining(&self, graph: &Graph, task: TaskIndex) -> u32 {
        let tasks = graph.remaining(task);
        match self.paths.get(task.get()) {
            Some(path) => *path,
            None if self.paths.is_empty() => tasks,
            None => self.typical.saturating_mul(tasks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effect, Input, Policy, Run};
    use super::*;
    use crate::ids::{RoleName, TaskId};
    use crate::task::Task;
    use crate::time::Timestamp;

    /// `a -> b -> c` are short, `long` is longer than all of them together.
    fn first(expected: Option<[u32; 4]>) -> TaskIndex {
        let task = |id: &str, after: &[&str]| Task {
            dependencies: after.iter().map(|id| TaskId::parse(id).unwrap()).collect(),
            ..Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap())
        };
        let tasks = [task("a", &[]), task("b", &["a"]), task("c", &["b"]), task("long", &[])];
        let graph = Graph::seal(&tasks).graph.unwrap();
        let learned = expected.map(|expected| Learned::new(&graph, &expected)).unwrap_or_default();
        let mut run = Run::new(&tasks, graph, Policy { slots: 1, learned, ..Policy::default() }).unwrap();
        let step = run.step(Input::Start { now: Timestamp::from_micros(0) });
        let started = step.effects.iter().find_map(|effect| match effect {
            Effect::Spawn { work, .. } => Some(work.task),
            _ => None,
        });
        started.unwrap()
    }

    #[test]
    fn longest_expected_path_starts_first_where_it_is_known() {
        assert_eq!(first(None), TaskIndex(0), "three tasks are more than one");
        assert_eq!(first(Some([10, 10, 10, 31])), TaskIndex(3));
        assert_eq!(first(Some([10, 10, 12, 31])), TaskIndex(0));
        assert_eq!(first(Some([u32::MAX; 4])), TaskIndex(0));
    }

    #[test]
    fn task_that_was_added_counts_as_a_typical_one() {
        let tasks = [Task::new(TaskId::parse("a").unwrap(), RoleName::parse("r").unwrap())];
        let graph = Graph::seal(&tasks).graph.unwrap();
        let learned = Learned::new(&graph, &[40]);
        assert_eq!((learned.remaining(&graph, TaskIndex(0)), learned.remaining(&graph, TaskIndex(7))), (40, 40));
    }
}
