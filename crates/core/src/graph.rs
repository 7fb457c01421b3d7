//! What waits for what: tasks and their dependencies, checked once and then sealed.

use std::sync::Arc;

use crate::cycles::{self, Cycle};
use crate::index::Index;
use crate::later::Later;
use crate::lists::Lists;
use crate::near::Near;
use crate::task::Task;
use crate::waves::Waves;

/// The position of a task in its session's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskIndex(pub u32);

impl TaskIndex {
    /// For indexing a list of tasks.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// One entry of one task's list of dependencies; readers know its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The task that waits.
    pub task: TaskIndex,
    /// Which entry of its list.
    pub nth: u32,
}

/// What is wrong with the dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Two tasks with one id.
    DuplicateTask {
        /// The one that counts.
        first: TaskIndex,
        /// The other.
        again: TaskIndex,
    },
    /// A dependency on a task that does not exist.
    UnknownDependency {
        /// Which entry.
        edge: Edge,
        /// The task whose id is most like it, if one is.
        near: Option<TaskIndex>,
    },
    /// A task that waits for itself.
    SelfDependency {
        /// Which entry.
        edge: Edge,
    },
    /// A dependency that is listed twice by one task; harmless.
    RepeatedDependency {
        /// The second mention.
        edge: Edge,
        /// The first mention.
        first: Edge,
    },
    /// Tasks that wait for each other.
    Cycle(Cycle),
}

/// The result of checking.
#[derive(Debug)]
pub struct Sealed {
    /// The graph, unless a problem makes it useless. A repeated dependency does not.
    pub graph: Option<Graph>,
    /// Everything that is wrong: duplicates, then edges in order of appearance, then cycles.
    pub problems: Vec<Problem>,
}

/// A dependency graph without cycles, cheap to clone. Each task is known by its position in the list that was sealed, or behind
/// it.
#[derive(Debug, Clone)]
pub struct Graph {
    sealed: Arc<Parts>,
    /// The tasks that were added since.
    later: Option<Arc<Later>>,
}

/// What was sealed.
#[derive(Debug)]
pub(crate) struct Parts {
    ids: Index,
    dependencies: Lists<TaskIndex>,
    dependents: Lists<TaskIndex>,
    waves: Waves,
    /// A task is planned for a later wave than its dependencies need.
    is_planned: bool,
}

impl Parts {
    pub(crate) fn len(&self) -> usize {
        self.dependencies.len()
    }

    pub(crate) fn index_of(&self, id: &str) -> Option<TaskIndex> {
        self.ids.get(id)
    }

    pub(crate) fn dependents(&self, task: TaskIndex) -> &[TaskIndex] {
        self.dependents.get(task.0)
    }

    pub(crate) fn order(&self) -> &[TaskIndex] {
        &self.waves.order
    }

    pub(crate) fn depth(&self, task: TaskIndex) -> u32 {
        self.waves.depth[task.get()]
    }

    pub(crate) fn wave(&self, task: TaskIndex) -> u32 {
        self.waves.wave[task.get()]
    }
}

impl Graph {
    /// Checks the dependencies of these tasks and seals them.
    pub fn seal(tasks: &[Task]) -> Sealed {
        let mut problems = Vec::new();
        let ids = index(tasks, &mut problems);
        let links = link(tasks, &ids, &mut problems);
        let pairs = || links.items().iter().map(|link| (link.edge.task, link.on));
        let dependencies = Lists::group(tasks.len(), pairs().map(|(task, on)| (task.0, on)));
        let dependents = Lists::group(tasks.len(), pairs().map(|(task, on)| (on.0, task)));
        let planned: Vec<_> = tasks.iter().map(|task| task.declared_wave).collect();
        let waves = Waves::layer(&dependencies, &dependents, &planned);
        if waves.is_none() {
            problems.extend(cycles::find(&links).into_iter().map(Problem::Cycle));
        }
        let usable = problems.iter().all(|problem| matches!(problem, Problem::RepeatedDependency { .. }));
        let parts = waves.filter(|_| usable).map(|waves| {
            let is_planned = waves.wave != waves.depth;
            Parts { ids, dependencies, dependents, waves, is_planned }
        });
        let graph = parts.map(|parts| Self { sealed: Arc::new(parts), later: None });
        Sealed { graph, problems }
    }

