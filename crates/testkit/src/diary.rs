//! A named pipe into which processes write lines, in the order in which things happen to them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::limited::LimitedLines as _;
use crate::must;
use crate::pulse::make_pipe;

/// The test's end of the pipe. A process that keeps the other end open shows that it lives.
#[derive(Debug)]
pub struct Diary {
    path: PathBuf,
    lines: BufReader<File>,
    /// As long as we could write ourselves, the end is not reached when all other writers are gone.
    open: File,
}

impl Diary {
    /// A new pipe at a path.
    #[track_caller]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        make_pipe(&path);
        // Opened both ways first, because an end alone would wait for the other.
        let open = must("opening", &path, File::options().read(true).write(true).open(&path));
        let lines = BufReader::new(must("opening", &path, File::open(&path)));
        Self { path, lines, open }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next line.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.lines.limited_line().unwrap_or_default().trim_end().to_owned()
    }

    /// Waits until the last writer is gone, and returns the unread text.
    #[track_caller]
    pub fn rest(self) -> Vec<String> {
        let Self { mut lines, open, .. } = self;
        drop(open);
        std::iter::from_fn(|| lines.limited_line()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::limited::LimitedCommand as _;

    #[test]
    fn lines_come_in_order_and_the_end_when_the_last_writer_is_dead() {
        let dir = tempfile::tempdir().unwrap();
        let mut diary = Diary::new(dir.path().join("diary"));
        let script = "exec 3>>\"$0\"; echo one >&3; echo two >&3; (read _; echo three >&3) & :";
        let mut first = Command::new("/bin/sh");
        assert!(first.args(["-c", script]).arg(diary.path()).limited_status().success());
        assert_eq!(diary.line(), "one");
        assert_eq!(diary.rest(), ["two", "three"]);
    }
}
