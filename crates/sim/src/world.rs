//! The simulated machine: its disk, its clocks, its processes, and what happens next. Everything that happens is in one
//! queue; chance decides how long each thing takes.

use std::collections::BTreeMap;

use team_executor_core::Timestamp;
use team_executor_core::run::{Budget, Policy, Work};
use team_executor_store::Disk as _;
use team_executor_store::lock::Lock;
use team_executor_store::sim_disk::SimDisk;
use team_executor_store::sim_fault::Lies;
use team_executor_store::{DiskFile as _, LockError};

use crate::audit::{Alive, Auditor, NOTES, NOTES_TEXT};
use crate::chance::Chance;
use crate::keeper::{Keeper, Order, Worker};
use crate::scenario::Scenario;
use crate::worker::End;

/// Why an executor does not go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// A crash struck.
    Crash,
    /// It gave up, for this reason.
    Halted(String),
    /// Something is broken.
    Broken(String),
}

impl From<String> for Stop {
    fn from(broken: String) -> Self {
        Self::Broken(broken)
    }
}

/// The simulated machine.
#[derive(Debug)]
pub struct World<'s> {
    /// What the seed stands for.
    pub scenario: &'s Scenario,
    /// The run's folder, its private folder, and the ledgers of the keepers.
    pub run: SimDisk,
    pub(crate) executor: SimDisk,
    pub(crate) ledgers: SimDisk,
    /// The choices about the run, as they are now.
    pub(crate) policy: Policy,
    /// Who looks on.
    pub audit: Auditor<'s>,
    /// What everything depends on that nothing else decides.
    pub chance: Chance,
    /// Which executor is the current one, from 1.
    pub incarnation: u64,
    /// Which start of the machine this is.
    pub boot: u64,
    /// Whether the executor lives.
    pub(crate) lives: bool,
    pub(crate) keepers: Vec<Keeper>,
    pub(crate) workers: Vec<Worker>,
    /// Microseconds since the simulation began, and how far the clock on the wall is ahead of them.
    pub(crate) now: u64,
    wall: i64,
    queue: BTreeMap<(u64, u64), Happening>,
    order: u64,
    /// Where each attempt is that the executor has begun and not seen the end of.
    pub(crate) busy: BTreeMap<Work, usize>,
    /// Which changes of the plan a person has made, in the files.
    pub(crate) made: u32,
    /// So many times the executor still tells what has happened before it answers a request.
    pub(crate) untold: u32,
    /// What is broken, if something is: the executor ends at its next step.
    pub(crate) broken: Option<String>,
    /// Everything that happens, if someone wants to read it.
    pub trace: Option<String>,
}

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Happening {
    /// A keeper is told something.
    Order(usize, Order),
    /// A worker ends by itself.
    Ends(usize),
    /// A worker is killed.
    Killed(usize),
    /// Nothing of a worker is left.
    Gone(usize),
    /// A keeper sees that its executor is gone.
    Lifeline(usize),
    /// A keeper is killed.
    KeeperKilled(usize),
    /// An executor is told something.
    Message(u64, Message),
    /// A second executor comes by.
    Intruder,
    /// The clock on the wall is set.
    Clock,
}

/// What an executor is told.
#[derive(Debug, Clone, Copy)]
pub enum Message {
    /// The worker of an attempt has ended.
    Ended(Work, End),
    /// A keeper is gone.
    KeeperDied(usize),
    /// What an attempt delivered was checked.
    Checked(Work),
    /// Someone asks for something.
    Request,
    /// The plan gets longer.
    Grow,
}

impl<'s> World<'s> {
    /// An empty disk, and nothing runs. The second number makes two runs of a seed differ.
    pub fn new(scenario: &'s Scenario, nth: u64) -> Self {
        let run = SimDisk::new(scenario.seed.wrapping_add(nth << 32), Lies::default());
        // The user's own file is from before, and durable.
        if let Ok(mut file) = run.create(NOTES) {
            file.write_all_at(0, NOTES_TEXT).and_then(|()| file.sync_all()).and_then(|()| run.sync_folder()).ok();
        }
        Self {
            scenario,
            executor: run.another_folder(),
            ledgers: run.another_folder(),
            run,
            policy: scenario.policy.clone(),
            audit: Auditor::new(scenario),
            chance: Chance::new(&[scenario.seed, 3]),
            incarnation: 0,
            boot: 0,
            lives: false,
            keepers: Vec::new(),
            workers: Vec::new(),
            now: 0,
            wall: 1_700_000_000_000_000,
            queue: BTreeMap::new(),
            order: 0,
            busy: BTreeMap::new(),
            made: 0,
            untold: 0,
            broken: None,
            trace: None,
        }
    }

    /// A person lets all of the plan run.
    pub(crate) fn run_all(&mut self) {
        self.policy.part = None;
        self.audit.choices_are(&self.policy);
    }

    /// A person lets the run use more.
    pub(crate) fn raise_budgets(&mut self) {
        let more = |amount: &mut Option<u64>| *amount = amount.map(|amount| 2 * amount + 50);
        let budgets = &mut self.policy.budgets;
        let all = budgets.roles.values_mut().chain(budgets.tasks.values_mut()).chain([&mut budgets.run]);
        for Budget { usd, tokens, turns, wall } in all {
            [usd, tokens, turns, wall].into_iter().for_each(more);
        }
        self.audit.choices_are(&self.policy);
    }

