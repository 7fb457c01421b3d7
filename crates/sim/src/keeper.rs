//! Simulated keepers and their workers. A keeper locks its ledger, writes down each attempt before it starts the worker, when
//! that has ended and something is left of it, and after nothing of it is left, tells the executor, and ends its worker when the executor is gone.

use team_executor_core::run::Work;
use team_executor_store::sim_disk::SimFile;
use team_executor_store::{Disk as _, DiskFile as _};

use crate::ledger::{self, Line};
use crate::worker::{End, Script};
use crate::world::{Happening, Message, Stop, World};

/// How long a worker that is told to end may take, in microseconds.
const GRACE: u64 = 10_000_000;

/// A keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// The name of its ledger.
    pub(crate) name: String,
    pub(crate) incarnation: u64,
    pub(crate) alive: bool,
    ledger: Option<SimFile>,
    end: u64,
    worker: Option<usize>,
    /// It ends as soon as it has nothing to do.
    closing: bool,
}

/// A worker with everything that it started.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) work: Work,
    pub(crate) incarnation: u64,
    pub(crate) alive: bool,
    keeper: usize,
    script: Script,
    end: Option<End>,
}

/// What a keeper is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Run the worker of an attempt.
    Run(Work),
    /// End it.
    End,
    /// Go.
    Close,
}

impl Keeper {
    /// It is gone, and its lock with it.
    pub(crate) fn die(&mut self) {
        self.alive = false;
        self.ledger = None;
    }
}

