//! The options of the commands that steer a run.

use clap::{Args as ClapArgs, Subcommand};
use team_executor_app::asking::assignment;
use team_executor_core::run::Assignment;

use super::options::{Format, Reading};

/// How the session of a request is read, and how the answer is shown.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Asking {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What a person wants of the next attempt at a task.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Wish {
    /// Feedback for the next attempt at each of the tasks
    #[arg(long, value_name = "TEXT", default_value_t)]
    pub(crate) feedback: String,

    /// Give the tasks to this agent, from now on
    #[arg(long, value_name = "AGENT[:MODEL]", value_parser = with, allow_hyphen_values = true)]
    pub(crate) with: Option<Assignment>,
}

fn with(text: &str) -> Result<Assignment, String> {
    assignment(text).map_err(|_| "an agent, or an agent and its model: claude, claude:opus".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Pause {
    /// Reason to show and record
    #[arg(long, value_name = "TEXT", default_value = "paused by hand")]
    pub(crate) reason: String,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stop {
    /// End running workers instead of waiting for them
    #[arg(long)]
    pub(crate) now: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Retry {
    /// IDs of the tasks
    #[arg(value_name = "TASK", required_unless_present = "failed")]
    pub(crate) tasks: Vec<String>,

    /// All failed tasks
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) failed: bool,

    /// Also run all tasks that depend on them, even completed ones
    #[arg(long)]
    pub(crate) downstream: bool,

    #[command(flatten)]
    pub(crate) wish: Wish,

    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Skip {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Reason to show and record
    #[arg(long, value_name = "TEXT", default_value = "skipped by hand")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Cancel {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// The task is skipped instead of failed
    #[arg(long, conflicts_with = "retry")]
    pub(crate) skip: bool,

    /// The task begins a new attempt instead of failing
    #[arg(long)]
    pub(crate) retry: bool,

    /// Reason to show and record
    #[arg(long, value_name = "TEXT", default_value = "cancelled by hand")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Restart {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    #[command(flatten)]
    pub(crate) wish: Wish,

    #[command(flatten)]
    pub(crate) asking: Asking,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Limit {
    /// Number of workers at a time, or `none` to lift a limit
    #[arg(value_name = "N", value_parser = most)]
    pub(crate) most: Most,

    /// Limit the workers of this role only
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,

    /// Limit the workers of this agent only
    #[arg(long, value_name = "NAME", conflicts_with = "role")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// How many workers; nothing lifts a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most(pub(crate) Option<u32>);

fn most(text: &str) -> Result<Most, String> {
    match text.parse() {
        _ if text == "none" => Ok(Most(None)),
        Ok(0) => Err("nothing starts with 0 workers; `pause` is for that".to_owned()),
        Ok(most) => Ok(Most(Some(most))),
        Err(_) => Err("a number from 1, or none".to_owned()),
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Checkpoint {
    /// Decision; without it, show the work to review
    #[command(subcommand)]
    pub(crate) decision: Option<CheckpointDecision>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What a person decides at a checkpoint.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointDecision {
    /// Approve the work and continue
    #[command(visible_alias = "approve")]
    Resume {
        /// Reason to record
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Redo the reviewed tasks with this feedback
    Improve {
        /// Feedback for the tasks
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
    /// Send the reviewed tasks back, with or without feedback
    Reject {
        /// Feedback for the tasks
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Redo one task and everything built on it
    Revise {
        /// ID of the task
        #[arg(value_name = "TASK")]
        task: String,
        /// Feedback for the task
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Repeat the review or the failed checks
    Recheck {
        /// Reason to record
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Add a note for all later workers; the checkpoint stays
    Feedback {
        /// Note
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
}
