//! The state of a run, put into the model that the views are written from.

use team_executor_core::moves::Moves as _;
use team_executor_core::run::{Run, Stage};
use team_executor_core::{
    ActiveWorker, Checkpoint, Reconciliation, Session, SessionStatus, Task, TaskIndex, TaskStatus, Timestamp,
};

/// Whether the run has changed anything that a session's own file tells, or must put something right in it.
pub(crate) fn has_happened(session: &Session, run: &Run) -> bool {
    let mut tasks = (0..).map(TaskIndex).take(session.tasks.len());
    tasks.any(|task| run.view(task).is_some_and(|view| view.since.is_some()))
        || !run.decisions().is_empty()
        || !session.reported.is_empty()
        || (session.tasks.iter().any(|task| !task.status.is_over()) && !Reconciliation::compare(session).is_empty())
}

/// Puts the state of the run into the session, which stays as it was read as long as nothing has happened.
pub(crate) fn refresh(session: &mut Session, run: &Run, run_id: &str) {
    if !has_happened(session, run) {
        return;
    }
    for (index, task) in (0..).map(TaskIndex).zip(&mut session.tasks) {
        refresh_task(task, index, run);
    }
    let done = session.tasks.iter().filter(|task| task.status == TaskStatus::Completed);
    session.completed_tasks = done.map(|task| task.id.clone()).collect();
    let worker =
        |task: &Task, attempt| ActiveWorker { task: Some(task.id.clone()), agent: agent(run_id, task, attempt) };
    let at_work = run.at_work().filter_map(|work| Some(worker(session.tasks.get(work.task.get())?, work.attempt)));
    let is_stopping = *run.stage() == Stage::Stopping;
    session.active_workers = at_work.filter(|_| !is_stopping).collect();
    session.gc_rounds = run.rounds();
    for decision in run.decisions() {
        let id = decision.checkpoint.and_then(|task| session.tasks.get(task.get())).map(|task| task.id.to_string());
        let id = id.unwrap_or_else(|| "pause".to_owned());
        let (timestamp, action) = (Some(decision.at), decision.action);
        let entry = Checkpoint { id, timestamp, action, context: decision.text.clone() };
        // A run that goes on finds what it has written before.
        if !session.checkpoints.contains(&entry) {
            session.checkpoints.push(entry);
        }
    }
    session.updated_at = updated_at(session);
}

/// When the session last changed, which is never before it was made.
fn updated_at(session: &Session) -> Option<Timestamp> {
    let updated = session.tasks.iter().filter_map(|task| task.updated_at).max().max(session.updated_at);
    updated.max(session.created_at.filter(|_| updated.is_some()))
}

/// Puts the state of one task into it. What the run does not know stays.
pub(crate) fn refresh_task(task: &mut Task, index: TaskIndex, run: &Run) {
    let Some(view) = run.view(index) else { return };
    task.status = shown(view.status, run);
    task.attempt_count = task.attempt_count.max(view.attempt.saturating_sub(1));
    if view.since.is_some() {
        put(&mut task.findings, view.findings);
        put(&mut task.error, view.error.filter(|_| view.status != TaskStatus::Completed));
        task.verdict = view.verdict;
    }
    task.updated_at = view.since.or(task.updated_at);
}

/// Copies a text where it is another one: there may be much of it, and most stays as it was.
fn put(text: &mut Option<String>, now: Option<&str>) {
    if text.as_deref() != now {
        *text = now.map(str::to_owned);
    }
}

/// Where a task stands for people. Tasks in progress of a stopping run count as pending: no worker has them
/// any more, and the next executor decides about them.
pub(crate) fn shown(status: TaskStatus, run: &Run) -> TaskStatus {
    match status {
        TaskStatus::InProgress if *run.stage() == Stage::Stopping => TaskStatus::Pending,
        status => status,
    }
}

/// How a worker is named: as its attempt is.
pub(crate) fn agent(run_id: &str, task: &Task, attempt: u32) -> String {
    format!("{run_id}/{}/{attempt}", task.id)
}

/// Where a session stands while it is run. A session that calls itself completed, with something left to do, says so
/// wrongly and is put right; one that was put away stays so.
pub(crate) fn while_it_runs(status: SessionStatus) -> SessionStatus {
    match status {
        SessionStatus::Archived => status,
        SessionStatus::Completed | SessionStatus::Failed => SessionStatus::Active,
        status => status.moved(SessionStatus::Active).unwrap_or(status),
    }
}

/// Where a session stands when a run ends: `at_end` if every task is completed, else paused. Only along the legal moves; one
/// that is called completed although a task was set back is put right.
pub(crate) fn at_its_end(session: &Session, run: &Run, at_end: SessionStatus) -> SessionStatus {
    let all_done = run.counts().completed + run.not_needed() == run.counts().total();
    match session.status {
        SessionStatus::Completed if !all_done => SessionStatus::Paused,
        status => status.moved(if all_done { at_end } else { SessionStatus::Paused }).unwrap_or(status),
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::Policy;
    use team_executor_core::{Graph, RoleName, SessionId, TaskId};

    use super::*;

    #[test]
    fn a_session_is_active_while_it_runs_and_takes_only_legal_moves() {
        use SessionStatus::{Active, Archived, Completed, Created, Failed, Paused};
        for from in [Created, Active, Paused, Completed, Failed] {
            assert_eq!(while_it_runs(from), Active);
        }
        assert_eq!(while_it_runs(Archived), Archived);
        let mut session = Session::new(SessionId::parse("TC-1").unwrap());
        session.tasks = vec![Task::new(TaskId::parse("A").unwrap(), RoleName::parse("r").unwrap())];
        let run = |session: &Session| {
            Run::new(&session.tasks, Graph::seal(&session.tasks).graph.unwrap(), Policy::default()).unwrap()
        };
        for status in [Active, Completed] {
            session.status = status;
            assert_eq!(at_its_end(&session, &run(&session), Completed), Paused);
        }
        session.status = Active;
        session.tasks[0].status = TaskStatus::Completed;
        for at_end in [Active, Completed, Paused] {
            assert_eq!(at_its_end(&session, &run(&session), at_end), at_end);
        }
        session.status = Archived;
        assert_eq!(at_its_end(&session, &run(&session), Completed), Archived);
    }

    #[test]
    fn a_text_that_stays_is_not_copied_again() {
        let mut text = Some("found".to_owned());
        let at = text.as_ref().map(|text| text.as_ptr());
        put(&mut text, Some("found"));
        assert_eq!(text.as_ref().map(|text| text.as_ptr()), at);
        put(&mut text, Some("other"));
        assert_eq!(text.as_deref(), Some("other"));
        put(&mut text, None);
        assert_eq!(text, None);
    }

    #[test]
    fn a_session_is_never_changed_before_it_was_made() {
        let at = |micros| Some(Timestamp::from_micros(micros));
        let mut session = Session::new(SessionId::parse("TC-1").unwrap());
        for (created, updated, expected) in
            [(at(1), at(2), at(2)), (at(9), at(2), at(9)), (at(9), None, None), (None, at(2), at(2))]
        {
            (session.created_at, session.updated_at) = (created, updated);
            assert_eq!(updated_at(&session), expected);
        }
    }
}
