//! Lets system calls of the real program fail, one after the other, with `strace`: the first call of a sort, then the
//! second, until there is none left to fail. Each time the same command is given again, unharmed, and everything is checked
//! from outside, as after a kill.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::crash::check::Witness;
use crate::crash::processes::{MARK, Mark};
use crate::crash::scenario::Scenario;
use crate::crash::{PATIENCE, build, start, wait};
use crate::shell::{Outcome, succeeds};

/// How many tasks the session has.
const TASKS: usize = 5;
/// Exit codes allowed when a call of the program failed: it recovered, or it reports that the disk or the
/// system failed.
const WELL: [i32; 2] = [0, 74];
/// Further exit codes allowed when calls of its workers failed, too: a worker that fails again and again
/// fails its task.
const WITH_WORKERS: [i32; 3] = [0, 1, 74];
/// A run with a fault must end this soon.
const SOON: Duration = Duration::from_secs(20);

/// What fails: system calls of one sort, with these answers; in the thread that writes the journal, or in all threads and processes.
const FAULTS: [(&str, &[&str], Where); 17] = [
    ("write", &["EIO", "ENOSPC", "EINTR"], Where::First),
    ("pwrite64", &["EIO", "ENOSPC", "EDQUOT", "EINTR"], Where::First),
    ("fdatasync,fsync", &["EIO", "ENOSPC", "EINTR"], Where::First),
    ("fdatasync", &["EIO", "ENOSPC", "EINTR"], Where::Everywhere),
    ("openat", &["EIO", "EMFILE", "ENFILE", "EINTR"], Where::First),
    ("openat2", &["EIO", "EMFILE", "ENFILE", "EINTR"], Where::First),
    ("openat2", &["EIO", "EMFILE", "EINTR"], Where::Everywhere),
    ("read", &["EIO", "EINTR"], Where::First),
    ("newfstatat,fstat,statx", &["EIO"], Where::First),
    ("getdents64", &["EIO"], Where::First),
    ("unlinkat", &["EIO"], Where::First),
    ("fsync", &["EIO", "ENOSPC", "EINTR"], Where::Everywhere),
    ("?rename,renameat,renameat2", &["EIO", "ENOSPC"], Where::First),
    ("?mkdir,mkdirat", &["EIO", "ENOSPC"], Where::First),
    ("?clone,?clone3,?fork,?vfork", &["EAGAIN"], Where::Everywhere),
    ("pipe2", &["EMFILE"], Where::Everywhere),
    ("?rename,renameat,renameat2", &["EIO", "ENOSPC"], Where::Everywhere),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// The first thread of the executor.
    First,
    /// The executor, its keepers and their workers; each has its own count.
    Everywhere,
}

/// What was done.
#[derive(Debug, Default)]
struct Tally {
    faults: u64,
    ends: BTreeMap<i32, u64>,
    /// Sorts of calls that were made to fail to the last one.
    complete: usize,
}

/// Begins with the calls of this number and goes on until every call has failed once, or the time is over; the first thing that is wrong ends it.
pub(crate) fn run(seconds: u64, from: u64) -> Outcome {
    if !succeeds("strace --version") {
        return Err("strace is needed; install it, for instance with `apt install strace`".to_owned());
    }
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let binary = build(own.path())?;
    let started = Instant::now();
    let sorts = FAULTS.iter().flat_map(|(calls, errors, place)| errors.iter().map(|error| (*calls, *error, *place)));
    let mut left: Vec<_> = sorts.collect();
    let all = left.len();
    let mut tally = Tally::default();
    for nth in from.. {
        let mut reached = Vec::new();
        for sort in left {
            if started.elapsed() > Duration::from_secs(seconds) {
                return report(&tally, all, nth, started);
            }
            if one(&binary, sort, nth, &mut tally)? {
                reached.push(sort);
            }
        }
        tally.complete = all - reached.len();
        if reached.is_empty() {
            return report(&tally, all, nth, started);
        }
        left = reached;
    }
    Ok(())
}

