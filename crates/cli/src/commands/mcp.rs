//! `mcp`: serves the worker that started it, or with `--serve` any client, over the Model Context Protocol.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::parser::ValueSource;
use team_executor_app::App;
use team_executor_app::bus::propose;
use team_executor_beneath::Dir;
use team_executor_files::{Code, Finding};
use team_executor_mcp::client::{Client, Flag};
use team_executor_mcp::stdio;
use team_executor_mcp::worker::Worker;

use crate::args::{Args, Mcp};
use crate::exit::Exit;
use crate::failure::Failure;

/// The flags that say who is served, and where. All others are about what is run.
const OWN: [&str; 2] = ["serve", "root"];

/// Serves until the client has closed its end.
pub(crate) fn run(app: &App, options: &Mcp) -> Result<Exit, Failure> {
    let flags = flags();
    if options.serve {
        let current = app.current()?.to_owned();
        let roots = options.root.iter().map(|root| root_of(root, &current)).collect::<Result<_, _>>()?;
        stdio::serve(Client::new(app.clone(), flags, current).within(roots))?;
        return Ok(Exit::Fine);
    }
    if let Some(flag) = flags.first() {
        let finding =
            Finding::error(Code::Usage, format!("--{} says how sessions are run, and a worker runs none", flag.name));
        return Err(finding.help("add --serve to serve a client that does").into());
    }
    worker(app)
}

/// A folder that clients may reach.
fn root_of(root: &Path, current: &Path) -> Result<PathBuf, Failure> {
    let real = current.join(root).canonicalize().ok().filter(|path| Dir::open(path).is_ok());
    real.ok_or_else(|| {
        let finding = Finding::error(Code::Usage, format!("`--root` names no folder: {}", root.display()));
        finding.help("name folders that are there: team-executor mcp --serve --root .").into()
    })
}

/// Whether arguments say that a worker is served, and nothing else. To understand those of all commands takes longer than
/// the rest of the start.
pub(crate) fn is_plain(mut args: impl Iterator<Item = OsString>) -> bool {
    args.next().is_some_and(|first| first == "mcp") && args.next().is_none()
}

/// Serves the worker that the environment names.
pub(crate) fn worker(app: &App) -> Result<Exit, Failure> {
    let attempt = app.attempt()?;
    let attempt = attempt.ok_or_else(|| {
        Finding::error(Code::Usage, "no worker started this: TEAM_EXECUTOR_ATTEMPT is not set")
            .help("let the worker's agent start it, with the TEAM_EXECUTOR_ variables that the worker was given")
            .help("to serve an assistant or an editor: team-executor mcp --serve")
            .help("to look at a session yourself: team-executor status --session=PATH")
    })?;
    stdio::serve(Worker::new(attempt, propose::most(|name| app.variable(name).map(str::to_owned))))?;
    Ok(Exit::Fine)
}

/// The flags that were typed behind `mcp`, each as one word. They mean the same to the commands that run something.
fn flags() -> Vec<Flag> {
    let command = Args::command();
    let Some(known) = command.find_subcommand("mcp") else { return Vec::new() };
    let Ok(matches) = command.clone().try_get_matches_from(std::env::args_os()) else { return Vec::new() };
    let Some(given) = matches.subcommand_matches("mcp") else { return Vec::new() };
    let mut flags = Vec::new();
    for argument in known.get_arguments() {
        let id = argument.get_id().as_str();
        let Some(name) = argument.get_long().filter(|name| !OWN.contains(name)) else { continue };
        if given.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = given.get_raw(id).filter(|_| argument.get_action().takes_values());
        let word = match values.into_iter().flatten().next() {
            Some(value) => format!("--{name}={}", value.to_string_lossy()),
            None => format!("--{name}"),
        };
        flags.push(Flag { name: name.to_owned(), word });
    }
    flags
}
