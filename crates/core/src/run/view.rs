//! What can be seen of a run from outside.

use super::cancel::Cancel;
use super::event::{Halt, PauseReason};
use super::input::Work;
use super::review::Cause;
use super::state::{Place, Run, Stage};
use super::times::Durations;
use crate::complexity::Complexity;
use crate::graph::{Graph, TaskIndex};
use crate::task::{TaskStatus, Verdict};
use crate::time::{Millis, Timestamp};

/// How many tasks there are of each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cannot start yet.
    pub pending: usize,
    /// Can start.
    pub ready: usize,
    /// A worker has it.
    pub in_progress: usize,
    /// Done.
    pub completed: usize,
    /// Failed for good.
    pub failed: usize,
    /// Will not run.
    pub skipped: usize,
}

impl Counts {
    /// How many tasks there are.
    pub const fn total(&self) -> usize {
        self.pending + self.ready + self.in_progress + self.completed + self.failed + self.skipped
    }

    /// How many tasks of that status there are.
    pub const fn count(&self, status: TaskStatus) -> usize {
        match status {
            TaskStatus::Pending => self.pending,
            TaskStatus::Ready => self.ready,
            TaskStatus::InProgress => self.in_progress,
            TaskStatus::Completed => self.completed,
            TaskStatus::Failed => self.failed,
            TaskStatus::Skipped => self.skipped,
        }
    }

    pub(super) const fn of_mut(&mut self, status: TaskStatus) -> &mut usize {
        match status {
            TaskStatus::Pending => &mut self.pending,
            TaskStatus::Ready => &mut self.ready,
            TaskStatus::InProgress => &mut self.in_progress,
            TaskStatus::Completed => &mut self.completed,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Skipped => &mut self.skipped,
        }
    }
}

/// How a run stands after an event, as far as those who watch are told with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many tasks there are of each status.
    pub counts: Counts,
    /// What a person is asked, if the run waits for an answer.
    pub asks: Option<Asks>,
    /// How long the attempt took that ended last.
    pub took: Millis,
}

/// What a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// All workers of this wave failed: whether to retry, to go on or to stop.
    Wave(u32),
    /// To decide at the checkpoint after this task.
    Checkpoint(TaskIndex, Cause),
}

/// How one task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskView<'a> {
    /// Where it stands; ready if only a worker is missing.
    pub status: TaskStatus,
    /// The last attempt, from 1; 0 if it was never tried.
    pub attempt: u32,
    /// Attempts that failed and count, since it last began anew.
    pub failures: u32,
    /// Times that its worker was lost, since it last began anew.
    pub interruptions: u32,
    /// Where it runs, if it does.
    pub slot: Option<u32>,
    /// Which of its agents did the last attempt; 0 is the one that is wanted first.
    pub choice: u32,
    /// When it will be ready, if that is known.
    pub not_before: Option<Timestamp>,
    /// When its status last changed in this run.
    pub since: Option<Timestamp>,
    /// What came out.
    pub findings: Option<&'a str>,
    /// Why the last attempt failed, why it was skipped, or why it begins anew.
    pub error: Option<&'a str>,
    /// How often it was not accepted, since it last began anew.
    pub rounds: u32,
    /// What was wrong with it the last time.
    pub critique: Option<&'a str>,
    /// Words of a person for its next attempt.
    pub advice: Option<&'a str>,
    /// What becomes of it when its worker has ended, if a person ends that.
    pub cancelled: Option<Cancel>,
    /// What it said about the work of others.
    pub verdict: Option<Verdict>,
    /// How much it found there to be to the work.
    pub complexity: Option<Complexity>,
    /// It was skipped, and nothing is amiss.
    pub not_needed: bool,
    /// How long it took so far.
    pub durations: Durations,
}

impl Run {
    /// How it stands, in short.
    pub fn standing(&self) -> Standing {
        let asks = match &self.state.stage {
            Stage::Paused(PauseReason::WaveFailed(wave)) => Some(Asks::Wave(*wave)),
            Stage::Paused(PauseReason::Checkpoint { task, cause }) => Some(Asks::Checkpoint(*task, *cause)),
            _ => None,
        };
        Standing { counts: self.counts(), asks, took: self.took() }
    }

