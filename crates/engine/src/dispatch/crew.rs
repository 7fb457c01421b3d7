//! The seam where work is done. A [`Crew`] runs one worker in each slot, wherever that is, and says what happens to it. The
//! dispatcher knows nothing else of processes: keepers on this machine are one crew (`local_crew`), the simulator's another.

use std::path::PathBuf;
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

    /// How many more workers may start now, where that changes while the run goes on; else the slots decide alone.
    fn room(&self) -> Option<usize> {
        None
    }

    /// What became of the attempts that an earlier executor left at work, in their order. After this no process of those that
    /// ended lives.
    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<Left>, Failure>;

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
    /// What else another machine must know; nothing if the job cannot be done on another one.
    pub travel: Option<Travel>,
}

/// What a job needs on a machine other than this one, where paths, programs and the environment differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Travel {
    /// The agent, as the user calls it.
    pub agent: String,
    /// The role of the task.
    pub role: String,
    /// The path of a known agent's program on this machine, and the name that leads to it on any.
    pub program: [String; 2],
    /// Variables whose values the user configured for it. No other value leaves this machine.
    pub env: Vec<(String, String)>,
    /// Names of variables that each machine gives it from its own environment; a star stands for any end.
    pub pass_env: Vec<String>,
    /// Folders that it reads: the session, and what the tasks delivered that it builds on.
    pub reads: Vec<PathBuf>,
    /// The attempt whose conversation it takes up, which only the machine of that attempt knows.
    pub after: Option<String>,
}

/// The names of an attempt, for those who do the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The attempt.
    pub work: Work,
    /// Where it is at work.
    pub slot: usize,
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
    /// Which machines are lost now that had workers of this run.
    LostHosts {
        /// Their names.
        hosts: Vec<String>,
        /// Where one can ask for them.
        backend: String,
    },
    /// More workers may start than before.
    Room,
    /// Nothing of it is left, and the slot is free.
    Ended {
        /// Where.
        slot: usize,
        /// How, and with what.
        end: Box<WorkerEnd>,
    },
}

/// What became of an attempt that an earlier executor left at work.
#[derive(Debug)]
pub enum Left {
    /// Nothing of it is left.
    Ended(Box<WorkerEnd>),
    /// Its worker goes on elsewhere. Its end is told as that of any other.
    GoesOn,
}

/// How a worker ended. Its logs are those of the attempt in the folder of the run, wherever it worked.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// How, and how much it delivered; nothing if it was lost.
    pub exit: Option<Exit>,
    /// What it handed in, read once.
    pub result: Option<Found>,
}
