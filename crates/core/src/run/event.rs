//! The events of a run. Keeping them is enough: applying them again gives the same run.
//!
//! Each decision that a later incarnation must not make differently is inside the event that it follows from, so that no
//! crash can come in between. What follows from the state alone (skips, starts, merges) is derived again.

use super::assign::Assignment;
use super::budget::Bound;
use super::cancel::Cancel;
use super::input::{ErrorClass, Work};
use super::limit::Group;
use super::replanned::PlanMark;
use super::review::{Cause, Reviewed};
use super::used::Used;
use crate::bus::CheckpointAction;
use crate::complexity::Complexity;
use crate::graph::TaskIndex;
use crate::ids::TaskId;
use crate::time::Timestamp;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The run began.
    Began {
        /// When.
        at: Timestamp,
    },
    /// Another incarnation took over.
    Recovered {
        /// When, by its clock; waits go on from here.
        at: Timestamp,
    },
    /// These attempts may begin at any moment. Once this is durable each of them can begin before its
    /// [`Event::Claimed`] is.
    Intended {
        /// Which attempts at which tasks.
        works: Vec<Work>,
        /// When.
        at: Timestamp,
    },
    /// The machine lost its memory: any attempt that was intended may have begun, so none of their numbers is used again.
    Doubted {
        /// When.
        at: Timestamp,
    },
    /// A task was given to a worker.
    Claimed {
        /// Which attempt at which task.
        work: Work,
        /// Which worker.
        slot: u32,
        /// The worker had just completed what the task waited for.
        fast_advance: bool,
        /// Which of the agents that can do it; 0 is the one that is wanted first.
        choice: u32,
        /// When.
        at: Timestamp,
    },
    /// It became known what an attempt used, before its end.
    Used {
        /// Which attempt at which task.
        work: Work,
        /// How much.
        used: Box<Used>,
        /// When.
        at: Timestamp,
    },
    /// A worker completed its task.
    Completed {
        /// Which attempt at which task.
        work: Work,
        /// What came out.
        findings: Option<String>,
        /// What it said about the work that it builds on, and what follows.
        reviewed: Option<Box<Reviewed>>,
        /// When.
        at: Timestamp,
    },
    /// A worker did not complete its task.
    Failed {
        /// Which attempt at which task.
        work: Work,
        /// Whether another attempt can help.
        class: ErrorClass,
        /// For people.
        error: String,
        /// What becomes of the task. After [`ErrorClass::Quota`] its whole pool waits.
        then: Then,
        /// When.
        at: Timestamp,
    },
    /// A worker was lost.
    Interrupted {
        /// Which attempt at which task.
        work: Work,
        /// What becomes of the task.
        then: Then,
        /// When.
        at: Timestamp,
    },
    /// A task will not run.
    Skipped {
        /// Which task.
        task: TaskIndex,
        /// Why.
        reason: SkipReason,
        /// When.
        at: Timestamp,
    },
    /// Tasks that were over begin anew, all at once.
    Reset {
        /// Which tasks.
        tasks: Vec<TaskIndex>,
        /// When.
        at: Timestamp,
    },
    /// Tasks that were sent back begin anew, and everything that was built on them; rounds of fixing go on counting.
    Returned {
        /// Which tasks.
        tasks: Vec<TaskIndex>,
        /// When.
        at: Timestamp,
    },
    /// A person has judged what there is.
    Decided {
        /// At which checkpoint, if the run was at one.
        checkpoint: Option<TaskIndex>,
        /// The decision's text.
        action: CheckpointAction,
        /// What is sent back.
        tasks: Vec<TaskIndex>,
        /// In the person's words.
        text: String,
        /// When.
        at: Timestamp,
    },
    /// A person ends the worker of a task; what its attempt comes to counts no more.
    Cancelled {
        /// Which attempt at which task.
        work: Work,
        /// What becomes of the task when the worker has ended.
        then: Cancel,
        /// For people.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// A person says something about tasks, for all their next attempts.
    Advised {
        /// Which tasks.
        tasks: Vec<TaskIndex>,
        /// In the person's words.
        text: String,
        /// When.
        at: Timestamp,
    },
    /// A person gives tasks to another agent; their attempts from now on are its own.
    Assigned {
        /// Which tasks.
        tasks: Vec<TaskIndex>,
        /// To whom.
        to: Assignment,
        /// When.
        at: Timestamp,
    },
    /// Tasks are there from now on that the plan did not have when the run began.
    Added {
        /// Which tasks.
        tasks: Vec<TaskIndex>,
        /// When.
        at: Timestamp,
    },
    /// The plan of tasks that have not begun is another one from now on.
    Replanned {
        /// Those that wait for others or are done by others.
        changed: Vec<TaskIndex>,
        /// Those that are not there any more.
        removed: Vec<TaskId>,
        /// What makes the plan the same from now on.
        plan: PlanMark,
        /// When.
        at: Timestamp,
    },
    /// Every task of a wave is over.
    WaveMerged {
        /// Which wave, from 1.
        wave: u32,
        /// What becomes of the run.
        then: WaveThen,
        /// When.
        at: Timestamp,
    },
    /// A person wants at most so many workers at a time.
    Limited {
        /// Which workers.
        group: Group,
        /// How many; nothing lifts the limit.
        most: Option<u32>,
        /// When.
        at: Timestamp,
    },
    /// No new workers for now.
    Paused {
        /// Why.
        reason: PauseReason,
        /// When.
        at: Timestamp,
    },
    /// New workers again.
    Resumed {
        /// When.
        at: Timestamp,
    },
    /// No new workers in this incarnation.
    Draining {
        /// When.
        at: Timestamp,
    },
    /// No new workers in this incarnation, by the rules themselves.
    Halted {
        /// Why.
        why: Halt,
        /// When.
        at: Timestamp,
    },
    /// No workers in this incarnation.
    Stopping {
        /// When.
        at: Timestamp,
    },
    /// Every task is over.
    Finished {
        /// When.
        at: Timestamp,
    },
}

