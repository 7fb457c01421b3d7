//! How an executor starts: it takes the lock, opens the journal or makes one, feeds the rules with it, and finds out what
//! became of the workers of earlier executors.

use std::collections::BTreeMap;
use std::time::Duration;

use team_executor_core::run::{Input, Run, Stage, Work, WorkEnded};
use team_executor_engine::conductor::Conductor;
use team_executor_engine::rules;
use team_executor_store::run_folder::{JOURNAL, LOCK, RESERVE};
use team_executor_store::sim_disk::SimFile;
use team_executor_store::sim_sync::SimSyncer;
use team_executor_store::{
    Disk as _, DiskFile as _, Holder, Journal, JournalError, Kind, Lock, LockError, Reserve, recover, sweep,
};

use crate::executor::failing;
use crate::ledger;
use crate::worker::{End, Script};
use crate::world::{Stop, World};

/// How long a keeper of an earlier executor has to end its worker, in microseconds.
const PATIENCE: u64 = 15_000_000;
/// How much room is kept; the records here are small.
const RESERVE_BYTES: usize = 4096;
/// The record that every journal begins with.
const PLAN: &str = "{\"type\":\"plan\",\"at\":0}";

/// An executor that has everything it needs.
pub(crate) struct Started {
    pub(crate) lock: Lock<SimFile>,
    pub(crate) conductor: Conductor<SimFile>,
    /// Who syncs beside; if nobody does, every sync is waited for.
    pub(crate) syncer: Option<SimSyncer>,
    /// What the rules are told first; nothing if everything is over.
    pub(crate) first: Option<Input>,
    /// What the workers of earlier executors used, which the rules are told before.
    pub(crate) used: Vec<Input>,
    /// What ended well and is still to be checked.
    pub(crate) unchecked: Vec<Work>,
    /// An earlier executor had begun the run.
    pub(crate) began: bool,
}

pub(crate) fn start(world: &mut World<'_>) -> Result<Started, Stop> {
    let (lock, rebooted) = take_lock(world)?;
    failing(world, sweep(&world.run))?;
    failing(world, world.executor.sync_folder())?;
    let (mut journal, records) = open_journal(world)?;
    match Reserve::keep(&world.executor, RESERVE, RESERVE_BYTES) {
        Ok(reserve) => journal.set_reserve(reserve),
        Err(_) if world.run.is_down() => return Err(Stop::Crash),
        Err(_) => {} // it goes without
    }
    world.audit.reserved(&world.executor);
    let scenario = world.scenario;
    let all = records.iter().skip(1).map(String::as_str);
    let replayed = rules(scenario.tasks(), &scenario.graph, "simulated", world.policy.clone(), all);
    let rules = replayed.map_err(|error| Stop::Broken(format!("I12: {error}")))?;
    world.audit.look(&world.executor)?;
    world.audit.replayed(&rules)?;
    let began = records.len() > 1;
    let number = world.incarnation;
    world.note(|| format!("executor {number} starts: {} records, rebooted {rebooted}", records.len()));
    let (mut unchecked, mut used) = (Vec::new(), Vec::new());
    let first = if *rules.stage() == Stage::Finished {
        None
    } else if began {
        let harvest = harvest(world, &rules)?;
        unchecked.clone_from(&harvest.unchecked);
        used = harvest.used;
        let (alive, harvested) = (harvest.unchecked, harvest.ended);
        Some(Input::Recovered { now: world.time(), alive, harvested, rebooted })
    } else {
        harvest(world, &rules)?; // a worker can only be there if its claim is
        Some(Input::Start { now: world.time() })
    };
    let began = began && first.is_some();
    let syncer = failing(world, journal.file())?;
    let syncer = (!world.chance.once_in(3)).then(|| SimSyncer::new(syncer));
    if let Some(syncer) = &syncer {
        journal.sync_beside(Box::new(syncer.clone()));
    }
    let conductor = Conductor::new(scenario.tasks(), rules, journal);
    Ok(Started { lock, conductor, syncer, first, used, began, unchecked })
}

/// Takes the lock, and finds out whether the machine was started since someone else had it.
fn take_lock(world: &mut World<'_>) -> Result<(Lock<SimFile>, bool), Stop> {
    let lock = match Lock::take(&world.executor, LOCK, Duration::ZERO) {
        Err(LockError::Held { by }) => {
            return Err(Stop::Broken(format!("I11: nobody lives, and the lock is held by {by}")));
        }
        taken => taken,
    };
    let mut lock = failing(world, lock)?;
    let text = failing(world, world.executor.read(LOCK))?;
    let rebooted = !String::from_utf8_lossy(&text).contains(&format!("boot {},", boot(world)));
    sign(world, &mut lock, !rebooted)?;
    Ok((lock, rebooted))
}

