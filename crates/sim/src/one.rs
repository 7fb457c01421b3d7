//! One run: executors follow each other until everything is over, with a crash or a fault at a chosen operation of the first
//! one, and by chance in those that follow.

use team_executor_core::TaskStatus;
use team_executor_store::run_folder::JOURNAL;
use team_executor_store::sim_fault::{Fault, Strike};
use team_executor_store::sim_inode::Damage;

use crate::chance::Chance;
use crate::incarnation::{self, Ended};
use crate::scenario::Scenario;
use crate::world::{Happening, Stop, World};

/// Crashes and faults of one run, at most.
const MOST_STRIKES: u32 = 6;
/// About so many bytes are the last lines of a journal.
const LAST_LINES: usize = 600;
/// A run that takes more executors never ends.
const MOST_EXECUTORS: u64 = 80;

/// What came of one run.
#[derive(Debug)]
pub struct Report {
    /// How many operations the disk had seen when the first executor ended.
    pub first: u64,
    /// How many times something struck.
    pub strikes: u32,
    /// How many executors there were.
    pub executors: u64,
    /// How each task stands; nothing if the run had to be given up, as it should.
    pub statuses: Option<Vec<TaskStatus>>,
    /// What is broken.
    pub broken: Option<String>,
    /// Everything that happened, if someone wants to read it.
    pub trace: Option<String>,
}

/// Runs a scenario. Without an operation nothing strikes, and there are no crashes.
pub fn run(scenario: &Scenario, operation: Option<u64>, trace: bool) -> Report {
    let mut world = World::new(scenario, operation.map_or(0, |operation| operation + 1));
    world.trace = trace.then(String::new);
    if let Some(operation) = operation {
        world.chance = Chance::new(&[scenario.seed, 4, operation]);
    }
    let mut report = Report { first: 0, strikes: 0, executors: 0, statuses: None, broken: None, trace: None };
    report.broken = drive(&mut world, operation, &mut report).err();
    report.executors = world.incarnation;
    report.trace = world.trace;
    report
}

fn drive(world: &mut World<'_>, operation: Option<u64>, report: &mut Report) -> Result<(), String> {
    let mut fault = operation.map(|operation| plan(world, operation));
    loop {
        let ended = incarnation::run(world);
        if report.first == 0 {
            report.first = world.run.operations();
        }
        let text = match &ended {
            Ok(ended) => format!("{ended:?}"),
            Err(stop) => format!("{stop:?}"),
        };
        world.note(|| text);
        match ended {
            Err(Stop::Broken(broken)) => return Err(broken),
            Ok(Ended::Finished) => {
                let statuses = Some(world.audit.statuses());
                if report.statuses.is_some() && report.statuses != statuses {
                    return Err("I5: a finished run has changed".to_owned());
                }
                // Sometimes the power is lost then, and someone starts it once more.
                let again = operation.is_some() && report.statuses.is_none() && world.chance.once_in(2);
                report.statuses = statuses;
                if !again {
                    world.executor_gone();
                    return all_closed(world);
                }
                let power = world.scenario.weather.power;
                end(world, power)?;
            }
            Ok(Ended::Stopped | Ended::LoggedOut) => end(world, false)?,
            Ok(Ended::Spent) => {
                world.raise_budgets();
                end(world, false)?;
            }
            Ok(Ended::PartDone) => {
                world.run_all();
                end(world, false)?;
            }
            Ok(Ended::Full) => {
                if fault != Some(Fault::Full) {
                    return Err("I12: the disk is said to be full, and it is not".to_owned());
                }
                report.strikes += 1;
                end(world, false)?;
            }
            Err(Stop::Halted(why)) => {
                if world.audit.rotten {
                    return Ok(()); // it was noticed, and a person is asked
                }
                let expected = why.contains("still there") || matches!(fault, Some(Fault::Io | Fault::Full));
                if !expected {
                    return Err(format!("I12: it gives up, and nothing is wrong: {why}"));
                }
                report.strikes += 1;
                let power = world.scenario.weather.power && world.chance.once_in(2);
                end(world, power)?;
            }
            Err(Stop::Crash) => {
                report.strikes += 1;
                let power = world.scenario.weather.power && !world.chance.once_in(3);
                end(world, power)?;
            }
        }
        if world.incarnation > MOST_EXECUTORS {
            return Err("I12: the run does not come to an end".to_owned());
        }
        let more =
            operation.is_some() && !world.audit.rotten && report.strikes < MOST_STRIKES && world.chance.once_in(2);
        fault = more.then(|| {
            let within = world.chance.pick(&[12, 60]);
            let at = world.run.operations() + world.chance.below(within);
            plan(world, at)
        });
    }
}

