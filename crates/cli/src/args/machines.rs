//! The options of the commands about several machines.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use team_executor_app::config::Time;

use super::Format;

/// Where the machines meet.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct AtBackend {
    /// The server where hosts and runs meet, as nats://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) backend: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Host {
    #[command(flatten)]
    pub(crate) at: AtBackend,

    /// Name of this host, unique at its backend [default: the name of the machine]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,

    /// Run at most this many workers at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) slots: u32,

    /// Describe this host, as gpu=yes; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,

    /// Keep the files of workers here [default: below ~/.local/state/team-executor]
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,

    /// End the workers after this long without the backend
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = lease)]
    pub(crate) lease: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hosts {
    #[command(flatten)]
    pub(crate) at: AtBackend,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Backend {
    #[command(subcommand)]
    pub(crate) what: BackendWhat,
}

/// What to do about a backend.
#[derive(Debug, Subcommand)]
pub(crate) enum BackendWhat {
    /// Check whether runs can rely on the backend
    Check(AtBackend),
}

fn name(text: &str) -> Result<String, String> {
    match text.is_empty() || text.len() > 100 || text.chars().any(char::is_control) {
        true => Err("expected a name of at most 100 characters".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// A shorter lease would end workers whenever a machine is busy.
fn lease(text: &str) -> Result<u64, String> {
    let time: Time = text.parse().map_err(|_| "expected a time, as 30s or 2m".to_owned())?;
    time.0.filter(|ms| (1000..=3_600_000).contains(ms)).ok_or_else(|| "expected a time between 1s and 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_and_lease_are_what_they_say() {
        assert_eq!(label("gpu=a=b"), Ok(("gpu".to_owned(), "a=b".to_owned())));
        assert!(label("gpu").is_err() && label("=x").is_err());
        assert_eq!((lease("1m"), lease("2s")), (Ok(60_000), Ok(2000)));
        assert!(["0s", "none", "2h", "x"].iter().all(|text| lease(text).is_err()));
    }
}
