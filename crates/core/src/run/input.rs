//! What a run can be told, and why it may refuse to listen.

use super::assign::Assignment;
use super::cancel::Cancel;
use super::limit::Group;
use super::replanned::PlanMark;
use super::review::Review;
use super::state::NEVER;
use super::used::Used;
use crate::bus::CheckpointAction;
use crate::graph::TaskIndex;
use crate::ids::TaskId;
use crate::moves::IllegalMove;
use crate::time::Timestamp;

/// Something that happened outside, with the time at which it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The run begins.
    Start {
        /// When.
        now: Timestamp,
    },
    /// All durable events of an earlier incarnation were applied; this is what became of its workers.
    Recovered {
        /// When; the clock may have been set back in between.
        now: Timestamp,
        /// What a live worker still holds.
        alive: Vec<Work>,
        /// Attempts that ended while no executor was there.
        harvested: Vec<WorkEnded>,
        /// The machine lost its memory in between: what was not durable is not known, and nothing is alive.
        rebooted: bool,
    },
    /// It is known what an attempt used. Told before its end, at no time of its own; what is known already changes nothing.
    Used {
        /// Which attempt at which task.
        work: Work,
        /// How much.
        used: Box<Used>,
    },
    /// The disk is full: nothing more can be started.
    NoRoom {
        /// When.
        now: Timestamp,
    },
    /// A worker ended.
    Ended {
        /// When.
        now: Timestamp,
        /// Which, and how.
        ended: WorkEnded,
    },
    /// The time of the last [`Effect::WakeAt`](super::Effect::WakeAt) has come.
    Woke {
        /// When.
        now: Timestamp,
    },
    /// No new workers until [`Input::Resume`].
    Pause {
        /// When.
        now: Timestamp,
        /// For people.
        reason: String,
    },
    /// Goes on after a pause, a drain or a stop.
    Resume {
        /// When.
        now: Timestamp,
    },
    /// No new workers; over when the running ones have ended. The next incarnation goes on, or pauses if this one did.
    Drain {
        /// When.
        now: Timestamp,
    },
    /// No new workers, and the running ones are ended. The next incarnation goes on, or pauses if this one did.
    Stop {
        /// When.
        now: Timestamp,
    },
    /// A person wants tasks that are over to run again, with all their retries. What was skipped because of them runs
    /// again too.
    Retry {
        /// When.
        now: Timestamp,
        /// Which tasks.
        which: Which,
        /// Also everything that depends on them and is over, whatever became of it.
        downstream: bool,
        /// Words of the person for the next attempts at these tasks; may be empty.
        feedback: String,
        /// Who does these tasks from now on, if that changes; then they need not be over.
        with: Option<Assignment>,
    },
    /// A person ends the worker of a task.
    Cancel {
        /// When.
        now: Timestamp,
        /// Which task.
        task: TaskIndex,
        /// What becomes of it.
        then: Cancel,
        /// For people.
        reason: String,
        /// Words of the person for its next attempt; may be empty.
        feedback: String,
        /// Who does it from now on, if that changes.
        with: Option<Assignment>,
    },
    /// Between two incarnations a person changed the tasks. Comes before [`Input::Recovered`]: nothing starts
    /// yet. All of it is taken, or none.
    Edited {
        /// When.
        now: Timestamp,
        /// Tasks that are over and begin anew; a completed one with everything that depends on it.
        again: Vec<TaskIndex>,
        /// Tasks that are not to run.
        skip: Vec<TaskIndex>,
        /// For people.
        reason: String,
    },
    /// Tasks are added that the session has and the run does not yet. Told before [`Input::Recovered`]: nothing starts yet. All
    /// of them, or none.
    Add {
        /// When.
        now: Timestamp,
        /// Which tasks.
        tasks: Vec<TaskIndex>,
    },
    /// The plan of tasks that have not begun is changed, as [`Run::plan_next`](super::Run::plan_next) told unless the rules know
    /// the new plan from the beginning. Told behind [`Input::Add`]. All of it is taken, or nothing.
    Replan {
        /// When.
        now: Timestamp,
        /// Tasks that wait for others or are done by others.
        changed: Vec<TaskIndex>,
        /// Tasks that are not there any more.
        removed: Vec<TaskId>,
        /// What makes the plan the same from now on.
        plan: PlanMark,
    },
    /// A person wants a task not to run.
    Skip {
        /// When.
        now: Timestamp,
        /// Which task.
        task: TaskIndex,
        /// For people.
        reason: String,
    },
    /// A person wants at most so many workers at a time.
    Limit {
        /// When.
        now: Timestamp,
        /// Which workers.
        group: Group,
        /// How many; nothing lifts the limit.
        most: Option<u32>,
    },
    /// A person has judged what there is. The run must be paused, except for feedback.
    Decide {
        /// When.
        now: Timestamp,
        /// The task's text.
        action: CheckpointAction,
        /// Which tasks are to be done again; only for [`CheckpointAction::Revise`] and [`CheckpointAction::Improve`].
        /// Without any, what the checkpoint judges is improved.
        tasks: Vec<TaskIndex>,
        /// In the person's words.
        text: String,
    },
}

