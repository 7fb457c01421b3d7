//! Those who follow a run over its socket, each served by a thread of its own.
//!
//! A subscriber is sent the durable lines of the journal as they are, and makes events of them by itself ([`crate::event::Reader`]):
//! that costs the executor a copy of bytes, however slow the subscriber is, and no memory that grows. In between, if it asks
//! for them, come events that are only live, a line of JSON each; of these it misses what it is too slow for. Nothing waits
//! for a subscriber: when the run ends its connection is closed, and the journal has the rest.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error};
use team_executor_store::run_folder::JOURNAL;
use team_executor_store::{Seq, Tide};

use super::Answer;
use crate::event::Event;

/// How many can follow at a time.
const MOST: usize = 32;
/// How much is copied at a time.
const PIECE: usize = 64 << 10;
/// How many live events are kept for subscribers that are a little late.
const KEPT: usize = 256;
/// How often a subscriber is sent news: a run of many short tasks is not disturbed by each.
const REST: Duration = Duration::from_millis(20);
/// How often is looked whether a subscriber is still there.
const LOOK: Duration = Duration::from_secs(1);
/// How long a subscriber may take nothing of what it is sent.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// What the executor has for subscribers.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// How far the journal is durable.
    pub(crate) tide: Arc<Tide>,
    /// How many want what is only live.
    listeners: AtomicUsize,
    live: Mutex<Live>,
}

/// The last live events.
#[derive(Debug, Default)]
struct Live {
    /// How many there were before those that are kept.
    before: u64,
    lines: VecDeque<Arc<str>>,
}

impl Feed {
    /// Keeps an event that is only live, if a subscriber wants it. Waits for none of them.
    pub(crate) fn publish(&self, event: &Event) {
        if event.seq.is_some() || self.listeners.load(Ordering::Relaxed) == 0 {
            return;
        }
        let line = event.to_json() + "\n";
        let mut live = self.live();
        if live.lines.len() == KEPT {
            live.lines.pop_front();
            live.before += 1;
        }
        live.lines.push_back(line.into());
        drop(live);
        self.tide.ring();
    }

    /// The live events from this one on, as far as they are kept; and which one comes next.
    fn since(&self, from: u64) -> (Vec<Arc<str>>, u64) {
        let live = self.live();
        let skip = usize::try_from(from.saturating_sub(live.before)).unwrap_or(usize::MAX);
        (live.lines.iter().skip(skip).cloned().collect(), live.before + live.lines.len() as u64)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads that serve subscribers.
#[derive(Debug)]
pub(super) struct Subscribers {
    news: Arc<Feed>,
    threads: Vec<JoinHandle<()>>,
}

impl Subscribers {
    pub(super) fn new(news: Arc<Feed>) -> Self {
        Self { news, threads: Vec::new() }
    }

    /// Serves one more from a record on, until it is gone or the other stream is closed. The answer says how far the journal is
    /// durable, or why nothing is sent.
    pub(super) fn add(&mut self, stream: UnixStream, folder: &Dir, (from, live): (Seq, bool), end: &UnixStream) {
        self.threads.retain(|thread| !thread.is_finished());
        let mark = self.news.tide.mark();
        let refused = match self.threads.len() {
            MOST => Some(format!("{MOST} clients already follow the run")),
            _ if from == 0 || from > mark.seq + 1 => Some(format!("there is no record {from} yet")),
            _ => None,
        };
        let outcome = refused.map_or_else(|| Ok(vec![mark.seq.to_string()]), Err);
        let is_refused = outcome.is_err();
        let answer = Answer { stage: "unknown".to_owned(), outcome };
        // It fits into the buffer of the socket; a subscriber that has gone does not want it.
        let told = (&stream).write_all(format!("{}\n", answer.write()).as_bytes());
        let opened = folder.file(JOURNAL, How::Read).map_err(io_error);
        let (Ok(()), false, Ok(journal), Ok(end)) = (told, is_refused, opened, end.try_clone()) else { return };
        let news = Arc::clone(&self.news);
        let served = move || {
            let listens = live.then(|| Listens::to(&news));
            // A subscriber that is cut off reads the rest from the journal.
            let _over = Line { stream: &stream, end: &end }.serve(&journal, from, &news, listens.is_some());
        };
        self.threads.extend(Builder::new().name("subscriber".to_owned()).spawn(served));
    }

    /// Waits until all have ended; their end was closed before.
    pub(super) fn join(self) {
        self.news.tide.close();
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Counts a subscriber that wants what is only live.
struct Listens<'a>(&'a Feed);

impl<'a> Listens<'a> {
    fn to(news: &'a Feed) -> Self {
        news.listeners.fetch_add(1, Ordering::Relaxed);
        Self(news)
    }
}

impl Drop for Listens<'_> {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection to a subscriber, and what is closed when the run ends.
struct Line<'a> {
    stream: &'a UnixStream,
    end: &'a UnixStream,
}

impl Line<'_> {
    fn serve(&self, journal: &File, from: Seq, news: &Feed, live: bool) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let (mut mark, mut rings) = (news.tide.mark(), 0);
        let mut sent = start_of(journal, from, mark.bytes, &mut piece)?;
        let mut next = news.since(u64::MAX).1;
        loop {
            while sent < mark.bytes {
                let most = usize::try_from(mark.bytes - sent).map_or(PIECE, |left| left.min(PIECE));
                let count = journal.read_at(&mut piece[..most], sent)?;
                if count == 0 {
                    return Err(ErrorKind::UnexpectedEof.into()); // another program has cut the journal
                }
                self.send(&piece[..count])?;
                sent += count as u64;
            }
            if live {
                let (lines, after) = news.since(next);
                next = after;
                lines.iter().try_for_each(|line| self.send(line.as_bytes()))?;
            }
            if news.tide.rest(REST) {
                return Ok(());
            }
            let Some(risen) = news.tide.wait(sent, rings, LOOK) else { return Ok(()) };
            (mark, rings) = risen;
            self.must_be_there()?;
        }
    }

    /// Sends all of it, however often the subscriber makes it wait, unless the run ends before.
    fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match { self.stream }.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        let mut both = [PollFd::new(self.stream, PollFlags::OUT), PollFd::new(self.end, PollFlags::IN)];
        match poll(&mut both, Some(&PATIENCE)) {
            Ok(0) => Err(ErrorKind::TimedOut.into()),
            Ok(_) if !both[1].revents().is_empty() => Err(ErrorKind::ConnectionAborted.into()),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Fails if the subscriber is gone. It has nothing to say.
    fn must_be_there(&self) -> io::Result<()> {
        match { self.stream }.read(&mut [0; 64]) {
            Ok(0) => Err(ErrorKind::ConnectionReset.into()),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Where the line of a record begins: each record is one line.
fn start_of(journal: &File, from: Seq, durable: u64, piece: &mut [u8]) -> io::Result<u64> {
    let (mut lines, mut at) = (from - 1, 0);
    while lines > 0 && at < durable {
        let count = journal.read_at(piece, at)?;
        let mut ends = piece[..count].iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end as u64);
        let found = ends.by_ref().take(usize::try_from(lines).unwrap_or(usize::MAX)).inspect(|_| lines -= 1).last();
        at += match found {
            Some(end) if lines == 0 => end + 1,
            _ if count == 0 => return Err(ErrorKind::UnexpectedEof.into()),
            _ => count as u64,
        };
    }
    Ok(at)
}
