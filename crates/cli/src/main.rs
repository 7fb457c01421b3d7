//! `team-executor`: runs teams of coding agents over the dependency graph that a planner wrote.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod args;
mod bug;
mod commands;
mod config;
mod diagnostics;
mod escape;
mod exit;
mod face;
mod failure;
mod joining;
mod log;
mod open;
mod place;
mod printer;
mod usage;
mod which;

use std::process::ExitCode;

use team_executor_agents::{driver, keep_memory, keeper, outlive_large_files, rehearsal, wait_for_children};
use team_executor_mcp::client;

use crate::args::Args;
use crate::commands::mcp;
use crate::printer::Printer;

fn main() -> ExitCode {
    bug::catch();
    wait_for_children();
    match std::env::args_os().nth(1) {
        Some(first) if first == keeper::ARGUMENT => return keeper::main(),
        Some(first) if first == rehearsal::ARGUMENT => return rehearsal::main(),
        Some(first) if first == driver::ARGUMENT => return driver::main(),
        Some(first) if first == client::DETACHED => return client::detached(),
        _ => {}
    }
    outlive_large_files();
    keep_memory();
    let mut printer = Printer::new();
    let parsed = (!mcp::is_plain(std::env::args_os().skip(1))).then(|| Args::read(std::env::args_os()));
    let (result, is_json) = match parsed {
        None => (mcp::worker(), false),
        Some(Ok(args)) => {
            let begun = log::begin(args.log.as_deref());
            (begun.and_then(|()| commands::run(&args, &mut printer)), args.is_json())
        }
        Some(Err(error)) if !error.use_stderr() => error.exit(), // help or version was asked for
        Some(Err(error)) => (Err(error.into()), args::seem_to_want_json(std::env::args_os())),
    };
    match result.and_then(|exit| printer.flush().map(|()| exit)) {
        Ok(exit) => exit.into(),
        Err(failure) => commands::refuse(&failure, is_json, &mut printer).into(),
    }
}
