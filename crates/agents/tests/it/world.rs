//! What these tests share: a folder, assignments for the fake agent, and a pool that collects its events.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use team_executor_agents::{Assignment, Exit, KeeperEvent, Keepers, Limits};
use team_executor_testkit::{Gate, Pulse, fake_agent};

/// Longer than anything may take; whoever waits for so long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A pool of keepers over a folder of attempts.
pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) keepers: Keepers,
    pub(crate) events: Receiver<KeeperEvent>,
}

impl World {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let (sender, events) = mpsc::channel();
        let keepers = Keepers::new(exe(), move |event| drop(sender.send(event))).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), keepers, events }
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
        self.keepers.start(0, assignment);
        self.ended()
    }

    /// The next event that is not a line for the screen.
    pub(crate) fn next(&self) -> KeeperEvent {
        loop {
            match self.events.recv_timeout(LONG).expect("an event") {
                KeeperEvent::Line { .. } => {}
                event => return event,
            }
        }
    }

    /// Waits for the end of a worker.
    pub(crate) fn ended(&self) -> Exit {
        loop {
            match self.next() {
                KeeperEvent::Started { .. } => {}
                KeeperEvent::Ended { exit, unrecorded: None, .. } => return *exit,
                event => panic!("{event:?}"),
            }
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
        dir: attempt,
        program: fake_agent().to_str().unwrap().to_owned(),
        args: script.iter().map(|word| (*word).to_owned()).collect(),
        cwd: dir.to_owned(),
        stdin: None,
        limits: Limits { grace_ms: Some(50), ..Limits::default() },
        output_cap: 1 << 20,
        durable: true,
    }
}

/// The program that is a keeper.
pub(crate) fn exe() -> PathBuf {
    env!("CARGO_BIN_EXE_keeper-under-test").into()
}
