//! A terminal with a person at it, for tests of what the program asks.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::limited::LimitedChild as _;
use crate::limited::{LIMIT, is_ready};
use crate::{must, usual_signals};

/// A process at a terminal of its own.
#[derive(Debug)]
pub struct Terminal {
    person: File,
    child: Child,
    shown: String,
}

impl Terminal {
    /// Starts a program at a new terminal.
    #[track_caller]
    pub fn start(command: Command) -> Self {
        let (person, child) = at_terminal(command, 80, 24);
        Self { person, child, shown: String::new() }
    }

    /// Waits until this is shown, behind everything that was waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, words: &str) -> &mut Self {
        while !self.shown.contains(words) {
            assert!(self.read(), "it never showed {words:?}, but:\n{}", self.shown);
        }
        let end = self.shown.find(words).map_or(0, |at| at + words.len());
        self.shown.drain(..end);
        self
    }

    /// Types a line.
    #[track_caller]
    pub fn say(&mut self, line: &str) -> &mut Self {
        must("typing at", Path::new("/dev/ptmx"), writeln!(self.person, "{line}"));
        self
    }

    /// Waits for the end, and gives the exit code with everything that was shown behind what was waited for.
    #[track_caller]
    pub fn end(mut self) -> (Option<i32>, String) {
        while self.read() {}
        (self.child.limited_wait().code(), self.shown)
    }

    /// Reads what is shown next; there is no more when no process has the terminal.
    #[track_caller]
    fn read(&mut self) -> bool {
        let latest = Instant::now() + LIMIT;
        assert!(is_ready(self.person.as_fd(), latest), "nothing more was shown than:\n{}", self.shown);
        let mut bytes = [0; 4096];
        match self.person.read(&mut bytes) {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]).replace('\r', ""));
                true
            }
        }
    }
}

/// Starts a program at a new terminal of this size, and gives the person's end of it.
#[track_caller]
pub(crate) fn at_terminal(mut command: Command, columns: u16, rows: u16) -> (File, Child) {
    usual_signals();
    let device = Path::new("/dev/ptmx");
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
    let person = File::from(must("opening", device, person.map_err(Into::into)));
    must("unlocking", device, grantpt(&person).and_then(|()| unlockpt(&person)).map_err(Into::into));
    resize(&person, columns, rows);
    let name = must("naming", device, ptsname(&person, Vec::new()).map_err(Into::into));
    let path = name.to_string_lossy().into_owned();
    // The tests may lead a session without a terminal: this one must not become theirs, or its end would end them.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let end = || Stdio::from(must("opening", device, open(&path, flags, Mode::empty()).map_err(Into::into)));
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
    // The command, which holds the other end, is gone with this call.
    (person, must("starting at", device, child))
}

/// Gives a terminal a size.
#[track_caller]
pub(crate) fn resize(person: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    must("sizing", Path::new("/dev/ptmx"), tcsetwinsize(person, size).map_err(Into::into));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_a_terminal_and_hears_a_person() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "test -t 0 && test -t 2 && echo 'name?' >&2; read name; echo hello $name; exit 3"]);
        let mut terminal = Terminal::start(shell);
        terminal.wait_for("name?").say("you");
        let (code, shown) = terminal.end();
        assert_eq!((code, shown.lines().last()), (Some(3), Some("hello you")));
    }
}