/// Plans what strikes at an operation.
fn plan(world: &mut World<'_>, at: u64) -> Fault {
    let crash = !world.scenario.weather.disk || world.chance.once_in(2);
    let (fault, sticky) = if crash {
        (world.chance.pick(&[Fault::CrashBefore, Fault::CrashAfter]), false)
    } else {
        let faults = [
            (Fault::Io, false),
            (Fault::Io, false),
            (Fault::Io, true),
            (Fault::Full, false),
            (Fault::Full, true),
            (Fault::Short, true),
            (Fault::Interrupted, false),
        ];
        world.chance.pick(&faults)
    };
    world.run.plan(Some(Strike { at, fault, sticky }));
    fault
}

/// The executor has ended, or the machine with it.
fn end(world: &mut World<'_>, power: bool) -> Result<(), String> {
    world.audit.before_crash(&world.executor, power)?;
    if power {
        let damage = world.chance.pick(&Damage::ALL[1..]);
        world.note(|| format!("power is lost: {damage:?}"));
        world.power_lost();
        world.run.crash(damage);
    } else {
        world.run.go_on();
        world.executor_gone();
        if world.scenario.weather.keepers && world.chance.once_in(3) {
            for keeper in 0..world.keepers.len() {
                if world.chance.once_in(2) {
                    world.kill_keeper(keeper);
                } else if world.chance.once_in(2) {
                    world.soon(3_000_000, Happening::KeeperKilled(keeper));
                }
            }
        }
    }
    rot(world, power);
    let within = world.chance.pick(&[1, 3000, 20_000_000]);
    world.spend(within);
    Ok(())
}

/// Spoils something durable, rarely: the journal, which must be noticed, or a ledger, which must not be believed.
fn rot(world: &mut World<'_>, power: bool) {
    if !world.scenario.weather.rot || !world.chance.once_in(3) {
        return;
    }
    if let Some(ledger) = world.ledgers.names().pop().filter(|_| world.chance.once_in(2)) {
        return rot_ledger(world, &ledger);
    }
    let length = world.executor.peek(JOURNAL, |cached, _| cached.len()).unwrap_or(0);
    let before = world.run.fingerprint();
    if !power || length == 0 {
        return;
    }
    if world.chance.once_in(3) {
        let blocks = length / 16;
        world.executor.misplace(JOURNAL, world.chance.index(blocks), world.chance.index(blocks));
    } else {
        // Half of the time at the end, where damage is hardest to tell from what a power cut leaves.
        let from = if world.chance.once_in(2) { length.saturating_sub(LAST_LINES) } else { 0 };
        world.executor.flip(JOURNAL, from * 8 + world.chance.index((length - from) * 8));
    }
    if world.run.fingerprint() != before {
        world.audit.spoiled(&world.executor);
    }
    world.note(|| "the journal is spoiled".to_owned());
}

/// Flips a bit of a ledger: any, or one that makes of a worker's end another one.
fn rot_ledger(world: &mut World<'_>, name: &str) {
    let bytes = world.ledgers.peek(name, |cached, _| cached.to_vec()).unwrap_or_default();
    let code = b"\"exit\":";
    let end = bytes.windows(code.len()).rposition(|window| window == code).map(|at| (at + code.len()) * 8);
    let any = world.chance.index(bytes.len() * 8);
    let bit = end.filter(|_| world.chance.once_in(2)).unwrap_or(any);
    world.ledgers.flip(name, bit);
    world.note(|| format!("the ledger {name} is spoiled"));
}

/// When everything has happened that still does after the last executor is gone, nothing is open and nothing lives.
fn all_closed(world: &mut World<'_>) -> Result<(), String> {
    while world.pass().map_err(|stop| format!("{stop:?}"))? {}
    world.sweep_orphans();
    match (world.run.open_files(), world.alive().len()) {
        (0, 0) => Ok(()),
        (open, alive) => Err(format!("I4, I13: {open} files are open and {alive} workers alive at the end")),
    }
}