fn report(tally: &Tally, all: usize, nth: u64, started: Instant) -> Outcome {
    let Tally { faults, ends, complete } = tally;
    println!(
        "{faults} faults in {:.0} s, {complete} of {all} sorts to the last call, the others up to call {nth}; exit codes {ends:?}; \
         lost 0, repeated 0, orphans 0, panics 0, hangs 0",
        started.elapsed().as_secs_f32(),
    );
    Ok(())
}

/// Runs a session in which one call fails, then again. Says whether there was such a call.
fn one(binary: &Path, (calls, error, place): (&str, &str, Where), nth: u64, tally: &mut Tally) -> Outcome<bool> {
    let dir = tempfile::Builder::new().prefix("faults-").tempdir().map_err(|error| error.to_string())?;
    let scenario = Scenario::plain(TASKS);
    scenario.write(dir.path())?;
    let result = strike(binary, dir.path(), &scenario, &format!("{calls}:error={error}:when={nth}"), place, tally);
    result.map_err(|seen| {
        let dir = dir.keep();
        format!("{error} at call {nth} of {calls} ({place:?}): {seen}\nkept in {}", dir.display())
    })
}

fn strike(
    binary: &Path,
    dir: &Path,
    scenario: &Scenario,
    fault: &str,
    place: Where,
    tally: &mut Tally,
) -> Outcome<bool> {
    let mark = Mark::new(dir);
    let mut witness = Witness::new(dir, scenario);
    let begun = Instant::now();
    let code = traced(binary, dir, scenario, fault, place)?;
    if begun.elapsed() > SOON {
        return Err(format!("it ended with {code} after {:?}", begun.elapsed()));
    }
    let seen = fs::read_to_string(dir.join("trace")).unwrap_or_default().contains("(INJECTED)");
    let said = fs::read_to_string(dir.join("traced.txt")).unwrap_or_default();
    if said.contains("panicked") {
        return Err(format!("it panicked: {said}"));
    }
    if code == 74 && !said.contains("rror: ") && !said.contains("Stopped  ") {
        // The very call that says it may have failed.
        return Err(format!("it gives no reason: {said}"));
    }
    let is_loader = code == 127 && said.contains("error while loading shared libraries");
    let allowed = if place == Where::First { &WELL[..] } else { &WITH_WORKERS[..] };
    if !allowed.contains(&code) && !is_loader {
        return Err(format!("it ended with {code}: {said}"));
    }
    witness.look()?;
    let resumed = wait(&mut start(binary, dir, scenario)?, PATIENCE)?;
    match resumed.and_then(|status| status.code()) {
        Some(0) => drop(witness.judge()?),
        // A task that failed for good before stays failed; by chance of the fault that may be a task.
        Some(1) if code == 1 => {}
        other => return Err(format!("it was resumed after {code} and ended with {other:?}: {said}")),
    }
    mark.all_end(PATIENCE)?;
    if seen {
        tally.faults += 1;
        *tally.ends.entry(code).or_default() += 1;
    }
    Ok(seen)
}

/// Runs the program under `strace` to its end, and gives its exit code.
fn traced(binary: &Path, dir: &Path, scenario: &Scenario, fault: &str, place: Where) -> Outcome<i32> {
    let text = |error: std::io::Error| format!("strace: {error}");
    let output = File::create(dir.join("traced.txt")).map_err(text)?;
    let calls = fault.split(':').next().unwrap_or_default();
    let mut command = Command::new("strace");
    if place == Where::Everywhere {
        command.arg("-f");
    }
    command.arg("-o").arg(dir.join("trace")).args(["-e", &format!("trace={calls}"), "-e", &format!("inject={fault}")]);
    command.arg(binary).args(scenario.arguments(dir)).current_dir(dir).env(MARK, dir).process_group(0);
    command.stdin(Stdio::null()).stdout(output.try_clone().map_err(text)?).stderr(output);
    let mut process = command.spawn().map_err(text)?;
    let Some(status) = wait(&mut process, PATIENCE)? else {
        let group = Pid::from_child(&process);
        let _ended = kill_process_group(group, Signal::KILL).map(|()| process.wait());
        return Err(format!("it did not end within {PATIENCE:?}"));
    };
    status.code().ok_or_else(|| format!("it was killed: {status}"))
}