impl Event {
    /// When it happened.
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Began { at }
            | Self::Recovered { at }
            | Self::Intended { at, .. }
            | Self::Doubted { at }
            | Self::Claimed { at, .. }
            | Self::Used { at, .. }
            | Self::Completed { at, .. }
            | Self::Failed { at, .. }
            | Self::Interrupted { at, .. }
            | Self::Skipped { at, .. }
            | Self::Reset { at, .. }
            | Self::Returned { at, .. }
            | Self::Decided { at, .. }
            | Self::Cancelled { at, .. }
            | Self::Advised { at, .. }
            | Self::Assigned { at, .. }
            | Self::Added { at, .. }
            | Self::Replanned { at, .. }
            | Self::WaveMerged { at, .. }
            | Self::Limited { at, .. }
            | Self::Paused { at, .. }
            | Self::Resumed { at }
            | Self::Draining { at }
            | Self::Halted { at, .. }
            | Self::Stopping { at }
            | Self::Finished { at } => *at,
        }
    }

    /// The one task that it is about, if there is one.
    pub const fn task(&self) -> Option<TaskIndex> {
        match self {
            Self::Claimed { work, .. }
            | Self::Used { work, .. }
            | Self::Completed { work, .. }
            | Self::Failed { work, .. }
            | Self::Cancelled { work, .. }
            | Self::Interrupted { work, .. } => Some(work.task),
            Self::Skipped { task, .. } => Some(*task),
            _ => None,
        }
    }
}

/// What becomes of a task after an attempt that did not complete it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It is tried again.
    Again {
        /// Not earlier than this.
        not_before: Timestamp,
    },
    /// It failed.
    Over,
}

/// What becomes of a run after a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaveThen {
    /// The next wave starts.
    GoOn,
    /// All workers of the wave failed: a person is asked, and the run is paused until then.
    Ask,
    /// All workers of the wave failed: the run stops.
    Abort,
}

/// Why a run stops by itself. It can be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// A budget is in the way of everything that could start.
    Budget(Box<Bound>),
    /// No agent that can do this task is logged in.
    NotLoggedIn(TaskIndex),
    /// The disk is full.
    NoRoom,
    /// Only a part of the plan was to be run, and nothing of it can start any more.
    PartDone,
}

/// Why a run is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseReason {
    /// It was told to, for this reason.
    Told(String),
    /// All workers of this wave failed.
    WaveFailed(u32),
    /// A person is to judge.
    Checkpoint {
        /// Which task it comes after.
        task: TaskIndex,
        /// Why.
        cause: Cause,
    },
}

/// Why a task will not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It depends on this task, which failed.
    DependencyFailed(TaskIndex),
    /// It depends on this task, which was skipped.
    DependencySkipped(TaskIndex),
    /// It runs only after a failure, and there was none.
    NoDependencyFailed,
    /// This task, which it depends on, found the work simpler than what the task is for. Nothing is amiss.
    TooSimple(TaskIndex, Complexity),
    /// Its kind of task is switched off. Nothing is amiss.
    SwitchedOff,
    /// A person said so, for this reason.
    Person(String),
}
