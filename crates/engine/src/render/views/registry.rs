//! `agents/registry.json`: every interactive agent of the run, as the state knows them. Only the last attempt at a task
//! can be running, so every other one is closed, and so is the last one after a crash: the next executor counts it as lost.

use team_executor_core::run::{Run, TaskView};
use team_executor_core::{ExecMode, Session, Task, TaskIndex, TaskStatus};
use team_executor_files::registry::{Agent, Registry, write};

use super::state;

/// The text of the registry.
pub(super) fn text(session: &Session, run: &Run, run_id: &str) -> String {
    let mut registry = Registry::default();
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        if task.exec_mode == ExecMode::Interactive
            && let Some(view) = run.view(index)
        {
            attempts(&mut registry, task, &view, run_id);
        }
    }
    write(&registry)
}

fn attempts(registry: &mut Registry, task: &Task, view: &TaskView<'_>, run_id: &str) {
    for attempt in 1..=view.attempt {
        let agent = Agent {
            id: state::agent(run_id, task, attempt),
            task: Some(task.id.clone()),
            role: Some(task.role.to_string()),
            ..Agent::default()
        };
        let is_last = attempt == view.attempt;
        if is_last && task.status == TaskStatus::InProgress {
            registry.active.push(Agent { spawned_at: view.since, ..agent });
        } else {
            let closed_at = view.since.filter(|_| is_last);
            let ended = if is_last && view.status.is_over() { view.status.word() } else { "tried again" };
            registry.closed.push(Agent { closed_at, status: Some(ended.to_owned()), ..agent });
        }
    }
}
