//! The thread that finds, hashes, checks and registers what attempts delivered. The dispatcher tells it what ended and hears
//! the verdict as a message; commands that judge are run by the dispatcher's keepers in between.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use team_executor_core::moves::Moves as _;
use team_executor_core::{Artifact, TaskId, Validation};
use team_executor_files::ReadError;

use super::checks::Verify;
use super::collect::{Collected, Delivered, collect};
use super::examine::{examine, kinds};
use super::log::{Record, What};
use super::places::Roots;
use super::quarantine;
use super::registry::Registry;
use super::schema::Schemas;
use crate::dispatch::inbox::{Message, Outbox};

/// How many deliveries are looked at beside each other.
const THREADS: usize = 4;
/// After a failure of the disk or the system it is tried again after this long, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause; after one more failure the run ends.
const LAST_PAUSE: Duration = Duration::from_millis(1600);
/// The most that is said about what is wrong.
const CRITIQUE_BYTES: usize = 4096;

/// The result of checking a delivery.
#[derive(Debug)]
pub enum Looked {
    /// All is well so far; these commands judge it.
    Run(Vec<Verify>),
    /// It is judged.
    Over(CheckVerdict),
    /// It was given up before anything was known.
    GivenUp,
    /// The disk or the system failed, again and again. That says nothing about the work.
    Failed(String),
}

/// What is made of what an attempt delivered.
#[derive(Debug, Default)]
pub struct CheckVerdict {
    /// The problems, for the next attempt. Empty if everything passed.
    pub critique: Option<String>,
    /// What could not be written.
    pub problems: Vec<String>,
}

enum CheckRequest {
    /// A worker ended well.
    Delivered(usize, Box<Delivered>),
    /// The commands have ended, or the first that found something wrong.
    Ran(usize, Option<String>),
    /// A crash took what was known of a task that is completed.
    Lost(Box<Delivered>),
}

/// The dispatcher's side.
#[derive(Debug)]
pub(crate) struct Checker {
    jobs: Option<Sender<CheckRequest>>,
    threads: Vec<JoinHandle<()>>,
    registry: Arc<Mutex<Registry>>,
    /// The result of the current check is no longer wanted.
    given_up: Arc<AtomicBool>,
    run: PathBuf,
}

impl Checker {
    /// Starts the threads: a large file keeps none but one of them. Their results go to the inbox as
    /// [`Message::Looked`].
    pub(crate) fn new(run: PathBuf, roots: Roots, registry: Registry, outbox: Outbox) -> io::Result<Self> {
        let registry = Arc::new(Mutex::new(registry));
        let (jobs, received) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let common = Arc::new(Common {
            jobs: Mutex::new(received),
            waiting: Mutex::default(),
            roots,
            registry: Arc::clone(&registry),
            given_up: Arc::clone(&given_up),
        });
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let mut bench = Bench { common: Arc::clone(&common), schemas: Schemas::default() };
            let outbox = outbox.clone();
            let thread = std::thread::Builder::new().name("checker".to_owned());
            threads.push(thread.spawn(move || bench.work(&outbox))?);
        }
        Ok(Self { jobs: Some(jobs), threads, registry, given_up, run })
    }

    /// Looks at what an attempt delivered.
    pub(crate) fn begin(&self, slot: usize, delivered: Delivered) {
        self.given_up.store(false, Ordering::Relaxed);
        self.send(CheckRequest::Delivered(slot, Box::new(delivered)));
    }

    /// Hashes nothing more, until it is to look at something else: to read large files takes long.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Says how the commands ended.
    pub(crate) fn ran(&self, slot: usize, critique: Option<String>) {
        self.send(CheckRequest::Ran(slot, critique));
    }

    /// Registers what a task delivered before a crash took the record of it.
    pub(crate) fn lost(&self, delivered: Delivered) {
        self.send(CheckRequest::Lost(Box::new(delivered)));
    }

    /// What is registered.
    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    /// Moves away what earlier attempts at a task left, before the next one starts. Says what could not be
    /// done, and what was. Its files stay if they are kept.
    pub(crate) fn attempt_begins(&self, task: &TaskId, attempt: u32, keeps: bool) -> Vec<String> {
        let mut told = Vec::new();
        let moved =
            if keeps { Ok(None) } else { quarantine::move_away(&self.run, task.as_str(), attempt.saturating_sub(1)) };
        match moved {
            Ok(None) => {}
            Ok(Some(to)) => told.push(format!("{task}: files of its last attempt moved to {to}")),
            Err(error) => told.push(format!("{task}: files of its last attempt cannot be moved: {error}")),
        }
        let mut registry = self.registry();
        if registry.has(task) {
            let record = Record { what: What::Begins, task: task.clone(), attempt, artifacts: Vec::new() };
            told.extend(registry.record(record).err().map(not_noted));
        }
        told
    }

    fn send(&self, job: CheckRequest) {
        // The thread ends only after the sender is gone.
        let _heard = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.jobs = None;
        // Nothing is written once the run is given up.
        for thread in self.threads.drain(..) {
            let _panicked = thread.join();
        }
    }
}

/// What commands judge, by slot.
type Waiting = BTreeMap<usize, (Delivered, Collected)>;

/// What all threads share.
struct Common {
    jobs: Mutex<Receiver<CheckRequest>>,
    waiting: Mutex<Waiting>,
    roots: Roots,
    registry: Arc<Mutex<Registry>>,
    given_up: Arc<AtomicBool>,
}

/// One thread's side.
struct Bench {
    common: Arc<Common>,
    schemas: Schemas,
}

/// The delivery with its problems; `None` if the check was given up.
type Examined = Option<(Collected, Vec<String>)>;

