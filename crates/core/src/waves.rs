//! How deep each task lies: how many tasks must come before it, and how many must come after.

use crate::graph::TaskIndex;
use crate::lists::Lists;

/// The depths of all tasks of a graph without cycles.
#[derive(Debug, Clone)]
pub(crate) struct Waves {
    /// Every task after all that it waits for: by wave, then in order of appearance.
    pub(crate) order: Vec<TaskIndex>,
    /// The number of tasks on the longest path that ends in each task.
    pub(crate) wave: Vec<u32>,
    /// The number of tasks on the longest path that starts in each task.
    pub(crate) remaining: Vec<u32>,
    /// The highest wave, or 0 where there is no task.
    pub(crate) count: u32,
}

impl Waves {
    /// Nothing if some tasks wait for each other.
    pub(crate) fn of(dependencies: &Lists<TaskIndex>, dependents: &Lists<TaskIndex>) -> Option<Self> {
        let tasks = || (0..).map(TaskIndex).take(dependencies.len());
        let mut waiting_for: Vec<usize> = tasks().map(|task| dependencies.get(task.0).len()).collect();
        let mut wave = vec![1; dependencies.len()];
        let mut order: Vec<_> = tasks().filter(|task| waiting_for[task.get()] == 0).collect();
        let mut next = 0;
        while let Some(&task) = order.get(next) {
            next += 1;
            for &dependent in dependents.get(task.0) {
                wave[dependent.get()] = wave[dependent.get()].max(wave[task.get()] + 1);
                waiting_for[dependent.get()] -= 1;
                if waiting_for[dependent.get()] == 0 {
                    order.push(dependent);
                }
            }
        }
        if order.len() < dependencies.len() {
            return None;
        }
        order.sort_by_key(|task| (wave[task.get()], *task));
        let mut remaining = vec![1; dependencies.len()];
        for task in order.iter().rev() {
            for dependency in dependencies.get(task.0) {
                remaining[dependency.get()] = remaining[dependency.get()].max(remaining[task.get()] + 1);
            }
        }
        let count = order.last().map_or(0, |task| wave[task.get()]);
        Some(Self { order, wave, remaining, count })
    }
}
