//! What waits for what: tasks and their dependencies, checked once and then sealed.

use crate::cycles::Cycle;
use crate::task::Task;

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

/// A dependency graph without cycles.
#[derive(Debug, Clone)]
pub struct Graph {}

impl Graph {
    /// Checks the dependencies of these tasks and seals them.
    pub fn seal(_tasks: &[Task]) -> Sealed {
        Sealed { graph: None, problems: Vec::new() }
    }
}
