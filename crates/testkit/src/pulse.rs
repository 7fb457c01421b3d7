//! Pipes between a test and the processes that it watches: by one they show that they live, and its end is
//! the proof that the last of them is dead; at another one waits until it may go on. No test guesses by
//! numbers or by the clock.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, mknodat};

use crate::limited::{LIMIT, is_ready};
use crate::must;

/// The test's end of a named pipe.
#[derive(Debug)]
pub struct Pulse {
    path: PathBuf,
    end: File,
}

impl Pulse {
    /// A new pipe at a path.
    #[track_caller]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        make_pipe(&path);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let end = must("opening", &path, rustix::fs::open(&path, flags, Mode::empty()).map_err(Into::into));
        must(
            "opening",
            &path,
            fcntl_getfl(&end).and_then(|f| fcntl_setfl(&end, f - OFlags::NONBLOCK)).map_err(Into::into),
        );
        Self { path, end: end.into() }
    }

    /// What `fake-agent beat PATH` is given.
    pub fn arg(&self) -> &str {
        self.path.to_str().unwrap_or_else(|| panic!("{} is not UTF-8", self.path.display()))
    }

    /// Waits until this many processes have shown that they live.
    #[track_caller]
    pub fn wait_alive(&mut self, count: usize) {
        // With no writer yet a read would be at the end at once: hold one end ourselves until they are there.
        let writer = must("opening", &self.path, File::options().write(true).open(&self.path));
        let mut beats = 0;
        while beats < count {
            beats += self.read(count - beats);
        }
        drop(writer);
    }

    /// Waits until all of them are dead.
    #[track_caller]
    pub fn wait_dead(&mut self) {
        while self.read(64) > 0 {}
    }

    /// Reads some beats; none is the end.
    #[track_caller]
    fn read(&mut self, most: usize) -> usize {
        let latest = Instant::now() + LIMIT;
        assert!(is_ready(self.end.as_fd(), latest), "{}: no sign of life or death", self.path.display());
        let mut beats = vec![0; most];
        must("reading", &self.path, self.end.read(&mut beats))
    }
}

/// A named pipe at which one process waits.
#[derive(Debug)]
pub struct Gate(PathBuf);

impl Gate {
    /// A closed gate at a path.
    #[track_caller]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        make_pipe(&path);
        Self(path)
    }

    /// What `fake-agent hold PATH` is given.
    pub fn arg(&self) -> &str {
        self.0.to_str().unwrap_or_else(|| panic!("{} is not UTF-8", self.0.display()))
    }

    /// Waits until a process is there, and lets it go on.
    #[track_caller]
    pub fn open(&self) {
        let (sender, opened) = mpsc::channel();
        let path = self.0.clone();
        // A pipe without a reader cannot be waited for in another way; the thread of a failed test stays there.
        std::thread::spawn(move || sender.send(File::options().write(true).open(path)));
        let opened = opened.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no process opened {}", self.0.display()));
        drop(must("opening", &self.0, opened));
    }
}

/// A new named pipe.
#[track_caller]
pub(crate) fn make_pipe(path: &Path) {
    must("making", path, mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(Into::into));
}
