//! Simulated keepers as the dispatcher's crew, and everything that reaches it from outside. Here it is seen what is started,
//! ended and waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::io::Errno;
use team_executor_agents::Exit;
use team_executor_core::run::Work;
use team_executor_engine::Failure;
use team_executor_engine::artifacts::Looked;
use team_executor_engine::control::{Asked, Request};
use team_executor_engine::seam::inbox::{self, Inbox, Outbox};
use team_executor_engine::seam::{Crew, Job, Keys, Left, WorkerEnd, WorkerEvent};
use team_executor_store::sim_sync::SimSyncer;
use team_executor_store::{Disk as _, DiskFile as _};

use crate::incarnation::Shared;
use crate::keeper::Order;
use crate::ledger;
use crate::world::{Message, Stop, World};

/// A request makes durable what was before it, tells that, then tells what follows from it.
const TOLD: u32 = 2;

/// The keepers of one executor.
pub(crate) struct SimCrew<'c, 'w, 's> {
    world: &'c Shared<'w, 's>,
    outbox: Outbox,
    /// Who syncs beside, when the sync that is under way began, and when it ends.
    syncer: Option<SimSyncer>,
    syncs: Option<(u64, u64)>,
    /// The keeper of each slot, and the attempt that it was given.
    keepers: BTreeMap<usize, usize>,
    running: BTreeMap<usize, Work>,
    /// The slots whose workers were told to end.
    told: BTreeSet<usize>,
}

impl<'c, 'w, 's> SimCrew<'c, 'w, 's> {
    pub(crate) fn new(world: &'c Shared<'w, 's>, outbox: Outbox, syncer: Option<SimSyncer>) -> Self {
        let (keepers, running) = (BTreeMap::new(), BTreeMap::new());
        Self { world, outbox, syncer, syncs: None, keepers, running, told: BTreeSet::new() }
    }

    /// What must hold whenever the executor has nothing to do.
    fn look_on(&mut self, world: &mut World<'_>) -> io::Result<()> {
        let syncs = self.syncer.as_ref().is_some_and(SimSyncer::is_under_way);
        let verdict = world.audit.idle(&world.executor, world.busy.len(), syncs);
        world.audited(verdict);
        world.untold = 0;
        if world.audit.is_stopping() && !self.running.keys().all(|slot| self.told.contains(slot)) {
            world.audited(Err("I12: it stops, and a worker is not ended".to_owned()));
        }
        if world.broken.is_some() || world.run.is_down() {
            return Err(io::Error::other("the simulation is over"));
        }
        Ok(())
    }

    /// A sync that was begun takes a while, unless it was waited for.
    fn plan_sync(&mut self, world: &mut World<'_>) {
        let syncs = self.syncer.as_ref().is_some_and(SimSyncer::is_under_way);
        self.syncs = match self.syncs {
            _ if !syncs => None,
            Some(syncs) => Some(syncs),
            None => {
                let within = world.chance.pick(&[1, 1000, 4000, 200_000]);
                Some((world.now, world.now + world.chance.below(within)))
            }
        };
    }

    /// Passes something on to the executor.
    fn pass_on(&mut self, world: &mut World<'_>, message: Message) -> Result<Option<WorkerEvent>, Stop> {
        world.note(|| format!("{message:?}"));
        match message {
            Message::Ended(work, end) => {
                let Some(slot) = self.slot_of(work) else { return Ok(None) };
                self.running.remove(&slot);
                Ok(Some(ended(slot, Some(ledger::exit(work, end)))))
            }
            Message::KeeperDied(keeper) => {
                let slot = self.keepers.iter().find(|(_, of)| **of == keeper).map(|(slot, _)| *slot);
                let Some(slot) = slot else { return Ok(None) };
                self.keepers.remove(&slot);
                let Some(work) = self.running.remove(&slot) else { return Ok(None) };
                let exit = left_by(world, keeper, work)?;
                Ok(Some(ended(slot, exit)))
            }
            Message::Checked(work) => {
                if let Some(slot) = world.busy.get(&work) {
                    let looked = Box::new(Looked::Run(Vec::new()));
                    self.outbox.send(inbox::Message::Looked { slot: *slot, looked }).ok();
                }
                Ok(None)
            }
            Message::Grow => {
                self.ask(world, Request::Adopt);
                Ok(None)
            }
            Message::Request => {
                let request = world.request();
                self.ask(world, request);
                Ok(None)
            }
        }
    }

