//! The limit of workers that all runs of the user on this machine share. A thread waits for a seat when the rules could start
//! a worker; a seat is held from the claim of an attempt to its end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use team_executor_agents::{Seat, Seats};
use team_executor_core::run::{Run, Work};

use crate::dispatch::inbox::{Message, Outbox};

/// How long a run waits before people are told.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait after the files of the seats could not be used.
const REST: Duration = Duration::from_secs(1);

/// What becomes known about seats.
#[derive(Debug)]
pub enum SeatNews {
    /// There is one for this run.
    Free(Seat),
    /// The files of the seats cannot be used, for this reason. It is tried again.
    Unusable(String),
}

/// The seats of this run.
#[derive(Debug)]
pub(crate) struct Machine {
    most: u32,
    /// Asks the thread for one.
    ask: Sender<()>,
    /// Since when one is waited for, as the desk counts.
    asked: Option<Duration>,
    is_over: Arc<AtomicBool>,
    /// Those that no attempt sits on.
    spare: Vec<Seat>,
    held: BTreeMap<usize, (Work, Seat)>,
    /// People were told that the run waits.
    pub(crate) waits: bool,
}

impl Machine {
    /// No seat is held yet.
    pub(crate) fn start(seats: Seats, outbox: Outbox) -> std::io::Result<Self> {
        let (ask, asked) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, most) = (Arc::clone(&is_over), seats.most());
        Builder::new().name("machine".to_owned()).spawn(move || wait(&seats, &asked, &outbox, &over))?;
        Ok(Self { most, ask, asked: None, is_over, spare: Vec::new(), held: BTreeMap::new(), waits: false })
    }

    /// How many workers there may be on this machine.
    pub(crate) const fn most(&self) -> u32 {
        self.most
    }

    /// A seat is free for this run; says how many more workers may start.
    pub(crate) fn given(&mut self, seat: Seat, rules: &Run) -> usize {
        self.asked = None;
        self.spare.push(seat);
        rules.seats().unwrap_or(0) + 1
    }

    /// How long until people should know that the run waits, if they do not.
    pub(crate) fn patience(&self, lived: Duration) -> Option<Duration> {
        let asked = self.asked.filter(|_| !self.waits)?;
        Some((asked + PATIENCE).saturating_sub(lived))
    }

    /// An attempt begins in a slot, and takes one of the seats.
    pub(crate) fn take(&mut self, slot: usize, work: Work) {
        if let Some(seat) = self.spare.pop() {
            self.held.insert(slot, (work, seat));
        }
    }

    /// The seat of the attempt in a slot.
    pub(crate) fn of(&self, slot: usize) -> Option<&Path> {
        self.held.get(&slot).map(|(_, seat)| seat.path())
    }

    /// Gives back the seats of attempts that are over, and those that this run does not need now; asks for one that it needs.
    /// Says how many more workers may start.
    pub(crate) fn share(&mut self, rules: &Run, lived: Duration) -> usize {
        self.held.retain(|slot, (work, _)| rules.in_slot(*slot) == Some(*work));
        let free = rules.seats().unwrap_or(0);
        let wants = rules.wants_worker();
        if wants && free == 0 && self.asked.is_none() {
            self.asked = self.ask.send(()).ok().map(|()| lived);
        }
        self.waits &= wants;
        if wants {
            return free;
        }
        // What is claimed and not begun keeps its own.
        self.spare.truncate(self.spare.len().saturating_sub(free));
        0
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The thread may wait behind another run, and ends when that is served.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn wait(seats: &Seats, asked: &Receiver<()>, outbox: &Outbox, is_over: &AtomicBool) {
    while asked.recv().is_ok() {
        loop {
            match seats.wait(|| !is_over.load(Ordering::Relaxed)) {
                Ok(Some(seat)) if !is_over.load(Ordering::Relaxed) => {
                    if outbox.send(Message::Seat(SeatNews::Free(seat))).is_err() {
                        return;
                    }
                    break;
                }
                Ok(_) => return,
                Err(error) => {
                    if outbox.send(Message::Seat(SeatNews::Unusable(error.to_string()))).is_err() {
                        return;
                    }
                    std::thread::sleep(REST);
                }
            }
        }
    }
}