/// Says who has the lock; the start of the machine only when the journal says what follows from that.
pub(crate) fn sign(world: &World<'_>, lock: &mut Lock<SimFile>, settled: bool) -> Result<(), Stop> {
    let boot = if settled { boot(world) } else { String::new() };
    let holder = Holder { pid: 1, started: 1, boot, host: "simulated".to_owned(), epoch: world.incarnation };
    failing(world, lock.sign(&holder))
}

/// Which start of the machine this is.
fn boot(world: &World<'_>) -> String {
    format!("boot{}", world.boot)
}

/// The journal and its records; a new one where there is none, or one whose making was cut off.
fn open_journal(world: &mut World<'_>) -> Result<(Journal<SimFile>, Vec<String>), Stop> {
    let there = failing(world, world.executor.kind(JOURNAL))? == Kind::File;
    let bytes = if there { failing(world, world.executor.read(JOURNAL))? } else { Vec::new() };
    if !recover(&bytes).is_ok_and(|recovered| recovered.records.is_empty()) {
        return reopen_journal(world);
    }
    if world.audit.rotten {
        // A spoiled first commit looks like one that was never whole.
        return Err(Stop::Halted("what was spoiled is not there".to_owned()));
    }
    world.audit.created()?;
    if there {
        failing(world, world.executor.remove(JOURNAL))?;
    }
    let mut journal = failing(world, Journal::create(&world.executor, JOURNAL))?;
    failing(world, journal.append(PLAN).and_then(|_| journal.commit()))?;
    Ok((journal, vec![PLAN.to_owned()]))
}

fn reopen_journal(world: &mut World<'_>) -> Result<(Journal<SimFile>, Vec<String>), Stop> {
    let opened = Journal::open(&world.executor, JOURNAL);
    if let Err(JournalError::Damaged(damage)) = &opened
        && !world.audit.rotten
    {
        return Err(Stop::Broken(format!("I12: refused, and nothing was spoiled: {damage}")));
    }
    let (journal, history) = failing(world, opened)?;
    if world.audit.opened(&world.executor, &history, journal.epoch())? {
        return Err(Stop::Halted("what was spoiled is cut".to_owned()));
    }
    let records = history.records().map(|record| record.json.to_owned()).collect();
    Ok((journal, records))
}

/// What became of the workers of earlier executors.
struct Harvest {
    ended: Vec<WorkEnded>,
    /// What of it is still to be checked.
    unchecked: Vec<Work>,
    used: Vec<Input>,
}

/// Finds out what became of the workers of earlier executors; none of them lives after this.
fn harvest(world: &mut World<'_>, rules: &Run) -> Result<Harvest, Stop> {
    let names = failing(world, world.ledgers.list())?;
    let mut ends = BTreeMap::new();
    for name in names {
        ends.extend(ledger::read(&wait_dead(world, &name)?));
    }
    world.sweep_orphans();
    let alive = world.alive();
    world.audit.before_recovery(&world.ledgers, &alive)?;
    // What is lost is said, or is left to the rules.
    let say_lost = world.chance.once_in(2);
    let (mut ended, mut unchecked, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for work in rules.at_work() {
        let end = ends.get(&ledger::key(work)).copied().unwrap_or(End::Interrupted);
        used.extend(end.used(world.scenario, work).map(|used| Input::Used { work, used: Box::new(used) }));
        if end == End::Completed && Script::of(world.scenario, work).says.checked.is_some() {
            unchecked.push(work);
        } else if say_lost || end != End::Interrupted {
            ended.push(WorkEnded { work, outcome: end.outcome(world.scenario, work) });
        }
    }
    Ok(Harvest { ended, unchecked, used })
}

/// Waits until the keeper that has this ledger is gone, and reads it.
fn wait_dead(world: &mut World<'_>, name: &str) -> Result<Vec<u8>, Stop> {
    let until = world.now + PATIENCE;
    let mut file = failing(world, world.ledgers.open(name))?;
    while !failing(world, file.try_lock())? {
        if world.now > until || !world.pass()? {
            return Err(Stop::Halted(format!("the keeper of {name} is still there")));
        }
    }
    failing(world, file.read_all())
}

/// Removes ledgers of which everything is in the journal.
pub(crate) fn forget_ledgers(world: &mut World<'_>) -> Result<(), Stop> {
    let current = format!("{}-", world.incarnation);
    for name in failing(world, world.ledgers.list())?.into_iter().filter(|name| !name.starts_with(&current)) {
        failing(world, world.ledgers.remove(&name))?;
    }
    Ok(())
}

/// What became of an attempt whose keeper is gone. Nothing of it lives after this.
pub(crate) fn left_by(world: &mut World<'_>, keeper: usize, work: Work) -> Result<End, Stop> {
    let name = world.keepers[keeper].name.clone();
    let bytes = match world.ledgers.read(&name) {
        Err(rustix::io::Errno::NOENT) => Ok(Vec::new()), // it was killed before it had one
        read => read,
    };
    let bytes = failing(world, bytes)?;
    world.sweep_orphans();
    Ok(ledger::read(&bytes).get(&ledger::key(work)).copied().unwrap_or(End::Interrupted))
}
