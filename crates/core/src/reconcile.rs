//! Changes that a session needs before it can run: a run that died, or a person, may have written its files.
//!
//! This only says what must change. Writing it down is for others.

use crate::graph::TaskIndex;
use crate::ids::TaskId;
use crate::map::Map;
use crate::session::{ActiveWorker, Session};
use crate::task::TaskStatus;

/// Everything that must change, in the order in which it is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// First the list of completed tasks and the tasks' states, then tasks in progress, then workers, then new tasks.
    pub changes: Vec<Change>,
}

/// One thing that must change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A task's status changes.
    Status {
        /// Which task.
        task: TaskIndex,
        /// What the session says.
        from: TaskStatus,
        /// What is true.
        to: TaskStatus,
        /// How that is known.
        because: Cause,
    },
    /// Completed, but not in the session's list of completed tasks.
    Listed {
        /// Which task.
        task: TaskIndex,
    },
    /// In the session's list of completed tasks, but it should not be there.
    Unlisted {
        /// As the list names it.
        id: TaskId,
        /// Why it should not be there.
        because: Unlisting,
    },
    /// A worker that the session says is running is not ours.
    WorkerCleared {
        /// Which worker.
        worker: ActiveWorker,
    },
    /// The plan has the task, the state lacks it.
    Created {
        /// Which task.
        task: TaskIndex,
    },
}

/// Why a status is not what the session says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The session lists the task as completed.
    ListedAsCompleted,
    /// A file beside the session's own calls it completed: the one with this position in [`Session::reported`].
    Reported(u32),
    /// It is said to be in progress, and no worker of this run has it.
    NoWorkerHasIt,
}

/// Why an entry of the list of completed tasks goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisting {
    /// No task has this id.
    NamesNoTask,
    /// The task failed.
    TaskFailed,
    /// The task was skipped.
    TaskSkipped,
    /// An earlier entry says the same.
    Repeated,
}

impl Reconciliation {
    /// Compares what a session says in one place with what it says in others. Of two tasks with one id the first counts.
    pub fn compare(session: &Session) -> Self {
        let mut ids: Map<&str, TaskIndex> = Map::default();
        for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
            ids.entry(task.id.as_str()).or_insert(index);
        }
        let mut changes = Vec::new();
        let mut listed = completed_by_list(session, &ids, &mut changes);
        let is_done = completed_by_reports(session, &ids, &listed, &mut changes);
        for ((index, task), listed) in (0..).map(TaskIndex).zip(&session.tasks).zip(&listed) {
            if task.status == TaskStatus::Completed && !listed && !session.completed_tasks.is_empty() {
                changes.push(Change::Listed { task: index });
            }
        }
        listed.iter_mut().zip(is_done).for_each(|(listed, is_done)| *listed |= is_done);
        for ((index, task), listed) in (0..).map(TaskIndex).zip(&session.tasks).zip(&listed) {
            if task.status == TaskStatus::InProgress && !listed {
                changes.push(status(index, task.status, TaskStatus::Pending, Cause::NoWorkerHasIt));
            }
        }
        changes.extend(session.active_workers.iter().map(|worker| Change::WorkerCleared { worker: worker.clone() }));
        let missing = session.missing_from_state.iter().filter_map(|id| ids.get(id.as_str()));
        let missing: Map<TaskIndex, ()> = missing.map(|task| (*task, ())).collect(); // each once
        changes.extend(missing.into_keys().map(|task| Change::Created { task }));
        Self { changes }
    }

    /// Whether the session agrees with itself and nothing of an earlier run is left.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The status of each task of the session after the changes.
    pub fn statuses(&self, session: &Session) -> Vec<TaskStatus> {
        let mut statuses: Vec<_> = session.tasks.iter().map(|task| task.status).collect();
        for change in &self.changes {
            if let Change::Status { task, to, .. } = change
                && let Some(status) = statuses.get_mut(task.get())
            {
                *status = *to;
            }
        }
        statuses
    }
}

