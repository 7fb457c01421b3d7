//! Messages from the thread of a connection to a thread that waits for descriptors.

use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

/// Where messages are heard.
#[derive(Debug)]
pub(crate) struct Ear<T> {
    messages: Receiver<T>,
}

/// Where they are told.
pub(crate) struct Mouth<T> {
    messages: Sender<T>,
    ring: Arc<dyn Fn() + Send + Sync>,
}

impl<T> Clone for Mouth<T> {
    fn clone(&self) -> Self {
        Self { messages: self.messages.clone(), ring: Arc::clone(&self.ring) }
    }
}

impl<T> fmt::Debug for Mouth<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mouth").finish_non_exhaustive()
    }
}

/// Both ends; each message rings a bell.
pub(crate) fn open<T>(ring: impl Fn() + Send + Sync + 'static) -> (Mouth<T>, Ear<T>) {
    let (sender, messages) = mpsc::channel();
    (Mouth { messages: sender, ring: Arc::new(ring) }, Ear { messages })
}

impl<T> Mouth<T> {
    /// Tells; without a listener nothing happens.
    pub(crate) fn tell(&self, message: T) {
        if self.messages.send(message).is_ok() {
            (self.ring)();
        }
    }
}

impl<T> Ear<T> {
    /// All messages that are there.
    pub(crate) fn take(&self) -> Vec<T> {
        self.messages.try_iter().collect()
    }

    /// The next message, if one comes in time.
    pub(crate) fn wait(&self, time: Duration) -> Option<T> {
        self.messages.recv_timeout(time).ok()
    }
}

/// A descriptor that is readable once it was rung, until it is silenced.
#[derive(Debug, Clone)]
pub(crate) struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub(crate) fn ring(&self) {
        // A bell that rings already rings.
        let _rings = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Before messages are taken: one that comes meanwhile rings again.
    pub(crate) fn silence(&self) {
        let _silent_already = rustix::io::read(&self.0, &mut [0; 8]);
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
