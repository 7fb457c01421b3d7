//! The options of the commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use team_executor_files::Dialect;

use super::settings::{AGENT, CHECKPOINTS, ORDER, RunCadence, Settings};
use team_executor_app::config::milliseconds;

/// The heading of the options that say how a session is read.
const READING: &str = "Reading the session";

/// How a session is run.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Continue this run; without an ID, the newest unfinished run
    #[arg(long = "continue", value_name = "EX-ID", num_args = 0..=1)]
    pub(crate) continued: Option<Option<String>>,

    /// Add this specialist role; repeatable
    #[arg(long, value_name = "NAME", help_heading = ORDER)]
    pub(crate) role: Vec<String>,

    #[command(flatten)]
    pub(crate) part: Part,

    #[command(flatten)]
    pub(crate) start: Start,

    /// What to do when all tasks are completed [default: as the session says]
    #[arg(long, value_name = "ACTION", value_enum, help_heading = CHECKPOINTS)]
    pub(crate) on_complete: Option<OnComplete>,

    /// Run this shell command for each event, with the event as JSON on its input; repeatable
    #[arg(long, value_name = "CMD", help_heading = CHECKPOINTS)]
    pub(crate) on_event: Vec<String>,

    /// Write a report when the run ends: junit=FILE, json=FILE, html=FILE or github; repeatable
    #[arg(long, value_name = "KIND", help_heading = CHECKPOINTS)]
    pub(crate) report: Vec<team_executor_app::report::Wanted>,

    /// Give the prompt back when the run has begun; `attach` shows it again
    #[arg(long)]
    pub(crate) detach: bool,

    /// Watch the run in a browser; the page stays as long as it is open
    #[arg(long, conflicts_with = "detach")]
    pub(crate) ui: bool,

    /// The run was confirmed and goes on in the background.
    #[arg(long, hide = true)]
    pub(crate) background: bool,

    /// Whether `csv` runs the session and writes the table itself.
    #[arg(skip)]
    pub(crate) is_csv: bool,
}

/// The heading of the options that choose a part of the plan.
const PART: &str = "Part of the plan";

/// Which part of the plan is run. Several of these narrow it down.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Part {
    /// Run only these tasks; the others stay pending
    #[arg(long, help_heading = PART, value_name = "TASK", num_args = 1..)]
    pub(crate) only: Vec<String>,

    /// Run also everything that the chosen tasks depend on
    #[arg(long, help_heading = PART)]
    pub(crate) with_deps: bool,

    /// Run only this task and everything that it depends on
    #[arg(long, help_heading = PART, value_name = "TASK")]
    pub(crate) until: Option<String>,

    /// Run only this task and everything that depends on it
    #[arg(long, help_heading = PART, value_name = "TASK")]
    pub(crate) from: Option<String>,

    /// Run only the tasks of this role
    #[arg(long, help_heading = PART, value_name = "NAME")]
    pub(crate) only_role: Option<String>,

    /// Run only the tasks of this wave
    #[arg(long, help_heading = PART, value_name = "N")]
    pub(crate) wave: Option<u32>,
}

impl From<&Part> for team_executor_app::part::Part {
    fn from(Part { only, with_deps, until, from, only_role, wave }: &Part) -> Self {
        let (only, until, from) = (only.clone(), until.clone(), from.clone());
        Self { only, with_deps: *with_deps, until, from, role: only_role.clone(), wave: *wave }
    }
}

/// How a run is started and shown.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Start {
    /// Start without confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// With -y, also start programs from the project's team-executor.toml
    #[arg(long, help_heading = AGENT)]
    pub(crate) trust_project: bool,

    /// Output format; JSON has one event a line
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Print lines instead of the live view
    #[arg(long)]
    pub(crate) no_progress: bool,

    /// Run on a network file system, where locks may not exclude other machines
    #[arg(long)]
    pub(crate) allow_network_fs: bool,
}

/// What to do when all tasks are completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum OnComplete {
    /// Ask at a terminal, else keep the run
    Interactive,
    /// Archive the run; the session becomes completed
    AutoArchive,
    /// Keep the run; the session becomes paused
    AutoKeep,
    /// Keep the run silently
    #[value(skip)]
    Leave,
}

impl OnComplete {
    const ALL: [Self; 4] = [Self::Interactive, Self::AutoArchive, Self::AutoKeep, Self::Leave];

    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::AutoArchive => "auto_archive",
            Self::AutoKeep => "auto_keep",
            Self::Leave => "leave",
        }
    }

    /// The one with this word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// How a session is read.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct Reading {
    /// Dialect of the session [default: detected from its files]
    #[arg(long, value_name = "NAME", help_heading = READING, value_parser = dialect_parser())]
    pub(crate) dialect: Option<Dialect>,

    /// Treat warnings as errors
    #[arg(long, help_heading = READING)]
    pub(crate) strict: bool,

    /// Run tasks again although result files report them as completed
    #[arg(long, help_heading = READING)]
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

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Add this specialist role; repeatable
    #[arg(long, value_name = "NAME", help_heading = ORDER)]
    pub(crate) role: Vec<String>,

    /// Show how the plan differs from that of the newest run
    #[arg(long)]
    pub(crate) diff: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PlanFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Rehearse {
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Let this task fail; repeatable
    #[arg(long, value_name = "TASK")]
    pub(crate) fail: Vec<String>,

    /// Let this task take ten times as long; repeatable
    #[arg(long, value_name = "TASK")]
    pub(crate) slow: Vec<String>,

    /// Run at most this many workers at once [default: as configured]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,

    /// When ready tasks start [default: as configured]
    #[arg(long, value_enum)]
    pub(crate) cadence: Option<RunCadence>,

    /// Rehearsed seconds per second [default: chosen to take a few seconds]
    #[arg(long, value_name = "X", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) speed: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowConfig {
    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Agents {
    /// Agents to list [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,

    /// Ask each agent one short question; uses a few tokens
    #[arg(long)]
    pub(crate) test: bool,

    /// Also start programs from the project's team-executor.toml
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Archive {
    /// ID of a run of the project in the current folder
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,

    /// Only runs that ended at least this long ago: 30d, 12h, 45m, 10s
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) older_than: Option<u64>,

    /// Archive an unfinished or unreadable run too, for this reason
    #[arg(long, value_name = "REASON", conflicts_with = "older_than")]
    pub(crate) give_up: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Prune {
    /// Only runs that ended at least this long ago: 30d, 12h, 45m, 10s
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "30d")]
    pub(crate) older_than: u64,

    /// Keep this many newest runs of each session as they are
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) keep: usize,

    /// Show what can be removed; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Remove without confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// ID of the run [default: the newest run of the session]
    #[arg(long, value_name = "EX-ID", conflicts_with = "session")]
    pub(crate) run: Option<String>,

    /// Copy and cut a damaged journal; remove leftovers of a crash
    #[arg(long)]
    pub(crate) repair: bool,

    /// Repair without confirmation
    #[arg(short, long, requires = "repair")]
    pub(crate) yes: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sessions {
    /// Folder that has `.workflow/`
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Schema {
    /// Name of the schema; without it, list all names
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Output format of the list; a schema is always JSON
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Man {
    /// Command that the page is about [default: an overview of all commands]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
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
