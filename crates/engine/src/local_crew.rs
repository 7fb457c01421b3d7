//! The crew on this machine: a keeper for each slot, and their ledgers for those who come later.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use team_executor_agents::{Exit, Harvest, KeeperEvent, Keepers};

use crate::artifacts;
use crate::crew::{Crew, Job, Keys, WorkerEvent};
use crate::inbox::Inbox;
use crate::options::{Failure, Options};
use crate::run_at::RunAt;

/// Workers on this machine.
#[derive(Debug)]
pub(crate) struct LocalCrew {
    keepers: Keepers,
    /// The name of the run, and its folder.
    run: (String, PathBuf),
    ledgers: PathBuf,
    /// The run was moved here, or copied: the workers of an earlier executor may be those of the other one.
    is_moved: bool,
    harvest: Option<Harvest>,
}

impl LocalCrew {
    /// Nobody is at work yet.
    pub(crate) fn new(options: &Options, run: &RunAt, epoch: u64) -> Self {
        Self {
            keepers: Keepers::new(options.exe.clone(), run.ledgers(), epoch),
            run: (run.id.clone(), run.path.clone()),
            ledgers: run.ledgers(),
            is_moved: run.is_moved,
            harvest: None,
        }
    }
}

impl Crew for LocalCrew {
    fn start(&mut self, slot: usize, job: Job) {
        self.keepers.start(slot, job.assignment);
    }

    fn end(&mut self, slot: usize) {
        self.keepers.end(slot);
    }

    fn wait(&mut self, inbox: &Inbox, timeout: Option<Duration>) -> io::Result<Vec<WorkerEvent>> {
        let events = self.keepers.wait(inbox.bell(), timeout)?;
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            tell(event, &mut told);
        }
        Ok(told)
    }

    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<Option<Exit>>, Failure> {
        let all: Vec<String> =
            attempts.iter().flat_map(|keys| [&keys.worker].into_iter().chain(&keys.checks)).cloned().collect();
        let harvest =
            Harvest::insist(&self.ledgers, &all, patience).map_err(Failure::disk("look at", &self.ledgers))?;
        let (name, path) = &self.run;
        let mut harvest = harvest.ok_or_else(|| Failure::StillRunning(name.clone()))?;
        let artifacts = path.join(artifacts::FOLDER);
        harvest.remove_empty_folders(&artifacts);
        // Of the others a keeper says that nothing is left.
        let unknown = all.iter().map(String::as_str).filter(|key| !harvest.is_gone(key));
        let unknown: Vec<&str> = unknown.filter(|key| !self.is_moved || harvest.is_from_here(key)).collect();
        harvest.sweep(&unknown).map_err(Failure::disk("end what is left of", path))?;
        harvest.complete(&artifacts);
        let exits = attempts.iter().map(|keys| harvest.exit(&keys.worker).cloned()).collect();
        self.harvest = Some(harvest);
        Ok(exits)
    }

    fn forget_harvest(&mut self) -> Result<(), Failure> {
        let forgotten = self.harvest.take().map_or(Ok(()), Harvest::forget);
        forgotten.map_err(Failure::disk("clear", &self.ledgers))
    }

    fn close(&mut self) {
        self.keepers.close_all();
    }
}

/// What the news of a keeper mean.
fn tell(event: KeeperEvent, told: &mut Vec<WorkerEvent>) {
    let (slot, exit, problem) = match event {
        KeeperEvent::Line { slot, text, .. } => return told.push(WorkerEvent::Line { slot, text }),
        KeeperEvent::Used { slot, key, usage } => return told.push(WorkerEvent::Used { slot, key, usage }),
        KeeperEvent::Woken { key, .. } => {
            let told_of = format!(
                "{}: its keeper was stopped (SIGSTOP); team-executor woke it up, and the worker goes on",
                task_of(&key)
            );
            return told.push(WorkerEvent::Problem(told_of));
        }
        KeeperEvent::Ended { slot, exit, unrecorded } => {
            let problem = unrecorded.map(|reason| format!("{}: its outcome is not on disk: {reason}", exit.key));
            (slot, Some(exit), problem)
        }
        KeeperEvent::KeeperDied { slot, key, reason } => {
            (slot, None, Some(format!("{key}: its keeper is gone: {reason}")))
        }
    };
    told.extend(problem.map(WorkerEvent::Problem));
    told.push(WorkerEvent::Ended { slot, exit });
}

/// The task of the attempt, or of the check, that has this key.
fn task_of(key: &str) -> &str {
    key.split('/').nth(1).unwrap_or(key)
}
