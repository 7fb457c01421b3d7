//! Small plans in words.

use team_executor_core::run::{Policy, Run};
use team_executor_core::{ExecMode, Graph, Position, Priority, RoleName, RunOn, Task, TaskId, TaskIndex, Timestamp};

/// Tasks and how to run them.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) tasks: Vec<Task>,
    pub(crate) policy: Policy,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.policy)?;
        for task in &self.tasks {
            let Task { id, role, priority, exec_mode, position, run_on, dependencies, .. } = task;
            writeln!(f, "{id} {role} {priority} {exec_mode} {position} {run_on}: {dependencies:?}")?;
        }
        Ok(())
    }
}

impl Plan {
    /// One task a line: `id word word: dependency dependency`; the words are a priority, a mode, a position, a `run_on` or
    /// else a role.
    pub(crate) fn new(lines: &[&str], policy: Policy) -> Self {
        let task = |line: &&str| {
            let (head, dependencies) = line.split_once(':').unwrap();
            let mut words = head.split(' ');
            let mut task = Task::new(id(words.next().unwrap()), RoleName::parse("developer").unwrap());
            for word in words {
                if let Some(priority) = Priority::from_word(word) {
                    task.priority = priority;
                } else if let Some(mode) = ExecMode::from_word(word) {
                    task.exec_mode = mode;
                } else if let Some(position) = Position::from_word(word) {
                    task.position = position;
                } else if let Some(run_on) = RunOn::from_word(word) {
                    task.run_on = run_on;
                } else {
                    task.role = RoleName::parse(word).unwrap();
                }
            }
            task.dependencies = dependencies.split_whitespace().map(id).collect();
            task
        };
        Self { tasks: lines.iter().map(task).collect(), policy }
    }

    pub(crate) fn run(&self) -> Run {
        Run::new(&self.tasks, Graph::seal(&self.tasks).graph.unwrap(), self.policy.clone()).unwrap()
    }

    /// The positions of the tasks that a task waits for.
    pub(crate) fn dependencies(&self, task: usize) -> Vec<usize> {
        let position = |id: &TaskId| self.tasks.iter().position(|task| task.id == *id).unwrap();
        self.tasks[task].dependencies.iter().map(position).collect()
    }

    pub(crate) fn retries(&self, task: usize) -> u32 {
        let own = self.policy.tasks.get(&index(task)).and_then(|own| own.retries);
        own.unwrap_or(self.policy.retries)
    }

    /// The agent that does a task.
    pub(crate) fn agent(&self, task: usize) -> &str {
        let chain = self.policy.agents.of.get(task).and_then(|chain| self.policy.agents.chains.get(*chain));
        chain.and_then(|chain| chain.first()).map_or("", String::as_str)
    }

    pub(crate) fn pool(&self, task: usize) -> u32 {
        self.policy.tasks.get(&index(task)).map_or(0, |own| own.pool)
    }
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

pub(crate) fn index(task: usize) -> TaskIndex {
    TaskIndex(u32::try_from(task).unwrap())
}

/// A point in time, in milliseconds.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(millis * 1000)
}