    /// What the clock on the wall says.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_micros(self.wall + i64::try_from(self.now).unwrap_or(i64::MAX))
    }

    /// Looks on: the first thing that is broken is kept.
    pub(crate) fn audited(&mut self, verdict: Result<(), String>) {
        if let Err(broken) = verdict {
            self.broken.get_or_insert(broken);
        }
    }

    /// Time passes.
    pub(crate) fn spend(&mut self, most: u64) {
        self.now += self.chance.below(most);
    }

    /// Plans something for a moment that is at most so far away.
    pub(crate) fn soon(&mut self, within: u64, happening: Happening) {
        let at = self.now + self.chance.below(within);
        self.plan(at, happening);
    }

    pub(crate) fn plan(&mut self, at: u64, happening: Happening) {
        self.order += 1;
        self.queue.insert((at, self.order), happening);
    }

    /// Notes what happens, if someone wants to read it.
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push_str(&format!("{:>10} ", self.now));
            trace.push_str(&text());
            trace.push('\n');
        }
    }

    /// What happens next and concerns the executor, at the latest at that moment; nothing if only time has passed, or if
    /// nothing will ever happen.
    pub(crate) fn next(&mut self, until: Option<u64>) -> Result<Option<Message>, Stop> {
        while let Some((&(at, order), _)) = self.queue.first_key_value() {
            if until.is_some_and(|until| until < at) {
                break;
            }
            let Some(happening) = self.queue.remove(&(at, order)) else { break };
            self.now = self.now.max(at);
            if let Happening::Message(incarnation, message) = happening {
                if self.lives && incarnation == self.incarnation {
                    return Ok(Some(message));
                }
                continue;
            }
            self.happen(happening)?;
        }
        self.now = self.now.max(until.unwrap_or(0));
        Ok(None)
    }

    /// Lets the next thing happen that does not concern the executor; false if there is none.
    pub(crate) fn pass(&mut self) -> Result<bool, Stop> {
        let Some((&(at, order), _)) = self.queue.iter().find(|(_, what)| !matches!(what, Happening::Message(..)))
        else {
            return Ok(false);
        };
        self.now = self.now.max(at);
        if let Some(happening) = self.queue.remove(&(at, order)) {
            self.happen(happening)?;
        }
        Ok(true)
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Stop> {
        match happening {
            Happening::Order(keeper, order) => self.order(keeper, order),
            Happening::Ends(worker) => self.worker_ends(worker, None),
            Happening::Killed(worker) => self.worker_ends(worker, Some(End::Interrupted)),
            Happening::Gone(worker) => self.worker_gone(worker),
            Happening::Lifeline(keeper) => self.lifeline(keeper),
            Happening::KeeperKilled(keeper) => {
                self.kill_keeper(keeper);
                Ok(())
            }
            Happening::Message(..) => Ok(()),
            Happening::Intruder => self.intrude(),
            Happening::Clock => {
                let by = self.chance.below(20_000_000);
                self.wall += i64::try_from(by).unwrap_or(0) - 10_000_000;
                self.note(|| "the clock is set".to_owned());
                Ok(())
            }
        }
    }

    /// A second executor comes by while the first one lives, or is stopped.
    fn intrude(&mut self) -> Result<(), Stop> {
        if !self.lives {
            return Ok(());
        }
        let before = self.run.fingerprint();
        let refused = match Lock::take(&self.executor, team_executor_store::run_folder::LOCK, std::time::Duration::ZERO)
        {
            // Where the disk fails, who is there may be unreadable.
            Err(LockError::Held { by }) => {
                self.scenario.weather.disk || by.contains(&format!("process {} on", self.incarnation))
            }
            Err(LockError::Disk(_)) => true,
            Ok(_) => false,
        };
        if self.run.is_down() {
            return Err(Stop::Crash);
        }
        if !refused || self.run.fingerprint() != before {
            return Err(Stop::Broken("I11: a second executor is let in, or not told who is there".to_owned()));
        }
        Ok(())
    }

    /// What is alive of workers.
    pub(crate) fn alive(&self) -> Vec<Alive> {
        let alive = self.workers.iter().filter(|worker| worker.alive);
        alive.map(|worker| Alive { work: worker.work, incarnation: worker.incarnation }).collect()
    }

    /// The executor is gone, and its keepers will see that.
    pub(crate) fn executor_gone(&mut self) {
        self.lives = false;
        for keeper in 0..self.keepers.len() {
            if self.keepers[keeper].alive {
                let within = self.chance.pick(&[1, 1000, 2_000_000]);
                self.soon(within, Happening::Lifeline(keeper));
            }
        }
    }

    /// Nothing runs any more.
    pub(crate) fn power_lost(&mut self) {
        self.lives = false;
        self.boot += 1;
        self.queue.clear();
        self.keepers.iter_mut().for_each(Keeper::die);
        self.workers.iter_mut().for_each(|worker| worker.alive = false);
    }
}
