//! What these tests share: a folder, assignments for the fake agent, and a pool that collects its events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::PipeReader;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use team_executor_agents::ledger::{Entry, entries};
use team_executor_agents::{Assignment, Exit, Harvest, KeeperEvent, Keepers, Leftover, Limits};
use team_executor_testkit::{Gate, Pulse, fake_agent, usual_signals};

/// Longer than anything may take; a wait of this length has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A pool of keepers over a folder of attempts.
pub(crate) struct World {
    dir: tempfile::TempDir,
    keepers: RefCell<Keepers>,
    events: RefCell<VecDeque<KeeperEvent>>,
    /// Where nothing is ever to be read.
    silence: (PipeReader, std::io::PipeWriter),
}

impl World {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::with_patience(LONG)
    }

    /// An empty one that waits only so long for keepers that do not answer.
    pub(crate) fn with_patience(patience: Duration) -> Self {
        Self::with(|keepers| keepers.with_patience(patience))
    }

    /// An empty one with a pool that is made so.
    pub(crate) fn with(made: impl FnOnce(Keepers) -> Keepers) -> Self {
        usual_signals();
        let dir = tempfile::tempdir().unwrap();
        let keepers = RefCell::new(made(Keepers::new(exe(), ledgers(dir.path()), 1)));
        Self { dir, keepers, events: RefCell::default(), silence: std::io::pipe().unwrap() }
    }

    /// Where the keepers write down what happens.
    pub(crate) fn ledgers(&self) -> PathBuf {
        ledgers(self.dir.path())
    }

    /// Runs a worker in a slot.
    pub(crate) fn start(&self, slot: usize, assignment: Assignment) {
        self.keepers.borrow_mut().start(slot, assignment);
    }

    /// Ends the worker in a slot.
    pub(crate) fn end(&self, slot: usize) {
        self.keepers.borrow_mut().end(slot);
    }

    /// Ends all.
    pub(crate) fn close_all(&self) {
        self.keepers.borrow_mut().close_all();
    }

    /// The next event of any kind.
    pub(crate) fn any(&self) -> KeeperEvent {
        loop {
            if let Some(event) = self.events.borrow_mut().pop_front() {
                return event;
            }
            let (asked, left) = (Instant::now(), LONG);
            let mut events = Vec::new();
            // It wakes for keepers that do not answer, too.
            while events.is_empty() && asked.elapsed() < left {
                events = self.keepers.borrow_mut().wait(self.silence.0.as_fd(), Some(left)).unwrap();
            }
            assert!(!events.is_empty(), "an event");
            self.events.borrow_mut().extend(events);
        }
    }

    /// The process of the keeper that had an attempt last.
    pub(crate) fn keeper_of(&self, task: &str) -> i32 {
        keeper_of(self.dir.path(), task)
    }

    /// How an attempt ended, as the ledgers say when all keepers are gone.
    pub(crate) fn written(&self, key: &str) -> Option<Exit> {
        self.close_all();
        written(self.dir.path(), key)
    }

    /// The folder of an attempt.
    pub(crate) fn attempt(&self, task: &str) -> PathBuf {
        self.dir.path().join(task)
    }

    /// A new pulse.
    pub(crate) fn pulse(&self, name: &str) -> Pulse {
        Pulse::new(self.dir.path().join(name))
    }

    /// A new gate.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        Gate::new(self.dir.path().join(name))
    }

    /// An assignment for the fake agent.
    pub(crate) fn assignment(&self, task: &str, script: &[&str]) -> Assignment {
        assignment(self.dir.path(), task, script)
    }

    /// Runs the fake agent to its end.
    pub(crate) fn run(&self, task: &str, script: &[&str]) -> Exit {
        self.run_assignment(self.assignment(task, script))
    }

    /// Runs an assignment to its end.
    pub(crate) fn run_assignment(&self, assignment: Assignment) -> Exit {
        self.start(0, assignment);
        self.ended()
    }

    /// The next event that something follows from.
    pub(crate) fn next(&self) -> KeeperEvent {
        loop {
            match self.any() {
                KeeperEvent::Line { .. } | KeeperEvent::Used { .. } | KeeperEvent::Woken { .. } => {}
                event => return event,
            }
        }
    }

    /// Waits for the end of a worker.
    pub(crate) fn ended(&self) -> Exit {
        match self.next() {
            KeeperEvent::Ended { exit, unrecorded: None, .. } => *exit,
            event => panic!("{event:?}"),
        }
    }

    /// What a worker printed, as it is in the log.
    pub(crate) fn log(&self, task: &str, name: &str) -> Vec<u8> {
        std::fs::read(self.attempt(task).join(name)).unwrap()
    }

    /// What a worker printed, as text.
    pub(crate) fn out(&self, task: &str) -> String {
        String::from_utf8(self.log(task, "out.log")).unwrap()
    }
}

/// An assignment for the fake agent in a folder, whose attempt it makes.
pub(crate) fn assignment(dir: &Path, task: &str, script: &[&str]) -> Assignment {
    let attempt = dir.join(task);
    std::fs::create_dir(&attempt).unwrap();
    let key = format!("{}/{task}/1", dir.display());
    Assignment {
        env: vec![("TEAM_EXECUTOR_ATTEMPT".to_owned(), key.clone())],
        key,
        program: fake_agent().to_str().unwrap().to_owned(),
        args: script.iter().map(|word| (*word).to_owned()).collect(),
        cwd: dir.to_owned(),
        stdin: None,
        limits: Limits { grace_ms: Some(50), ..Limits::default() },
        logs: ["out.log", "err.log"].map(|name| attempt.join(name)),
        output_cap: 1 << 20,
        artifacts: None,
        adapter: None,
        seat: None,
        aside: attempt.join("aside"),
        leftover: Leftover::Moves,
    }
}

/// Where the ledgers are in a folder.
pub(crate) fn ledgers(dir: &Path) -> PathBuf {
    let ledgers = dir.join("ledgers");
    std::fs::create_dir_all(&ledgers).unwrap();
    ledgers
}

/// How an attempt ended, as the ledgers in a folder say when all keepers are gone.
pub(crate) fn written(dir: &Path, key: &str) -> Option<Exit> {
    harvest(dir, key).exit(key).cloned()
}

/// What the ledgers in a folder say when all keepers are gone.
pub(crate) fn harvest(dir: &Path, key: &str) -> Harvest {
    Harvest::gather(&ledgers(dir), &[key.to_owned()], LONG).unwrap().expect("all keepers are gone")
}

/// The process of the keeper that had an attempt last, by the ledgers in a folder.
pub(crate) fn keeper_of(dir: &Path, task: &str) -> i32 {
    let files = std::fs::read_dir(ledgers(dir)).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let all: Vec<Entry> = files.flat_map(|bytes| entries(&bytes).collect::<Vec<_>>()).collect();
    let suffix = format!("/{task}/1");
    let keeper = all.iter().rev().find_map(|entry| match entry {
        Entry::Started { key, keeper, .. } if key.ends_with(&suffix) => Some(*keeper),
        _ => None,
    });
    i32::try_from(keeper.expect("it was started")).unwrap()
}

/// The program that is a keeper.
pub(crate) fn exe() -> PathBuf {
    env!("CARGO_BIN_EXE_keeper-under-test").into()
}
