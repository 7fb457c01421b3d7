//! A worker and all that it started. Whatever loses its parent becomes a child of the keeper, so every process of the tree
//! is reached sooner or later as one of our own children, whose number cannot be given away before we ask for it.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait};

use crate::processes::{self, Process, number};

/// A worker and all that it started.
#[derive(Debug)]
pub(super) struct Tree {
    worker: Pid,
    status: Option<WaitStatus>,
    is_gone: bool,
}

impl Tree {
    /// The tree of a worker that leads its own process group.
    pub(super) const fn new(worker: Pid) -> Self {
        Self { worker, status: None, is_gone: false }
    }

    /// How the worker itself ended, once it has.
    pub(super) const fn status(&self) -> Option<WaitStatus> {
        self.status
    }

    /// Nothing of it is left.
    pub(super) const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Takes note of those that have ended.
    pub(super) fn reap(&mut self) {
        while !self.is_gone {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.worker => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(Errno::CHILD) => self.is_gone = true,
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// How many live processes there are besides the worker.
    pub(super) fn count_others(&self) -> usize {
        processes::below(getpid()).iter().filter(|it| it.pid != self.worker && !it.ended).count()
    }

    /// Whether the worker handles, ignores or blocks the signal that asks it to end. Any other is killed by it.
    pub(super) fn may_choose_its_end(&self) -> bool {
        processes::has_plans_for(self.worker, Signal::TERM)
    }

    /// Asks the worker's group to end, and whatever else is our child.
    pub(super) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the worker's group and our children; what they leave becomes our child and is killed the next time.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let children = processes::children(getpid());
        let in_group = |process: &&Process| process.group == number(self.worker);
        // The group has its number only as long as the worker is not forgotten or one of our children is in it.
        if self.status.is_none() || children.iter().any(|child| in_group(&child)) {
            let _gone_already = kill_process_group(self.worker, signal);
        }
        for child in children.iter().filter(|child| !in_group(child)) {
            let _gone_already = kill_process(child.pid, signal);
        }
    }
}