    fn ask(&mut self, world: &mut World<'_>, request: Request) {
        world.note(|| format!("{request:?}"));
        world.untold = TOLD;
        let (reply, _) = channel();
        self.outbox.send(inbox::Message::Asked(Asked { request, reply })).ok();
    }

    fn slot_of(&self, work: Work) -> Option<usize> {
        self.running.iter().find(|(_, running)| **running == work).map(|(slot, _)| *slot)
    }

    fn listen(&mut self, world: &mut World<'_>, timeout: Option<Duration>) -> Result<Vec<WorkerEvent>, Stop> {
        let timeout = timeout.map(|timeout| world.now.saturating_add(u64::try_from(timeout.as_micros()).unwrap_or(0)));
        let until = timeout.into_iter().chain(self.syncs.map(|(_, at)| at)).min();
        let mut events = Vec::new();
        match world.next(until)? {
            Some(message) => events.extend(self.pass_on(world, message)?),
            None if until.is_some() => {}
            // It waits for a person, who comes at last.
            None if world.audit.is_paused() => {
                let request = if world.chance.once_in(2) { Request::Resume } else { Request::Drain };
                self.ask(world, request);
            }
            None => return Err(Stop::Broken("I12: nothing will ever happen, and the run is not over".to_owned())),
        }
        let now = world.now;
        while world.untold == 0
            && !world.chance.once_in(4)
            && let Some(message) = world.next(Some(now))?
        {
            events.extend(self.pass_on(world, message)?);
        }
        if let Some((began, at)) = self.syncs
            && at <= world.now
            && world.untold == 0
        {
            self.syncs = None;
            world.note(|| "synced".to_owned());
            self.outbox.send(inbox::Message::Synced { took: Duration::from_micros(at - began) }).ok();
        }
        world.spend(4000);
        Ok(events)
    }
}

