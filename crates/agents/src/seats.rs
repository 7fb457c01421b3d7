//! Seats: what all runs of a user on this machine share where workers are limited over all of them. A seat is a file that is
//! locked as long as its worker may live: by the executor, and by the keeper, which may outlive it. The kernel gives back
//! what a killed process held, so nothing has to be cleaned up, and no program has to run for it.
//!
//! Who waits holds the lock of a queue, and the others wait for that: who came first is served first. It looks again when
//! some file of the folder is closed, which the kernel tells.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock, inotify};
use rustix::io::{Errno, retry_on_intr};
use rustix::system::uname;
use team_executor_beneath::{How, make_shared, open_file};

/// The file on which those wait who are not the next.
const QUEUE: &str = "queue";
/// A file is said to be closed a moment before its lock has fallen, so it is looked again now and then.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The seats of a machine.
#[derive(Debug, Clone)]
pub struct Seats {
    folder: PathBuf,
    most: u32,
}

/// A seat that is held as long as this lives, or what was told of it.
#[derive(Debug)]
pub struct Seat {
    path: PathBuf,
    _file: File,
}

impl Seats {
    /// So many, in a folder of this machine, which is made if it is missing: the one above may be on several machines.
    pub fn open(above: &Path, most: u32) -> io::Result<Self> {
        let host = uname().nodename().to_string_lossy().replace('/', "-");
        let folder = above.join(format!("on-{host}"));
        make_shared(&folder)?;
        Ok(Self { folder, most })
    }

    /// How many there are.
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// Waits for a free seat. When it is the next, it asks every second whether to go on; nothing if not.
    pub fn wait(&self, goes_on: impl Fn() -> bool) -> io::Result<Option<Seat>> {
        let queue = open_file(&self.folder.join(QUEUE), How::Append)?;
        lock(&queue, FlockOperation::LockExclusive)?;
        let news = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let closes = inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::CLOSE_NOWRITE;
        inotify::add_watch(&news, &self.folder, closes)?;
        // They stay open while we look: else we would hear ourselves.
        let mut seats = Vec::with_capacity(self.most as usize);
        for nth in 1..=self.most {
            let path = self.folder.join(format!("seat-{nth}"));
            seats.push((open_file(&path, How::Append)?, path));
        }
        loop {
            for (nth, (file, _)) in seats.iter().enumerate() {
                // Taken alone, then shared, so that a keeper can have it too. No other executor tries to meanwhile: this one has the queue.
                if lock(file, FlockOperation::NonBlockingLockExclusive)?
                    && lock(file, FlockOperation::NonBlockingLockShared)?
                {
                    let (file, path) = seats.swap_remove(nth);
                    return Ok(Some(Seat { path, _file: file }));
                }
            }
            if !heard(&news)? && !goes_on() {
                return Ok(None);
            }
        }
    }
}

impl Seat {
    /// Where it is, for the keeper of the worker that sits on it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds a seat that the executor holds, so that it stays taken if that is killed.
    pub(crate) fn share(path: &Path) -> io::Result<Self> {
        let file = open_file(path, How::Append)?;
        if lock(&file, FlockOperation::NonBlockingLockShared)? {
            Ok(Self { path: path.to_owned(), _file: file })
        } else {
            Err(io::Error::other("another run has this place of the machine's limit"))
        }
    }
}

/// Takes a lock; `false` if another process has it.
fn lock(file: &File, how: FlockOperation) -> io::Result<bool> {
    match retry_on_intr(|| flock(file, how)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits until some file is closed, or for a while; says whether one was.
fn heard(news: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(news, PollFlags::IN)];
    match poll(&mut fds, Some(&LOOK_AGAIN)) {
        Ok(0) => return Ok(false),
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut buffer = [MaybeUninit::uninit(); 4096];
    while let Ok(1..) = rustix::io::read(news, &mut buffer).map(|(read, _)| read.len()) {}
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn seats(dir: &Path, most: u32) -> Seats {
        Seats::open(&dir.join("machine"), most).unwrap()
    }

    fn taken(seats: &Seats) -> Seat {
        seats.wait(|| false).unwrap().expect("a free seat")
    }

    #[test]
    fn there_are_as_many_seats_as_were_said() {
        let dir = tempfile::tempdir().unwrap();
        let seats = seats(dir.path(), 2);
        let (one, two) = (taken(&seats), taken(&seats));
        assert_ne!(one.path(), two.path());
        assert!(seats.wait(|| false).unwrap().is_none());
        drop(one);
        let again = taken(&seats);
        assert!(seats.wait(|| false).unwrap().is_none());
        drop((again, two));
    }

    #[test]
    fn seat_that_a_keeper_shares_stays_taken_without_its_executor() {
        let dir = tempfile::tempdir().unwrap();
        let seats = seats(dir.path(), 1);
        let executors = taken(&seats);
        let keepers = Seat::share(executors.path()).unwrap();
        drop(executors);
        assert!(seats.wait(|| false).unwrap().is_none());
        drop(keepers);
        drop(taken(&seats));
    }

    #[test]
    fn waiting_executor_hears_of_a_free_seat() {
        let dir = tempfile::tempdir().unwrap();
        let seats = seats(dir.path(), 1);
        let held = taken(&seats);
        let (sender, told) = mpsc::channel();
        let waiter = thread::spawn(move || {
            let seat = seats.wait(|| sender.send(()).is_ok()).unwrap();
            seat.is_some()
        });
        told.recv_timeout(Duration::from_secs(60)).expect("it waits");
        drop(held);
        assert!(waiter.join().unwrap());
    }
}