impl Change {
    /// The change in one line, for people.
    pub fn describe(&self, session: &Session) -> String {
        let id =
            |task: &TaskIndex| session.tasks.get(task.get()).map_or("a task of another session", |t| t.id.as_str());
        match self {
            Self::Status { task, from, to, because: Cause::Reported(nth) } => {
                let file = session.reported.get(*nth as usize).map_or("a file beside it", |one| one.file.as_str());
                format!("{}: {from} -> {to} ({file} reports it)", id(task))
            }
            Self::Status { task, from, to, because } => format!("{}: {from} -> {to} ({})", id(task), because.why()),
            Self::Listed { task } => format!("{}: added to the list of completed tasks (it is completed)", id(task)),
            Self::Unlisted { id, because } => {
                format!("{id}: removed from the list of completed tasks ({})", because.why())
            }
            Self::WorkerCleared { worker: ActiveWorker { agent, task: Some(task) } } => {
                format!("worker {agent} with {task}: cleared (it is not of this run)")
            }
            Self::WorkerCleared { worker: ActiveWorker { agent, task: None } } => {
                format!("worker {agent}: cleared (it is not of this run)")
            }
            Self::Created { task } => format!("{}: created (the plan has it, the state lacks it)", id(task)),
        }
    }
}

impl Cause {
    const fn why(self) -> &'static str {
        match self {
            Self::ListedAsCompleted => "the session lists it as completed",
            Self::Reported(_) => "a file beside the session's own reports it",
            Self::NoWorkerHasIt => "no worker of this run has it",
        }
    }
}

impl Unlisting {
    const fn why(self) -> &'static str {
        match self {
            Self::NamesNoTask => "no task has this id",
            Self::TaskFailed => "the task failed",
            Self::TaskSkipped => "the task was skipped",
            Self::Repeated => "it is listed more than once",
        }
    }
}

const fn status(task: TaskIndex, from: TaskStatus, to: TaskStatus, because: Cause) -> Change {
    Change::Status { task, from, to, because }
}

/// Goes through the list of completed tasks; gives back, for each task, whether the list names it.
fn completed_by_list(session: &Session, ids: &Map<&str, TaskIndex>, changes: &mut Vec<Change>) -> Vec<bool> {
    let mut listed = vec![false; session.tasks.len()];
    for id in &session.completed_tasks {
        let unlisted = |because| Change::Unlisted { id: id.clone(), because };
        let Some(&task) = ids.get(id.as_str()) else {
            changes.push(unlisted(Unlisting::NamesNoTask));
            continue;
        };
        if std::mem::replace(&mut listed[task.get()], true) {
            changes.push(unlisted(Unlisting::Repeated));
            continue;
        }
        match session.tasks[task.get()].status {
            TaskStatus::Completed => {}
            TaskStatus::Failed => changes.push(unlisted(Unlisting::TaskFailed)),
            TaskStatus::Skipped => changes.push(unlisted(Unlisting::TaskSkipped)),
            from @ (TaskStatus::Pending | TaskStatus::Ready | TaskStatus::InProgress) => {
                changes.push(status(task, from, TaskStatus::Completed, Cause::ListedAsCompleted));
            }
        }
    }
    listed
}

/// Goes through what other files report; gives back, for each task, whether one calls it completed.
fn completed_by_reports(
    session: &Session,
    ids: &Map<&str, TaskIndex>,
    listed: &[bool],
    changes: &mut Vec<Change>,
) -> Vec<bool> {
    let mut is_done = vec![false; session.tasks.len()];
    for (nth, reported) in (0..).zip(&session.reported) {
        let Some(&task) = ids.get(reported.task.as_str()) else { continue };
        let from = session.tasks[task.get()].status;
        if !from.is_over() && !listed[task.get()] && !std::mem::replace(&mut is_done[task.get()], true) {
            changes.push(status(task, from, TaskStatus::Completed, Cause::Reported(nth)));
        }
    }
    is_done
}