    /// How many tasks there are of each status.
    pub fn counts(&self) -> Counts {
        let ready = self.state.queue.len();
        Counts { pending: self.state.counts.pending - ready, ready, ..self.state.counts }
    }

    /// How one task stands; nothing if there is no such task.
    pub fn view(&self, task: TaskIndex) -> Option<TaskView<'_>> {
        let state = self.state.tasks.get(task.get())?;
        Some(TaskView {
            status: if state.place == Place::Queue { TaskStatus::Ready } else { state.status },
            attempt: state.attempt,
            failures: state.failures,
            interruptions: state.interruptions,
            slot: (state.status == TaskStatus::InProgress).then_some(state.slot),
            choice: state.choice,
            not_before: if let Place::Waiting(until) = state.place { Some(until) } else { None },
            since: state.since,
            findings: state.findings.as_deref(),
            error: state.error.as_deref(),
            rounds: state.rounds,
            critique: state.critique.as_deref(),
            advice: state.advice.as_deref(),
            cancelled: state.cancelled.as_ref().map(|cancelled| cancelled.then),
            verdict: state.verdict,
            complexity: state.complexity,
            not_needed: state.not_needed,
            durations: self.durations(task),
        })
    }

    /// The name of a task; empty if there is no such task.
    pub fn id(&self, task: TaskIndex) -> &str {
        self.facts.tasks.get(task.get()).map_or("", |facts| facts.id.as_str())
    }

    /// How often a task is done again at most when it was not accepted.
    pub fn most_rounds(&self, task: TaskIndex) -> u32 {
        self.facts.tasks.get(task.get()).map_or(0, |facts| facts.rounds)
    }

    /// Where one task stands; nothing if there is no such task.
    pub fn status(&self, task: TaskIndex) -> Option<TaskStatus> {
        self.view(task).map(|view| view.status)
    }

    /// Where each task stands, in order.
    pub fn statuses(&self) -> Vec<TaskStatus> {
        let indexes = (0..).map(TaskIndex).take(self.state.tasks.len());
        indexes.filter_map(|task| self.status(task)).collect()
    }

    /// What workers hold, by slot.
    pub fn at_work(&self) -> impl Iterator<Item = Work> {
        self.state.slots.tasks().map(|task| Work { task, attempt: self.state.tasks[task.get()].attempt })
    }

    /// The same with the slots.
    pub fn slots(&self) -> impl Iterator<Item = (usize, Work)> {
        self.at_work().filter_map(|work| Some((self.slot_of(work)?, work)))
    }

    /// What the worker in a slot holds, if there is one.
    pub fn in_slot(&self, slot: usize) -> Option<Work> {
        let task = self.state.slots.task(u32::try_from(slot).ok()?)?;
        Some(Work { task, attempt: self.state.tasks[task.get()].attempt })
    }

    /// Where an attempt is at work, if it is.
    pub fn slot_of(&self, work: Work) -> Option<usize> {
        let state = self.state.tasks.get(work.task.get())?;
        (state.status == TaskStatus::InProgress && state.attempt == work.attempt).then_some(state.slot as usize)
    }

    /// How often work was sent back.
    pub const fn rounds(&self) -> u32 {
        self.state.rounds
    }

    /// How many tasks were skipped although nothing is amiss.
    pub const fn not_needed(&self) -> usize {
        self.state.not_needed
    }

    /// Why the run stopped by itself, if it did.
    pub const fn halt(&self) -> Option<&Halt> {
        self.state.halt.as_ref()
    }

    /// Why it is paused, or will be paused again when a person resumes it.
    pub const fn pause(&self) -> Option<&PauseReason> {
        match &self.state.stage {
            Stage::Paused(reason) => Some(reason),
            _ => self.state.pause.as_ref(),
        }
    }

    /// What the run is about at the moment.
    pub const fn stage(&self) -> &Stage {
        &self.state.stage
    }

    /// What waits for what.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }
}
