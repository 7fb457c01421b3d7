//! The flags that settle how a run goes, for every command that wants to know.

use clap::{Args as ClapArgs, ValueEnum};
use team_executor_core::run::Cadence;

use crate::config::Time;

/// What wins over every configuration file.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Settings {
    /// The agent that does each task, by its name in a configuration file
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// The command that does each task
    #[arg(long, value_name = "CMD", conflicts_with = "agent")]
    pub(crate) agent_command: Option<String>,

    /// How many workers at once [default: 3]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,

    /// When tasks start [default: beat]
    #[arg(long, value_enum)]
    pub(crate) cadence: Option<RunCadence>,

    /// How often a failed task is tried again [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,

    /// How long one task may take, in seconds or as 30m, 2h, none [default: 30m, interactive 10m]
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Time>,

    /// How long a worker may print nothing more [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) idle_limit: Option<Time>,

    /// How long a worker may print nothing at all [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) first_output_limit: Option<Time>,
}

/// When tasks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunCadence {
    /// As soon as what they wait for is done
    Beat,
    /// Wave after wave
    Wave,
}

impl From<RunCadence> for Cadence {
    fn from(cadence: RunCadence) -> Self {
        match cadence {
            RunCadence::Beat => Self::Beat,
            RunCadence::Wave => Self::Wave,
        }
    }
}
