//! `cargo xtask sim`: builds the simulator and runs it, or plants mistakes in the program and lets it find them.

use clap::Args;

use crate::plants;
use crate::shell::{Outcome, command, must_succeed};

/// What is simulated.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    runs: u64,
    /// The first seed; the next ones follow
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Only the run of the seed in which something strikes at this operation
    #[arg(long, value_name = "K")]
    op: Option<u64>,
    /// Only one run of the seed, with everything that happens in it
    #[arg(long)]
    trace: bool,
    /// Plant mistakes in the program, one at a time; each must be found within the runs
    #[arg(long, conflicts_with_all = ["op", "trace"])]
    plants: bool,
    /// Only plants whose name or file has this in it
    #[arg(long, value_name = "TEXT", requires = "plants")]
    only: Option<String>,
}

/// Builds the simulator and runs it.
pub(crate) fn run(choice: &Choice) -> Outcome {
    if choice.plants {
        return plants::run(plants::OF_SIM, choice.only.as_deref(), &|scratch, target| {
            plants::look_for(&plants::simulator(scratch, target)?, choice.runs, choice.seed)
        });
    }
    let mut sim = command("cargo run --quiet --profile sim --package team-executor-sim --");
    sim.args(["--seed", &choice.seed.to_string()]);
    match choice.op {
        Some(op) => sim.args(["--op", &op.to_string()]),
        None if choice.trace => &mut sim,
        None => sim.args(["--runs", &choice.runs.to_string()]),
    };
    if choice.trace {
        sim.arg("--trace");
    }
    must_succeed(&mut sim)
}
