//! A small user of the store on a simulated disk, with its own books about what was promised. It finds what is broken,
//! and knows nothing of how the store works.

use crate::disk::{Disk, DiskError, DiskFile, Kind};
use crate::journal::{Journal, JournalError};
use crate::recover::{Checks, recover};
use crate::replace::{Durability, ReplaceError, replace, sweep};
use crate::sim_disk::{SimDisk, SimFile};
use crate::sim_fault::{Fault, Lies, Strike};
use crate::sim_inode::Damage;
use crate::sim_sync::SimSyncer;

/// Mistakes that the harness must find. The default has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plants {
    pub(crate) checks: Checks,
    pub(crate) lies: Lies,
    /// Files are renamed before they are synced.
    pub(crate) rename_first: bool,
}

impl Plants {
    pub(crate) const NONE: Self = Self {
        checks: Checks::ALL,
        lies: Lies { sync: false, sync_folder: false, truncate: false, rewrite: false },
        rename_first: false,
    };
}

/// Why a run of the world stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The disk failed, as it was told to.
    Disk,
    /// A promise was broken.
    Broken(String),
}

/// Fails with what was promised, unless that is so.
macro_rules! promise {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(Stop::Broken(format!($($text)*)));
        }
    };
}

/// What a user of the world does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Appends records with so many bytes of padding, without a commit.
    Append(Vec<usize>),
    /// Appends records and commits.
    Commit(Vec<usize>),
    /// Appends records and begins a sync, or hands them over while one is under way.
    Begin(Vec<usize>),
    /// Takes note of the sync that is under way.
    Synced,
    /// Replaces the view.
    Replace,
    /// Plans a fault so many operations from now.
    Fault { after: u64, fault: Fault, sticky: bool },
    /// Crashes and starts again.
    Crash(Damage),
    /// Crashes, crashes again so many operations later, and starts again.
    CrashTwice(Damage, u64, Damage),
}

/// The disk, the program, and what was promised.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) disk: SimDisk,
    plants: Plants,
    journal: Option<Journal<SimFile>>,
    buffered: Vec<String>,
    /// How many of these the sync that is under way is about.
    begun: usize,
    /// Records that are promised.
    durable: Vec<String>,
    /// What the journal would hold if commits that were not promised had succeeded.
    attempts: Vec<Vec<String>>,
    view: Option<String>,
    view_attempts: Vec<String>,
    written: u64,
}

impl World {
    pub(crate) fn new(seed: u64, plants: Plants) -> Self {
        Self {
            disk: SimDisk::new(seed, plants.lies),
            plants,
            journal: None,
            buffered: Vec::new(),
            begun: 0,
            durable: Vec::new(),
            attempts: Vec::new(),
            view: None,
            view_attempts: Vec::new(),
            written: 0,
        }
    }

