//! A named pipe into which processes write lines, in the order in which things happen to them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::must;
use crate::pulse::make_pipe;

/// The test's end of the pipe. Whoever keeps the other one open shows that it lives.
#[derive(Debug)]
pub struct Diary {
    path: PathBuf,
    lines: BufReader<File>,
    /// As long as we could write ourselves, the end is not reached when nobody else can.
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
        let mut line = String::new();
        must("reading", &self.path, self.lines.read_line(&mut line));
        line.trim_end().to_owned()
    }

    /// Waits until nobody can write any more, and gives what was not read.
    #[track_caller]
    pub fn rest(self) -> Vec<String> {
        let Self { path, mut lines, open } = self;
        drop(open);
        let mut text = String::new();
        must("reading", &path, lines.read_to_string(&mut text));
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn lines_come_in_order_and_the_end_when_the_last_writer_is_dead() {
        let dir = tempfile::tempdir().unwrap();
        let mut diary = Diary::new(dir.path().join("diary"));
        let script = "exec 3>>\"$0\"; echo one >&3; echo two >&3; (read _; echo three >&3) & :";
        let mut first = Command::new("/bin/sh");
        assert!(first.args(["-c", script]).arg(diary.path()).status().unwrap().success());
        assert_eq!(diary.line(), "one");
        assert_eq!(diary.rest(), ["two", "three"]);
    }
}
