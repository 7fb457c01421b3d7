//! Workers for tasks that a person gives to another agent while the run goes on, and for those that were given so before.

use team_executor_core::run::{Assignment, Run};
use team_executor_core::{Session, TaskIndex};

use super::desk::RealDesk;
use crate::options::Failure;
use crate::prepare::newcomer::Chooser;
use crate::prepare::worker::{Worker, Workers};

/// Adds all whom the run was told of.
pub(super) fn add_all(
    workers: &mut Workers,
    chooser: Option<&dyn Chooser>,
    session: &Session,
    rules: &Run,
) -> Result<(), Failure> {
    for (task, choice, to) in rules.assigned() {
        match make(chooser, session, &[task], to) {
            Ok(made) => made.into_iter().for_each(|worker| workers.hire(task, choice, worker)),
            // Earlier attempts may have been of an agent that is not there any more.
            Err(_) if !rules.is_for(task, choice) => {}
            Err(why) => return Err(Failure::NoAgent { task: session.tasks[task.get()].id.to_string(), why }),
        }
    }
    Ok(())
}

fn make(
    chooser: Option<&dyn Chooser>,
    session: &Session,
    tasks: &[TaskIndex],
    to: &Assignment,
) -> Result<Vec<Worker>, String> {
    chooser.ok_or("this executor knows no other agents")?.give(session, tasks, to)
}

impl RealDesk<'_> {
    /// Finds the workers of tasks that a person gives to another agent. If the rules refuse, no attempt is theirs.
    pub(super) fn hired(&mut self, rules: &Run, tasks: &[TaskIndex], to: &Assignment) -> Result<Workers, String> {
        let made = make(self.chooser.as_deref(), &self.session, tasks, to)?;
        for (task, worker) in tasks.iter().zip(made) {
            if let Some(choice) = rules.choice_of(*task, to) {
                self.workers.hire(*task, choice, worker);
            }
        }
        Ok(self.workers.clone())
    }
}
