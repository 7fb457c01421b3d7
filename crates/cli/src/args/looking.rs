//! The options of the commands that look at a run.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{Format, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format; JSON prints one event a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Ui {
    /// Show this run first; a unique part of its name is enough [default: the newest]
    #[arg(long, value_name = "EX-ID")]
    pub(crate) run: Option<String>,

    /// Listen on this port [default: any free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,

    /// Print the address and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Show everything and refuse every request that changes something
    #[arg(long)]
    pub(crate) read_only: bool,

    /// A run has started it: it ends when standard input is closed and no tab is open any more.
    #[arg(long, hide = true)]
    pub(crate) beside: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Runs {
    /// The folder that holds `.workflow/`
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// List finished runs too
    #[arg(long)]
    pub(crate) all: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportOf {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// JSON
    #[default]
    Json,
    /// JUnit XML
    Junit,
    /// Annotations for GitHub Actions
    Github,
    /// A summary in Markdown
    Markdown,
    /// One HTML page that stands alone
    Html,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TimelineOf {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Show every task, also those that do not fit the terminal
    #[arg(long)]
    pub(crate) all: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TimelineFormat,
}

/// How a timeline is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimelineFormat {
    /// Bars for people
    #[default]
    Text,
    /// JSON
    Json,
    /// A picture
    Svg,
    /// Trace events, for Perfetto
    Trace,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusOf {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Update until the run ends
    #[arg(short, long)]
    pub(crate) watch: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Logs {
    /// Task to print [default: all tasks]
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// Attempt to print: a number, or `all` [default: the last]
    #[arg(long, value_name = "N|all", default_value = "last", hide_default_value = true, value_parser = attempts)]
    pub(crate) attempt: WhichAttempts,

    /// Print only the last lines of each stream
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) tail: Option<usize>,

    /// Print only what was printed since: 10m, 2h, or 2026-02-27T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Begin each line with the time at which it was printed, to about a second
    #[arg(short, long)]
    pub(crate) timestamps: bool,

    /// Print the log as it was written: do not decode the streams of agents
    #[arg(long)]
    pub(crate) raw: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Follow until the attempt or the run ends; wait for a task or run that has not begun
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Output format; JSON has one object a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Which attempts at a task are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhichAttempts {
    Last,
    Number(u32),
    All,
}

fn attempts(text: &str) -> Result<WhichAttempts, String> {
    match text {
        "last" => Ok(WhichAttempts::Last),
        "all" => Ok(WhichAttempts::All),
        number => match number.parse() {
            Ok(number @ 1..) => Ok(WhichAttempts::Number(number)),
            _ => Err("expected the number of an attempt, from 1, or `all`".to_owned()),
        },
    }
}

/// Which run of the session is looked at.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct OfRun {
    /// Look at this run; a unique part of its name is enough [default: the newest]
    #[arg(long, value_name = "EX-ID")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Events {
    /// Number of the first event
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) from: u64,

    /// Follow until the run ends or stops
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Also print live events, such as output lines of workers
    #[arg(long, requires = "follow")]
    pub(crate) live: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Output format; JSON has one event a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Prompt {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// Print the names of the worker's environment variables instead, without values
    #[arg(long)]
    pub(crate) env: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Artifacts {
    /// Action
    #[arg(value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) what: ArtifactsWhat,

    /// Artifact to show
    #[arg(value_name = "ID", required_if_eq("what", "show"))]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What to do with artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ArtifactsWhat {
    /// List all with state, version, size and producer
    #[default]
    List,
    /// Show one with its manifest and history
    Show,
    /// Check that each is unchanged since it was delivered
    Verify,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Export {
    /// Target folder; created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,

    #[command(flatten)]
    pub(crate) of: OfRun,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
