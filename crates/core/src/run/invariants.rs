//! What holds after every event, computed anew from the statuses alone. A debug build checks it after every event.

use std::collections::BTreeSet;

use super::event::Event;
use super::facts::WaveTurn;
use super::policy::Cadence;
use super::skip::{Gate, gate};
use super::state::{Place, Run, Stage, TaskState};
use crate::graph::TaskIndex;
use crate::task::TaskStatus;

/// A run of more tasks is checked only around the task that changed.
const SMALL: usize = 200;

/// What does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A task runs, or will, in a place that its dependencies forbid.
    #[error("task number {} does not match its dependencies", .0.0)]
    Dependencies(TaskIndex),
    /// A task is ready and not in the queue, or the other way round.
    #[error("task number {} does not match its status", .0.0)]
    Place(TaskIndex),
    /// A task is in progress without a worker of its own.
    #[error("task number {} and its worker disagree", .0.0)]
    Worker(TaskIndex),
    /// A resident worker has this task and another one.
    #[error("task number {} shares its resident worker", .0.0)]
    Resident(TaskIndex),
    /// Attempts and ends of attempts do not match.
    #[error("the attempts of task number {} do not add up", .0.0)]
    Attempts(TaskIndex),
    /// A task of another wave than the current one is running, or out of turn.
    #[error("task number {} runs out of turn", .0.0)]
    Wave(TaskIndex),
    /// A task that was sent back is not over, or the run finished before it began anew.
    #[error("task number {} was sent back and did not begin anew", .0.0)]
    Recalled(TaskIndex),
    /// The numbers of tasks by status are wrong.
    #[error("the counts are wrong")]
    Counts,
    /// Something is to be judged later, and the run is not paused.
    #[error("a person must decide, but the run goes on")]
    Unasked,
    /// The run says that it is finished, and it is not.
    #[error("the run is finished and a task is not over")]
    Finished,
}

/// Checks everything. The cost grows with the number of tasks.
pub fn check(run: &Run) -> Result<(), Broken> {
    for task in run.graph.order() {
        check_task(run, *task)?;
    }
    let statuses = || run.state.tasks.iter().filter(|task| !task.is_absent).map(|task| task.status);
    let counts = run.state.counts;
    let right =
        TaskStatus::ALL.iter().all(|status| counts.count(*status) == statuses().filter(|s| s == status).count());
    let queued = run.state.tasks.iter().filter(|task| task.place == Place::Queue).count();
    let waiting = run.state.tasks.iter().filter(|task| matches!(task.place, Place::Waiting(_))).count();
    let doomed = run.state.tasks.iter().filter(|task| task.place == Place::Doomed).count();
    let not_needed = run.state.tasks.iter().filter(|task| task.not_needed).count();
    let kept = (run.state.queue.len(), run.state.waiting.len(), run.state.doomed.len());
    let is_over = |task: &&TaskIndex| run.state.tasks[task.get()].status.is_over();
    if let Some(task) = run.state.recalled.iter().find(|task| run.state.stage == Stage::Finished || !is_over(task)) {
        return Err(Broken::Recalled(*task));
    }
    if !right
        || not_needed != run.state.not_needed
        || run.state.slots.running() != counts.in_progress
        || kept != (queued, waiting, doomed)
    {
        return Err(Broken::Counts);
    }
    if !run.state.later.is_empty() && run.pause().is_none() {
        return Err(Broken::Unasked);
    }
    check_residents(run)?;
    check_waves(run)
}

/// Checks what an event can have broken: everything in a small run, else only its task and what depends on it.
pub(super) fn after(run: &Run, event: &Event) -> Result<(), Broken> {
    if run.graph.len() <= SMALL {
        return check(run);
    }
    let Some(task) = event.task().filter(|task| task.get() < run.graph.len()) else { return Ok(()) };
    check_task(run, task)?;
    let cheap = |dependent: &&TaskIndex| run.graph.dependencies(**dependent).len() <= SMALL;
    let mut dependents = run.graph.dependents(task).iter().take(SMALL).filter(cheap);
    dependents.try_for_each(|dependent| check_task(run, *dependent))
}

fn check_task(run: &Run, index: TaskIndex) -> Result<(), Broken> {
    let (task, facts) = (&run.state.tasks[index.get()], &run.facts.tasks[index.get()]);
    let there = |on: &&TaskIndex| run.has(**on);
    let dependencies = || run.graph.dependencies(index).iter().filter(there).map(|on| &run.state.tasks[on.get()]);
    let open = dependencies().filter(|on| !on.status.is_over()).count();
    let is_bad = |on: &&TaskState| on.status.is_over() && on.status != TaskStatus::Completed && !on.not_needed;
    let bad = dependencies().filter(is_bad).count();
    if task.is_absent {
        return if task.place == Place::Nowhere { Ok(()) } else { Err(Broken::Place(index)) };
    }
    let gate_now = gate(facts.run_on, task.open, task.bad);
    let is_running = task.status == TaskStatus::InProgress;
    if (task.open as usize, task.bad as usize) != (open, bad) || is_running && gate_now != Gate::Run {
        return Err(Broken::Dependencies(index));
    }
    let place = run.place(index);
    let queued = run.state.queue.contains(facts);
    if task.place != place || queued != (place == Place::Queue) || task.status == TaskStatus::Ready {
        return Err(Broken::Place(index));
    }
    let has_worker = run.state.slots.task(task.slot) == Some(index);
    if is_running != has_worker || is_running && facts.lane.is_some() && !run.state.queue.is_busy(facts) {
        return Err(Broken::Worker(index));
    }
    if task.not_needed && task.status != TaskStatus::Skipped {
        return Err(Broken::Place(index));
    }
    if task.failures.saturating_add(task.interruptions).saturating_add(task.refusals) > task.attempt {
        return Err(Broken::Attempts(index));
    }
    Ok(())
}

fn check_residents(run: &Run) -> Result<(), Broken> {
    let mut residents = BTreeSet::new();
    for task in run.state.slots.tasks() {
        if let Some(lane) = run.facts.tasks[task.get()].lane
            && !residents.insert(run.facts.lanes[lane].resident)
        {
            return Err(Broken::Resident(task));
        }
    }
    Ok(())
}

fn check_waves(run: &Run) -> Result<(), Broken> {
    if run.state.stage == Stage::Finished && !run.everything_is_over() {
        return Err(Broken::Finished);
    }
    if run.policy.cadence == Cadence::Beat {
        return Ok(());
    }
    for task in run.state.slots.tasks() {
        let facts = &run.facts.tasks[task.get()];
        let alone = facts.turn == WaveTurn::Together || run.state.slots.running() == 1;
        if run.current_wave() != Some(facts.wave) || !alone {
            return Err(Broken::Wave(task));
        }
    }
    let merged = run.facts.tasks.iter().zip(&run.state.tasks).filter(|(facts, _)| facts.wave <= run.state.merged);
    if merged.into_iter().any(|(_, task)| !task.is_absent && !task.status.is_over()) {
        Err(Broken::Counts)
    } else {
        Ok(())
    }
}
