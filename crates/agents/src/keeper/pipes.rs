//! The pipes that a worker's outputs come through. Those that nothing came through are the next worker's: to make and to
//! close them is a tenth of all that a keeper does for a short task.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_setfl};

/// Standard output and standard error: each where it is read, and where it is written.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) readers: [OwnedFd; 2],
    pub(super) writers: [OwnedFd; 2],
}

/// The pipes of one keeper.
#[derive(Debug, Default)]
pub(super) struct Spare(Option<Pipes>);

impl Spare {
    /// Pipes that nothing is in.
    pub(super) fn take(&mut self) -> io::Result<Pipes> {
        match self.0.take() {
            Some(pipes) => Ok(pipes),
            None => {
                let ((out, to_out), (err, to_err)) = (io::pipe()?, io::pipe()?);
                Ok(Pipes { readers: [out.into(), err.into()], writers: [to_out.into(), to_err.into()] })
            }
        }
    }

    /// Keeps pipes that nothing came through, and that no worker has any more.
    pub(super) fn give_back(&mut self, pipes: Pipes) {
        // A worker may have made them not to wait, which the next one would not expect.
        let as_new = pipes.writers.iter().all(|writer| fcntl_setfl(writer, OFlags::empty()).is_ok());
        self.0 = as_new.then_some(pipes);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use rustix::fs::fcntl_getfl;
    use team_executor_beneath::Dir;

    use super::*;
    use crate::capture::{Capture, Log};

    #[test]
    fn pipes_that_nothing_came_through_are_given_again_as_new_ones() {
        let mut spare = Spare::default();
        let pipes = spare.take().unwrap();
        let numbers = pipes.writers.each_ref().map(|writer| writer.as_raw_fd());
        fcntl_setfl(&pipes.writers[0], OFlags::NONBLOCK).unwrap();
        spare.give_back(pipes);
        let again = spare.take().unwrap();
        assert_eq!(again.writers.each_ref().map(|writer| writer.as_raw_fd()), numbers);
        assert!(!fcntl_getfl(&again.writers[0]).unwrap().contains(OFlags::NONBLOCK));
    }

    #[test]
    fn a_pipe_that_something_came_through_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = || Log::new(Dir::open(dir.path()).unwrap(), "log".to_owned());
        for (said, is_kept) in [("", true), ("x", false)] {
            let (reader, mut writer) = io::pipe().unwrap();
            let mut capture = Capture::new(reader, log(), 10);
            writer.write_all(said.as_bytes()).unwrap();
            capture.drain(&mut [0; 16]);
            assert_eq!(capture.unused().is_some(), is_kept, "{said:?}");
        }
        let (reader, writer) = io::pipe().unwrap();
        let mut closed = Capture::new(reader, log(), 10);
        drop(writer);
        closed.read(&mut [0; 16]);
        assert!(closed.unused().is_none());
    }
}
