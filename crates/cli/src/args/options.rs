//! What each command can be told besides.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use team_executor_files::Dialect;

use super::settings::{RunCadence, Settings};
use team_executor_app::config::milliseconds;

/// How a session is run.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Continue this run; without an id the newest that is not finished
    #[arg(long = "continue", value_name = "EX-ID", num_args = 0..=1)]
    pub(crate) continued: Option<Option<String>>,

    /// A specialist who joins, whatever the requirement says; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Vec<String>,

    #[command(flatten)]
    pub(crate) start: Start,

    /// What happens when all tasks are completed; as the session says unless given
    #[arg(long, value_name = "ACTION", value_enum)]
    pub(crate) on_complete: Option<OnComplete>,

    /// Give the prompt back when the run has begun; `attach` shows it again
    #[arg(long)]
    pub(crate) detach: bool,

    /// The run was confirmed and goes on in the background.
    #[arg(long, hide = true)]
    pub(crate) background: bool,

    /// It is `csv` that runs the session, and writes the table of the job itself.
    #[arg(skip)]
    pub(crate) is_csv: bool,
}

/// How a run is started and shown.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Start {
    /// Start without being asked
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// With -y, also start programs that the project's team-executor.toml chooses
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// How to print; as JSON each thing that happens is a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Only lines, also on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,

    /// Run on a network file system, where a lock may not keep other machines out
    #[arg(long)]
    pub(crate) allow_network_fs: bool,
}

/// What happens when all tasks are completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum OnComplete {
    /// Ask, if there is somebody to ask
    Interactive,
    /// Put the run away; the session is completed
    AutoArchive,
    /// Keep the run; the session is paused, for more work
    AutoKeep,
    /// Keep the run and say nothing of it
    #[value(skip)]
    Leave,
}

/// How a session is read.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Reading {
    /// How the folder is written; detected from its files unless given
    #[arg(long, value_name = "NAME", value_parser = dialect_parser())]
    pub(crate) dialect: Option<Dialect>,

    /// Take every warning for an error
    #[arg(long)]
    pub(crate) strict: bool,

    /// Run tasks again that result files beside the table report as completed
    #[arg(long)]
    pub(crate) ignore_results: bool,
}

impl From<Reading> for team_executor_app::Reading {
    fn from(Reading { dialect, strict, ignore_results }: Reading) -> Self {
        Self { dialect, strict, ignore_results }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Validate {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// A specialist who joins, whatever the requirement says; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Vec<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PlanFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Rehearse {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// A task that fails; may be given several times
    #[arg(long, value_name = "TASK")]
    pub(crate) fail: Vec<String>,

    /// A task that takes ten times as long; may be given several times
    #[arg(long, value_name = "TASK")]
    pub(crate) slow: Vec<String>,

    /// How many workers at once [default: as configured]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,

    /// When tasks start [default: as configured]
    #[arg(long, value_enum)]
    pub(crate) cadence: Option<RunCadence>,

    /// How many rehearsed seconds pass in one [default: so many that it takes a few seconds]
    #[arg(long, value_name = "X", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) speed: Option<u32>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowConfig {
    #[command(flatten)]
    pub(crate) settings: Settings,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Agents {
    /// Only these
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,

    /// Ask each one for an answer; that uses a few tokens
    #[arg(long)]
    pub(crate) test: bool,

    /// Also start programs that the project's team-executor.toml chooses
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print; as JSON each event is a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Runs {
    /// The folder that holds `.workflow/`
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Also runs that are finished
    #[arg(long)]
    pub(crate) all: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusOf {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Show it anew whenever it changes, until the run is over
    #[arg(short, long)]
    pub(crate) watch: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Logs {
    /// Which task; without it all of them, each line behind its task
    #[arg(value_name = "TASK")]
    pub(crate) task: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Go on until the attempt ends, or the run is over; a task that has not begun is waited for
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How to print; as JSON each line is an object
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Events {
    /// Begin at the event with this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) from: u64,

    /// Go on with each event as it happens, until the run is over or no executor has it
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Also print events that are only live, such as lines that workers print
    #[arg(long, requires = "follow")]
    pub(crate) live: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print; as JSON each event is one line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Prompt {
    /// Which task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Artifacts {
    /// What to do
    #[arg(value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) what: ArtifactsWhat,

    /// Which artifact is shown
    #[arg(value_name = "ID", required_if_eq("what", "show"))]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What to do with artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ArtifactsWhat {
    /// All of them, with state, version, size and producer
    #[default]
    List,
    /// One of them, with its manifest and its history
    Show,
    /// Whether each is still what was delivered
    Verify,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Export {
    /// Where to; made if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Archive {
    /// Which run, by its name, of the project in the current folder
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,

    /// Only runs that ended so long ago: 30d, 12h, 45m, 10s
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) older_than: Option<u64>,

    /// Also a run that is not finished, or cannot be read: it is given up for this reason
    #[arg(long, value_name = "REASON", conflicts_with = "older_than")]
    pub(crate) give_up: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// The run, if it is not the newest one of the session
    #[arg(long, value_name = "EX-ID", conflicts_with = "session")]
    pub(crate) run: Option<String>,

    /// Cut a damaged journal after copying it, and remove what a crash left unfinished
    #[arg(long)]
    pub(crate) repair: bool,

    /// Repair without being asked
    #[arg(short, long, requires = "repair")]
    pub(crate) yes: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sessions {
    /// The folder that holds `.workflow/`
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Schema {
    /// Which one; all names are listed without it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How to list the names; a schema is always JSON
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// For people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; stable and versioned
    Json,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people
    #[default]
    Text,
    /// For programs; stable and versioned
    Json,
    /// A Mermaid flowchart
    Mermaid,
    /// A Graphviz graph
    Dot,
    /// A picture
    Svg,
}

/// A length of time, in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let millis = milliseconds(text).ok_or("expected a number with d, h, m or s behind it, for instance 30d")?;
    Ok(millis / 1000)
}

pub(super) fn dialect_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    names_of(Dialect::ALL)
}

/// The dialects in which sessions are made, by name.
pub(super) fn made_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    names_of(Dialect::MADE)
}

fn names_of(dialects: &'static [Dialect]) -> impl clap::builder::TypedValueParser<Value = Dialect> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = PossibleValuesParser::new(dialects.iter().map(|dialect| dialect.name()));
    names.try_map(|name| Dialect::from_name(&name).ok_or("no such dialect"))
}
