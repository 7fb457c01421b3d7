//! The options of `mcp`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::settings::{AGENT, Settings};

/// The served client, and the settings of the runs that it starts.
#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// Serve an assistant or an editor instead of a worker
    #[arg(long)]
    pub(crate) serve: bool,

    /// Limit clients to these folders [default: the roots of the client]
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "serve")]
    pub(crate) root: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Also start programs from the project's team-executor.toml
    #[arg(long, help_heading = AGENT)]
    pub(crate) trust_project: bool,

    /// Run on a network file system, where locks may not exclude other machines
    #[arg(long)]
    pub(crate) allow_network_fs: bool,
}