impl Bench {
    fn work(&mut self, outbox: &Outbox) {
        loop {
            // A guard that lived on would keep the others from their jobs.
            let job = lock(&self.common.jobs).recv();
            let Ok(job) = job else { return };
            let (slot, looked) = match job {
                CheckRequest::Lost(delivered) => {
                    // The crash may have taken what was in it, too.
                    if let Ok(Some((mut collected, wrong))) = self.examined(&delivered) {
                        let registry = &self.common.registry;
                        lock(registry).prepare(&delivered.task, delivered.attempt, &mut collected.found);
                        self.judge(&delivered, collected, wrong, Some("recorded again after a crash"));
                    }
                    continue;
                }
                CheckRequest::Delivered(slot, delivered) => {
                    let looked = match self.examined(&delivered) {
                        Ok(Some((collected, wrong))) => self.look(slot, *delivered, collected, wrong),
                        Ok(None) => Looked::GivenUp,
                        Err(why) => Looked::Failed(format!("{}: {why}", delivered.task)),
                    };
                    (slot, looked)
                }
                CheckRequest::Ran(slot, critique) => {
                    let judged = lock(&self.common.waiting).remove(&slot);
                    let Some((delivered, collected)) = judged else { continue };
                    let wrong = critique.into_iter().collect();
                    (slot, Looked::Over(self.judge(&delivered, collected, wrong, None)))
                }
            };
            if outbox.send(Message::Looked { slot, looked: Box::new(looked) }).is_err() {
                return;
            }
        }
    }

    /// Collects what was delivered and runs the checks that need no program. A failure of the disk or the system is met with
    /// another try, a few times.
    fn examined(&mut self, delivered: &Delivered) -> Result<Examined, ReadError> {
        let common = Arc::clone(&self.common);
        let given_up = || common.given_up.load(Ordering::Relaxed);
        let mut pause = FIRST_PAUSE;
        loop {
            let collected = collect(delivered, &common.roots, given_up).and_then(|collected| {
                let Some(mut collected) = collected else { return Ok(None) };
                let wrong = examine(delivered, &mut collected, &common.roots, &mut self.schemas)?;
                Ok(Some((collected, wrong)))
            });
            match collected {
                Err(ReadError::Failed(_)) if given_up() => return Ok(None),
                Err(ReadError::Failed(_)) if pause <= LAST_PAUSE => {
                    std::thread::sleep(pause);
                    pause *= 2;
                }
                collected => return collected,
            }
        }
    }

    /// Concludes, or keeps what commands check then.
    fn look(&self, slot: usize, delivered: Delivered, mut collected: Collected, mut wrong: Vec<String>) -> Looked {
        let (task, attempt) = (&delivered.task, delivered.attempt);
        wrong.extend(lock(&self.common.registry).prepare(task, attempt, &mut collected.found));
        let commands = delivered.demands.commands(kinds(&collected));
        if !wrong.is_empty() || commands.is_empty() {
            return Looked::Over(self.judge(&delivered, collected, wrong, None));
        }
        self.note_delivered(&delivered, &collected);
        lock(&self.common.waiting).insert(slot, (delivered, collected));
        Looked::Run(commands)
    }

    /// Readers see that a check is under way. That is not worth a failure.
    fn note_delivered(&self, delivered: &Delivered, collected: &Collected) {
        let found = collected.found.iter();
        let moved = Validation::Pending.moved(Validation::Validating).unwrap_or(Validation::Validating);
        let artifacts = found.map(|found| (found.place, Artifact { validation: moved, ..found.artifact.clone() }));
        let record = Record {
            what: What::Delivered,
            task: delivered.task.clone(),
            attempt: delivered.attempt,
            artifacts: artifacts.collect(),
        };
        let _shown = lock(&self.common.registry).record(record);
    }

    /// Registers what was delivered as passed or failed, all of it together: no task builds on a part of it.
    fn judge(
        &self,
        delivered: &Delivered,
        collected: Collected,
        wrong: Vec<String>,
        summary: Option<&str>,
    ) -> CheckVerdict {
        let to = if wrong.is_empty() { Validation::Passed } else { Validation::Failed };
        let validation =
            Validation::Pending.moved(Validation::Validating).and_then(|state| state.moved(to)).unwrap_or(to);
        let critique = (!wrong.is_empty()).then(|| bounded(&wrong.join("\n")));
        let first = wrong.first().map(|line| line.lines().next().unwrap_or_default().to_owned());
        let artifact = |artifact: Artifact| {
            let own = artifact.validation_summary.clone().or_else(|| first.clone());
            Artifact { validation, validation_summary: own.or_else(|| summary.map(str::to_owned)), ..artifact }
        };
        let artifacts: Vec<_> =
            collected.found.into_iter().map(|found| (found.place, artifact(found.artifact))).collect();
        let mut problems = collected.told;
        let mut registry = lock(&self.common.registry);
        if !artifacts.is_empty() || registry.has(&delivered.task) {
            let (task, attempt) = (delivered.task.clone(), delivered.attempt);
            let record = Record { what: What::Checked, task, attempt, artifacts };
            problems.extend(registry.record(record).err().map(not_noted));
        }
        CheckVerdict { critique, problems }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_noted(error: io::Error) -> String {
    format!("artifacts were not registered: {error}")
}

/// The begin of a text, as much as is worth telling.
fn bounded(text: &str) -> String {
    const CUT: &str = "\n[…]";
    if text.len() <= CRITIQUE_BYTES {
        return text.to_owned();
    }
    format!("{}{CUT}", &text[..text.floor_char_boundary(CRITIQUE_BYTES - CUT.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_critique_is_bounded() {
        assert_eq!(bounded("short"), "short");
        let long = bounded(&"日".repeat(5000));
        assert!(long.len() <= CRITIQUE_BYTES && long.ends_with("日\n[…]"));
    }
}
