//! The auditor: keeps its own books of what the outside world saw, and finds what is broken. It decides nothing by asking
//! the code that is under test. The names I1 to I21 are those of the invariants in docs/internals/simulator.md.

mod allowed;
mod facts;
mod files;
mod judging;
mod model;
mod money;
pub(crate) mod reader;
mod workers;

use std::collections::BTreeMap;
use std::rc::Rc;

use team_executor_core::TaskStatus;
use team_executor_core::run::{Event, Policy, Run, Used, Work};
use team_executor_store::run_folder::{JOURNAL, RESERVE};
use team_executor_store::sim_disk::SimDisk;
use team_executor_store::{History, records};

use crate::scenario::Scenario;
use crate::worker::{End, Says};
use facts::Facts;
use model::{Model, Stage, demand, index};
use reader::Reader;

pub use files::{NOTES, NOTES_TEXT, VIEW};
pub use workers::Alive;

/// What is broken, in a sentence.
pub type Verdict = Result<(), String>;

/// The books about one run.
#[derive(Debug)]
pub struct Auditor<'s> {
    scenario: &'s Scenario,
    facts: Rc<Facts>,
    /// What programs can read in the journal.
    written: Book,
    /// What no power cut can take from it.
    durable: Book,
    /// The bytes that the journal must still begin with.
    promised: Vec<u8>,
    /// What was said to be so.
    announced: Vec<String>,
    /// How workers really ended.
    truth: BTreeMap<Work, Truth>,
    starts: Vec<workers::Starts>,
    /// What must count after a recovery, and how often the task had been sent back before.
    expected: Vec<(Work, End, u32)>,
    power_cuts: u32,
    /// How much room is kept for the journal.
    reserve: usize,
    /// The current executor has the journal: what comes into it is by the choices that are made now.
    is_open: bool,
    /// Something durable was spoiled: what is lost by that is not held against anyone, if it is noticed.
    pub rotten: bool,
    /// So many records are known to have been durable even so.
    proved: usize,
}

/// How a worker really ended.
#[derive(Debug, Clone)]
struct Truth {
    end: End,
    says: Says,
    used: Option<Used>,
}

/// A journal, read up to some moment.
#[derive(Debug)]
struct Book {
    reader: Reader,
    model: Model,
}

impl Book {
    fn new(facts: &Rc<Facts>) -> Self {
        Self { reader: Reader::default(), model: Model::new(facts) }
    }

    fn read(&mut self, bytes: &[u8], judge: Option<&BTreeMap<Work, Truth>>) -> Verdict {
        demand!(bytes.len() >= self.reader.offset, "I7: the journal has become shorter");
        for record in self.reader.added(bytes) {
            if let Some(truth) = judge {
                self.model.judge(record, truth)?;
                self.model.judge_money(record, truth)?;
            }
            self.model.apply(record);
        }
        Ok(())
    }
}

impl<'s> Auditor<'s> {
    /// Empty books.
    pub fn new(scenario: &'s Scenario) -> Self {
        let facts = Rc::new(Facts::from_scenario(scenario, &scenario.policy));
        Self {
            scenario,
            written: Book::new(&facts),
            durable: Book::new(&facts),
            starts: facts.tasks.iter().map(|_| workers::Starts::default()).collect(),
            facts,
            promised: Vec::new(),
            announced: Vec::new(),
            truth: BTreeMap::new(),
            expected: Vec::new(),
            power_cuts: 0,
            reserve: 0,
            is_open: false,
            rotten: false,
            proved: 0,
        }
    }

    /// From the next executor on this is chosen.
    pub fn choices_are(&mut self, chosen: &Policy) {
        self.facts = Rc::new(Facts::from_scenario(self.scenario, chosen));
    }

    /// Reads what was added to the journal.
    pub fn look(&mut self, executor: &SimDisk) -> Verdict {
        let Self { written, durable, truth, is_open, .. } = self;
        let read = executor.peek(JOURNAL, |cached, synced| {
            written.read(cached, is_open.then_some(truth))?;
            durable.read(synced, None)
        });
        read.unwrap_or(Ok(()))
    }

    /// A crash comes: what is on disk, or what programs could read, is promised.
    pub fn before_crash(&mut self, executor: &SimDisk, power: bool) -> Verdict {
        if !self.rotten {
            self.look(executor)?;
        }
        let (written, durable) = (self.written.reader.offset, self.durable.reader.offset);
        let promised = executor.peek(JOURNAL, |cached, synced| {
            if power {
                synced[..durable.min(synced.len())].to_vec()
            } else {
                cached[..written.min(cached.len())].to_vec()
            }
        });
        self.promised = promised.unwrap_or_default();
        self.power_cuts += u32::from(power);
        self.is_open = false;
        self.written = Book::new(&self.facts);
        self.durable = Book::new(&self.facts);
        Ok(())
    }

    /// Something durable was spoiled.
    pub fn spoiled(&mut self, executor: &SimDisk) {
        self.rotten = true;
        self.proved = executor.peek(JOURNAL, |cached, _| reader::durable(cached)).unwrap_or(0);
    }

    /// A journal was made where there was none, or none with anything in it.
    pub fn created(&mut self) -> Verdict {
        self.is_open = true;
        demand!(self.promised.is_empty() && self.announced.is_empty(), "I1: the journal is begun anew");
        Ok(())
    }

