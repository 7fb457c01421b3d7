//! What `csv` can be told.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::options::Start;
use super::settings::Settings;

/// What is done with the rows of a table.
#[derive(Debug, ClapArgs)]
pub(crate) struct Csv {
    /// The table: a CSV file with a header
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// What to do with each row; {column} stands for its cell, {{ and }} for braces
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: String,

    /// The column that names the rows [default: they are row-1, row-2, …]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,

    /// The table that comes out [default: FILE with .agent-job-ID.csv for its ending]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The JSON Schema that each result must follow: a file, or the schema itself
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<String>,

    /// How long one row may take; the same as --time-limit
    #[arg(long, value_name = "N", conflicts_with = "time_limit", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_runtime_seconds: Option<u64>,

    /// Do it all anew, also if it was done or begun before
    #[arg(long)]
    pub(crate) new: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,

    #[command(flatten)]
    pub(crate) start: Start,
}
