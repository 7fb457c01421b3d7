//! The crew on this machine: a keeper for each slot, and their ledgers for those who come later.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use team_executor_agents::{Ended, Exit, Harvest, KeeperEvent, Keepers, Lack, Obstacle};
use team_executor_core::TaskId;
use team_executor_core::run::Work;

use team_executor_store::run_folder::AGENTS;

use crate::begin::run_at::{RunAt, result_name};
use crate::conclude::Results;
use crate::conclude::artifacts;
use crate::dispatch::crew::{Crew, Found, Job, Keys, Left, WorkerEnd, WorkerEvent};
use crate::dispatch::inbox::Inbox;
use crate::options::{Failure, Options};
use crate::prepare::slot_prompts::Prompts;

/// Workers on this machine.
#[derive(Debug)]
pub struct LocalCrew {
    keepers: Keepers,
    prompts: Prompts,
    results: Results,
    /// The attempts at work. A command that checks one is none.
    attempts: BTreeMap<usize, (TaskId, Work)>,
    /// Events that are not delivered yet.
    untold: Vec<WorkerEvent>,
    /// The name of the run, and its folder.
    run: (String, PathBuf),
    ledgers: PathBuf,
    /// The run was moved here, or copied: the workers of an earlier executor may be those of the other one.
    is_moved: bool,
    harvest: Option<Harvest>,
}

impl LocalCrew {
    /// No worker runs yet.
    pub(crate) fn new(options: &Options, run: &RunAt, epoch: u64) -> Result<Self, Failure> {
        let agents = run.agents();
        Ok(Self {
            prompts: Prompts::new(&agents).map_err(Failure::disk("open", &agents))?,
            results: Results::open(&agents).map_err(Failure::disk("open", &agents))?,
            attempts: BTreeMap::new(),
            untold: Vec::new(),
            keepers: Keepers::new(options.exe.clone(), run.ledgers(), epoch),
            run: (run.id.clone(), run.path.clone()),
            ledgers: run.ledgers(),
            is_moved: run.is_moved,
            harvest: None,
        })
    }

    /// Writes what a worker is told, and clears the place where it is to report.
    fn brief(&mut self, slot: usize, job: &Job, prompt: &str) -> Result<(), Failure> {
        let Job { work, task, .. } = job;
        let agents = self.run.1.join(AGENTS);
        let aside = self.results.put_aside(task, work.attempt);
        let aside = aside.map_err(|error| {
            Failure::disk("put aside", agents.join(result_name(task.as_str(), work.attempt)))(error)
        })?;
        self.untold.extend(aside.map(|name| {
            let told = "existing result moved to";
            WorkerEvent::Problem(format!("{task}: {told} {AGENTS}/{name}"))
        }));
        self.prompts.write(slot, prompt).map_err(Failure::disk("write a prompt in", agents))
    }

    /// What an attempt handed in.
    pub fn result(&self, task: &TaskId, work: Work) -> Result<Option<Found>, Failure> {
        self.results.read(task, work.attempt)
    }

    /// What the news of a keeper mean.
    fn tell(&mut self, event: KeeperEvent) -> Result<(), Failure> {
        let (slot, exit, problem) = match event {
            KeeperEvent::Line { slot, text, .. } => {
                self.untold.push(WorkerEvent::Line { slot, text });
                return Ok(());
            }
            KeeperEvent::Used { slot, key, usage } => {
                self.untold.push(WorkerEvent::Used { slot, key, usage });
                return Ok(());
            }
            KeeperEvent::Woken { key, .. } => {
                let words = "its keeper was stopped (SIGSTOP); team-executor woke it up, and the worker goes on";
                self.untold.push(WorkerEvent::Problem(format!("{}: {words}", task_of(&key))));
                return Ok(());
            }
            KeeperEvent::Ended { slot, exit, unrecorded } => {
                let problem = unrecorded.map(|reason| format!("{}: its outcome is not on disk: {reason}", exit.key));
                (slot, Some(*exit), problem)
            }
            KeeperEvent::KeeperDied { slot, key, reason } => {
                (slot, None, Some(format!("{key}: its keeper is gone: {reason}")))
            }
        };
        let result = match self.attempts.remove(&slot) {
            Some((task, work)) => self.result(&task, work)?,
            None => None,
        };
        self.untold.extend(problem.map(WorkerEvent::Problem));
        self.untold.push(WorkerEvent::Ended { slot, end: Box::new(WorkerEnd { exit, result }) });
        Ok(())
    }
}

impl Crew for LocalCrew {
    fn start(&mut self, slot: usize, mut job: Job) -> Result<(), Failure> {
        if let Some(prompt) = job.prompt.take() {
            let lack = match self.brief(slot, &job, &prompt) {
                Ok(()) => {
                    self.attempts.insert(slot, (job.task, job.work));
                    self.keepers.start(slot, job.assignment);
                    return Ok(());
                }
                // Nothing runs yet: it is tried again later.
                Err(failure @ Failure::Shortage(_)) => (failure, Lack::Means),
                Err(failure @ Failure::NoRoom(_)) => (failure, Lack::Room),
                Err(failure) => return Err(failure),
            };
            let obstacle = Obstacle { reason: lack.0.to_string(), lack: Some(lack.1) };
            let exit = Some(Exit::without_run(&job.assignment.key, Ended::CouldNotStart(obstacle), 0));
            self.untold.push(WorkerEvent::Ended { slot, end: Box::new(WorkerEnd { exit, result: None }) });
            return Ok(());
        }
        self.keepers.start(slot, job.assignment);
        Ok(())
    }

    fn end(&mut self, slot: usize) {
        self.keepers.end(slot);
    }

    fn wait(&mut self, inbox: &Inbox, timeout: Option<Duration>) -> Result<Vec<WorkerEvent>, Failure> {
        let timeout = if self.untold.is_empty() { timeout } else { Some(Duration::ZERO) };
        let events = self.keepers.wait(inbox.bell(), timeout).map_err(Failure::disk("wait for", "keepers"))?;
        for event in events {
            self.tell(event)?;
        }
        Ok(std::mem::take(&mut self.untold))
    }

    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<Left>, Failure> {
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
        harvest.complete(|_| Some(&*artifacts));
        let end = |keys: &Keys| -> Result<Left, Failure> {
            let result = self.result(&keys.task, keys.work)?;
            Ok(Left::Ended(Box::new(WorkerEnd { exit: harvest.exit(&keys.worker).cloned(), result })))
        };
        let ends = attempts.iter().map(end).collect();
        self.harvest = Some(harvest);
        ends
    }

    fn forget_harvest(&mut self) -> Result<(), Failure> {
        let forgotten = self.harvest.take().map_or(Ok(()), Harvest::forget);
        forgotten.map_err(Failure::disk("clear", &self.ledgers))
    }

    fn close(&mut self) {
        self.keepers.close_all();
    }
}

/// The task of the attempt, or of the check, that has this key.
fn task_of(key: &str) -> &str {
    key.split('/').nth(1).unwrap_or(key)
}