impl World<'_> {
    /// Starts a keeper.
    pub(crate) fn new_keeper(&mut self) -> usize {
        let number = self.keepers.len();
        self.keepers.push(Keeper {
            name: format!("{}-{number}", self.incarnation),
            incarnation: self.incarnation,
            alive: true,
            ledger: None,
            end: 0,
            worker: None,
            closing: false,
        });
        if self.scenario.weather.keepers && self.chance.once_in(6) {
            let within = self.chance.pick(&[1, 1000, 5_000_000]);
            self.soon(within, Happening::KeeperKilled(number));
        }
        number
    }

    /// Tells a keeper something.
    pub(crate) fn tell(&mut self, keeper: usize, order: Order) {
        self.soon(2000, Happening::Order(keeper, order));
    }

    pub(crate) fn order(&mut self, keeper: usize, order: Order) -> Result<(), Stop> {
        let of = &self.keepers[keeper];
        if !of.alive {
            return Ok(());
        }
        let is_cut = !self.lives || of.incarnation != self.incarnation;
        match (order, of.worker) {
            (Order::Run(_), _) if is_cut => {
                self.keepers[keeper].die();
                Ok(())
            }
            (Order::Run(work), _) => self.begin(keeper, work),
            (Order::End, Some(worker)) => {
                self.audit.ended_on_purpose(self.workers[worker].work);
                self.end_worker(worker);
                Ok(())
            }
            (Order::End, None) => Ok(()),
            (Order::Close, _) => {
                self.close(keeper);
                Ok(())
            }
        }
    }

    fn begin(&mut self, keeper: usize, work: Work) -> Result<(), Stop> {
        let script = Script::draw(self.scenario, work);
        let could =
            !matches!(script.end, End::CouldNotStart | End::Shortage) && self.record(keeper, work, Line::Started)?;
        if !self.keepers[keeper].alive {
            return Ok(());
        }
        if !could {
            let end = if script.end == End::Shortage { End::Shortage } else { End::CouldNotStart };
            self.audit.ended(work, end);
            self.record(keeper, work, Line::Ended(end))?;
            return self.answer(keeper, work, end);
        }
        let alive = self.alive();
        let incarnation = self.keepers[keeper].incarnation;
        self.note(|| format!("starts {work:?}"));
        self.audit.started(&self.executor, crate::audit::Alive { work, incarnation }, &alive)?;
        let worker = self.workers.len();
        self.workers.push(Worker { work, incarnation, alive: true, keeper, script, end: None });
        self.keepers[keeper].worker = Some(worker);
        let ends = if script.end == End::TimedOut { script.takes + 60_000_000 } else { script.takes };
        self.plan(self.now + ends, Happening::Ends(worker));
        Ok(())
    }

    /// Appends a line to the ledger of a keeper, and says whether that worked. A crash can end the keeper here.
    fn record(&mut self, keeper: usize, work: Work, line: Line) -> Result<bool, Stop> {
        let text = ledger::line(work, line);
        let of = &mut self.keepers[keeper];
        if of.ledger.is_none() {
            let opened = self.ledgers.create(&of.name).and_then(|mut file| file.try_lock().map(|_| file));
            of.ledger = opened.ok();
        }
        let Some(file) = &mut of.ledger else { return self.after_strike(keeper, false) };
        let written = file.write_all_at(of.end, text.as_bytes()).is_ok();
        of.end += if written { text.len() as u64 } else { 0 };
        self.after_strike(keeper, written)
    }

    /// What a crash that struck the keeper means for everyone.
    fn after_strike(&mut self, keeper: usize, worked: bool) -> Result<bool, Stop> {
        if !self.run.is_down() {
            return Ok(worked);
        }
        self.kill_keeper(keeper);
        if self.scenario.weather.keepers && self.chance.once_in(2) {
            self.run.go_on();
            return Ok(false);
        }
        Err(Stop::Crash)
    }

    /// The worker ends, by itself or killed; what it started lives on until its keeper has ended that.
    pub(crate) fn worker_ends(&mut self, worker: usize, killed: Option<End>) -> Result<(), Stop> {
        let of = &mut self.workers[worker];
        if !of.alive || of.end.is_some() {
            return Ok(());
        }
        let end = killed.unwrap_or(of.script.end);
        of.end = Some(end);
        let (work, keeper, leaves) = (of.work, of.keeper, of.script.leaves);
        self.audit.ended(work, end);
        self.note(|| format!("ends {work:?} {}", end.word()));
        let is_told = leaves > 0 && self.keepers[keeper].alive;
        let noted = if is_told { self.record(keeper, work, Line::Exited(end)) } else { Ok(true) };
        let keeper_lives = self.keepers[keeper].alive;
        // Without a keeper, what it left goes on for as long as it likes.
        let within = if keeper_lives { 3000 } else { leaves.max(1) };
        self.soon(within, Happening::Gone(worker));
        noted.map(drop)
    }

    /// Nothing of the worker is left: its keeper writes that down and tells it.
    pub(crate) fn worker_gone(&mut self, worker: usize) -> Result<(), Stop> {
        let Worker { work, keeper, alive, end, .. } = self.workers[worker];
        self.workers[worker].alive = false;
        if !alive || !self.keepers[keeper].alive {
            return Ok(());
        }
        let end = end.unwrap_or(End::Interrupted);
        self.record(keeper, work, Line::Ended(end))?;
        if !self.keepers[keeper].alive {
            return Ok(());
        }
        self.keepers[keeper].worker = None;
        self.answer(keeper, work, end)
    }

    fn answer(&mut self, keeper: usize, work: Work, end: End) -> Result<(), Stop> {
        let incarnation = self.keepers[keeper].incarnation;
        self.soon(2000, Happening::Message(incarnation, Message::Ended(work, end)));
        if self.keepers[keeper].closing {
            self.keepers[keeper].die();
        }
        Ok(())
    }

    /// The keeper sees that its executor is gone.
    pub(crate) fn lifeline(&mut self, keeper: usize) -> Result<(), Stop> {
        if self.keepers[keeper].alive {
            self.note(|| format!("keeper {keeper} is alone"));
            self.close(keeper);
        }
        Ok(())
    }

    fn close(&mut self, keeper: usize) {
        self.keepers[keeper].closing = true;
        match self.keepers[keeper].worker {
            Some(worker) => self.end_worker(worker),
            None => self.keepers[keeper].die(),
        }
    }

    fn end_worker(&mut self, worker: usize) {
        let Worker { script, .. } = self.workers[worker];
        if script.deaf {
            self.plan(self.now + GRACE, Happening::Killed(worker));
        } else {
            self.soon(5000, Happening::Killed(worker));
        }
    }

    /// The keeper is killed: its worker has no guard any more.
    pub(crate) fn kill_keeper(&mut self, keeper: usize) {
        if !self.keepers[keeper].alive {
            return;
        }
        self.note(|| format!("keeper {keeper} is killed"));
        self.keepers[keeper].die();
        let incarnation = self.keepers[keeper].incarnation;
        self.soon(2000, Happening::Message(incarnation, Message::KeeperDied(keeper)));
    }

    /// Ends everything that killed keepers have left.
    pub(crate) fn sweep_orphans(&mut self) {
        let keepers = &self.keepers;
        let orphans = self.workers.iter_mut().filter(|worker| worker.alive && !keepers[worker.keeper].alive);
        orphans.for_each(|worker| worker.alive = false);
    }
}
