//! A plan without the tasks that were removed from it: they keep their numbers as long as their executor lives, and no file
//! shows them.

use team_executor_core::run::Run;
use team_executor_core::{Graph, Session, Task, TaskIndex};

/// The tasks that are there.
pub(crate) struct Present {
    pub(crate) session: Session,
    pub(crate) graph: Graph,
    /// The number of each of them in the run.
    pub(crate) numbers: Vec<TaskIndex>,
}

impl Present {
    /// Nothing where all tasks are there.
    pub(crate) fn of(session: &Session, rules: &Run) -> Option<Self> {
        let all = || (0..).map(TaskIndex).zip(&session.tasks);
        if all().all(|(index, _)| rules.is_there(index)) {
            return None;
        }
        let (numbers, tasks): (_, Vec<Task>) =
            all().filter(|(index, _)| rules.is_there(*index)).map(|(index, task)| (index, task.clone())).unzip();
        let graph = Graph::seal(&tasks).graph?;
        let roles = session.roles.clone();
        Some(Self { session: Session { tasks, roles, ..session.clone() }, graph, numbers })
    }
}
