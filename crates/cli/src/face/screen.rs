//! The live view: a thread that owns the terminal while a run goes on. It paints when something happened, but not more often
//! than people can see, and once a second because times go on; between that it sleeps.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use team_executor_engine::Notice;

use super::{Board, Painter, lines};
use crate::printer;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// The longest.
const TICK: Duration = Duration::from_secs(1);

/// A live view. When it is dropped the terminal is as if it had never been there, except for what scrolled by.
pub(crate) struct Screen {
    notices: Option<Sender<Notice>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Begins to show a run on standard error.
    pub(super) fn open(board: Board) -> io::Result<Self> {
        let (notices, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(move || show(board, &inbox))?;
        Ok(Self { notices: Some(notices), thread: Some(thread) })
    }

    pub(super) fn tell(&self, notice: Notice) {
        // A screen that is gone has said why; the run goes on without it.
        self.notices.as_ref().map(|notices| notices.send(notice).ok());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.notices.take());
        self.thread.take().map(|thread| thread.join().ok());
    }
}

fn show(mut board: Board, inbox: &Receiver<Notice>) {
    let mut painter = Painter::default();
    let mut above = String::new();
    let mut painted: Option<Instant> = None;
    let mut is_new = true;
    loop {
        let every = if is_new { FRAME } else { TICK };
        let wait = painted.map_or(Duration::ZERO, |painted| every.saturating_sub(painted.elapsed()));
        let (columns, rows) = printer::terminal_size();
        if wait.is_zero() {
            let below = board.lines(Instant::now(), columns, rows);
            write(&painter.frame(&std::mem::take(&mut above), &below, columns));
            (painted, is_new) = (Some(Instant::now()), false);
            continue;
        }
        match inbox.recv_timeout(wait) {
            Ok(notice) => {
                board.take(&notice, Instant::now());
                above.extend(lines::line(&notice, columns).map(|line| line + "\n"));
                is_new = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return write(&painter.frame(&above, &[], columns)),
        }
    }
}

/// A terminal that cannot be written to is gone, and its end reaches the run as a signal.
fn write(frame: &str) {
    io::stderr().lock().write_all(frame.as_bytes()).ok();
}
