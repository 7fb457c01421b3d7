//! `team-executor`: runs teams of coding agents over the dependency graph that a planner wrote.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "a test starts itself"))]
#![forbid(unsafe_code)]

mod args;
mod bug;
mod commands;
mod diagnostics;
mod escape;
mod exit;
mod face;
mod failure;
mod log;
mod printer;
mod which;

use std::process::ExitCode;

use team_executor_app::{App, Environment, process};

use crate::args::Args;
use crate::commands::mcp;
use crate::printer::Printer;

fn main() -> ExitCode {
    bug::catch();
    let first = std::env::args_os().nth(1);
    if let Some(exit) = process::role(first.as_deref()) {
        return exit;
    }
    process::settle();
    let app = App::new(environment());
    if first.is_some_and(|first| first == commands::completions::CANDIDATES) {
        return commands::completions::candidates(&app, std::env::args_os().skip(2));
    }
    let mut printer = Printer::new();
    let parsed = (!mcp::is_plain(std::env::args_os().skip(1))).then(|| Args::read(std::env::args_os()));
    let (result, is_json) = match parsed {
        None => (mcp::worker(&app), false),
        Some(Ok(args)) => {
            let begun = log::begin(args.log.as_deref());
            (begun.and_then(|()| commands::run(&app, &args, &mut printer)), args.is_json())
        }
        Some(Err(error)) if !error.use_stderr() => error.exit(), // help or version was asked for
        Some(Err(error)) => (Err(error.into()), args::seem_to_want_json(std::env::args_os())),
    };
    match result.and_then(|exit| printer.flush().map(|()| exit)) {
        Ok(exit) => exit.into(),
        Err(failure) => commands::refuse(&failure.typed_as(&app.typed()), is_json, &mut printer).into(),
    }
}

/// What is around the program.
fn environment() -> Environment {
    Environment {
        current: std::env::current_dir().map_err(|error| error.to_string()),
        exe: std::env::current_exe().map_err(|error| error.to_string()),
        started_as: std::env::args().next(),
        variables: std::env::vars_os().collect(),
    }
}
