//! The options of the commands about what tasks changed in trees of their own.

use clap::{Args as ClapArgs, Subcommand};

use super::{Format, OfRun, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Changes {
    /// Task to show [default: all tasks]
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// List the files with their changed lines
    #[arg(long, group = "how")]
    pub(crate) stat: bool,

    /// Print the difference as a patch for `git apply`
    #[arg(long, group = "how", conflicts_with = "format")]
    pub(crate) patch: bool,

    /// Make this branch: the changes on top of the work that they build on
    #[arg(long, value_name = "NAME", group = "how")]
    pub(crate) branch: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Merge {
    /// Action; without it, `status`
    #[command(subcommand)]
    pub(crate) what: Option<MergeWhat>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What to do about merging.
#[derive(Debug, Subcommand)]
pub(crate) enum MergeWhat {
    /// Show the merged tasks, those that wait, and the branch
    Status {
        #[command(flatten)]
        of: OfRun,
    },
    /// Make the branch of the run, or move it along
    Land {
        /// Fast-forward the branch that is checked out, if the checkout is clean
        #[arg(long)]
        ff: bool,

        #[command(flatten)]
        of: OfRun,
    },
    /// Run completed tasks again whose changes do not merge
    Retry {
        /// Tasks to run again [default: all whose changes do not merge]
        #[arg(value_name = "TASK")]
        tasks: Vec<String>,
    },
}