#[cfg(test)]
mod tests {
    use TaskStatus::{Completed, Failed, InProgress, Pending, Ready, Skipped};
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{RoleName, SessionId};
    use crate::session::Reported;
    use crate::task::Task;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).unwrap()
    }

    fn session(tasks: &[(&str, TaskStatus)], completed: &[&str]) -> Session {
        let role = RoleName::parse("developer").unwrap();
        let task = |(name, status): &(&str, TaskStatus)| Task { status: *status, ..Task::new(id(name), role.clone()) };
        Session {
            tasks: tasks.iter().map(task).collect(),
            completed_tasks: completed.iter().map(|name| id(name)).collect(),
            ..Session::new(SessionId::parse("TC-1").unwrap())
        }
    }

    fn describe(session: &Session) -> Vec<String> {
        Reconciliation::compare(session).changes.iter().map(|change| change.describe(session)).collect()
    }

    #[test]
    fn completed_list_and_states_are_reconciled() {
        let tasks = [("A", Completed), ("B", Pending), ("C", InProgress), ("D", Ready), ("E", Failed), ("F", Skipped)];
        let session = session(&[&tasks[..], &[("G", Completed)]].concat(), &["B", "C", "X", "D", "E", "F", "A", "B"]);
        assert_eq!(
            describe(&session),
            [
                "B: pending -> completed (the session lists it as completed)",
                "C: in_progress -> completed (the session lists it as completed)",
                "X: removed from the list of completed tasks (no task has this id)",
                "D: ready -> completed (the session lists it as completed)",
                "E: removed from the list of completed tasks (the task failed)",
                "F: removed from the list of completed tasks (the task was skipped)",
                "B: removed from the list of completed tasks (it is listed more than once)",
                "G: added to the list of completed tasks (it is completed)",
            ]
        );
        let statuses = Reconciliation::compare(&session).statuses(&session);
        assert_eq!(statuses, [Completed, Completed, Completed, Completed, Failed, Skipped, Completed]);
    }

    #[test]
    fn then_come_tasks_in_progress_then_workers_then_new_tasks() {
        let mut session = session(&[("A", InProgress), ("B", Pending), ("C", Pending), ("D", Completed)], &["B"]);
        session.missing_from_state = vec![id("C"), id("B"), id("C")];
        let worker = |agent: &str, task| ActiveWorker { task, agent: agent.to_owned() };
        session.active_workers = vec![worker("w1", Some(id("A"))), worker("w2", None)];
        assert_eq!(
            describe(&session),
            [
                "B: pending -> completed (the session lists it as completed)",
                "D: added to the list of completed tasks (it is completed)",
                "A: in_progress -> pending (no worker of this run has it)",
                "worker w1 with A: cleared (it is not of this run)",
                "worker w2: cleared (it is not of this run)",
                "C: created (the plan has it, the state lacks it)",
                "B: created (the plan has it, the state lacks it)",
            ]
        );
    }

    /// R: P-04
    #[test]
    fn task_reported_completed_elsewhere_is_completed() {
        let mut session = session(&[("A", Pending), ("B", InProgress), ("C", Failed), ("D", Pending)], &[]);
        let reported = |task: &str| Reported { task: id(task), file: format!("{task}.csv"), findings: None };
        session.reported = ["B", "A", "C", "X", "A"].map(reported).to_vec();
        assert_eq!(
            describe(&session),
            ["B: in_progress -> completed (B.csv reports it)", "A: pending -> completed (A.csv reports it)"]
        );
        let statuses = Reconciliation::compare(&session).statuses(&session);
        assert_eq!(statuses, [Completed, Completed, Failed, Pending]);
    }

    #[test]
    fn a_session_without_a_list_of_completed_tasks_gets_none() {
        assert!(Reconciliation::compare(&session(&[("A", Completed), ("B", Pending)], &[])).is_empty());
    }

    proptest! {
        #[test]
        fn a_reconciled_session_needs_no_more_changes(
            statuses in prop::collection::vec(prop::sample::select(TaskStatus::ALL), 0..8),
            listed in prop::collection::vec(0..10_usize, 0..10),
            workers in 0..3_usize,
            missing in prop::collection::vec(0..10_usize, 0..4),
        ) {
            let names: Vec<_> = (0..10).map(|n| format!("T{n}")).collect();
            let tasks: Vec<_> = names.iter().map(String::as_str).zip(statuses).collect();
            let mut session = session(&tasks, &listed.iter().map(|n| names[*n].as_str()).collect::<Vec<_>>());
            session.active_workers = vec![ActiveWorker { task: None, agent: "w".to_owned() }; workers];
            session.missing_from_state = missing.iter().map(|n| id(&names[*n])).collect();

            let reconciliation = Reconciliation::compare(&session);
            let mut after = session.clone();
            for change in &reconciliation.changes {
                match change {
                    Change::Status { task, from, to, .. } => {
                        prop_assert_eq!(after.tasks[task.get()].status, *from);
                        after.tasks[task.get()].status = *to;
                    }
                    Change::Listed { task } => after.completed_tasks.push(session.tasks[task.get()].id.clone()),
                    Change::Unlisted { id, .. } => {
                        let last = after.completed_tasks.iter().rposition(|listed| listed == id).unwrap();
                        after.completed_tasks.remove(last);
                    }
                    Change::WorkerCleared { .. } => drop(after.active_workers.pop()),
                    Change::Created { task } => {
                        after.missing_from_state.retain(|missing| *missing != session.tasks[task.get()].id);
                    }
                }
            }
            prop_assert_eq!(Reconciliation::compare(&after), Reconciliation::default());
            let statuses: Vec<_> = after.tasks.iter().map(|task| task.status).collect();
            prop_assert_eq!(reconciliation.statuses(&session), statuses);
        }
    }
}
