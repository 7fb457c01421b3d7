//! Workers for tasks that a person gives to another agent while the run goes on, and for those that were given so before.

use team_executor_core::run::{Assignment, Run};
use team_executor_core::{Session, TaskIndex};

use super::desk::RealDesk;
use crate::options::{Failure, Options};
use crate::prepare::worker::Workers;

/// Who does which task, with all whom the run was told of.
pub(super) fn all(options: &Options, session: &Session, rules: &Run) -> Result<Workers, Failure> {
    let mut workers = options.workers.clone();
    for (task, choice, to) in rules.assigned() {
        match make(options, session, &[task], to) {
            Ok(made) => made.into_iter().for_each(|worker| workers.hire(task, choice, worker)),
            // Earlier attempts may have been of an agent that is not there any more.
            Err(_) if !rules.is_for(task, choice) => {}
            Err(why) => return Err(Failure::NoAgent { task: session.tasks[task.get()].id.to_string(), why }),
        }
    }
    Ok(workers)
}

fn make(
    options: &Options,
    session: &Session,
    tasks: &[TaskIndex],
    to: &Assignment,
) -> Result<Vec<crate::Worker>, String> {
    let hire = options.hire.as_ref().ok_or("this executor knows no other agents")?;
    hire.make(session, tasks, to)
}

impl RealDesk<'_> {
    /// Finds the workers of tasks that a person gives to another agent. If the rules refuse, no attempt is theirs.
    pub(super) fn hired(&mut self, rules: &Run, tasks: &[TaskIndex], to: &Assignment) -> Result<Workers, String> {
        let made = make(self.options, &self.session, tasks, to)?;
        for (task, worker) in tasks.iter().zip(made) {
            if let Some(choice) = rules.choice_of(*task, to) {
                self.workers.hire(*task, choice, worker);
            }
        }
        Ok(self.workers.clone())
    }
}
