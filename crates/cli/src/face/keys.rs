//! Keys that a person presses while a live view stands. The terminal gives them at once and does not show them; as soon as the view is gone,
//! or something else reads lines from the terminal, it is as it was before.

use std::io::{self, IsTerminal as _, PipeReader, PipeWriter};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// How often it is looked whether the terminal is ours again, after a line was read or the program was stopped.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The terminal, which the program has once.
static TERMINAL: Mutex<Terminal> =
    Mutex::new(Terminal { before: None, lines: 0, is_asked: false, takes_signals: false });

struct Terminal {
    /// How it was; nothing if keys are not read.
    before: Option<Termios>,
    /// How many threads read lines from it.
    lines: usize,
    /// A question stands there, and its answer is a line. The thread that reads it may not have begun.
    is_asked: bool,
    /// Ctrl-C and Ctrl-Z are keys like others.
    takes_signals: bool,
}

/// As long as this lives, keys are read.
pub(crate) struct Keys {
    thread: Option<JoinHandle<()>>,
    /// Ends the thread when it is dropped.
    end: Option<PipeWriter>,
}

impl Keys {
    /// Reads keys from standard input; nothing if that is no terminal. `take` gets what was typed, a key at a time.
    pub(crate) fn read(takes_signals: bool, take: impl FnMut(u8) + Send + 'static) -> io::Result<Option<Self>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        {
            let mut terminal = terminal();
            terminal.before = Some(tcgetattr(stdin())?);
            terminal.takes_signals = takes_signals;
            terminal.claim();
        }
        let (ended, end) = io::pipe()?;
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(move || listen(&ended, take));
        match thread {
            Ok(thread) => Ok(Some(Self { thread: Some(thread), end: Some(end) })),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().map(|thread| thread.join().ok());
        restore();
    }
}

/// Gives the terminal back as it was. What was typed and not read goes: it was meant for the view, not for the shell.
fn restore() {
    terminal().restore();
}

/// The same when the program ends at any place of it.
pub(crate) fn restore_if_free() {
    if let Ok(mut terminal) = TERMINAL.try_lock() {
        terminal.restore();
    }
}

/// Reads a line from the terminal with `read`: meanwhile it shows what is typed, and no key is taken away.
pub(crate) fn aside<T>(read: impl FnOnce() -> T) -> T {
    {
        let mut terminal = terminal();
        terminal.lines += 1;
        terminal.give_lines();
    }
    let line = read();
    terminal().lines -= 1;
    line
}

/// A question is about to be shown, or is no longer open. What is typed from then on is its answer, and no key.
pub(super) fn ask(is_asked: bool) {
    let mut terminal = terminal();
    if std::mem::replace(&mut terminal.is_asked, is_asked) != is_asked && is_asked {
        terminal.give_lines();
    }
}

fn terminal() -> MutexGuard<'static, Terminal> {
    TERMINAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this program may change the terminal. From behind another program, that would stop it; a terminal that does not control it does
/// not know who is in front.
fn is_ours() -> bool {
    tcgetpgrp(stdin()).map_or(true, |front| front == getpgrp())
}

impl Terminal {
    /// Has lines given whole and shown, if keys are read.
    fn give_lines(&self) {
        if let Some(before) = self.before.as_ref().filter(|_| is_ours()) {
            tcsetattr(stdin(), OptionalActions::Now, before).ok();
        }
    }

    fn restore(&mut self) {
        if let Some(before) = self.before.take()
            && is_ours()
        {
            tcsetattr(stdin(), OptionalActions::Flush, &before).ok(); // one that is gone needs nothing
        }
    }

    /// Has keys given at once and not shown; again, if the program was stopped since. Says whether keys can be read.
    fn claim(&self) -> bool {
        let Some(before) = self.before.as_ref().filter(|_| self.lines == 0 && !self.is_asked && is_ours()) else {
            return false;
        };
        let mut modes = LocalModes::ICANON | LocalModes::ECHO;
        modes.set(LocalModes::ISIG, self.takes_signals);
        match tcgetattr(stdin()) {
            Ok(now) if !now.local_modes.intersects(modes) => true,
            Ok(_) => {
                let mut raw = before.clone();
                raw.local_modes.remove(modes);
                tcsetattr(stdin(), OptionalActions::Now, &raw).is_ok()
            }
            Err(_) => false,
        }
    }
}

fn listen(ended: &PipeReader, mut take: impl FnMut(u8)) {
    let mut bytes = [0; 64];
    loop {
        // What a line is read from is not looked at.
        let claimed = terminal().claim();
        let input = stdin();
        let mut waited = [PollFd::new(ended, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
        let waited = if claimed { &mut waited[..] } else { &mut waited[..1] };
        if poll(waited, Some(&LOOK)).is_err_and(|errno| errno != rustix::io::Errno::INTR) {
            return;
        }
        if !waited[0].revents().is_empty() {
            return;
        }
        if waited.get(1).is_none_or(|input| input.revents().is_empty()) {
            continue;
        }
        let count = {
            let terminal = terminal();
            // Since then a line may have been asked for, or another reader may have taken the bytes.
            let mut input = [PollFd::new(&input, PollFlags::IN)];
            if !terminal.claim() || poll(&mut input, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap_or(0) == 0 {
                continue;
            }
            rustix::io::read(stdin(), &mut bytes).unwrap_or(0)
        };
        match &bytes[..count] {
            [] => return, // the terminal is gone
            // An arrow or another key of several bytes.
            [0x1b, b'[' | b'O', ..] => {}
            keys => keys.iter().for_each(|key| take(*key)),
        }
    }
}
