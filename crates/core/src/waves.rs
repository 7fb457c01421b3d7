//! How deep each task lies: how many tasks must come before it, how many must come after, and which wave a planner gave it.

use crate::graph::TaskIndex;
use crate::lists::Lists;

/// The highest wave that a plan can name; what comes after it can still be counted.
const MOST: u32 = 1 << 30;

/// The depths of all tasks of a graph without cycles.
#[derive(Debug, Clone)]
pub(crate) struct Waves {
    /// Every task after all that it waits for: by wave, then in order of appearance.
    pub(crate) order: Vec<TaskIndex>,
    /// The number of tasks on the longest path that ends in each task.
    pub(crate) depth: Vec<u32>,
    /// The wave of each task: the planned one, or a later one where its dependencies need that.
    pub(crate) wave: Vec<u32>,
    /// The number of tasks on the longest path that starts in each task.
    pub(crate) remaining: Vec<u32>,
    /// The highest wave, or 0 where there is no task.
    pub(crate) count: u32,
}

impl Waves {
    /// Nothing if some tasks wait for each other. The planned waves are counted without gaps.
    pub(crate) fn layer(
        dependencies: &Lists<TaskIndex>,
        dependents: &Lists<TaskIndex>,
        planned: &[Option<u32>],
    ) -> Option<Self> {
        let tasks = || (0..).map(TaskIndex).take(dependencies.len());
        let mut waiting_for: Vec<usize> = tasks().map(|task| dependencies.get(task.0).len()).collect();
        let mut depth = vec![1; dependencies.len()];
        let mut wave: Vec<u32> =
            tasks().map(|task| planned.get(task.get()).copied().flatten().unwrap_or(1).clamp(1, MOST)).collect();
        let mut order: Vec<_> = tasks().filter(|task| waiting_for[task.get()] == 0).collect();
        let mut next = 0;
        while let Some(&task) = order.get(next) {
            next += 1;
            for &dependent in dependents.get(task.0) {
                for levels in [&mut depth, &mut wave] {
                    levels[dependent.get()] = levels[dependent.get()].max(levels[task.get()] + 1);
                }
                waiting_for[dependent.get()] -= 1;
                if waiting_for[dependent.get()] == 0 {
                    order.push(dependent);
                }
            }
        }
        if order.len() < dependencies.len() {
            return None;
        }
        close_gaps(&mut wave);
        order.sort_by_key(|task| (wave[task.get()], *task));
        let mut remaining = vec![1; dependencies.len()];
        for task in order.iter().rev() {
            for dependency in dependencies.get(task.0) {
                remaining[dependency.get()] = remaining[dependency.get()].max(remaining[task.get()] + 1);
            }
        }
        let count = order.last().map_or(0, |task| wave[task.get()]);
        Some(Self { order, depth, wave, remaining, count })
    }
}

/// Counts waves from 1 without gaps: a number that no task has is no wave.
fn close_gaps(waves: &mut [u32]) {
    let mut numbers = waves.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    for wave in waves {
        *wave = numbers.binary_search(wave).map_or(*wave, |at| u32::try_from(at + 1).unwrap_or(u32::MAX));
    }
}
