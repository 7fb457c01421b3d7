//! Stops the real program with `stop --now` at random moments and starts it again; in the end it runs through. No worker that
//! ended with 0 may run again, and each stop must take effect soon: all workers are dead, and the executor has ended.

mod asking;

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::crash::chance::Chance;
use crate::crash::check::Witness;
use crate::crash::processes::Mark;
use crate::crash::scenario::{HURRY, Scenario};
use crate::crash::{PATIENCE, build, start, wait};
use crate::shell::Outcome;
use asking::{Kind, Moment, stop};

/// How many tasks each session has.
const TASKS: usize = 6;
/// How often a session is stopped at most.
const MOST_STOPS: u64 = 3;
/// A stop that takes longer to take effect is one that did not, however busy the machine is.
const LATEST: Duration = Duration::from_secs(2);
/// How often it is said how far it got.
const PROGRESS: Duration = Duration::from_secs(10);
/// Of so many stops one may hit a worker between its last word and its end, which cannot be seen from outside.
const UNCERTAIN_ONE_IN: usize = 50;

/// What was done in all runs.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    /// How long each stop took to take effect.
    took: Vec<Duration>,
    /// How many of them came with an assignment, or nearly.
    with_assignment: usize,
    /// There was no executor, or it had nothing left to do.
    late: u64,
    starts: usize,
    /// Workers that handed in their results: none may run again.
    finished: usize,
    /// Workers without a result that said their last word and ran again.
    uncertain: usize,
}

/// Runs sessions that are stopped; the first thing that is wrong ends it.
pub(crate) fn run(runs: u64, seed: Option<u64>, seconds: u64) -> Outcome {
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let binary = build(own.path())?;
    let first = seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()));
    let (started, mut said) = (Instant::now(), Instant::now());
    let mut tally = Tally::default();
    for seed in first..first.saturating_add(runs) {
        if started.elapsed() > Duration::from_secs(seconds) {
            println!("{seconds} s are over");
            break;
        }
        let dir = tempfile::Builder::new().prefix("stops-").tempdir().map_err(|error| error.to_string())?;
        if let Err(seen) = one(&binary, dir.path(), seed, &mut tally) {
            let dir = dir.keep();
            let again = format!("cargo xtask stops --runs 1 --seed {seed}");
            return Err(format!("{seen}\nkept in {}\nagain with `{again}`", dir.display()));
        }
        tally.runs += 1;
        if said.elapsed() > PROGRESS {
            println!("{} of {runs} runs, {}", tally.runs, latencies(&mut tally.took));
            said = Instant::now();
        }
    }
    report(tally, first, started)
}

fn report(mut tally: Tally, seed: u64, started: Instant) -> Outcome {
    let latencies = latencies(&mut tally.took);
    let Tally { runs, took, with_assignment, late, starts, finished, uncertain } = tally;
    println!(
        "{runs} runs from seed {seed} in {:.0} s: {} stops ({with_assignment} with an assignment), {late} came too late; \
         {starts} workers started, {finished} with a result, repeated 0; {uncertain} were hit between their last word and \
         their end\na stop took effect after {latencies}",
        started.elapsed().as_secs_f32(),
        took.len(),
    );
    if uncertain * UNCERTAIN_ONE_IN > took.len().max(UNCERTAIN_ONE_IN) {
        return Err(format!("{uncertain} workers without a result had said their last word and ran again"));
    }
    Ok(())
}

/// The median and the worst of what stops took, in words.
fn latencies(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let at = |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1)));
    let ms = |percent: usize| at(percent).map_or(0, Duration::as_millis);
    let slow = took.iter().filter(|took| took.as_millis() > 200).count();
    format!(
        "{} ms (median), {} ms (90%), {} ms (99%), {} ms (worst), {slow} of {} after more than 200 ms",
        ms(50),
        ms(90),
        ms(99),
        ms(100),
        took.len()
    )
}

/// Runs one session to its end, however often it is stopped.
fn one(binary: &Path, dir: &Path, seed: u64, tally: &mut Tally) -> Outcome {
    let mut chance = Chance::new(seed);
    let scenario = Scenario::stopped(&mut chance, TASKS);
    scenario.write(dir)?;
    let (mark, mut witness) = (Mark::new(dir), Witness::new(dir, &scenario));
    for _ in 0..=chance.below(MOST_STOPS) {
        let mut executor = start(binary, dir, &scenario)?;
        let moment = Moment::random(&mut chance);
        let asked = stop(binary, dir, moment)?;
        if asked.is_none() {
            tally.late += 1;
            fs::write(dir.join(HURRY), "").map_err(|error| error.to_string())?;
        }
        ends(&mut executor, &[0, 130])?;
        if let Some(took) = asked.map(|asked| asked.elapsed()) {
            if took > LATEST {
                return Err(format!("a stop took effect after {took:?}"));
            }
            tally.took.push(took);
            tally.with_assignment += usize::from(moment.kind != Kind::Anytime);
        }
        mark.no_worker_lives()?;
        witness.look()?;
    }
    fs::write(dir.join(HURRY), "").map_err(|error| error.to_string())?;
    ends(&mut start(binary, dir, &scenario)?, &[0])?;
    tally.starts += witness.judge()?;
    let (finished, uncertain) = repeated(dir, &scenario)?;
    tally.finished += finished;
    tally.uncertain += uncertain;
    mark.all_end(PATIENCE)
}

fn ends(executor: &mut Child, codes: &[i32]) -> Outcome {
    match wait(executor, PATIENCE)? {
        Some(status) if status.code().is_some_and(|code| codes.contains(&code)) => Ok(()),
        Some(status) => Err(format!("the program ended with {status}")),
        None => {
            executor.kill().and_then(|()| executor.wait()).map_err(|error| error.to_string())?;
            Err(format!("the program did not end within {PATIENCE:?}"))
        }
    }
}

/// How many workers handed in a result, none of which was repeated; and how many others said their last word and were.
fn repeated(dir: &Path, scenario: &Scenario) -> Outcome<(usize, usize)> {
    let log = fs::read_to_string(dir.join("log")).map_err(|error| error.to_string())?;
    let (mut finished, mut uncertain) = (0, 0);
    for task in &scenario.tasks {
        let words = log.lines().filter_map(|line| line.strip_prefix(&format!("{} ", task.id))?.rsplit(' ').next());
        let words: Vec<_> = words.collect();
        let again = words.windows(2).filter(|pair| pair == &["end", "start"]).count();
        match again {
            0 if task.reports => finished += 1,
            0 => {}
            _ if task.reports => return Err(format!("{} had handed in its result and ran again: {words:?}", task.id)),
            _ => uncertain += again,
        }
    }
    Ok((finished, uncertain))
}
