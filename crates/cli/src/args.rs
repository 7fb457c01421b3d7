//! Every flag and command, once: help, completions and the man page come from here.

mod bus;
mod changes;
mod command;
mod csv;
mod groups;
mod looking;
mod machines;
mod making;
mod mcp;
pub(crate) mod mistakes;
mod options;
mod settings;
mod steering;
mod talking;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};

pub(crate) use self::bus::*;
pub(crate) use self::changes::*;
pub(crate) use self::command::Command;
pub(crate) use self::csv::Csv;
use self::groups::{Needs, needs};
pub(crate) use self::looking::*;
pub(crate) use self::machines::*;
pub(crate) use self::making::Init;
pub(crate) use self::mcp::Mcp;
pub(crate) use self::options::*;
pub(crate) use self::settings::{Settings, without_values};
pub(crate) use self::steering::*;
pub(crate) use self::talking::*;

/// The id of the option `--session`.
const SESSION: &str = "session";

/// Run teams of coding agents on the tasks of a plan
#[derive(Debug, Parser)]
#[command(
    name = "team-executor",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  team-executor init 'Fix invoice export'
  team-executor run --agent claude
  team-executor status --watch
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27
  team-executor help run

A session is a folder of files: roles, tasks, dependencies. Without a command,
team-executor runs the session and takes the options of `run`.

Exit codes: 0 all tasks completed, 1 finished with failed or skipped tasks,
2 usage error or invalid session, 3 stopped and resumable, 4 another executor
holds the session, 70 a bug, 74 input/output failure, 130 interrupted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Session folder, or a unique part of its name [default: the session here]
    #[arg(long, value_name = "PATH", global = true, display_order = 0)]
    pub(crate) session: Option<PathBuf>,

    /// Append a log of team-executor itself; TEAM_EXECUTOR_LOG sets its level [default: debug]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,

    /// The options of `run`, for use without a command.
    #[command(flatten)]
    pub(crate) run: Run,

    #[arg(skip)]
    needs: Needs,

    #[arg(skip)]
    is_json: bool,

    #[arg(skip)]
    is_bare: bool,
}

impl Args {
    /// Reads arguments. An option in front of a command is refused: it would belong to the run without a command and have
    /// no effect. Options that may stand anywhere, such as the session, are fine.
    pub(crate) fn read(args: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let args: Vec<_> = args.collect();
        let root = Self::for_people();
        let mut matches =
            root.clone().try_get_matches_from(&args).map_err(|error| mistakes::placed(error, &root, &args))?;
        if let Some(command) = matches.subcommand_name().and_then(|name| root.find_subcommand(name)) {
            if needs(command.get_name()) == Needs::NoSession && is_typed(&matches, SESSION) {
                return Err(unknown_session(command));
            }
            let anywhere = |option: &Arg| {
                let mut known = command.get_arguments().filter(|known| known.get_id() == option.get_id());
                option.is_global_set() || known.any(Arg::is_global_set)
            };
            let first = root
                .get_arguments()
                .filter(|option| is_typed(&matches, option.get_id().as_str()) && !anywhere(option))
                .min_by_key(|option| matches.index_of(option.get_id().as_str()));
            if let Some(option) = first {
                return Err(misplaced(option, command));
            }
        }
        let needs = matches.subcommand_name().map(needs).unwrap_or_default();
        let (is_json, is_bare) = (wants_json(&matches), args.len() <= 1);
        Ok(Self { needs, is_json, is_bare, ..Self::from_arg_matches_mut(&mut matches)? })
    }

    /// The program as `--help` shows it.
    pub(crate) fn for_people() -> clap::Command {
        groups::for_people(Self::command())
    }

    /// Whether the session is inferred where `--session` is left out. `--continue` finds its own.
    pub(crate) fn infers_session(&self) -> bool {
        let is_continued = match &self.command {
            None => self.run.continued.is_some(),
            Some(Command::Run(options) | Command::Resume(options)) => options.continued.is_some(),
            Some(_) => false,
        };
        self.needs == Needs::Session && !is_continued
    }

    /// Whether programs read the output.
    pub(crate) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// Whether there are no arguments at all.
    pub(crate) const fn is_bare(&self) -> bool {
        self.is_bare
    }
}

/// Whether an option was given as an argument.
fn is_typed(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Whether the command prints JSON.
fn wants_json(matches: &ArgMatches) -> bool {
    let (mut of_command, mut verb) = (matches, matches.subcommand());
    while let Some((_, deeper)) = verb {
        (of_command, verb) = (deeper, deeper.subcommand());
    }
    let format = of_command.try_get_one::<Format>("format");
    let of_plan = || of_command.try_get_one::<PlanFormat>("format");
    let of_report = || of_command.try_get_one::<ReportFormat>("format");
    let of_timeline = || of_command.try_get_one::<TimelineFormat>("format");
    format.is_ok_and(|format| format == Some(&Format::Json))
        || of_plan().is_ok_and(|format| format == Some(&PlanFormat::Json))
        // JSON is what it prints unless another format is chosen.
        || of_timeline().is_ok_and(|format| format == Some(&TimelineFormat::Json))
        || of_report().is_ok_and(|format| format == Some(&ReportFormat::Json)) && is_typed(of_command, "format")
}

/// The error for `--session` with a command that has no use for it.
fn unknown_session(command: &clap::Command) -> clap::Error {
    let name = command.get_name();
    let help = match command.get_arguments().any(|known| known.get_long() == Some("dir")) {
        true => "name the folder of the new session with --dir PATH".to_owned(),
        false => format!("leave it out: team-executor {name}"),
    };
    clap::Error::raw(ErrorKind::ArgumentConflict, format!("`{name}` takes no --session\n{help}\n"))
}

/// The error for an option in front of a command, with its right place.
fn misplaced(option: &Arg, command: &clap::Command) -> clap::Error {
    let (option, name) = (option.get_long().unwrap_or_default(), command.get_name());
    let help = match command.get_arguments().any(|known| known.get_long() == Some(option)) {
        true => format!("write it after `{name}`: team-executor {name} --{option}"),
        false => format!("leave it out: `{name}` has no such option"),
    };
    let message = format!("--{option} has no effect in front of `{name}`\n{help}\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

/// Whether arguments that are not understood ask for JSON.
pub(crate) fn seem_to_want_json(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<_> = args.collect();
    let apart = args.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    apart || args.iter().any(|arg| arg == "--format=json")
}
