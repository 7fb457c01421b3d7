//! Kills the real program at random moments and starts it again until it is done; then everything is checked from
//! outside. It uses the program as a person does, and believes only files, processes and what workers wrote down.

pub(crate) mod chance;
pub(crate) mod check;
pub(crate) mod processes;
pub(crate) mod scenario;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::shell::{Outcome, command, must_succeed, root};
use chance::Chance;
use check::Witness;
use processes::Mark;
use scenario::Scenario;

/// The longest time between a start and a kill.
const LONGEST_MS: u64 = 150;
/// A program that takes longer has hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often a process that may have ended is looked at.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);
/// A task whose worker was lost more often than this is given up, as it should be.
const MOST_KILLS: u64 = 5;

/// What was done in all runs.
#[derive(Debug, Default)]
struct Tally {
    executor: u64,
    keeper: u64,
    both: u64,
    resumes: u64,
    starts: usize,
}

/// Runs sessions that are killed; the first thing that is wrong ends it.
pub(crate) fn run(runs: u64, seed: Option<u64>, tasks: usize) -> Outcome {
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let binary = build(own.path())?;
    let seed = seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()));
    let started = Instant::now();
    let mut tally = Tally::default();
    for seed in seed..seed.saturating_add(runs) {
        let dir = tempfile::Builder::new().prefix("crash-").tempdir().map_err(|error| error.to_string())?;
        if let Err(seen) = one(&binary, dir.path(), seed, tasks.max(1), &mut tally) {
            let dir = dir.keep();
            let again = format!("cargo xtask crash --runs 1 --seed {seed} --tasks {tasks}");
            return Err(format!("{seen}\nkept in {}\nagain with `{again}`", dir.display()));
        }
    }
    let Tally { executor, keeper, both, resumes, starts } = tally;
    println!(
        "{runs} runs from seed {seed} in {:.0} s: {} kills ({executor} executor, {keeper} keeper, {both} both), \
         {resumes} resumes, {starts} workers started, lost 0, repeated 0, orphans 0",
        started.elapsed().as_secs_f32(),
        executor + keeper + both,
    );
    Ok(())
}

/// Builds the program, and gives a copy in a folder: what is built meanwhile does not disturb a long run.
pub(crate) fn build(folder: &Path) -> Outcome<PathBuf> {
    must_succeed(&mut command("cargo build --quiet --package team-executor"))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let built = target.join("debug/team-executor");
    let copy = folder.join("team-executor");
    fs::copy(&built, &copy).map_err(|error| format!("{}: {error}", built.display()))?;
    Ok(copy)
}

/// Runs one session to its end, however often it is killed.
fn one(binary: &Path, dir: &Path, seed: u64, tasks: usize, tally: &mut Tally) -> Outcome {
    let mut chance = Chance::new(seed);
    let scenario = Scenario::random(&mut chance, tasks);
    scenario.write(dir)?;
    let mark = Mark::new(dir);
    let mut witness = Witness::new(dir, &scenario);
    let mut kills = chance.below(MOST_KILLS) + 1;
    let mut executor = start(binary, dir, &scenario)?;
    loop {
        let delay = (kills > 0).then(|| Duration::from_millis(chance.below(LONGEST_MS + 1)));
        let victim = chance.below(4);
        if let Some(status) = wait(&mut executor, delay.unwrap_or(PATIENCE))? {
            if !status.success() {
                return Err(format!("the program ended by itself with {status}"));
            }
            break;
        }
        if delay.is_none() {
            executor.kill().and_then(|()| executor.wait()).map_err(|error| error.to_string())?;
            return Err(format!("the program did not end within {PATIENCE:?}"));
        }
        kills -= 1;
        let keepers = processes::keepers_of(executor.id());
        let keeper = keepers.get(chance.index(keepers.len())).copied();
        match (victim, keeper) {
            (0, Some(keeper)) => {
                processes::kill(keeper);
                tally.keeper += 1;
                continue;
            }
            (1, Some(keeper)) => {
                if chance.below(2) == 0 {
                    processes::kill(keeper);
                    executor.kill().map_err(|error| error.to_string())?;
                } else {
                    executor.kill().map_err(|error| error.to_string())?;
                    processes::kill(keeper);
                }
                tally.both += 1;
            }
            _ => {
                executor.kill().map_err(|error| error.to_string())?;
                tally.executor += 1;
            }
        }
        executor.wait().map_err(|error| error.to_string())?;
        witness.look()?;
        executor = start(binary, dir, &scenario)?;
        tally.resumes += 1;
    }
    mark.no_worker_lives()?;
    tally.starts += witness.judge()?;
    mark.all_end(PATIENCE)?;
    // Once more: there is nothing to do, and nothing is done.
    let before = witness.files()?;
    let status = wait(&mut start(binary, dir, &scenario)?, PATIENCE)?;
    match status {
        Some(status) if status.success() => {}
        other => return Err(format!("a finished run was started again and ended with {other:?}")),
    }
    let after = witness.files()?;
    let paths = before.keys().chain(after.keys());
    if let Some(path) = paths.into_iter().find(|path| before.get(*path) != after.get(*path)) {
        return Err(format!("a finished run was started again and {} changed", path.display()));
    }
    mark.all_end(PATIENCE)
}

pub(crate) fn start(binary: &Path, dir: &Path, scenario: &Scenario) -> Outcome<Child> {
    let text = |error: std::io::Error| format!("{}: {error}", binary.display());
    let output = File::options().append(true).create(true).open(dir.join("output.txt")).map_err(text)?;
    let again = output.try_clone().map_err(text)?;
    let mut command = Command::new(binary);
    command.args(scenario.arguments(dir)).current_dir(dir).env(processes::MARK, dir);
    command.stdin(Stdio::null()).stdout(output).stderr(again).spawn().map_err(text)
}

/// Waits for the end of a process, but not for longer than this.
pub(crate) fn wait(process: &mut Child, most: Duration) -> Outcome<Option<ExitStatus>> {
    let until = Instant::now() + most;
    loop {
        match process.try_wait().map_err(|error| error.to_string())? {
            None if Instant::now() < until => thread::sleep(GLANCE),
            status => return Ok(status),
        }
    }
}

/// A file as text, or why not.
fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
