//! One output stream of a worker on its way into a log: drained always, kept raw, and kept only up to a cap.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::UNIX_EPOCH;

use rustix::io::{Errno, ioctl_fionread};
use team_executor_beneath::{Dir, io_error};

use crate::adapters::Ear;
use crate::exit::Printed;
use crate::last_line::LastLine;
use crate::log_times::Noting;

/// The most that is read at once.
pub(crate) const CHUNK: usize = 64 * 1024;

/// One output stream and its log.
#[derive(Debug)]
pub(crate) struct Capture {
    /// None when every writer has closed it.
    pipe: Option<OwnedFd>,
    log: Log,
    /// How much may still go straight to the log.
    head: u64,
    tail: VecDeque<u8>,
    tail_cap: usize,
    stream: Printed,
    /// How much of what was dropped the log says.
    said: u64,
    last_line: LastLine,
    ear: Option<Ear>,
}

/// A file that is made when there is something to write.
#[derive(Debug)]
pub(crate) struct Log {
    folder: Dir,
    name: String,
    file: Option<File>,
    /// How much was written.
    length: u64,
    times: Noting,
}

impl Log {
    /// A log of this name in a folder.
    pub(crate) fn new(folder: Dir, name: String) -> Self {
        Self { folder, name, file: None, length: 0, times: Noting::default() }
    }

    /// Never writes over a file that is there. Anything else in its place, such as a link or a pipe, is set aside.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(self.folder.append_or_set_aside(&self.name).map_err(io_error)?);
        }
        self.length += bytes.len() as u64;
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// Notes when this was printed. Without the note it seems to have been printed a little earlier.
    fn note(&mut self, bytes: &[u8], now: u64) {
        if !bytes.is_empty() {
            let _a_full_disk_ends_the_notes = self.times.note((&self.folder, &self.name), self.length, now);
        }
    }
}

impl Capture {
    /// Keeps at most `cap` bytes of what comes through the pipe.
    pub(crate) fn new(pipe: impl Into<OwnedFd>, log: Log, cap: u64) -> Self {
        let tail_cap = usize::try_from(cap / 2).unwrap_or(usize::MAX);
        Self {
            pipe: Some(pipe.into()),
            log,
            head: cap - cap / 2,
            tail: VecDeque::new(),
            tail_cap,
            stream: Printed::default(),
            said: 0,
            last_line: LastLine::default(),
            ear: None,
        }
    }

    /// The same stream, which is that of a known agent.
    pub(crate) fn heard_by(self, ear: Option<Ear>) -> Self {
        Self { ear, ..self }
    }

    /// What is heard of it, if it is that of a known agent.
    pub(crate) const fn ear(&self) -> Option<&Ear> {
        self.ear.as_ref()
    }

    /// What to wait for, while there is something to wait for.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Watches the stream for its last line.
    pub(crate) const fn last_line(&self) -> &LastLine {
        &self.last_line
    }

