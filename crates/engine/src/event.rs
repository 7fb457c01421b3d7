//! One thing that happened in a run: what the journal says, what faces show, and what subscribers are sent.
//!
//! An event with a number comes from a record of the journal: `derive` makes it, and nothing else does,
//! whether the run goes on or is read again years later, so it is the same to the byte. One without is only
//! live: an executor tells it to those who watch at that moment, and later readers do not see it.
//!
//! Within one [`VERSION`] kinds and fields are added, never renamed or removed. The tables in `docs/reference/events.md` are made from
//! this file by `cargo xtask events`.

pub(crate) mod derive;
mod reader;
mod subscription;
mod words;

pub use reader::Reader;
pub use subscription::{End, Subscription};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use team_executor_core::run::{self, Cancel, Cause};
use team_executor_core::{CheckpointAction, TaskStatus, Timestamp};
use team_executor_store::Seq;

use crate::clock;

/// The version of all that is below.
pub const VERSION: u32 = 1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the shape, 1.
    pub version: u32,
    /// Which of the events below it is.
    #[serde(flatten)]
    pub kind: Kind,
    /// When, as RFC 3339 in UTC.
    #[serde(with = "words::time")]
    pub at: Timestamp,
    /// The number of the journal record that it comes from; missing from an event that is only live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// Which of the events of that record; missing from the first.
    #[serde(default, skip_serializing_if = "words::is_zero")]
    pub part: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// A run begins, or an executor continues it.
    RunStarted {
        /// Its name.
        run: String,
        /// It was begun before.
        resumed: bool,
        /// How many tasks there are of each status.
        counts: Counts,
        /// Where each task stands, in the order of the session.
        #[serde(skip)]
        statuses: Vec<TaskStatus>,
    },
    /// Live. The session contradicted itself, and the run put it right.
    Reconciled {
        /// What and why.
        message: String,
    },
    /// Live. The run took over an edit that a person made while nothing ran.
    Adopted {
        /// What.
        message: String,
    },
    /// A worker was given a task.
    TaskStarted {
        /// The id of the task.
        task: String,
        /// Its role.
        role: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// In the slot of the task that it waited for.
        fast_advance: bool,
        /// The agent, as the user calls it.
        agent: String,
        /// Of an agent that is wanted first.
        instead: bool,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// Live. A worker printed something: at most four times a second each, the last line only; of a known coding agent, what it does in words (`edits src/lib.rs`).
    TaskOutput {
        /// The id of the task.
        task: String,
        /// One line without control characters.
        text: String,
    },
    /// Live. What a running agent has used has changed, or what it or a command says about its progress.
    TaskActivity {
        /// The id of the task.
        task: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The agent, as the user calls it.
        agent: String,
        /// How much.
        #[serde(flatten)]
        activity: Activity,
    },
    /// An attempt reported what it used.
    TaskUsed {
        /// The id of the task.
        task: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The agent, as the user calls it.
        agent: String,
        /// Which model.
        model: Option<String>,
        /// The conversation, by the agent's own name for it.
        session_id: Option<String>,
        /// Tokens that were sent, those from a cache included.
        tokens_in: u64,
        /// Of them, those from a cache.
        tokens_cached: u64,
        /// Tokens that were written.
        tokens_out: u64,
        /// In dollars.
        #[serde(rename = "cost_usd", with = "words::dollars")]
        cost_micros: Option<u64>,
        /// Its cost or its tokens are an estimate.
        estimated: bool,
        /// How often the model was asked.
        turns: Option<u64>,
        /// How long it took.
        wall_ms: u64,
    },
    /// A task is completed.
    TaskCompleted {
        /// The id of the task.
        task: String,
        /// How long its last attempt took.
        took_ms: u64,
        /// What the task found.
        findings: String,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// An attempt failed.
    TaskFailed {
        /// The id of the task.
        task: String,
        /// Why.
        error: String,
        /// It will be tried again.
        again: bool,
        /// The machine ran short of something, which is told once and not of each.
        #[serde(skip)]
        short: bool,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// An agent has no quota, and tasks that only it can do wait.
    QuotaHeld {
        /// The agent, as the user calls it.
        agent: String,
        /// For how long.
        wait_ms: u64,
    },
    /// A worker was lost; its task is tried again.
    TaskInterrupted {
        /// The id of the task.
        task: String,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// A task will not run.
    TaskSkipped {
        /// The id of the task.
        task: String,
        /// Why.
        reason: String,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// Tasks that were over begin anew, because a person wants it.
    TasksReset {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// A person ends the worker of a task; what its attempt comes to counts no more.
    TaskCancelled {
        /// The id of the task.
        task: String,
        /// What becomes of it: `fail`, `skip` or `retry`.
        #[serde(with = "words::cancel")]
        then: Cancel,
        /// Why.
        reason: String,
    },
    /// A person says something to the next workers of tasks.
    TasksAdvised {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// In the person's words.
        text: String,
    },
    /// A person gives tasks to another agent, from their next attempts on.
    TasksAssigned {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// The agent, as the user calls it.
        agent: String,
        /// Its model, or null for the agent's own.
        model: Option<String>,
    },
    /// The run has new tasks.
    TasksAdded {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// The plan of tasks that had not begun was changed.
    PlanChanged {
        /// The ids of tasks that wait for others or are done by others.
        changed: Vec<String>,
        /// The ids of tasks that the run does not have any more.
        removed: Vec<String>,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// A wave is complete (wave cadence).
    WaveMerged {
        /// Which, from 1.
        wave: u32,
    },
    /// Every task of a wave failed, and a person is asked.
    WaveFailed {
        /// Which, from 1.
        wave: u32,
    },
    /// No new workers start until `resume`.
    Paused {
        /// Why.
        reason: String,
    },
    /// A person wants at most so many workers at a time: of a role, of an agent, or of the run.
    Limited {
        /// The role, or null.
        role: Option<String>,
        /// The agent as the user calls it, or null.
        agent: Option<String>,
        /// How many, or null where the limit was lifted.
        workers: Option<u32>,
    },
    /// New workers start again.
    Resumed,
    /// A person is to decide, and nothing new starts until then.
    Checkpoint {
        /// The one that it comes after.
        task: String,
        /// `planned`, `blocked` or `out_of_rounds`.
        #[serde(with = "words::cause")]
        cause: Cause,
        /// The work to review.
        judged: Vec<ToReview>,
        /// Of the reviewer who did not accept it, or null.
        critique: Option<String>,
        /// A person is being asked here and now.
        #[serde(skip)]
        asked: bool,
    },
    /// Live. What a task changed in its own [tree](../how-to/work-in-trees.md) is a commit.
    TaskChanged {
        /// The id of the task.
        task: String,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// What it began with.
        base: String,
        /// The commit; the same as `base` if nothing was changed.
        commit: String,
        /// How many files differ.
        files: usize,
        /// How many lines were added.
        added: u64,
        /// How many lines were removed.
        removed: u64,
    },
    /// Live. The tests of the whole begin, on what these tasks changed and everything that is merged.
    TasksTested {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// The commit that is tested.
        commit: String,
    },
    /// Live. What a task changed has been merged with what others did, and passed the tests of the whole.
    TaskMerged {
        /// The id of the task.
        task: String,
        /// The commit of all that is merged so far.
        commit: String,
    },
    /// Live. The branch with everything that is completed was made, or moved along.
    BranchLanded {
        /// Its name.
        branch: String,
        /// Its commit.
        commit: String,
    },
    /// Live. An [agent](agents.md#what-it-may-do) asks for a permission.
    Asks {
        /// The id of the task.
        task: String,
        /// Its number.
        question: u64,
        /// What it wants to use.
        tool: String,
        /// What for, in the agent's words.
        what: String,
        /// A person is being asked here and now.
        #[serde(skip)]
        asked: bool,
    },
    /// A person has decided.
    Decided {
        /// A task or null.
        checkpoint: Option<String>,
        /// The work, in words.
        #[serde(with = "words::action")]
        action: CheckpointAction,
        /// In the person's words.
        text: String,
    },
    /// Work was not accepted.
    SentBack {
        /// The task of the reviewer.
        by: String,
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// What is wrong.
        critique: String,
    },
    /// Work that was sent back begins anew, with all that was built on it.
    Returned {
        /// The ids of the tasks.
        tasks: Vec<String>,
        /// How many tasks there are of each status.
        counts: Counts,
    },
    /// No new workers start, and the executor ends when the last one has ended.
    Draining {
        /// How many run.
        running: usize,
    },
    /// The run stops by itself, for instance because a [budget](config.md#budgets) is in the way, and can be resumed.
    Halted {
        /// Why.
        reason: String,
    },
    /// The executor ends its workers.
    Stopping,
    /// The run waits for workers of other runs to end, because [all of them](config.md#all-runs-on-this-machine) share a limit; or it does not any more.
    MachineLimit {
        /// How many workers there may be on this machine.
        workers: u32,
        /// Whether it waits.
        waits: bool,
    },
    /// Something odd that the run survives. Most are live; a wave that failed and a reviewer's warning are not.
    Warning {
        /// In words.
        message: String,
    },
    /// Every task is over.
    RunFinished {
        /// How many tasks there are of each status.
        counts: Counts,
    },
}

/// How many tasks there are of each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub total: usize,
    /// Done.
    pub completed: usize,
    /// Failed for good.
    pub failed: usize,
    /// Will not run.
    pub skipped: usize,
    /// A worker has them.
    pub running: usize,
    /// Can start.
    pub ready: usize,
    /// Cannot start yet.
    pub waiting: usize,
}

/// What a person is to review at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToReview {
    /// The id of the task.
    pub task: String,
    /// What the task says about itself.
    pub findings: String,
    /// Of what it delivered, or null. It is looked up when the event is read.
    pub folder: Option<PathBuf>,
    /// How often it was not accepted.
    pub rounds: u32,
}

/// What a running agent has used so far, as far as it says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Which model.
    pub model: Option<String>,
    /// The conversation, by the agent's own name for it.
    pub session_id: Option<String>,
    /// Tokens that were sent, those from a cache included.
    #[serde(rename = "tokens_in")]
    pub input: u64,
    /// Of them, those from a cache.
    #[serde(rename = "tokens_cached")]
    pub cached: u64,
    /// Tokens that were written.
    #[serde(rename = "tokens_out")]
    pub output: u64,
    /// In dollars.
    #[serde(rename = "cost_usd", with = "words::dollars")]
    pub cost_micros: Option<u64>,
    /// Its cost or its tokens are an estimate.
    #[serde(rename = "estimated")]
    pub is_estimated: bool,
    /// How often the model was asked.
    pub turns: Option<u64>,
    /// By the agent itself.
    pub retries: u32,
    /// How far it says that it is.
    pub progress: Option<String>,
}

/// What the worker of an attempt is doing, as its executor knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtWork {
    /// Which task.
    pub task: String,
    /// Which attempt.
    pub attempt: u32,
    /// The agent, as the user calls it.
    pub agent: String,
    /// In a few words.
    pub doing: Option<String>,
    /// The command with which a person opens its conversation.
    pub attach: Option<String>,
    /// What it has used so far.
    pub activity: Activity,
    /// After how long without output its attempt fails, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_limit_ms: Option<u64>,
    /// Nothing else is known of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unheard: bool,
}

impl Event {
    /// An event that only those see who watch now.
    pub fn live(kind: Kind) -> Self {
        Self { version: VERSION, kind, at: clock::now(), seq: None, part: 0 }
    }

    /// Its line of JSON, without the end of the line. No control character is in it as it is.
    pub fn to_json(&self) -> String {
        // Every field is text or a number: nothing of it can fail.
        let json = serde_json::to_string(self).unwrap_or_default();
        if !json.contains(char::is_control) {
            return json;
        }
        let visible = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.into() };
        json.chars().map(visible).collect()
    }
}

/// Something odd that the run survives, told to those who watch now.
pub(crate) fn warning(message: String) -> Event {
    Event::live(Kind::Warning { message })
}

impl From<run::Counts> for Counts {
    fn from(counts: run::Counts) -> Self {
        Self {
            total: counts.total(),
            completed: counts.completed,
            failed: counts.failed,
            skipped: counts.skipped,
            running: counts.in_progress,
            ready: counts.ready,
            waiting: counts.pending,
        }
    }
}
