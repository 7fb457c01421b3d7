//! Agents for tasks that a running run is given, and for tasks that a person gives to another agent. The caller that configured
//! the run chooses them.

use std::fmt::Debug;

use team_executor_core::run::{Assignment, Budget, NextPlan, PlanMark, TaskPolicy};
use team_executor_core::{Graph, Priority, Session, TaskId, TaskIndex};

use super::worker::{Worker, Workers};

/// Chooses workers while a run goes on.
pub trait Chooser: Debug {
    /// Chooses for all tasks of a session, which has none but those that are new; or says why that cannot be done.
    fn choose(&mut self, new: &Session) -> Result<Vec<Choice>, String>;

    /// Makes the workers of tasks that a person gives to an agent, one for each; or says why that cannot be done.
    fn give(&self, session: &Session, tasks: &[TaskIndex], to: &Assignment) -> Result<Vec<Worker>, String>;
}

/// What was chosen for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Who can do it, the one that is wanted first.
    pub workers: Vec<Worker>,
    /// What differs for it.
    pub policy: TaskPolicy,
    /// Where several can do it, whose quotas the others use.
    pub fallbacks: Vec<u32>,
    /// What it may use.
    pub budget: Option<Budget>,
    /// What all tasks of its role may use.
    pub role_budget: Option<Budget>,
    /// It has a tree of its own.
    pub is_isolated: bool,
    /// The files that it may change there, as patterns, if not all.
    pub scope: Option<Vec<String>>,
}

/// How a plan differs from that of its run.
#[derive(Debug)]
pub struct Growth {
    /// The tasks, and what is chosen for them.
    pub new: Vec<team_executor_core::run::NewTask>,
    /// The priorities that tasks of the run have now.
    pub priorities: Vec<(TaskIndex, Priority)>,
    /// The graph of all tasks, those of the run first, where it had to be sealed anew.
    pub sealed: Option<Graph>,
    /// Who does which task, these included.
    pub workers: Workers,
    /// What becomes of tasks that no one has tried.
    pub replan: Option<Replanned>,
}

/// How the plan of tasks is changed that no one has tried.
#[derive(Debug)]
pub struct Replanned {
    /// The plan from then on.
    pub next: NextPlan,
    /// Those that wait for others or are done by others.
    pub changed: Vec<TaskIndex>,
    /// Those that are not there any more.
    pub removed: Vec<TaskId>,
    /// What makes it the same.
    pub plan: PlanMark,
}
