//! What the commands that steer a run can be told.

use clap::{Args as ClapArgs, Subcommand};

use super::options::{Format, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Pause {
    /// Why, for people
    #[arg(long, value_name = "TEXT", default_value = "somebody asked for it")]
    pub(crate) reason: String,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stop {
    /// Also end the workers that run
    #[arg(long)]
    pub(crate) now: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Retry {
    /// Which tasks
    #[arg(value_name = "TASK", required_unless_present = "failed")]
    pub(crate) tasks: Vec<String>,

    /// Every task that failed
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) failed: bool,

    /// Also everything that depends on them, whatever became of it
    #[arg(long)]
    pub(crate) downstream: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Skip {
    /// Which task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Why, for people
    #[arg(long, value_name = "TEXT", default_value = "skipped by hand")]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Checkpoint {
    /// What to do; without it, what there is to judge is shown
    #[command(subcommand)]
    pub(crate) decision: Option<CheckpointDecision>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What a person decides at a checkpoint.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointDecision {
    /// Go on
    Resume {
        /// Why, for the record
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Do again what the checkpoint judges, with what is to be better in mind
    Improve {
        /// What is to be better
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
    /// Do one task again, and all that was built on it
    Revise {
        /// Which task
        #[arg(value_name = "TASK")]
        task: String,
        /// What is to be different
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Judge again: the checkpoint's own task runs again, or only the checks of what failed them
    Recheck {
        /// Why, for the record
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Say something to every worker that starts from now on; the checkpoint stays
    Feedback {
        /// What to say
        #[arg(value_name = "TEXT", required = true)]
        text: Vec<String>,
    },
}
