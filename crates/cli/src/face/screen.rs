//! The live view: a thread that owns the terminal while a run goes on. It paints when something happened, but not more often
//! than people can see, and once a second because times go on; between that it sleeps. While a person is asked something only a
//! prompt stands there, so that what is typed is seen.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use team_executor_app::event::Kind;
use team_executor_core::CheckpointAction;

use super::{Board, Painter, lines};
use crate::printer;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// The longest.
const TICK: Duration = Duration::from_secs(1);

/// A live view. When it is dropped the terminal is as if it had never been there, except for what scrolled by.
pub(crate) struct Screen {
    events: Option<Sender<Seen>>,
    thread: Option<JoinHandle<()>>,
}

/// One thing that happened, and when.
struct Seen {
    kind: Kind,
    at: Instant,
    /// It happened before the view was opened, and does not scroll by.
    is_past: bool,
}

impl Screen {
    /// Begins to show a run on standard error.
    pub(super) fn open(board: Board, has_colours: bool) -> io::Result<Self> {
        let (events, inbox) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name("screen".to_owned()).spawn(move || show(board, has_colours, &inbox))?;
        Ok(Self { events: Some(events), thread: Some(thread) })
    }

    pub(super) fn tell(&self, kind: Kind) {
        self.send(Seen { kind, at: Instant::now(), is_past: false });
    }

    /// Takes note of what happened so long ago.
    pub(super) fn recall(&self, kind: Kind, ago: Duration) {
        let now = Instant::now();
        self.send(Seen { kind, at: now.checked_sub(ago).unwrap_or(now), is_past: true });
    }

    fn send(&self, seen: Seen) {
        // A screen that is gone has said why; the run goes on without it.
        self.events.as_ref().map(|events| events.send(seen).ok());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.events.take());
        self.thread.take().map(|thread| thread.join().ok());
    }
}

fn show(mut board: Board, has_colours: bool, inbox: &Receiver<Seen>) {
    let mut painter = Painter::default();
    let mut above = String::new();
    let mut painted: Option<Instant> = None;
    let mut is_new = true;
    let mut question = None;
    loop {
        let every = if is_new { FRAME } else { TICK };
        let wait = painted.map_or(Duration::ZERO, |painted| every.saturating_sub(painted.elapsed()));
        let (columns, rows) = printer::terminal_size();
        if wait.is_zero() {
            let above = std::mem::take(&mut above);
            write(&match question {
                Some(_) => painter.prompt(&above, columns),
                None => painter.frame(&above, &board.lines(Instant::now(), columns, rows), columns),
            });
            (painted, is_new) = (Some(Instant::now()), false);
            continue;
        }
        match inbox.recv_timeout(wait) {
            Ok(Seen { kind, at, is_past }) => {
                board.take(&kind, at);
                is_new = true;
                if is_past {
                    continue;
                }
                question = still_open(question, &kind);
                let line = lines::line(&kind, columns).map(|line| line + "\n");
                above.extend(line.map(|line| if has_colours { line } else { strip_str(&line).to_string() }));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return write(&painter.frame(&above, &[], columns)),
        }
    }
}

/// What a person is asked at the terminal.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    /// How the run goes on.
    Run,
    /// Whether the agent that has this task may do something.
    Task(String),
}

/// The open question after an event. No event says that a question was answered: the events that follow show it.
fn still_open(open: Option<Question>, kind: &Kind) -> Option<Question> {
    match kind {
        Kind::WaveFailed { .. } | Kind::Checkpoint { asked: true, .. } => Some(Question::Run),
        Kind::Asks { task, asked: true, .. } => Some(Question::Task(task.clone())),
        Kind::Draining { .. } | Kind::Stopping | Kind::Halted { .. } => None,
        Kind::TaskStarted { .. }
        | Kind::Resumed
        | Kind::Returned { .. }
        | Kind::Decided { action: CheckpointAction::Resume, .. } => open.filter(|question| *question != Question::Run),
        Kind::TaskOutput { task, .. }
        | Kind::TaskCompleted { task, .. }
        | Kind::TaskFailed { task, .. }
        | Kind::TaskInterrupted { task, .. } => {
            open.filter(|question| !matches!(question, Question::Task(asks) if asks == task))
        }
        _ => open,
    }
}

/// A terminal that cannot be written to is gone, and its end reaches the run as a signal.
fn write(frame: &str) {
    io::stderr().lock().write_all(frame.as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use team_executor_app::event::Counts;
    use team_executor_core::run::Cause;

    use super::*;

    #[test]
    fn a_question_stays_open_until_what_was_asked_about_goes_on() {
        let line = |task: &str| Kind::TaskOutput { task: task.to_owned(), text: String::new() };
        let completed = |task: &str| Kind::TaskCompleted {
            task: task.to_owned(),
            took_ms: 0,
            findings: String::new(),
            counts: Counts::default(),
        };
        let checkpoint = |asked| Kind::Checkpoint {
            task: "A".to_owned(),
            cause: Cause::Planned,
            judged: Vec::new(),
            critique: None,
            asked,
        };
        let open = |events: &[Kind]| events.iter().fold(None, still_open);
        assert_eq!(open(&[checkpoint(false)]), None, "no person is there");
        let stays = [checkpoint(true), line("A"), completed("A"), Kind::Warning { message: String::new() }];
        assert_eq!(open(&stays), Some(Question::Run));
        assert_eq!(open(&[checkpoint(true), Kind::Resumed]), None);
        assert_eq!(open(&[Kind::WaveFailed { wave: 1 }, Kind::Stopping]), None);
        let asks = |task: &str| Kind::Asks {
            task: task.to_owned(),
            question: 1,
            tool: String::new(),
            what: String::new(),
            asked: true,
        };
        assert_eq!(open(&[asks("A"), line("B"), Kind::Resumed]), Some(Question::Task("A".to_owned())));
        assert_eq!(open(&[asks("A"), line("A")]), None);
    }
}
