//! What other threads tell the dispatcher. Each message also makes a descriptor readable, so that the dispatcher can wait
//! for messages and for its keepers at once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use team_executor_core::run::Work;

use crate::conclude::artifacts::Looked;
use crate::control::Asked;
use crate::dispatch::machine::SeatNews;
pub use crate::dispatch::signals::Signal;
use crate::trees;

/// What reaches the dispatcher from outside, besides the news of its keepers.
#[derive(Debug)]
pub enum Message {
    /// The user pressed Ctrl-C, or the system wants the run to end.
    Signal(Signal),
    /// A request.
    Asked(Asked),
    /// What a person has typed; nothing at the end of the input.
    Typed(Option<String>),
    /// The delivery of the attempt in a slot was checked.
    Looked {
        /// Where.
        slot: usize,
        /// What came of it.
        looked: Box<Looked>,
    },
    /// A worker ends the job that its task is a part of.
    Halt {
        /// For people.
        reason: String,
    },
    /// A sync of the journal has ended.
    Synced {
        /// How long it took.
        took: Duration,
    },
    /// Git has done something for an attempt.
    Tree(Box<trees::News>),
    /// What became known about the machine's limit.
    Seat(SeatNews),
    /// Something was written into the folder of the session.
    Edited,
    /// An attempt that was asked to end has had the time for that.
    Overdue(Work),
}

/// The dispatcher's end.
#[derive(Debug)]
pub struct Inbox {
    messages: Receiver<Message>,
    bell: Arc<OwnedFd>,
}

/// The other end, for any number of threads.
#[derive(Debug, Clone)]
pub struct Outbox {
    messages: Sender<Message>,
    bell: Arc<OwnedFd>,
}

/// The dispatcher is gone: the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over;

/// Both ends.
pub fn open() -> std::io::Result<(Outbox, Inbox)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, messages) = mpsc::channel();
    Ok((Outbox { messages: sender, bell: Arc::clone(&bell) }, Inbox { messages, bell }))
}

impl Outbox {
    /// Tells the dispatcher.
    pub fn send(&self, message: Message) -> Result<(), Over> {
        self.messages.send(message).map_err(|_| Over)?;
        self.ring();
        Ok(())
    }

    /// Wakes the dispatcher, which then looks at its crew.
    pub fn ring(&self) {
        // A bell that rings already rings.
        let _rings = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl Inbox {
    /// Readable while there may be a message.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// All messages that are there.
    pub fn take(&self) -> Vec<Message> {
        // Silenced first: a message sent while we look rings it again.
        let _silent_already = rustix::io::read(&self.bell, &mut [0; 8]);
        self.messages.try_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn rings(inbox: &Inbox) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(inbox.bell(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
    }

    #[test]
    fn the_bell_rings_while_there_are_messages() {
        let (outbox, inbox) = open().unwrap();
        assert!(!rings(&inbox));
        outbox.send(Message::Signal(Signal::End)).unwrap();
        outbox.send(Message::Signal(Signal::HangUp)).unwrap();
        assert!(rings(&inbox));
        assert_eq!(inbox.take().len(), 2);
        assert!(!rings(&inbox));
        assert_eq!(inbox.take().len(), 0);
        drop(inbox);
        assert_eq!(outbox.send(Message::Signal(Signal::End)), Err(Over));
    }
}
