//! The one thread that starts keepers, hands out work, and tells what happens.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};

use super::kept::Kept;
use super::{KeeperEvent, Message};
use crate::protocol::{Answer, Assignment, Request};

/// The owner of all keepers.
#[derive(Debug)]
pub(super) struct Manager<F> {
    pub(super) exe: PathBuf,
    pub(super) on_event: F,
    /// Where those who listen to keepers put what they hear.
    pub(super) outbox: Sender<Message>,
    /// The keeper of each slot.
    pub(super) kept: BTreeMap<usize, Kept>,
    /// The number of the next keeper.
    pub(super) next: u64,
    /// Who waits until all keepers are gone.
    pub(super) closing: Vec<Sender<()>>,
}

impl<F: Fn(KeeperEvent)> Manager<F> {
    /// Works until told to quit.
    pub(super) fn run(mut self, inbox: &Receiver<Message>) {
        for message in inbox {
            match message {
                Message::Start { slot, assignment } => self.start(slot, assignment),
                Message::End { slot } => self.end(slot),
                Message::CloseAll { done } => self.close_all(done),
                Message::Quit => return,
                Message::Heard { slot, number, answer } if self.has(slot, number) => self.heard(slot, answer),
                Message::Gone { slot, number } if self.has(slot, number) => self.gone(slot),
                // From a keeper that was replaced.
                Message::Heard { .. } | Message::Gone { .. } => {}
            }
            if self.kept.is_empty() {
                for done in self.closing.drain(..) {
                    let _no_longer_waits = done.send(());
                }
            }
        }
    }

    fn start(&mut self, slot: usize, assignment: Box<Assignment>) {
        let key = assignment.key.clone();
        let told = self.idle_keeper(slot).and_then(|kept| {
            match kept.request(&Request::Run(assignment)) {
                // A keeper that does not hear is dead, and that is told when its end is noticed.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                _ => kept.key = Some(key.clone()),
            }
            Ok(())
        });
        if let Err(error) = told {
            let reason = format!("no keeper took the attempt: {error}");
            (self.on_event)(KeeperEvent::KeeperDied { slot, key, reason, is_clean: true });
        }
    }

    /// The keeper of a slot, which may be a new one.
    fn idle_keeper(&mut self, slot: usize) -> io::Result<&mut Kept> {
        if self.kept.get(&slot).is_some_and(|kept| kept.key.is_some()) {
            return Err(io::Error::other("the slot is not free"));
        }
        // It may have died while it was idle, and we may not have heard of it yet.
        if let Some(mut kept) = self.kept.remove(&slot) {
            if kept.lives() {
                return Ok(self.kept.entry(slot).insert_entry(kept).into_mut());
            }
            kept.put_away();
        }
        let (number, outbox) = (self.next, self.outbox.clone());
        self.next += 1;
        let kept = Kept::start(&self.exe, number, move |answer| {
            let message = match answer {
                Some(answer) => Message::Heard { slot, number, answer },
                None => Message::Gone { slot, number },
            };
            // At the very end nobody listens any more.
            let _unheard = outbox.send(message);
        })?;
        Ok(self.kept.entry(slot).insert_entry(kept).into_mut())
    }

    fn end(&mut self, slot: usize) {
        if let Some(kept) = self.kept.get_mut(&slot)
            && let Some(key) = kept.key.clone()
        {
            let _noticed_later = kept.request(&Request::End { key });
        }
    }

    fn close_all(&mut self, done: Sender<()>) {
        self.closing.push(done);
        for kept in self.kept.values_mut() {
            let _noticed_later = kept.request(&Request::Close {});
        }
    }

    fn heard(&mut self, slot: usize, answer: Answer) {
        let event = match answer {
            Answer::Started { key, pid } => KeeperEvent::Started { slot, key, pid },
            Answer::Line { key, text } => KeeperEvent::Line { slot, key, text },
            Answer::Ended { exit, unrecorded } => {
                if let Some(kept) = self.kept.get_mut(&slot) {
                    kept.key = None;
                }
                KeeperEvent::Ended { slot, exit, unrecorded }
            }
        };
        (self.on_event)(event);
    }

    fn gone(&mut self, slot: usize) {
        let Some(kept) = self.kept.remove(&slot) else { return };
        let key = kept.key.clone();
        let (reason, is_clean) = kept.put_away();
        if let Some(key) = key {
            (self.on_event)(KeeperEvent::KeeperDied { slot, key, reason, is_clean });
        }
    }

    fn has(&self, slot: usize, number: u64) -> bool {
        self.kept.get(&slot).is_some_and(|kept| kept.number == number)
    }
}
