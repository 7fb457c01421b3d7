//! How the plan of a scenario is changed while it is run: a few changes, each of which may have been made or not. Which were made
//! is one number, and what makes a plan the same plan: from it everyone makes the same plan.

use team_executor_core::run::{NextPlan, PlanMark, Run, Stage};
use team_executor_core::{Graph, Task, TaskId, TaskIndex};
use team_executor_engine::seam::Replanned;

use crate::chance::Chance;
use crate::scenario::Scenario;

/// At most so many changes.
const MOST: u64 = 4;

/// A change of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A task waits for an earlier one that it did not wait for, or no longer for one that it waited for.
    Wait {
        /// Which task.
        task: usize,
        /// For which one.
        on: usize,
    },
    /// A task is not there any more.
    Remove(usize),
}

/// A plan after some of the changes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// All tasks that ever were; those that are gone wait for nothing.
    pub tasks: Vec<Task>,
    /// Which are gone.
    pub gone: Vec<bool>,
}

/// Some changes for so many tasks.
pub(crate) fn changes(chance: &mut Chance, tasks: usize) -> Vec<Change> {
    let change = |chance: &mut Chance| {
        let task = chance.index(tasks);
        if task == 0 || chance.once_in(4) {
            Change::Remove(task)
        } else {
            Change::Wait { task, on: chance.index(task) }
        }
    };
    (0..=chance.below(MOST)).map(|_| change(chance)).collect()
}

impl Plan {
    /// The plan of these tasks after the changes whose bits are set.
    pub(crate) fn make(tasks: &[Task], changes: &[Change], made: u32) -> Self {
        let (mut tasks, mut gone) = (tasks.to_vec(), vec![false; tasks.len()]);
        for (nth, change) in changes.iter().enumerate().filter(|(nth, _)| made >> nth & 1 == 1) {
            debug_assert!(nth < 32);
            match *change {
                Change::Wait { task, on } if !gone[task] && !gone[on] => {
                    let on = tasks[on].id.clone();
                    let own = &mut tasks[task].dependencies;
                    if own.contains(&on) { own.retain(|known| *known != on) } else { own.push(on) }
                }
                Change::Wait { .. } => {}
                Change::Remove(task) => {
                    gone[task] = true;
                    let id = tasks[task].id.clone();
                    tasks.iter_mut().for_each(|task| task.dependencies.retain(|on| *on != id));
                    tasks[task].dependencies.clear();
                }
            }
        }
        Self { tasks, gone }
    }

    /// How the first tasks hang together.
    pub(crate) fn graph(&self, count: usize) -> Option<Graph> {
        Graph::seal(&self.tasks[..count]).graph
    }

    /// The tasks that are planned in another way than before, and those that are gone since.
    pub(crate) fn since(&self, before: &Self) -> (Vec<TaskIndex>, Vec<TaskId>) {
        let all =
            (0..).map(TaskIndex).zip(self.tasks.iter().zip(&before.tasks)).zip(self.gone.iter().zip(&before.gone));
        let (mut changed, mut removed) = (Vec::new(), Vec::new());
        for ((index, (now, then)), (is_gone, was_gone)) in all {
            if *is_gone && !*was_gone {
                removed.push(now.id.clone());
            } else if now.dependencies != then.dependencies {
                changed.push(index);
            }
        }
        (changed, removed)
    }
}

/// What the plan is called after these changes.
pub(crate) fn mark(made: u32, tasks: usize) -> PlanMark {
    PlanMark { digest: made.to_string(), tasks: u32::try_from(tasks).unwrap_or(u32::MAX) }
}

/// One more change of a plan whose first tasks a run has, and whether nothing is in its way; nothing if that changes nothing.
pub(crate) fn one_more(
    scenario: &Scenario,
    rules: &Run,
    made: u32,
    nth: usize,
    count: usize,
) -> Option<(Replanned, bool)> {
    let (now, then) = (scenario.plan(made), scenario.plan(made | 1 << nth));
    let (changed, removed) = then.since(&now);
    let index = |id: &TaskId| now.tasks.iter().position(|task| task.id == *id);
    let touched = changed.iter().map(|task| task.get()).chain(removed.iter().filter_map(index));
    let touched: Vec<usize> = touched.collect();
    if touched.is_empty() || touched.iter().any(|task| *task >= rules.graph().len()) {
        return None;
    }
    let task = |task: usize| TaskIndex(u32::try_from(task).unwrap_or(u32::MAX));
    let is_there = |on: &TaskId| index(on).is_some_and(|on| on >= rules.graph().len() || rules.is_there(task(on)));
    let is_legal = *rules.stage() != Stage::Finished
        && !rules.keeps_waves()
        && touched.iter().all(|one| rules.is_untouched(task(*one)))
        && changed.iter().all(|one| then.tasks[one.get()].dependencies.iter().all(is_there));
    let next = NextPlan { graph: then.graph(count)?, anew: Vec::new() };
    let plan = mark(made | 1 << nth, count);
    Some((Replanned { next, changed, removed, plan }, is_legal))
}