impl Crew for SimCrew<'_, '_, '_> {
    fn start(&mut self, slot: usize, job: Job) -> Result<(), Failure> {
        let world = &mut **self.world.borrow_mut();
        let work = job.work;
        let verdict = world.audit.begins(&world.executor, work);
        world.audited(verdict);
        world.note(|| format!("start {work:?} in {slot}"));
        let keeper = match self.keepers.get(&slot) {
            Some(keeper) => *keeper,
            None => world.new_keeper(),
        };
        self.keepers.insert(slot, keeper);
        self.running.insert(slot, work);
        self.told.remove(&slot);
        world.busy.insert(work, slot);
        world.tell(keeper, Order::Run(work));
        Ok(())
    }

    fn end(&mut self, slot: usize) {
        let world = &mut **self.world.borrow_mut();
        world.note(|| format!("end {slot}"));
        let settled = world.audit.settled(&world.executor, "a worker is ended");
        world.audited(settled);
        let spared = world.audit.spared();
        world.audited(spared);
        self.told.insert(slot);
        if let Some(keeper) = self.keepers.get(&slot) {
            world.tell(*keeper, Order::End);
        }
    }

    fn wait(&mut self, _: &Inbox, timeout: Option<Duration>) -> Result<Vec<WorkerEvent>, Failure> {
        let world = &mut **self.world.borrow_mut();
        self.look_on(world).map_err(|error| Failure::InTheWay(error.to_string()))?;
        self.plan_sync(world);
        self.listen(world, timeout).map_err(|stop| Failure::InTheWay(failed(world, stop).to_string()))
    }

    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<Left>, Failure> {
        let world = &mut **self.world.borrow_mut();
        let over = |world: &mut World<'_>, stop| Failure::StillRunning(failed(world, stop).to_string());
        let mut exits = BTreeMap::new();
        for name in world.ledgers.list().map_err(disk)? {
            let bytes = wait_dead(world, &name, patience).map_err(|stop| over(world, stop))?;
            exits.extend(ledger::read(&bytes));
        }
        world.sweep_orphans();
        let alive = world.alive();
        let verdict = world.audit.before_recovery(&world.ledgers, &alive);
        world.audited(verdict);
        let end =
            |keys: &Keys| Left::Ended(Box::new(WorkerEnd { exit: exits.get(&keys.worker).cloned(), result: None }));
        Ok(attempts.iter().map(end).collect())
    }

    fn forget_harvest(&mut self) -> Result<(), Failure> {
        let world = &mut **self.world.borrow_mut();
        let current = format!("{}-", world.incarnation);
        for name in world.ledgers.list().map_err(disk)?.into_iter().filter(|name| !name.starts_with(&current)) {
            world.ledgers.remove(&name).map_err(disk)?;
        }
        Ok(())
    }

    fn close(&mut self) {
        let world = &mut **self.world.borrow_mut();
        let settled = world.audit.settled(&world.executor, "the run is said to be over");
        world.audited(settled);
        for keeper in self.keepers.values() {
            world.tell(*keeper, Order::Close);
        }
        let incarnation = world.incarnation;
        while world.keepers.iter().any(|keeper| keeper.alive && keeper.incarnation == incarnation) {
            match world.pass() {
                Ok(true) => {}
                Ok(false) => return world.audited(Err("I13: a keeper does not end".to_owned())),
                Err(stop) => return drop(failed(world, stop)),
            }
        }
        world.sweep_orphans();
        if !world.alive().is_empty() {
            world.audited(Err("I4: a worker is alive when its executor has ended".to_owned()));
        }
    }
}

fn ended(slot: usize, exit: Option<Exit>) -> WorkerEvent {
    WorkerEvent::Ended { slot, end: Box::new(WorkerEnd { exit, result: None }) }
}

/// What the executor is told when it cannot go on.
fn failed(world: &mut World<'_>, stop: Stop) -> io::Error {
    match stop {
        Stop::Broken(broken) => {
            world.audited(Err(broken));
            io::Error::other("broken")
        }
        Stop::Crash => io::Error::other("a crash"),
        Stop::Halted(why) => io::Error::other(why),
    }
}

fn disk(errno: Errno) -> Failure {
    Failure::InTheWay(errno.to_string())
}

/// Waits until the keeper that has this ledger is gone, and reads it.
fn wait_dead(world: &mut World<'_>, name: &str, patience: Duration) -> Result<Vec<u8>, Stop> {
    let until = world.now + u64::try_from(patience.as_micros()).unwrap_or(u64::MAX);
    let failed = |errno: Errno| Stop::Halted(errno.to_string());
    let mut file = world.ledgers.open(name).map_err(failed)?;
    while !file.try_lock().map_err(failed)? {
        if world.now > until || !world.pass()? {
            return Err(Stop::Halted(format!("the keeper of {name} is still there")));
        }
    }
    file.read_all().map_err(failed)
}

/// How an attempt ended whose keeper is gone, if that wrote it down. Nothing of it lives after this.
fn left_by(world: &mut World<'_>, keeper: usize, work: Work) -> Result<Option<Exit>, Stop> {
    let name = world.keepers[keeper].name.clone();
    let bytes = match world.ledgers.read(&name) {
        Err(Errno::NOENT) => Ok(Vec::new()), // it was killed before it had one
        read => read,
    };
    let bytes = bytes.map_err(|errno| Stop::Halted(errno.to_string()))?;
    world.sweep_orphans();
    Ok(ledger::read(&bytes).remove(&ledger::key(work)))
}