    /// Adds tasks that nothing waits for yet, each behind what it waits for itself; what that costs depends on their own
    /// dependencies only. Nothing is changed, and the answer is no, if that is not so, or if waves are planned: then all tasks
    /// are to be [sealed](Self::seal) anew.
    pub fn extend<'t>(&mut self, tasks: impl IntoIterator<Item = &'t Task>) -> bool {
        if self.sealed.is_planned {
            return false;
        }
        let later = Arc::make_mut(self.later.get_or_insert_default());
        let before = later.len();
        let mut add = |task: &Task| {
            let wave = later.add(&self.sealed, task).and_then(|index| later.wave(&self.sealed, index));
            wave.is_some_and(|wave| task.declared_wave.is_none_or(|declared| declared <= wave))
        };
        let is_extended = tasks.into_iter().all(&mut add);
        if !is_extended {
            later.cut(before);
        }
        is_extended
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.sealed.len() + self.later.as_ref().map_or(0, |later| later.len())
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many dependencies there are, repeated ones counted once.
    pub fn edge_count(&self) -> usize {
        self.sealed.dependencies.items().len() + self.later.as_ref().map_or(0, |later| later.edge_count())
    }

    /// The task with that id.
    pub fn index_of(&self, id: &str) -> Option<TaskIndex> {
        match &self.later {
            Some(later) => later.index_of(&self.sealed, id),
            None => self.sealed.index_of(id),
        }
    }

    /// Whether these are the tasks of the graph, by their ids.
    pub(crate) fn is_of(&self, tasks: &[Task]) -> bool {
        match &self.later {
            None => self.sealed.ids.is_of(tasks),
            Some(later) => tasks
                .split_at_checked(self.sealed.len())
                .is_some_and(|(first, behind)| self.sealed.ids.is_of(first) && later.is_of(behind)),
        }
    }

    /// What a task waits for, in the order of its list.
    pub fn dependencies(&self, task: TaskIndex) -> &[TaskIndex] {
        let later = self.later.as_ref().and_then(|later| later.dependencies(&self.sealed, task));
        later.unwrap_or_else(|| self.sealed.dependencies.get(task.0))
    }

    /// What waits for a task, in order of appearance.
    pub fn dependents(&self, task: TaskIndex) -> &[TaskIndex] {
        let later = self.later.as_ref().and_then(|later| later.dependents(&self.sealed, task));
        later.unwrap_or_else(|| self.sealed.dependents(task))
    }

    /// Every task after all that it waits for: by wave, and in order of appearance within a wave.
    pub fn order(&self) -> &[TaskIndex] {
        self.later.as_ref().map_or_else(|| self.sealed.order(), |later| later.order(&self.sealed))
    }

    /// The number of tasks on the longest path that ends in this task: 1 where it waits for nothing.
    pub fn depth(&self, task: TaskIndex) -> u32 {
        let later = self.later.as_ref().and_then(|later| later.depth(&self.sealed, task));
        later.unwrap_or_else(|| self.sealed.depth(task))
    }

    /// The wave of a task: the planned one, or a later one where its dependencies need that. Where none is planned it is
    /// the task's depth.
    pub fn wave(&self, task: TaskIndex) -> u32 {
        let later = self.later.as_ref().and_then(|later| later.wave(&self.sealed, task));
        later.unwrap_or_else(|| self.sealed.wave(task))
    }

    /// Whether a task is planned for a later wave than its dependencies need.
    pub fn is_planned(&self) -> bool {
        self.sealed.is_planned
    }

    /// How many waves there are.
    pub fn wave_count(&self) -> u32 {
        self.sealed.waves.count.max(self.later.as_ref().map_or(0, |later| later.wave_count()))
    }

    /// The number of tasks on the longest path that starts in this task: 1 where nothing waits for it. Tasks that were added
    /// since are not counted.
    pub fn remaining(&self, task: TaskIndex) -> u32 {
        self.sealed.waves.remaining.get(task.get()).copied().unwrap_or(1)
    }
}

/// A dependency whose task exists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// The entry that names it.
    pub(crate) edge: Edge,
    /// The task that is waited for.
    pub(crate) on: TaskIndex,
}

/// The first task of each id.
fn index(tasks: &[Task], problems: &mut Vec<Problem>) -> Index {
    let mut ids = Index::for_tasks(tasks);
    for (again, task) in (0..).map(TaskIndex).zip(tasks) {
        let first = ids.add(task.id.as_str());
        if first != again {
            problems.push(Problem::DuplicateTask { first, again });
        }
    }
    ids
}

