//! `cargo xtask trees`: kills the executor, its keepers and git, and lets calls of git fail, while tasks work in trees of their
//! own; starts the same command again until it is done, and checks from outside that no commit is lost, that every task began
//! with what its parents did, and that the branch holds what it would have held without all that.

mod check;
mod place;
mod strike;

use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;

use crate::crash::chance::Chance;
use crate::crash::check::Witness;
use crate::crash::processes::{self, Mark};
use crate::crash::scenario::Scenario;
use crate::crash::{PATIENCE, build, wait};
use crate::plants;
use crate::shell::{Outcome, command, must_succeed, succeeds};
use check::Refs;
use place::Place;
use strike::{Strike, Tally};

/// The mistakes that the tests of the crate must find.
pub(crate) const PLANTS: &str = "crates/trees/plants.toml";
/// More strikes would make a task fail for good, as it should.
const MOST_STRIKES: u64 = 4;

/// What is done.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// How many sessions
    #[arg(long, value_name = "N", default_value_t = 100)]
    runs: u64,
    /// Where chance begins; each session takes the next one
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// How many tasks each session has
    #[arg(long, value_name = "T", default_value_t = 4)]
    tasks: usize,
    /// Begin no session after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Plant mistakes in the code that keeps work, one at a time; a test of its crate must fail for each
    #[arg(long)]
    plants: bool,
    /// Only plants whose name or file has this in it
    #[arg(long, value_name = "TEXT", requires = "plants")]
    only: Option<String>,
}

/// Runs sessions that are struck; the first thing that is wrong ends it.
pub(crate) fn run(choice: &Choice) -> Outcome {
    if choice.plants {
        return plants::run(PLANTS, choice.only.as_deref(), &|scratch, target| tested(scratch, target));
    }
    if !succeeds("strace --version") {
        return Err("strace is needed; install it, for instance with `apt install strace`".to_owned());
    }
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let binary = build(own.path())?;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed = choice.seed.unwrap_or_else(now);
    let (started, mut tally, mut runs) = (Instant::now(), Tally::default(), 0);
    for seed in seed..seed.saturating_add(choice.runs) {
        if choice.seconds.is_some_and(|most| started.elapsed() > Duration::from_secs(most)) {
            break;
        }
        let dir = tempfile::Builder::new().prefix("trees-").tempdir().map_err(|error| error.to_string())?;
        if let Err(seen) = one(&binary, dir.path(), seed, choice.tasks.max(1), &mut tally) {
            let (dir, tasks) = (dir.keep(), choice.tasks);
            let again = format!("cargo xtask trees --runs 1 --seed {seed} --tasks {tasks}");
            return Err(format!("{seen}\nkept in {}\nagain with `{again}`", dir.display()));
        }
        runs += 1;
    }
    println!("{runs} runs from seed {seed} in {:.0} s: {tally}", started.elapsed().as_secs_f32());
    println!("commits lost 0, wrong bases 0, branches that differ 0, completed twice 0, processes left 0");
    Ok(())
}

/// What the tests of the crate that keeps work say of a copy of the sources: the first that fails, if one does.
fn tested(scratch: &Path, target: &Path) -> Outcome<Option<String>> {
    let mut cargo = command("cargo test --quiet --package team-executor-trees --lib --no-run");
    must_succeed(cargo.current_dir(scratch).env("CARGO_TARGET_DIR", target))?;
    let mut cargo = command("cargo test --quiet --package team-executor-trees --lib");
    let ran = cargo.current_dir(scratch).env("CARGO_TARGET_DIR", target).output();
    let ran = ran.map_err(|error| format!("cargo could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let failed =
        text.lines().find_map(|line| line.strip_prefix("---- ")?.strip_suffix(" stdout ----").map(str::to_owned));
    match (ran.status.success(), failed) {
        (true, _) => Ok(None),
        (false, Some(failed)) => Ok(Some(failed)),
        (false, None) => Err(format!("the tests ended with {}: {text}", ran.status)),
    }
}

/// Runs one session to its end, whatever strikes.
fn one(binary: &Path, dir: &Path, seed: u64, tasks: usize, tally: &mut Tally) -> Outcome {
    let mut chance = Chance::new(seed);
    let scenario = Scenario::in_trees(&mut chance, tasks);
    let place = Place::new(dir, &scenario)?;
    let before = place.users()?;
    let mark = Mark::new(&place.project);
    let (mut witness, mut refs) = (Witness::new(&place.project, &scenario), Refs::default());
    let mut left = chance.below(MOST_STRIKES) + 1;
    loop {
        let strike = if left > 0 { Strike::by_chance(&mut chance) } else { Strike::None };
        left = left.saturating_sub(1);
        place.arm(&strike)?;
        let mut executor = place.start(binary, &scenario)?;
        let (ended, was_killed) = struck(&mut executor, &strike, &mut chance)?;
        let has_struck = place.disarm() || was_killed;
        tally.note(&strike, has_struck);
        mark.all_end(PATIENCE)?;
        witness.look()?;
        refs.look(&place)?;
        match ended.map(|status| status.code()) {
            Some(Some(0)) => break,
            // Killed, or git was made to fail.
            None | Some(None) => {}
            Some(Some(1 | 2 | 74)) if has_struck => {}
            other => return Err(format!("the program ended by itself with {other:?} ({strike:?})")),
        }
        tally.resumes += 1;
    }
    tally.starts += witness.judge()?;
    refs.judge(&place, &scenario)?;
    place.judge(&scenario)?;
    let after = place.users()?;
    if before != after {
        return Err(format!("the user's repository was changed:\n{before:#?}\n{after:#?}"));
    }
    // Once more: there is nothing to do, and nothing is done.
    let known = place.refs()?;
    let status = wait(&mut place.start(binary, &scenario)?, PATIENCE)?;
    if !status.is_some_and(|status| status.success()) || place.refs()? != known {
        return Err(format!("a finished run was started again, ended with {status:?}, and changed refs"));
    }
    mark.all_end(PATIENCE)
}

/// Lets an executor run to its end: how it ended, if not by us, and whether we killed something.
fn struck(executor: &mut Child, strike: &Strike, chance: &mut Chance) -> Outcome<(Option<ExitStatus>, bool)> {
    let hangs = || format!("the program did not end within {PATIENCE:?}");
    let Strike::Time { delay, executor: it, keeper } = strike else {
        let ended = wait(executor, PATIENCE)?;
        return ended.map(|status| (Some(status), false)).ok_or_else(hangs);
    };
    if let Some(status) = wait(executor, *delay)? {
        return Ok((Some(status), false));
    }
    let keepers = if *keeper { processes::keepers_of(executor.id()) } else { Vec::new() };
    let victim = keepers.get(chance.index(keepers.len()));
    victim.iter().for_each(|keeper| processes::kill(**keeper));
    if *it {
        executor.kill().and_then(|()| executor.wait()).map_err(|error| error.to_string())?;
        return Ok((None, true));
    }
    let ended = wait(executor, PATIENCE)?.ok_or_else(hangs)?;
    Ok((Some(ended), victim.is_some()))
}