impl Input {
    /// When it happened.
    pub const fn now(&self) -> Timestamp {
        match self {
            Self::Used { .. } => NEVER,
            Self::Start { now }
            | Self::Recovered { now, .. }
            | Self::NoRoom { now }
            | Self::Ended { now, .. }
            | Self::Woke { now }
            | Self::Pause { now, .. }
            | Self::Resume { now }
            | Self::Drain { now }
            | Self::Stop { now }
            | Self::Retry { now, .. }
            | Self::Cancel { now, .. }
            | Self::Add { now, .. }
            | Self::Replan { now, .. }
            | Self::Edited { now, .. }
            | Self::Skip { now, .. }
            | Self::Limit { now, .. }
            | Self::Decide { now, .. } => *now,
        }
    }
}

/// One attempt at one task: what a worker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// Which task.
    pub task: TaskIndex,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkEnded {
    /// What the worker held.
    pub work: Work,
    /// How it ended.
    pub outcome: Outcome,
}

/// Which tasks a person wants to run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// These, all of them or none: failed or skipped; completed ones only together with what depends on them.
    Tasks(Vec<TaskIndex>),
    /// Every failed one.
    AllFailed,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The work is done.
    Completed {
        /// What came out, in a few words.
        findings: Option<String>,
        /// What it says about the work that it builds on, if it does.
        review: Option<Box<Review>>,
    },
    /// The work is not done.
    Failed {
        /// Whether another attempt can help.
        class: ErrorClass,
        /// For people.
        error: String,
    },
    /// It took too long; another attempt can help.
    TimedOut {
        /// For people.
        error: String,
    },
    /// The worker never ran; another attempt can help.
    CouldNotStart {
        /// For people.
        error: String,
    },
    /// The worker was lost or ended from outside: the task is not to blame.
    Interrupted,
}

impl Outcome {
    /// The work is done, and nothing was said about the work of others.
    pub const fn completed(findings: Option<String>) -> Self {
        Self::Completed { findings, review: None }
    }
}

/// What an error says about another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// It can help.
    Transient,
    /// It can help when there is quota again; the whole pool waits, and no retry is spent.
    Quota {
        /// When that is, where the agent said so.
        until: Option<Timestamp>,
    },
    /// The delivery does not pass its checks: another attempt that knows the problems may help, a bounded
    /// number of times.
    Rejected,
    /// There is no login, or the account is empty: it can help with another agent, or when that has changed.
    Auth,
    /// The service does not answer: another agent can help. Without one it is transient.
    Unreachable,
    /// It was ended because a budget is used up: it can help when there is more, and no retry is spent.
    Budget,
    /// The system had no more open files, processes, memory or room to start it with: it can help when other workers have
    /// given back theirs, so there are fewer at a time from now on, and no retry is spent. Where no other worker runs it
    /// is transient.
    Shortage,
    /// It cannot help.
    Fatal,
}

/// Why an input changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Only a run that has begun can be told anything.
    #[error("the run has not begun")]
    NotBegun,
    /// The run is not in a state in which this makes sense.
    #[error("the run is {stage}")]
    Stage {
        /// What it is.
        stage: &'static str,
    },
    /// The plan has no such task.
    #[error("there is no task number {}", .0.0)]
    NoSuchTask(TaskIndex),
    /// No worker of this run holds that: it ended already, or it never was.
    #[error("attempt {} at task number {} is not running", .0.attempt, .0.task.0)]
    NotRunning(Work),
    /// The task cannot make that move.
    #[error(transparent)]
    Move(#[from] IllegalMove),
    /// No task failed.
    #[error("no task failed")]
    NothingFailed,
    /// A task that depends on it is running.
    #[error("task number {}, which depends on it, is running", .0.0)]
    DependentRuns(TaskIndex),
    /// A task of a later wave is running.
    #[error("task number {} of a later wave is running", .0.0)]
    LaterWaveRuns(TaskIndex),
    /// What a task depends on says again that it does not run.
    #[error("task number {} would be skipped again", .task.0)]
    SkippedAgain {
        /// Which.
        task: TaskIndex,
        /// The dependency that failed or was skipped; `None` if that is not why.
        on: Option<TaskIndex>,
    },
    /// There is nothing that could be done again.
    #[error("no completed task can be done again")]
    NothingToRevise,
    /// What is added cannot come before a task that was begun.
    #[error("task number {} has begun, and cannot wait for a new task", .0.0)]
    HasBegun(TaskIndex),
    /// Only the plan of a task that no one has tried can be changed.
    #[error("task number {} has begun, and its plan stays as it is", .0.0)]
    Begun(TaskIndex),
    /// Where tasks start wave by wave, the waves are settled.
    #[error("the run keeps its waves, so only tasks can be added to its plan")]
    KeepsWaves,
    /// No worker has the task.
    #[error("no worker has task number {}", .0.0)]
    NotAtWork(TaskIndex),
    /// A limit that lets nothing start.
    #[error("a limit of 0 workers lets nothing start")]
    NoWorkers,
    /// No task of the plan has that role.
    #[error("no task has that role")]
    NoSuchRole,
    /// No task is done by that agent.
    #[error("no task is done by that agent")]
    NoSuchAgent,
    /// Only a task that is over can be done again.
    #[error("task number {} is not over", .0.0)]
    NotOver(TaskIndex),
}