    /// Does steps from an empty disk; ends with a power cut. A failed disk ends the program until the next crash.
    pub(crate) fn run(&mut self, steps: &[Step]) -> Result<(), Stop> {
        ignore_disk(self.start())?;
        for step in steps {
            ignore_disk(self.step(step))?;
        }
        self.step(&Step::Crash(Damage::Lost))
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Crash(damage) => {
                self.crash(*damage);
                self.start()
            }
            Step::CrashTwice(first, after, second) => {
                self.crash(*first);
                self.plan(*after, Fault::CrashAfter, false);
                ignore_disk(self.start())?;
                self.crash(*second);
                self.start()
            }
            Step::Fault { after, fault, sticky } => {
                self.plan(*after, *fault, *sticky);
                Ok(())
            }
            _ if self.journal.is_none() => Ok(()),
            Step::Append(pads) => self.append(pads),
            Step::Commit(pads) => self.append(pads).and_then(|()| self.commit()),
            Step::Begin(pads) => self.append(pads).and_then(|()| self.begin()),
            Step::Synced => self.synced(),
            Step::Replace => self.replace(),
        }
    }

    fn plan(&self, after: u64, fault: Fault, sticky: bool) {
        self.disk.plan(Some(Strike { at: self.disk.operations() + after, fault, sticky }));
    }

    pub(crate) fn crash(&mut self, damage: Damage) {
        self.end();
        self.disk.crash(damage);
    }

    /// Ends the program.
    fn end(&mut self) {
        self.journal = None;
        self.buffered.clear();
        self.begun = 0;
    }

    /// Starts the program, and checks that everything that was promised is there, and nothing that was never written.
    pub(crate) fn start(&mut self) -> Result<(), Stop> {
        if self.disk.kind("journal").map_err(|_| Stop::Disk)? == Kind::Missing {
            promise!(self.durable.is_empty(), "the journal is gone");
            self.open(Journal::create(&self.disk, "journal").map_err(stop)?)?;
        } else {
            let (journal, history) = Journal::open_with(&self.disk, "journal", self.plants.checks).map_err(stop)?;
            let found: Vec<_> = history.records().map(|record| record.json.to_owned()).collect();
            promise!(history.records().zip(1..).all(|(record, seq)| record.seq == seq), "numbers have gaps");
            promise!(found.starts_with(&self.durable), "promised {:?}, found {found:?}", self.durable);
            let known = found == self.durable || self.attempts.iter().any(|attempt| attempt.starts_with(&found));
            promise!(known, "{found:?} was never written");
            self.durable = found;
            self.attempts.retain(|attempt| attempt.starts_with(&self.durable));
            let bytes = self.disk.read("journal").map_err(|_| Stop::Disk)?;
            let again = recover(&bytes).map_err(|damage| Stop::Broken(damage.to_string()))?;
            promise!(again.tail.is_none(), "a torn tail is left");
            promise!(again.records.len() == self.durable.len(), "a second look gives something else");
            self.open(journal)?;
        }
        self.check_view()
    }

    fn open(&mut self, mut journal: Journal<SimFile>) -> Result<(), Stop> {
        let file = journal.file().map_err(|_| Stop::Disk)?;
        journal.sync_beside(Box::new(SimSyncer::new(file)));
        self.journal = Some(journal);
        Ok(())
    }

    fn check_view(&mut self) -> Result<(), Stop> {
        sweep(&self.disk).map_err(|_| Stop::Disk)?;
        let names = self.disk.list().map_err(|_| Stop::Disk)?;
        promise!(names.iter().all(|name| name == "journal" || name == "view"), "left behind: {names:?}");
        if self.disk.kind("view").map_err(|_| Stop::Disk)? == Kind::Missing {
            promise!(self.view.is_none(), "the view is gone");
            return Ok(());
        }
        let bytes = self.disk.read("view").map_err(|_| Stop::Disk)?;
        let found = String::from_utf8_lossy(&bytes).into_owned();
        let known = self.view.as_ref() == Some(&found) || self.view_attempts.contains(&found);
        promise!(known, "the view is {found:?}, not {:?}", self.view);
        self.view = Some(found);
        self.view_attempts.clear();
        Ok(())
    }

    fn append(&mut self, pads: &[usize]) -> Result<(), Stop> {
        for pad in pads {
            let json = self.text(*pad);
            if let Some(journal) = &mut self.journal {
                journal.append(&json).map_err(stop)?;
                self.buffered.push(json);
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Stop> {
        self.promise_with(self.buffered.len(), Journal::commit)
    }

    fn begin(&mut self) -> Result<(), Stop> {
        if self.begun == 0 {
            self.begun = self.buffered.len();
        }
        self.promise_with(0, Journal::begin_sync)
    }

    fn synced(&mut self) -> Result<(), Stop> {
        self.promise_with(self.begun, Journal::synced)
    }

    /// Lets the journal do something that may write everything, after which the first records are durable.
    fn promise_with(
        &mut self,
        durable: usize,
        act: fn(&mut Journal<SimFile>) -> Result<(), JournalError>,
    ) -> Result<(), Stop> {
        self.attempts.push([&self.durable[..], &self.buffered].concat());
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if let Err(error) = act(journal) {
            let before = self.disk.operations();
            promise!(journal.append("{}") == Err(error.clone()), "a failed journal takes records");
            promise!(journal.commit() == Err(error.clone()), "a failed journal commits");
            promise!(self.disk.operations() == before, "a failed journal is written to");
            self.end();
            return Err(stop(error));
        }
        self.durable.extend(self.buffered.drain(..durable));
        self.begun = self.begun.saturating_sub(durable);
        self.attempts.retain(|attempt| attempt.starts_with(&self.durable));
        Ok(())
    }

    fn replace(&mut self) -> Result<(), Stop> {
        let text = self.text(30);
        self.view_attempts.push(text.clone());
        let replaced = if self.plants.rename_first {
            replace(&self.disk, "view", text.as_bytes(), Durability::Rendered).and_then(|()| {
                let synced = self.disk.open("view").and_then(|mut file| file.sync_all());
                let durable = synced.and_then(|()| self.disk.sync_folder());
                durable.map_err(|errno| DiskError::when("sync", "view")(errno).into())
            })
        } else {
            replace(&self.disk, "view", text.as_bytes(), Durability::Durable)
        };
        match replaced {
            Ok(()) => {
                self.view = Some(text);
                self.view_attempts.clear();
                Ok(())
            }
            Err(ReplaceError::Disk(_)) => {
                self.end();
                Err(Stop::Disk)
            }
            Err(error) => Err(Stop::Broken(error.to_string())),
        }
    }

    /// A record that is like no other.
    fn text(&mut self, pad: usize) -> String {
        self.written += 1;
        format!("{{\"n\":\"{:06}{}\"}}", self.written, "-".repeat(pad))
    }
}

fn stop(error: JournalError) -> Stop {
    match error {
        JournalError::Full(_) | JournalError::Failed(_) => Stop::Disk,
        JournalError::Damaged(_) | JournalError::Shortened { .. } | JournalError::NotOneLine => {
            Stop::Broken(error.to_string())
        }
    }
}

pub(crate) fn ignore_disk(result: Result<(), Stop>) -> Result<(), Stop> {
    result.or_else(|stop| if stop == Stop::Disk { Ok(()) } else { Err(stop) })
}