/// The links of each task. What is unknown, a loop of one task or repeated is reported and left out.
fn link(tasks: &[Task], ids: &Index, problems: &mut Vec<Problem>) -> Lists<Link> {
    let mut near = Near::new(tasks);
    let mut links = Vec::new();
    let mut last: Vec<Option<Edge>> = vec![None; tasks.len()]; // for each task, the last edge on it
    for (index, task) in (0..).map(TaskIndex).zip(tasks) {
        for (nth, dependency) in (0..).zip(&task.dependencies) {
            let edge = Edge { task: index, nth };
            let Some(on) = ids.get(dependency.as_str()) else {
                problems.push(Problem::UnknownDependency { edge, near: near.find(dependency.as_str(), task) });
                continue;
            };
            if *dependency == task.id {
                problems.push(Problem::SelfDependency { edge });
                continue;
            }
            match last[on.get()] {
                Some(first) if first.task == index => problems.push(Problem::RepeatedDependency { edge, first }),
                _ => {
                    last[on.get()] = Some(edge);
                    links.push((index.0, Link { edge, on }));
                }
            }
        }
    }
    Lists::group(tasks.len(), links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{RoleName, TaskId};

    /// One task a line: `id: dependency dependency`.
    fn seal(lines: &[&str]) -> Sealed {
        let id = |text: &str| TaskId::parse(text).unwrap();
        let task = |line: &&str| {
            let (name, dependencies) = line.split_once(':').unwrap();
            let dependencies = dependencies.split_whitespace().map(id).collect();
            Task { dependencies, ..Task::new(id(name), RoleName::parse("developer").unwrap()) }
        };
        Graph::seal(&lines.iter().map(task).collect::<Vec<_>>())
    }

    fn edge(task: u32, nth: u32) -> Edge {
        Edge { task: TaskIndex(task), nth }
    }

    /// R: M-06
    #[test]
    fn a_duplicate_makes_the_graph_useless_and_the_first_one_counts() {
        let sealed = seal(&["A:", "B: A", "A: B", "A:"]);
        let duplicate = |again| Problem::DuplicateTask { first: TaskIndex(0), again: TaskIndex(again) };
        assert_eq!(sealed.problems, [duplicate(2), duplicate(3)]);
        assert!(sealed.graph.is_none());
    }

    /// R: M-06
    #[test]
    fn an_unknown_dependency_comes_with_the_nearest_id() {
        let sealed = seal(&["PLAN-001:", "IMPL-001: PLAN-01 nothing", "TEST-001: IMPL-001"]);
        let unknown = |nth, near| Problem::UnknownDependency { edge: edge(1, nth), near };
        assert_eq!(sealed.problems, [unknown(0, Some(TaskIndex(0))), unknown(1, None)]);
        assert!(sealed.graph.is_none());
    }

    /// R: M-06
    #[test]
    fn a_task_cannot_wait_for_itself() {
        let sealed = seal(&["A:", "B: A B"]);
        assert_eq!(sealed.problems, [Problem::SelfDependency { edge: edge(1, 1) }]);
        assert!(sealed.graph.is_none());
    }

    #[test]
    fn a_repeated_dependency_is_reported_and_harmless() {
        let sealed = seal(&["A:", "B:", "C: A B A A"]);
        let repeated = |nth| Problem::RepeatedDependency { edge: edge(2, nth), first: edge(2, 0) };
        assert_eq!(sealed.problems, [repeated(2), repeated(3)]);
        let graph = sealed.graph.unwrap();
        assert_eq!(graph.dependencies(TaskIndex(2)), [TaskIndex(0), TaskIndex(1)]);
        assert_eq!((graph.edge_count(), graph.index_of("C"), graph.index_of("c")), (2, Some(TaskIndex(2)), None));
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once_and_in_order() {
        let sealed = seal(&["A: C", "B: nothing A A", "C: B", "C: C", "D: E", "E: D"]);
        let kinds: Vec<_> = sealed
            .problems
            .iter()
            .map(|problem| match problem {
                Problem::DuplicateTask { again, .. } => format!("duplicate {}", again.0),
                Problem::UnknownDependency { edge, .. } => format!("unknown {} {}", edge.task.0, edge.nth),
                Problem::SelfDependency { edge } => format!("self {} {}", edge.task.0, edge.nth),
                Problem::RepeatedDependency { edge, .. } => format!("repeated {} {}", edge.task.0, edge.nth),
                Problem::Cycle(cycle) => format!("cycle of {} from {}", cycle.tasks, cycle.path[0].task.0),
            })
            .collect();
        let expected =
            ["duplicate 3", "unknown 1 0", "repeated 1 2", "self 3 0", "cycle of 3 from 0", "cycle of 2 from 4"];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn no_tasks_are_a_graph() {
        let sealed = seal(&[]);
        assert_eq!(sealed.problems, []);
        assert!(sealed.graph.is_some_and(|graph| graph.is_empty() && graph.wave_count() == 0));
    }
}
