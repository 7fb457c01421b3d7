//! Who does which task: a program, what it sees of the environment, and how long it has.

use team_executor_agents::Limits;
use team_executor_agents::adapters::Setup;
use team_executor_core::TaskIndex;

use crate::artifacts::Demands;

/// Who does a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What the user calls it.
    pub agent: String,
    /// The program and its arguments; of a known coding agent only the program.
    pub command: Vec<String>,
    /// How it is asked, if it is a known coding agent.
    pub setup: Option<Setup>,
    /// Names of variables that it is given beside the usual ones; a star stands for any end.
    pub pass_env: Vec<String>,
    /// Variables that it is given.
    pub env: Vec<(String, String)>,
    /// How long it may take.
    pub limits: Limits,
    /// What is demanded of what it delivers.
    pub demands: Demands,
}

/// Who does which task of a session. There are few workers and many tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workers {
    list: Vec<Worker>,
    /// For each task, its worker in the list.
    of: Vec<usize>,
}

impl Workers {
    /// One more worker; the number is for [`Workers::assign`].
    pub fn add(&mut self, worker: Worker) -> usize {
        self.list.push(worker);
        self.list.len() - 1
    }

    /// Gives the next task to a worker. Tasks come in the order of the session.
    pub fn assign(&mut self, worker: usize) {
        self.of.push(worker);
    }

    /// Who does a task.
    pub fn of(&self, task: TaskIndex) -> Option<&Worker> {
        self.list.get(*self.of.get(task.get())?)
    }

    /// All of them, to complete what is known of each.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.list.iter_mut()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(agent: &str) -> Worker {
        Worker {
            agent: agent.to_owned(),
            command: Vec::new(),
            setup: None,
            pass_env: Vec::new(),
            env: Vec::new(),
            limits: Limits::default(),
            demands: Demands::default(),
        }
    }

    #[test]
    fn each_task_has_the_worker_that_it_was_given() {
        let mut workers = Workers::default();
        let (a, b) = (workers.add(worker("a")), workers.add(worker("b")));
        [a, b, a].into_iter().for_each(|one| workers.assign(one));
        let names: Vec<_> = (0..4).map(|task| workers.of(TaskIndex(task)).map(|one| one.agent.as_str())).collect();
        assert_eq!(names, [Some("a"), Some("b"), Some("a"), None]);
    }
}
