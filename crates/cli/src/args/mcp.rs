//! What `mcp` can be told.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::settings::Settings;

/// Who is served, and how what it starts is run.
#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// Serve a client that runs sessions and tables, instead of a worker
    #[arg(long)]
    pub(crate) serve: bool,

    /// Let clients look and write in these folders only
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "serve")]
    pub(crate) root: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Also start programs that the project's team-executor.toml chooses
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// Run on a network file system, where a lock may not keep other machines out
    #[arg(long)]
    pub(crate) allow_network_fs: bool,
}
