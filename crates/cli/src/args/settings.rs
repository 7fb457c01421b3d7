//! The flags that settle how a run goes, for every command that wants to know.

use clap::{Args as ClapArgs, ValueEnum};
use team_executor_app::config::{Dollars, Flags, Time};
use team_executor_core::run::{AtCheckpoint, Cadence};

/// What wins over every configuration file.
#[derive(Debug, Clone, Default, ClapArgs)]
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

    /// How often work that was not accepted is done again before a person decides [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,

    /// What happens at a checkpoint where nobody decides [default: stop]
    #[arg(long, value_enum)]
    pub(crate) at_checkpoint: Option<RunAtCheckpoint>,

    /// How long a person has at a checkpoint, as 10m, 2h [default: as long as it takes; none without a terminal]
    #[arg(long, value_name = "TIME")]
    pub(crate) checkpoint_wait: Option<Time>,

    /// How long one task may take, in seconds or as 30m, 2h, none [default: 30m, interactive 10m]
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Time>,

    /// How long a worker may print nothing more [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) idle_limit: Option<Time>,

    /// How long a worker may print nothing at all [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) first_output_limit: Option<Time>,

    /// How many dollars the run may cost, as 20 or 2.50; it stops before it would cost more
    #[arg(long, value_name = "USD")]
    pub(crate) budget_usd: Option<Dollars>,

    /// How many tokens the run may use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,

    /// How often the run may ask models
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_turns: Option<u64>,

    /// How long workers may run, added up
    #[arg(long, value_name = "TIME")]
    pub(crate) budget_wall: Option<Time>,
}

/// When tasks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunCadence {
    /// As soon as what they wait for is done
    Beat,
    /// Wave after wave
    Wave,
}

/// What happens at a checkpoint where nobody decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunAtCheckpoint {
    /// The run stops, and can be resumed
    Stop,
    /// The run goes on
    Resume,
}

impl From<RunAtCheckpoint> for AtCheckpoint {
    fn from(at: RunAtCheckpoint) -> Self {
        match at {
            RunAtCheckpoint::Stop => Self::Stop,
            RunAtCheckpoint::Resume => Self::Resume,
        }
    }
}

impl From<RunCadence> for Cadence {
    fn from(cadence: RunCadence) -> Self {
        match cadence {
            RunCadence::Beat => Self::Beat,
            RunCadence::Wave => Self::Wave,
        }
    }
}

impl From<&Settings> for Flags {
    fn from(settings: &Settings) -> Self {
        Self {
            agent: settings.agent.clone(),
            agent_command: settings.agent_command.clone(),
            concurrency: settings.concurrency,
            cadence: settings.cadence.map(Cadence::from),
            retries: settings.retries,
            rounds: settings.rounds,
            at_checkpoint: settings.at_checkpoint.map(AtCheckpoint::from),
            checkpoint_wait: settings.checkpoint_wait,
            time_limit: settings.time_limit,
            idle_limit: settings.idle_limit,
            first_output_limit: settings.first_output_limit,
            budget_usd: settings.budget_usd,
            budget_tokens: settings.budget_tokens,
            budget_turns: settings.budget_turns,
            budget_wall: settings.budget_wall,
        }
    }
}
