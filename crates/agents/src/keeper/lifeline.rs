//! The keeper's connection to its executor: requests come in by it, and its end means that the executor is dead or done.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use crate::capture::CHUNK;
use crate::protocol::{Request, decode};

/// The longest request. An executor that sends a longer one is not understood.
const LONGEST: usize = 64 * 1024 * 1024;

/// The connection to the executor.
#[derive(Debug)]
pub(super) struct Lifeline {
    input: io::Stdin,
    /// The executor's process: should anything else hold the other end of the input, this still tells.
    executor: Option<OwnedFd>,
    /// For what is read at once.
    chunk: Vec<u8>,
    bytes: Vec<u8>,
    requests: VecDeque<Request>,
    gone: bool,
}

impl Lifeline {
    /// The connection that was inherited.
    pub(super) fn new() -> Self {
        let executor = getppid().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let (chunk, bytes, requests) = (vec![0; CHUNK], Vec::new(), VecDeque::new());
        Self { input: io::stdin(), executor, chunk, bytes, requests, gone: false }
    }

    /// Waits for the next request; none when the executor is gone.
    pub(super) fn next(&mut self) -> Option<Request> {
        while !self.gone {
            if let Some(request) = self.requests.pop_front() {
                return Some(request);
            }
            self.receive_within(None);
        }
        None
    }

    /// A request that has come in already.
    pub(super) fn try_next(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    /// What to wait for, while there is something to wait for.
    pub(super) fn fds(&self) -> Vec<PollFd<'_>> {
        if self.gone {
            return Vec::new();
        }
        let input = PollFd::from_borrowed_fd(self.input_fd(), PollFlags::IN);
        let executor = self.executor.iter().map(|executor| PollFd::new(executor, PollFlags::IN));
        std::iter::once(input).chain(executor).collect()
    }

    /// Takes in what is there, without waiting.
    pub(super) fn receive(&mut self) {
        self.receive_within(Some(&Timespec::default()));
    }

    fn receive_within(&mut self, time: Option<&Timespec>) {
        let (readable, alive) = self.look(time);
        if readable {
            match rustix::io::read(&self.input, &mut self.chunk[..]) {
                Ok(0) => self.gone = true,
                Ok(count) => self.take(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => self.gone = true,
            }
        }
        self.gone |= !alive;
    }

    /// Looks whether the executor is gone, though it may have left requests.
    pub(super) fn is_gone(&mut self) -> bool {
        self.gone |= !self.look(Some(&Timespec::default())).1;
        self.gone
    }

    /// Whether the executor was gone when this was last looked at.
    pub(super) const fn was_gone(&self) -> bool {
        self.gone
    }

    /// Nothing more is taken.
    pub(super) fn close(&mut self) {
        self.gone = true;
    }

    /// Whether there is something to read, and whether the executor lives.
    fn look(&self, time: Option<&Timespec>) -> (bool, bool) {
        let mut fds = self.fds();
        if fds.is_empty() {
            return (false, false);
        }
        match poll(&mut fds, time) {
            Ok(_) => {}
            Err(Errno::INTR) => return (false, true),
            // An executor that does not answer counts as gone; only a look in passing can wait for the next
            // one.
            Err(_) => return (false, time.is_some()),
        }
        let input = fds[0].revents();
        let dead = fds.get(1).is_some_and(|executor| executor.revents().contains(PollFlags::IN));
        // The other end may be closed with requests still to be read; they are of no interest then.
        let hung_up = input.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        (input.contains(PollFlags::IN), !dead && !hung_up)
    }

    fn take(&mut self, count: usize) {
        self.bytes.extend_from_slice(&self.chunk[..count]);
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.bytes[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match decode(line) {
                Ok(request) => self.requests.push_back(request),
                Err(_) => self.gone = true,
            }
        }
        self.bytes.drain(..end);
        self.gone |= self.bytes.len() > LONGEST;
    }

    fn input_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}
