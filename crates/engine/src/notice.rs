//! What faces are told while a run goes on, in order.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use team_executor_core::run::{Cause, Counts};
use team_executor_core::{CheckpointAction, TaskStatus};

/// One thing to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A run begins, or goes on.
    Begins {
        /// Its name.
        run: String,
        /// It was begun before.
        resumed: bool,
        /// How its tasks stand.
        counts: Counts,
        /// Where each task stands, in the order of the session.
        statuses: Vec<TaskStatus>,
    },
    /// Something that the session said wrongly about itself was put right, and why.
    Reconciled(String),
    /// Something that a person changed while nothing ran was taken over.
    Adopted(String),
    /// A worker was given a task.
    Started {
        /// Which.
        task: String,
        /// Who.
        role: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// In the slot of what it waited for.
        fast_advance: bool,
        /// The agent, as the user calls it.
        agent: String,
        /// It is not the one that is wanted first.
        instead: bool,
        /// How all tasks stand.
        counts: Counts,
    },
    /// What a running worker printed last. Not every line is told: a screen shows one.
    Line {
        /// Which task.
        task: String,
        /// One line without control characters.
        text: String,
    },
    /// What a running agent has used so far.
    Activity {
        /// Which task.
        task: String,
        /// Which attempt.
        attempt: u32,
        /// The agent, as the user calls it.
        agent: String,
        /// How much, and by which model.
        activity: Activity,
    },
    /// A task is done.
    Completed {
        /// Which.
        task: String,
        /// What came out.
        findings: String,
        /// How all tasks stand.
        counts: Counts,
    },
    /// An attempt failed.
    Failed {
        /// Which.
        task: String,
        /// Why.
        error: String,
        /// It will be tried again.
        again: bool,
        /// Too little was left of what others use, which is told once and not of each.
        short: bool,
        /// How all tasks stand.
        counts: Counts,
    },
    /// An agent has no quota; whatever only it can do waits.
    Held {
        /// The agent, as the user calls it.
        agent: String,
        /// For how long, from now.
        wait: Duration,
    },
    /// A worker was lost; its task is tried again.
    Interrupted {
        /// Which.
        task: String,
        /// How all tasks stand.
        counts: Counts,
    },
    /// A task will not run.
    Skipped {
        /// Which.
        task: String,
        /// Why.
        reason: String,
        /// How all tasks stand.
        counts: Counts,
    },
    /// A wave is complete.
    WaveMerged {
        /// Which.
        wave: u32,
    },
    /// Somebody asked for no new workers; the executor waits to be told to go on.
    Paused {
        /// Why.
        reason: String,
    },
    /// New workers again.
    Resumed,
    /// Every task of a wave failed, and a person is asked what to do.
    WaveFailed {
        /// Which.
        wave: u32,
    },
    /// A person is to judge, and nothing new starts until then.
    Checkpoint {
        /// Which task it comes after.
        task: String,
        /// Why.
        cause: Cause,
        /// What is to be judged.
        judged: Vec<Judged>,
        /// What is wrong with it, in the words of whoever judged it before.
        critique: Option<String>,
        /// Somebody is being asked here and now.
        asked: bool,
    },
    /// An agent wants to be allowed something.
    Asks {
        /// Which task it works on.
        task: String,
        /// The number of the question.
        question: u64,
        /// What it wants to use.
        tool: String,
        /// What for, in its words.
        what: String,
        /// Somebody is being asked here and now.
        asked: bool,
    },
    /// A person has judged.
    Decided {
        /// At which checkpoint, if the run was at one.
        checkpoint: Option<String>,
        /// What is to be done.
        action: CheckpointAction,
        /// In the person's words.
        text: String,
    },
    /// Work was not accepted and is done again.
    SentBack {
        /// By whose judgement.
        by: String,
        /// Which tasks.
        tasks: Vec<String>,
        /// What is wrong.
        critique: String,
    },
    /// What was sent back begins anew, with all that was built on it.
    Returned {
        /// Which tasks.
        tasks: Vec<String>,
        /// How all tasks stand.
        counts: Counts,
    },
    /// No new workers; waiting for those that run.
    Draining {
        /// How many run.
        running: usize,
    },
    /// The run stops by itself, and can be resumed.
    Halted {
        /// Why.
        reason: String,
    },
    /// Workers are being ended.
    Stopping,
    /// Something odd that the run survives.
    Warning(String),
}

/// What is to be judged at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Whose work.
    pub task: String,
    /// What it says of itself.
    pub findings: String,
    /// Where what it delivered is.
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
    pub input: u64,
    /// Of them, those that came from a cache.
    pub cached: u64,
    /// Tokens that were written.
    pub output: u64,
    /// In millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// Its cost or its tokens are an estimate.
    pub is_estimated: bool,
    /// How often the model was asked.
    pub turns: Option<u64>,
    /// How often the agent asked its service again by itself.
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
}
