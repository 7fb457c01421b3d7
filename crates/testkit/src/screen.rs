//! A terminal as a person sees it: what is on the [`Glass`] counts, not what was written.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

use crate::limited::LimitedChild as _;
use crate::limited::{LIMIT, is_ready};
use crate::terminal::{at_terminal, resize};
use crate::{Glass, must};

/// A terminal with a program in it.
#[derive(Debug)]
pub struct Screen {
    child: Child,
    person: File,
    /// All that was written.
    written: String,
    /// Bytes that are not yet on the glass: the beginning of a character.
    bytes: Vec<u8>,
    glass: Glass,
}

impl Screen {
    /// Starts a program in a new terminal of this size.
    #[track_caller]
    pub fn start(command: Command, columns: u16, rows: u16) -> Self {
        let (person, child) = at_terminal(command, columns, rows);
        let glass = Glass::new(columns.into(), rows.into());
        Self { child, person, written: String::new(), bytes: Vec::new(), glass }
    }

    /// The program's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What is seen now.
    pub fn glass(&self) -> &Glass {
        &self.glass
    }

    /// All that was written.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Gives the terminal another size. What is on it is not rearranged.
    #[track_caller]
    pub fn resize(&mut self, columns: u16, rows: u16) {
        resize(&self.person, columns, rows);
        self.glass = Glass::new(columns.into(), rows.into());
    }

    /// Types something.
    #[track_caller]
    pub fn type_in(&mut self, text: impl AsRef<[u8]>) {
        must("typing into", Path::new("/dev/ptmx"), self.person.write_all(text.as_ref()));
    }

    /// Waits until this is seen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_for_all(&[text]);
    }

    /// Waits until all of these are seen at once.
    #[track_caller]
    pub fn wait_for_all(&mut self, texts: &[&str]) {
        let began = Instant::now();
        let lacks = |glass: &Glass| {
            let seen = glass.to_string();
            texts.iter().find(|text| !seen.contains(**text)).copied()
        };
        while let Some(text) = lacks(&self.glass) {
            assert!(
                began.elapsed() < LIMIT && self.read(),
                "{text:?} was never seen:\n{}",
                self.glass.history().join("\n")
            );
        }
    }

    /// Waits until the program has ended; the glass shows what it left.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        while self.read() {}
        self.child.limited_wait()
    }

    /// Reads something; nothing more at the end.
    #[track_caller]
    fn read(&mut self) -> bool {
        let is_ready = is_ready(self.person.as_fd(), Instant::now() + LIMIT);
        assert!(is_ready, "nothing more is written:\n{}", self.glass.history().join("\n"));
        let mut bytes = [0; 4096];
        // The last one that had the other end open is gone: that is an error here, and the end.
        let length = self.person.read(&mut bytes).unwrap_or(0);
        self.bytes.extend_from_slice(&bytes[..length]);
        let whole = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.len(),
            // An echo of what is no text is replaced.
            Err(error) => error.error_len().map_or(error.valid_up_to(), |_| self.bytes.len()),
        };
        let text = String::from_utf8_lossy(&self.bytes[..whole]).into_owned();
        self.bytes.drain(..whole);
        self.written.push_str(&text);
        self.glass.write(&text);
        length > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_seen_and_hears() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "test -t 0 && test -t 2 && echo who?; read name; echo hello $name; stty size >&2; exit 3"]);
        let mut terminal = Screen::start(command, 40, 10);
        terminal.wait_for("who?");
        terminal.type_in("you\n");
        assert_eq!(terminal.end().code(), Some(3));
        assert_eq!(terminal.glass().screen(), ["who?", "you", "hello you", "10 40"]);
        assert!(terminal.written().contains("\r\n"));
    }
}