    /// The journal was opened, and this is said to be in it. True if what is spoiled was noticed and cut.
    pub fn opened(&mut self, executor: &SimDisk, history: &History, epoch: u64) -> Result<bool, String> {
        let mut book = Book::new(&self.facts);
        let (cached, synced) =
            executor.peek(JOURNAL, |cached, synced| (cached.to_vec(), synced.to_vec())).unwrap_or_default();
        book.read(&cached, None)?;
        let texts: Vec<&str> = history.records().map(|record| record.json).collect();
        let mut own = Reader::default();
        let read: Vec<&str> = own.added(&cached).into_iter().map(|record| record.0).collect();
        if self.rotten && !cached.starts_with(&self.promised) {
            demand!(history.torn().is_some(), "I12: spoiled bytes are not noticed");
            demand!(self.promised.starts_with(&cached[..own.offset]), "I5: spoiled bytes are believed");
            demand!(own.records >= self.proved, "I12: older commits are cut off, and not refused");
            return Ok(true);
        }
        demand!(cached.starts_with(&self.promised), "I1, I7: what was promised is not there");
        demand!(texts == read && own.offset == cached.len(), "I5: the journal is not read as it is");
        // What was cut may still be on the disk behind it: a cut is lost with a sync that fails, and is made again.
        demand!(synced.starts_with(&cached), "I1: what is read is not durable");
        demand!(history.records().all(|record| record.epoch < epoch), "I8: an epoch comes again");
        for said in &self.announced {
            demand!(own.has(said), "I1: what was announced is not there: {said}");
        }
        self.durable.read(&synced, None)?;
        self.written = book;
        self.is_open = true;
        Ok(false)
    }

    /// The rules were fed with the journal.
    pub fn replayed(&self, rules: &Run) -> Verdict {
        for (task, own) in self.written.model.tasks.iter().enumerate() {
            let view = rules.view(index(task));
            if view.is_none() && own.absent {
                continue; // the rules learn of it when it comes
            }
            let status =
                view.map(|view| if view.status == TaskStatus::Ready { TaskStatus::Pending } else { view.status });
            let attempt = view.map_or(0, |view| view.attempt);
            demand!(
                status == Some(own.status) && attempt == own.attempt,
                "I5: T{task} is {status:?}, attempt {attempt}, after the replay, and not {:?}, attempt {}",
                own.status,
                own.attempt
            );
        }
        Ok(())
    }

    /// Events were announced.
    pub fn announce(&mut self, executor: &SimDisk, events: &[Event]) -> Verdict {
        self.look(executor)?;
        for event in events {
            let text = records::write(event, |task| self.scenario.id(task));
            demand!(self.durable.reader.has(&text), "I1: announced and not durable: {text}");
            self.announced.push(text);
        }
        Ok(())
    }

    /// A request was accepted, or the run is said to be over: everything that was decided is durable.
    pub fn settled(&mut self, executor: &SimDisk, what: &str) -> Verdict {
        self.look(executor)?;
        let (written, durable) = (self.written.reader.records, self.durable.reader.records);
        demand!(written == durable, "I1: {what}, and {} records are not durable", written - durable);
        Ok(())
    }

    /// Whether the run waits for a person.
    pub fn is_paused(&self) -> bool {
        self.written.model.stage == Stage::Paused
    }

    /// Whether the run is told to end its workers.
    pub fn is_stopping(&self) -> bool {
        self.written.model.stage == Stage::Stopping
    }

    /// As much room is kept for the journal as the executor could get.
    pub fn reserved(&mut self, executor: &SimDisk) {
        self.reserve = left(executor);
    }

    /// Nothing is to be done at the moment. While a sync goes on, workers can wait for it.
    pub fn idle(&mut self, executor: &SimDisk, busy: usize, syncs: bool) -> Verdict {
        self.look(executor)?;
        let before = std::mem::replace(&mut self.reserve, left(executor));
        let goes_on = self.written.model.stage == Stage::Going;
        demand!(self.reserve >= before || !goes_on, "I12: the journal has no room, and the run goes on");
        let model = &self.written.model;
        if let Some(task) = model.neglected() {
            return Err(format!("I12: T{task} could start and does not"));
        }
        if let Some(task) = model.unskipped() {
            return Err(format!("I17: T{task} is to be skipped, and is not"));
        }
        demand!(!model.is_held_back(), "I15: what was sent back does not begin anew");
        demand!(!model.must_halt, "I12: no agent is logged in, and it goes on");
        let running = model.running().count();
        let waits = syncs && running > busy;
        demand!(running == busy || waits, "I12: {running} tasks are in progress, {busy} workers are known");
        Ok(())
    }

    /// The executor has ended by itself with all tasks over.
    pub fn finished(&mut self, executor: &SimDisk, rules: &Run) -> Verdict {
        self.settled(executor, "finished")?;
        demand!(!executor.names().contains(&"reserve".to_owned()), "I13: the reserve is kept but no longer needed");
        let model = &self.durable.model;
        demand!(
            model.stage == Stage::Finished && model.all_over(),
            "I12: finished, and the journal knows nothing of it"
        );
        self.replayed(rules)?;
        for (task, own) in model.tasks.iter().enumerate() {
            if own.since.is_some() && own.status == TaskStatus::Skipped {
                continue;
            }
            // Who asks for a task again changes what others needed.
            let right = own.since.is_none() || self.scenario.weather.requests || model.admits(task) == Some(true);
            demand!(right, "I9: T{task} is {} against what it needs", own.status);
        }
        Ok(())
    }

    /// How each task stands at last.
    pub fn statuses(&self) -> Vec<TaskStatus> {
        self.durable.model.tasks.iter().map(|task| task.status).collect()
    }
}

/// How much room is kept for the journal.
fn left(executor: &SimDisk) -> usize {
    executor.peek(RESERVE, |cached, _| cached.len()).unwrap_or(0)
}
