//! The executor's side of its keepers: one keeper per slot, started when it is first needed, used again for the next
//! task, replaced when it dies.
//!
//! One thread starts them all and lives as long as they do, because the kernel tells a child of the death of the *thread*
//! that started it. The same thread tells what happens, one event after the other.

mod kept;
mod manager;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::exit::Exit;
use crate::protocol::{Answer, Assignment};
use manager::Manager;

/// What happens to the workers in the slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperEvent {
    /// The worker runs.
    Started {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// The worker's process, to be shown only.
        pid: u32,
    },
    /// What it printed last, for a screen.
    Line {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// One line without control characters.
        text: String,
    },
    /// The worker and all that it started are gone; the slot is free.
    Ended {
        /// Where.
        slot: usize,
        /// How it ended.
        exit: Box<Exit>,
        /// Why the attempt's folder does not hold that, if so.
        unrecorded: Option<String>,
    },
    /// The keeper died, or none could be given the attempt. What the worker left was ended as far as it could be found;
    /// the attempt may have ended before, which [`harvest()`](crate::harvest()) tells.
    KeeperDied {
        /// Where.
        slot: usize,
        /// Of the attempt.
        key: String,
        /// Why, in words for people.
        reason: String,
        /// All that the worker had started is certainly gone.
        is_clean: bool,
    },
}

/// A pool of keepers. When it is dropped every worker is ended and every keeper is closed; that takes as long as the
/// workers' grace.
#[derive(Debug)]
pub struct Keepers {
    messages: Sender<Message>,
    manager: Option<JoinHandle<()>>,
}

impl Keepers {
    /// An empty pool of keepers, which are `exe` run with [`keeper::ARGUMENT`](crate::keeper::ARGUMENT). Events come from
    /// one thread, which does nothing else meanwhile; it must not be made to wait for this pool.
    pub fn new(exe: PathBuf, on_event: impl Fn(KeeperEvent) + Send + 'static) -> std::io::Result<Self> {
        crate::cgroup::remove_abandoned();
        let (messages, inbox) = mpsc::channel();
        let outbox = messages.clone();
        let run =
            move || Manager { exe, on_event, outbox, kept: BTreeMap::new(), next: 0, closing: Vec::new() }.run(&inbox);
        let manager = thread::Builder::new().name("keepers".to_owned()).spawn(run)?;
        Ok(Self { messages, manager: Some(manager) })
    }

    /// Runs a worker in a slot that is free. Paths must be absolute.
    pub fn start(&self, slot: usize, assignment: Assignment) {
        self.send(Message::Start { slot, assignment: Box::new(assignment) });
    }

    /// Ends the worker in a slot: asked first, killed after its grace.
    pub fn end(&self, slot: usize) {
        self.send(Message::End { slot });
    }

    /// Ends every worker, closes every keeper, and waits until they are gone.
    pub fn close_all(&self) {
        let (done, wait) = mpsc::channel();
        self.send(Message::CloseAll { done });
        // It is dropped unused if there is no manager any more.
        let _closed = wait.recv();
    }

    fn send(&self, message: Message) {
        // The manager ends only when this is dropped.
        let _always_heard = self.messages.send(message);
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        self.close_all();
        self.send(Message::Quit);
        if let Some(manager) = self.manager.take() {
            let _panicked = manager.join();
        }
    }
}

/// What the manager is told, by the pool's owner and by those who listen to keepers.
#[derive(Debug)]
enum Message {
    Start { slot: usize, assignment: Box<Assignment> },
    End { slot: usize },
    CloseAll { done: Sender<()> },
    Quit,
    Heard { slot: usize, number: u64, answer: Answer },
    Gone { slot: usize, number: u64 },
}
