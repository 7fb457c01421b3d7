//! Reading what decides about an attempt. One failure of the disk or the system says nothing about the work, which would have
//! to be paid for again: it is tried again for a while, and after that the run ends and the next one decides.

use std::io::{self, Read};
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;
use team_executor_beneath::is_system_failure;

/// The first pause; each one is twice as long as the one before.
const FIRST: Duration = Duration::from_millis(10);
/// The last pause.
const LAST: Duration = Duration::from_millis(640);

/// Does something again for as long as the disk or the system fails, at most for about a second.
pub(crate) fn patiently<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut pause = FIRST;
    loop {
        match call() {
            Err(errno) if is_system_failure(errno) && pause <= LAST => sleep(pause),
            done => return done,
        }
        pause *= 2;
    }
}

/// A reader that tries again, and remembers a failure that stays: most who read take it for the end.
#[derive(Debug)]
pub(crate) struct Patient<'f, R> {
    inner: R,
    failure: &'f mut Option<Errno>,
}

impl<'f, R> Patient<'f, R> {
    /// Reads from `inner`.
    pub(crate) const fn new(inner: R, failure: &'f mut Option<Errno>) -> Self {
        Self { inner, failure }
    }
}

impl<R: Read> Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            patiently(|| self.inner.read(buffer).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        *self.failure = read.err().filter(|errno| is_system_failure(*errno));
        read.map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Failing(u32);

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_sub(1);
            if self.0 == 0 { Ok(0) } else { Err(Errno::IO.into()) }
        }
    }

    #[test]
    fn passing_failure_is_retried_and_lasting_one_reported() {
        let mut tries = 0;
        let mut call = |failures: u32, errno: Errno| {
            tries = 0;
            patiently(|| {
                tries += 1;
                if tries > failures { Ok(tries) } else { Err(errno) }
            })
        };
        assert_eq!(call(3, Errno::MFILE), Ok(4));
        assert_eq!(call(1, Errno::NOENT), Err(Errno::NOENT));
        assert_eq!(call(u32::MAX, Errno::IO), Err(Errno::IO));
        let mut failure = None;
        assert_eq!(Patient::new(Failing(3), &mut failure).read(&mut []).unwrap(), 0);
        assert_eq!(failure, None);
        assert!(Patient::new(Failing(u32::MAX), &mut failure).read(&mut []).is_err());
        assert_eq!(failure, Some(Errno::IO));
    }
}
