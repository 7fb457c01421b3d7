//! The threads that call git.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use team_executor_trees::{Delivered, Donor, Made, Scope, Stage, Story, Trees, Trouble};

use crate::dispatch::inbox::{Message, Outbox};

/// More calls of git at a time only wait for the disk.
const THREADS: usize = 4;
/// After a failure it is tried again after this long, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause; after one more failure it is given up.
const LAST_PAUSE: Duration = Duration::from_millis(1600);

/// What is asked of git.
#[derive(Debug)]
pub(crate) enum Errand {
    /// The tree of an attempt, from these commits. If what the task did before does not merge into the trunk, the trunk is one of them.
    /// It takes folders over from the trees of those that are done.
    Make { slot: usize, task: String, attempt: u32, commits: Vec<String>, before: Option<String>, done: Vec<Donor> },
    /// What is in the tree of an attempt, as a commit.
    Deliver { slot: usize, task: String, attempt: u32, story: Box<Story> },
    /// The same as an earlier attempt came to.
    Again { slot: usize, task: String, attempt: u32, earlier: u32, scope: Scope },
    /// What the trunk would be with these, one after the other: a task and its commit each.
    Fold(Vec<(String, String)>),
    /// The files of a commit, in the tree of the trunk; a moment later, if there were no means to run the tests.
    Stage { commit: String, later: bool },
    /// The trunk moves.
    Advance { from: String, to: String },
}

/// What git did.
#[derive(Debug)]
pub enum News {
    /// A tree is there.
    Made {
        /// For the attempt in this slot.
        slot: usize,
        /// The tree.
        made: Result<Made, Trouble>,
    },
    /// What an attempt came to; nothing if there is nothing to take again.
    Delivered {
        /// The attempt in this slot.
        slot: usize,
        /// What it came to.
        delivered: Result<Option<Delivered>, Trouble>,
        /// The files of the user's checkout that changed since the last look.
        escaped: Vec<String>,
    },
    /// What the trunk would be.
    Folded(Result<Folded, Trouble>),
    /// A command can be run in the tree of the trunk.
    Staged(Result<Stage, Trouble>),
    /// The trunk has moved.
    Advanced(Result<(), Trouble>),
    /// There is something to be done in the queue.
    Nudged,
}

/// What the trunk would be with some results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The trunk.
    pub trunk: String,
    /// With each of them and those before it: the commit, or the files in which it does not agree.
    pub steps: Vec<Result<String, Vec<String>>>,
}

/// The dispatcher's side.
#[derive(Debug)]
pub(crate) struct Bench {
    errands: Option<Sender<Errand>>,
    watch: Arc<Watch>,
    threads: Vec<JoinHandle<()>>,
}

impl Bench {
    /// Starts the threads.
    pub(crate) fn new(trees: &Trees, outbox: &Outbox) -> io::Result<Self> {
        let (errands, received) = mpsc::channel();
        let watch = Arc::new(Watch::new(trees));
        let received = Arc::new(Mutex::new(received));
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let (trees, outbox, received) = (trees.clone(), outbox.clone(), Arc::clone(&received));
            let watch = Arc::clone(&watch);
            let thread = std::thread::Builder::new().name("trees".to_owned());
            threads.push(thread.spawn(move || work(&trees, &outbox, &received, &watch))?);
        }
        Ok(Self { errands: Some(errands), watch, threads })
    }

    /// What looks after the user's checkout.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Asks for something; [`Message::Tree`] says what came of it.
    pub(crate) fn ask(&self, errand: Errand) {
        // The threads end only after the sender is gone.
        let _heard = self.errands.as_ref().is_some_and(|errands| errands.send(errand).is_ok());
    }
}

/// Looks for changes in the user's checkout, which no task should make.
#[derive(Debug)]
pub(crate) struct Watch(Mutex<BTreeMap<String, (i64, i64, u64)>>);

impl Watch {
    fn new(trees: &Trees) -> Self {
        Self(Mutex::new(trees.repository().state().unwrap_or_default()))
    }

    /// What changed since the last look. Where that cannot be told, it is at the next one.
    pub(crate) fn changed(&self, trees: &Trees) -> Vec<String> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(now) = trees.repository().state() else { return Vec::new() };
        let before = std::mem::replace(&mut *last, now);
        let new = last.iter().filter(|(file, state)| before.get(*file) != Some(state)).map(|(file, _)| file);
        let gone = before.keys().filter(|file| !last.contains_key(*file));
        new.chain(gone).cloned().collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.errands = None;
        // Nothing is written once the run is given up.
        for thread in self.threads.drain(..) {
            let _panicked = thread.join();
        }
    }
}

fn work(trees: &Trees, outbox: &Outbox, errands: &Mutex<Receiver<Errand>>, watch: &Watch) {
    loop {
        // A guard that lived on would keep the others from their errands.
        let errand = errands.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(errand) = errand else { return };
        let news = done(trees, &errand, watch);
        if outbox.send(Message::Tree(Box::new(news))).is_err() {
            return;
        }
    }
}

fn done(trees: &Trees, errand: &Errand, watch: &Watch) -> News {
    match errand {
        Errand::Make { slot, task, attempt, commits, before, done } => {
            let made = insisting(|| {
                let mut commits = commits.clone();
                if let Some(before) = before {
                    let trunk = trees.trunk()?;
                    if !trees.candidate(&trunk, task, before)?.conflicts.is_empty() {
                        commits.push(trunk);
                    }
                }
                let made = trees.make(task, *attempt, &commits)?;
                trees.take_over((task, *attempt), &made.base.commit, done)?;
                Ok(made)
            });
            News::Made { slot: *slot, made }
        }
        Errand::Deliver { slot, task, attempt, story } => {
            let delivered = insisting(|| trees.deliver(task, *attempt, story).map(Some));
            News::Delivered { slot: *slot, delivered, escaped: watch.changed(trees) }
        }
        Errand::Again { slot, task, attempt, earlier, scope } => {
            let delivered = insisting(|| trees.deliver_again(task, (*attempt, *earlier), scope));
            News::Delivered { slot: *slot, delivered, escaped: Vec::new() }
        }
        Errand::Fold(results) => News::Folded(insisting(|| folded(trees, results))),
        Errand::Stage { commit, later } => {
            if *later {
                std::thread::sleep(LAST_PAUSE);
            }
            News::Staged(insisting(|| trees.stage(commit)))
        }
        Errand::Advance { from, to } => News::Advanced(insisting(|| match trees.trunk()? == *to {
            true => Ok(()),
            false => trees.advance(from, to),
        })),
    }
}

fn folded(trees: &Trees, results: &[(String, String)]) -> Result<Folded, Trouble> {
    let trunk = trees.trunk()?;
    let (mut at, mut steps) = (trunk.clone(), Vec::new());
    for (task, result) in results {
        let merged = trees.candidate(&at, task, result)?;
        if merged.conflicts.is_empty() {
            at.clone_from(&merged.commit);
            steps.push(Ok(merged.commit));
        } else {
            steps.push(Err(merged.conflicts));
        }
    }
    Ok(Folded { trunk, steps })
}

/// A failure of the disk or the system is met with another try, a few times.
pub(super) fn insisting<T>(mut call: impl FnMut() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let mut pause = FIRST_PAUSE;
    loop {
        match call() {
            Err(Trouble::Failed(_)) if pause <= LAST_PAUSE => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            done => return done,
        }
    }
}
