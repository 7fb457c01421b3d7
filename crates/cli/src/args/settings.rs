//! The settings of a run as flags, for every command that takes them.

use clap::{Args as ClapArgs, ValueEnum};
use team_executor_app::config::{Dollars, Flags, Time};
use team_executor_core::run::{AtCheckpoint, Cadence};

/// The headings of these flags in `--help`.
pub(super) const AGENT: &str = "Agent";
pub(super) const ORDER: &str = "Order and retries";
pub(super) const LIMITS: &str = "Limits";
pub(super) const MACHINES: &str = "Machines";
pub(super) const CHECKPOINTS: &str = "Checkpoints and completion";

/// The flags that win over every config file.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Settings {
    /// Agent to use: claude, codex, gemini, opencode, qwen, or a name from team-executor.toml
    #[arg(long, value_name = "NAME", help_heading = AGENT)]
    pub(crate) agent: Option<String>,

    /// Command to run for each task, with its prompt on standard input
    #[arg(long, value_name = "CMD", help_heading = AGENT, conflicts_with = "agent")]
    pub(crate) agent_command: Option<String>,

    /// Run at most this many workers at once [default: 3]
    #[arg(short, long, value_name = "N", help_heading = ORDER, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,

    /// When ready tasks start [default: beat]
    #[arg(long, value_enum, help_heading = ORDER)]
    pub(crate) cadence: Option<RunCadence>,

    /// Retry a failed task at most this many times [default: 3]
    #[arg(long, value_name = "N", help_heading = ORDER)]
    pub(crate) retries: Option<u32>,

    /// Send work back at most this many times before a person decides [default: 2]
    #[arg(long, value_name = "N", help_heading = CHECKPOINTS)]
    pub(crate) rounds: Option<u32>,

    /// What to do at a checkpoint without a decision [default: stop]
    #[arg(long, value_enum, help_heading = CHECKPOINTS)]
    pub(crate) at_checkpoint: Option<RunAtCheckpoint>,

    /// Wait this long for a decision, as 10m or 2h [default: no limit at a terminal, else no wait]
    #[arg(long, value_name = "TIME", help_heading = CHECKPOINTS)]
    pub(crate) checkpoint_wait: Option<Time>,

    /// Fail an attempt after this long: seconds, 30m, 2h or none [default: 30m, interactive 10m]
    #[arg(long, value_name = "TIME", help_heading = LIMITS)]
    pub(crate) time_limit: Option<Time>,

    /// Fail an attempt after this long without output [default: none]
    #[arg(long, value_name = "TIME", help_heading = LIMITS)]
    pub(crate) idle_limit: Option<Time>,

    /// Fail an attempt without any output after this long [default: none]
    #[arg(long, value_name = "TIME", help_heading = LIMITS)]
    pub(crate) first_output_limit: Option<Time>,

    /// Stop the run before it costs more, as 20 or 2.50 US dollars [default: none]
    #[arg(long, value_name = "USD", help_heading = LIMITS)]
    pub(crate) budget_usd: Option<Dollars>,

    /// Stop the run before it uses more tokens [default: none]
    #[arg(long, value_name = "N", help_heading = LIMITS, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,

    /// Stop the run before it makes more model calls [default: none]
    #[arg(long, value_name = "N", help_heading = LIMITS, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_turns: Option<u64>,

    /// Stop the run when its workers have run this long in total, as 2h [default: none]
    #[arg(long, value_name = "TIME", help_heading = LIMITS)]
    pub(crate) budget_wall: Option<Time>,

    /// Share the work with hosts that meet at this server, as nats://HOST:PORT [default: none]
    #[arg(long, value_name = "URL", help_heading = MACHINES)]
    pub(crate) backend: Option<String>,

    /// With a backend, run this many workers on this machine [default: as -c]
    #[arg(long, value_name = "N", help_heading = MACHINES)]
    pub(crate) local: Option<u32>,

    /// Pass this environment variable to workers; NAME* passes all with this start
    #[arg(long, value_name = "NAME", help_heading = AGENT, value_parser = passed)]
    pub(crate) pass_env: Vec<String>,

    /// Set an environment variable of workers; its value is not recorded
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = AGENT, value_parser = assigned)]
    pub(crate) env: Vec<(String, Option<String>)>,
}

fn passed(text: &str) -> Result<String, String> {
    let begin = text.strip_suffix('*').unwrap_or(text);
    match begin.contains(['=', '*', '\0']) || text.is_empty() {
        true => Err("expected the name of a variable, or the begin of one with * behind it".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn assigned(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    match name.is_empty() || text.contains('\0') {
        true => Err("expected NAME=VALUE".to_owned()),
        false => Ok((name.to_owned(), value)),
    }
}

/// The words of a command without the values of variables: with `--env NAME` alone it passes what is set then.
pub(crate) fn without_values(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut is_value = false;
    let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let word = |word: String| match (std::mem::replace(&mut is_value, word == "--env"), word.strip_prefix("--env=")) {
        (true, _) => name(&word),
        (false, Some(pair)) => format!("--env={}", name(pair)),
        (false, None) => word,
    };
    words.into_iter().map(word).collect()
}

impl Settings {
    /// The variables of `--env` without a value.
    fn passed_on(&self) -> impl Iterator<Item = String> {
        self.env.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.clone())
    }
}

/// When tasks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunCadence {
    /// As soon as their dependencies are completed
    Beat,
    /// One wave after the other
    Wave,
}

/// What to do at a checkpoint without a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunAtCheckpoint {
    /// Stop the run; it can be resumed
    Stop,
    /// Continue the run
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
            backend: settings.backend.clone(),
            local: settings.local,
            pass_env: settings.pass_env.iter().cloned().chain(settings.passed_on()).collect(),
            env: settings.env.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect(),
            foreign: None,
        }
    }
}