    /// Reads once; the pipe must be ready. Says whether anything came.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        match rustix::io::read(pipe, &mut *buffer) {
            Err(Errno::INTR | Errno::AGAIN) => false,
            Ok(0) | Err(_) => {
                self.pipe = None;
                false
            }
            Ok(count) => {
                self.keep(&buffer[..count]);
                true
            }
        }
    }

    /// Reads what is there without waiting for more.
    pub(crate) fn drain(&mut self, buffer: &mut [u8]) {
        while self.pipe.as_ref().is_some_and(|pipe| ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0)) {
            self.read(buffer);
        }
    }

    /// Reads what has come until now; more may come all the time.
    pub(crate) fn catch_up(&mut self, buffer: &mut [u8]) {
        let there = self.pipe.as_ref().and_then(|pipe| ioctl_fionread(pipe).ok()).unwrap_or(0);
        let until = self.stream.bytes.saturating_add(there);
        while self.stream.bytes < until && self.read(buffer) {}
    }

    /// Completes the log. Of what comes after that, only what fits into its beginning is kept.
    pub(crate) fn finish(&mut self) -> Printed {
        let note = match self.stream.dropped - self.said {
            0 => String::new(),
            dropped => format!("\n[{dropped} bytes left out]\n"),
        };
        let (one, two) = self.tail.as_slices();
        let written: io::Result<()> =
            [note.as_bytes(), one, two].into_iter().try_for_each(|bytes| self.log.write(bytes));
        if written.is_err() {
            self.stream.dropped += self.tail.len() as u64;
        }
        self.tail.clear();
        (self.tail_cap, self.said) = (0, self.stream.dropped);
        self.stream
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.stream.bytes += bytes.len() as u64;
        self.last_line.feed(bytes);
        self.ear.iter_mut().for_each(|ear| ear.feed(bytes, 0));
        let head = usize::try_from(self.head).unwrap_or(usize::MAX).min(bytes.len());
        let (head, rest) = bytes.split_at(head);
        self.head -= head.len() as u64;
        self.log.note(head, UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(0)));
        // A full disk ends the log, not the worker: the pipe must be drained whatever happens.
        if self.log.write(head).is_err() {
            self.stream.dropped += head.len() as u64;
        }
        let fits = &rest[rest.len().saturating_sub(self.tail_cap)..];
        let too_many = (self.tail.len() + fits.len()).saturating_sub(self.tail_cap);
        self.stream.dropped += (rest.len() - fits.len() + too_many) as u64;
        self.tail.drain(..too_many);
        self.tail.extend(fits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the log holds after chunks of this size went by, and what was counted.
    fn log(text: &[u8], chunk: usize, cap: u64) -> (Vec<u8>, Printed) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::new(Dir::open(dir.path()).unwrap(), "log".to_owned());
        let (_read, write) = std::io::pipe().unwrap();
        let mut capture = Capture::new(write, log, cap);
        text.chunks(chunk).for_each(|bytes| capture.keep(bytes));
        let stream = capture.finish();
        assert_eq!(path.exists(), !text.is_empty(), "no file for nothing");
        (std::fs::read(path).unwrap_or_default(), stream)
    }

    #[test]
    fn small_output_is_kept_unchanged() {
        for chunk in 1..=10 {
            let (bytes, stream) = log(b"0123456789", chunk, 10);
            assert_eq!(bytes, b"0123456789");
            assert_eq!(stream, Printed { bytes: 10, dropped: 0 });
        }
    }

    #[test]
    fn large_output_keeps_start_and_end_and_counts_rest() {
        for chunk in 1..=20 {
            let (bytes, stream) = log(b"0123456789abcdefghij", chunk, 5);
            assert_eq!(bytes, b"012\n[15 bytes left out]\nij", "chunks of {chunk}");
            assert_eq!(stream, Printed { bytes: 20, dropped: 15 });
        }
        assert_eq!(log(b"", 1, 5).1, Printed::default());
        let (bytes, stream) = log(b"0123", 2, 0);
        assert_eq!((bytes.as_slice(), stream.dropped), (&b"\n[4 bytes left out]\n"[..], 4));
    }

    #[test]
    fn log_that_was_completed_once_stays_within_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let (_read, write) = std::io::pipe().unwrap();
        let mut capture = Capture::new(write, Log::new(Dir::open(dir.path()).unwrap(), "log".to_owned()), 6);
        capture.keep(b"0123456789");
        assert_eq!(capture.finish(), Printed { bytes: 10, dropped: 4 });
        assert_eq!(capture.finish(), Printed { bytes: 10, dropped: 4 });
        assert_eq!(std::fs::read(&log).unwrap(), b"012\n[4 bytes left out]\n789");
        capture.keep(b"later");
        assert_eq!(capture.finish(), Printed { bytes: 15, dropped: 9 });
        assert_eq!(std::fs::read(&log).unwrap(), b"012\n[4 bytes left out]\n789\n[5 bytes left out]\n");
    }

    #[test]
    fn catching_up_reads_all_that_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let log = Log::new(Dir::open(dir.path()).unwrap(), "log".to_owned());
        let mut capture = Capture::new(reader, log, 1 << 20);
        capture.catch_up(&mut [0; 4]);
        writer.write_all(b"0123456789").unwrap();
        capture.catch_up(&mut [0; 4]);
        assert_eq!(capture.finish(), Printed { bytes: 10, dropped: 0 });
    }

    #[test]
    fn a_full_disk_is_counted_and_nothing_more() {
        let (_read, write) = std::io::pipe().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let log = Log {
            folder: Dir::open(dir.path()).unwrap(),
            name: String::new(),
            file: Some(File::options().write(true).open("/dev/full").unwrap()),
            length: 0,
            times: Noting::default(),
        };
        let mut capture = Capture::new(write, log, 8);
        capture.keep(b"0123456789");
        assert_eq!(capture.finish(), Printed { bytes: 10, dropped: 10 });
    }
}
