//! Every flag and command, once: help, completions and the man page come from here.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use team_executor_files::Dialect;

/// Runs teams of coding agents over the dependency graph that a planner wrote
///
/// A session is a folder of files: roles, tasks, dependencies. `validate` says exactly what is wrong with one, `plan`
/// shows what a run would do.
#[derive(Debug, Parser)]
#[command(
    name = "team-executor",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  team-executor sessions
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27
  team-executor plan --session=.workflow/.team/TC-auth-2026-02-27

Exit codes: 0 fine, 2 usage error or invalid session, 74 input/output failure."
)]
pub(crate) struct Args {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The session folder
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) session: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say everything that is wrong or odd about a session; change nothing
    #[command(after_help = "\
Examples:
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27
  team-executor validate --session=. --strict
  team-executor validate --session=. --format json | jq '.findings[].message'

Exit code 0 if the session can be run (warnings are fine), 2 if not.")]
    Validate(Validate),

    /// Show what a run would do: tasks, waves, critical path, who starts first
    #[command(after_help = "\
Examples:
  team-executor plan --session=.workflow/.team/TC-auth-2026-02-27
  team-executor plan --session=. --format svg > plan.svg
  team-executor plan --session=. --format mermaid >> README.md
  team-executor plan --session=. --format json | jq '.ready'")]
    Plan(Plan),

    /// List the sessions and runs below `.workflow/`
    #[command(after_help = "\
Examples:
  team-executor sessions
  team-executor sessions ~/project
  team-executor sessions --format json | jq '.sessions[].path'")]
    Sessions(Sessions),

    /// Print the JSON Schema of a file that is read or written
    #[command(after_help = "\
Examples:
  team-executor schema
  team-executor schema team-session
  team-executor schema tasks > tasks.schema.json")]
    Schema(Schema),

    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  eval \"$(team-executor completions bash)\"
  team-executor completions zsh > ~/.zfunc/_team-executor
  team-executor completions fish > ~/.config/fish/completions/team-executor.fish")]
    Completions(Completions),

    /// Print the manual page
    #[command(after_help = "\
Examples:
  team-executor man | man -l -
  team-executor man > ~/.local/share/man/man1/team-executor.1")]
    Man,
}

/// How a session is read.
#[derive(Debug, ClapArgs)]
pub(crate) struct Reading {
    /// How the folder is written; detected from its files unless given
    #[arg(long, value_name = "NAME", value_parser = dialect_parser())]
    pub(crate) dialect: Option<Dialect>,

    /// Take every warning for an error
    #[arg(long)]
    pub(crate) strict: bool,
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

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PlanFormat,
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

fn dialect_parser() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = PossibleValuesParser::new(Dialect::ALL.iter().map(|dialect| dialect.name()));
    names.try_map(|name| Dialect::from_name(&name).ok_or("no such dialect"))
}
