//! The options of `csv`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::options::Start;
use super::settings::{LIMITS, Settings};

/// A table and the job to do on each row.
#[derive(Debug, ClapArgs)]
pub(crate) struct Csv {
    /// CSV file with a header
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Prompt for each row; {column} inserts a cell, {{ and }} are braces
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: String,

    /// Column with the names of the rows [default: row-1, row-2, …]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,

    /// Table to write [default: FILE with the ending .agent-job-ID.csv]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// JSON Schema of each result: a file, or the schema itself
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<String>,

    /// Fail an attempt after this many seconds; same as --time-limit
    #[arg(long, value_name = "N", help_heading = LIMITS, conflicts_with = "time_limit", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_runtime_seconds: Option<u64>,

    /// Start a new job, even if this one was started before
    #[arg(long)]
    pub(crate) new: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) start: Start,
}
