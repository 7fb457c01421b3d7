//! `team-executor`: runs teams of coding agents over the dependency graph that a planner wrote.

mod args;
mod commands;
mod diagnostics;
mod escape;
mod exit;
mod failure;
mod open;
mod printer;

use std::process::ExitCode;

use clap::Parser;
use team_executor_agents::keeper;

use crate::args::Args;
use crate::printer::Printer;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == keeper::ARGUMENT) {
        return keeper::main();
    }
    let args = Args::parse();
    let mut printer = Printer::new();
    let result = commands::run(&args, &mut printer).and_then(|exit| printer.flush().map(|()| exit));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => printer.fail(&failure).into(),
    }
}
