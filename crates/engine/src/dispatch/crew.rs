//! The seam where work is done. A [`Crew`] runs one worker in each slot, wherever that is, and says what happens to it. The
//! dispatcher knows nothing else of processes: keepers on this machine are one crew (`local_crew`), the simulator's another.

use std::time::Duration;

use team_executor_agents::adapters::Usage;
use team_executor_agents::{Assignment, Exit};
use team_executor_core::TaskId;
use team_executor_core::run::Work;

pub(crate) use crate::conclude::Found;
use crate::dispatch::inbox::Inbox;
use crate::options::Failure;

/// Those who do the work of a run, one worker a slot.
pub trait Crew {
    /// Starts a worker in a slot that is free. A lack of room or means is told as the worker's end.
    fn start(&mut self, slot: usize, job: Job) -> Result<(), Failure>;

    /// Ends the worker in a slot, if there is one: asked first, killed after its grace. Its end is told.
    fn end(&mut self, slot: usize);

    /// Waits until something happens to a worker, a message comes, or the time is over.
    fn wait(&mut self, inbox: &Inbox, timeout: Option<Duration>) -> Result<Vec<WorkerEvent>, Failure>;

    /// How the attempts ended that an earlier executor left at work, in their order. None of their processes lives after this.
    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<WorkerEnd>, Failure>;

    /// Everything that was harvested is durable elsewhere.
    fn forget_harvest(&mut self) -> Result<(), Failure>;

    /// Ends every worker, and waits until nothing of them is left.
    fn close(&mut self);
}

/// What a worker is to do.
#[derive(Debug)]
pub struct Job {
    /// The attempt that it is for.
    pub work: Work,
    /// Its task.
    pub task: TaskId,
    /// The worker's prompt. A command that checks the attempt has none, and hands in no result.
    pub prompt: Option<String>,
    /// Everything that a keeper must know.
    pub assignment: Assignment,
}

/// The names of an attempt, for those who do the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The attempt.
    pub work: Work,
    /// Its task.
    pub task: TaskId,
    /// Of its worker.
    pub worker: String,
    /// Of the commands that may have checked it.
    pub checks: Vec<String>,
}

/// What happens to the worker in a slot.
#[derive(Debug)]
pub enum WorkerEvent {
    /// What it printed last, for a screen.
    Line {
        /// Where.
        slot: usize,
        /// One line without control characters.
        text: String,
    },
    /// What a known agent has used so far.
    Used {
        /// Where.
        slot: usize,
        /// The name of its attempt.
        key: String,
        /// How much.
        usage: Box<Usage>,
    },
    /// Something that people should know, and that ends nothing.
    Problem(String),
    /// Nothing of it is left, and the slot is free.
    Ended {
        /// Where.
        slot: usize,
        /// How, and with what.
        end: Box<WorkerEnd>,
    },
}

/// How a worker ended. Its logs are those of the attempt in the folder of the run, wherever it worked.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// How, and how much it delivered; nothing if it was lost.
    pub exit: Option<Exit>,
    /// What it handed in, read once.
    pub result: Option<Found>,
}
