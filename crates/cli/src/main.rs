//! `team-executor`: runs teams of coding agents over the dependency graph that a planner wrote.

mod args;
mod commands;
mod config;
mod diagnostics;
mod escape;
mod exit;
mod failure;
mod open;
mod place;
mod printer;

use std::process::ExitCode;

use clap::Parser;
use team_executor_agents::{keeper, rehearsal};

use crate::args::Args;
use crate::printer::Printer;

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(first) if first == keeper::ARGUMENT => return keeper::main(),
        Some(first) if first == rehearsal::ARGUMENT => return rehearsal::main(),
        _ => {}
    }
    let args = Args::parse();
    let mut printer = Printer::new();
    let result = commands::run(&args, &mut printer).and_then(|exit| printer.flush().map(|()| exit));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => printer.fail(&failure).into(),
    }
}
