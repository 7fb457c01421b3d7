//! The live view: a thread that owns the terminal while a run goes on. It paints when something happened, but not more often
//! than people can see, and once a second because times go on; between that it sleeps. While a person is asked something only a
//! prompt stands there, so that what is typed is seen.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use team_executor_app::attention::Item;
use team_executor_app::event::Kind;
use team_executor_core::CheckpointAction;

use super::keys::{self, Keys};
use super::steering::{Steered, Steering, list};
use super::{Board, Painter, lines};
use crate::{escape, printer};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// The longest.
const TICK: Duration = Duration::from_secs(1);
/// Has the terminal keep the title of its window, and take it back. Terminals without such a place do nothing.
const KEEP_TITLE: &str = "\u{1b}[22;2t";
const OLD_TITLE: &str = "\u{1b}[23;2t";
/// What tells that there are keys.
const KEYS: &str = "   ? keys";

/// A live view. When it is dropped the terminal is as if it had never been there, except for what scrolled by.
pub(crate) struct Screen {
    // Dropped first: when the view has gone, no key is taken any more.
    keys: Option<Keys>,
    can_leave: bool,
    question: Option<Question>,
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    is_left: Arc<AtomicBool>,
}

/// What the view is told.
pub(super) enum Message {
    /// Something happened.
    Seen(Seen),
    /// Keys are read from now on.
    Listening,
    /// A key was pressed.
    Key(u8),
    /// These lines scroll by.
    Say(String),
    /// A person wants to answer these.
    Needs(Vec<Item>),
    /// The view goes.
    End,
}

/// One thing that happened, and when.
pub(super) struct Seen {
    kind: Kind,
    at: Instant,
    /// It happened before the view was opened, and does not scroll by.
    is_past: bool,
}

impl Screen {
    /// Begins to show a run on standard error.
    pub(super) fn open(board: Board, run: Steered, has_colours: bool) -> io::Result<Self> {
        let (messages, inbox) = mpsc::channel();
        let (can_leave, is_left) = (run.can_leave, Arc::new(AtomicBool::new(false)));
        let view = View {
            board,
            has_keys: false,
            steering: Steering::new(run, messages.clone()),
            has_colours,
            // Only the process that executes a run asks at its terminal.
            asks: !can_leave,
            question: None,
            above: String::new(),
            signal: String::new(),
            has_title: false,
            is_left: Arc::clone(&is_left),
        };
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(move || view.show(&inbox))?;
        Ok(Self { keys: None, can_leave, question: None, messages, thread: Some(thread), is_left })
    }

    /// Reads keys from now on, if it can: before a run begins there is nothing to steer, and what is typed is for a later question.
    fn listen(&mut self, kind: &Kind) {
        if !matches!(kind, Kind::RunStarted { .. }) || self.keys.is_some() {
            return;
        }
        let pressed = self.messages.clone();
        let keys = Keys::read(self.can_leave, move |key| {
            pressed.send(Message::Key(key)).ok(); // a view that is gone has no keys
        });
        // A terminal that cannot be changed shows the run without them.
        self.keys = keys.ok().flatten();
        if self.keys.is_some() {
            self.messages.send(Message::Listening).ok();
        }
    }

    pub(super) fn tell(&mut self, kind: Kind) {
        self.listen(&kind);
        if !self.can_leave {
            // Before the view shows the question: its answer may be typed at once.
            self.question = still_open(self.question.take(), &kind);
            keys::ask(self.question.is_some());
        }
        self.send(Seen { kind, at: Instant::now(), is_past: false });
    }

    /// Takes note of what happened so long ago.
    pub(super) fn recall(&mut self, kind: Kind, ago: Duration) {
        self.listen(&kind);
        let now = Instant::now();
        self.send(Seen { kind, at: now.checked_sub(ago).unwrap_or(now), is_past: true });
    }

    /// Whether a key was pressed to leave the view.
    pub(super) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Relaxed)
    }

    fn send(&self, seen: Seen) {
        // A screen that is gone has said why; the run goes on without it.
        self.messages.send(Message::Seen(seen)).ok();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.keys.take());
        self.messages.send(Message::End).ok();
        self.thread.take().map(|thread| thread.join().ok());
    }
}

/// What the thread has.
struct View {
    board: Board,
    steering: Steering,
    has_keys: bool,
    has_colours: bool,
    asks: bool,
    question: Option<Question>,
    /// What scrolls by with the next frame.
    above: String,
    /// What the terminal is told with the next frame: a bell, a title.
    signal: String,
    /// The window has a title of ours.
    has_title: bool,
    is_left: Arc<AtomicBool>,
}

impl View {
    fn show(mut self, inbox: &Receiver<Message>) {
        let mut painter = Painter::default();
        let mut painted: Option<Instant> = None;
        let mut is_new = true;
        loop {
            let every = if is_new { FRAME } else { TICK };
            let wait = painted.map_or(Duration::ZERO, |painted| every.saturating_sub(painted.elapsed()));
            let (columns, rows) = printer::terminal_size();
            if wait.is_zero() {
                let above = std::mem::take(&mut self.above);
                let frame = match self.question {
                    Some(_) => painter.prompt(&above, columns),
                    None => painter.frame(&above, &self.below(columns, rows), columns),
                };
                write(&(std::mem::take(&mut self.signal) + &frame));
                (painted, is_new) = (Some(Instant::now()), false);
                continue;
            }
            match inbox.recv_timeout(wait) {
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => {
                    self.untitle();
                    return write(&(self.signal + &painter.frame(&self.above, &[], columns)));
                }
                Ok(message) => is_new |= self.take(message, columns),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What stands at the bottom.
    fn below(&self, columns: usize, rows: usize) -> Vec<String> {
        if self.is_left() {
            return Vec::new();
        }
        let mut lines = self.board.lines(Instant::now(), columns, rows);
        if let Some(line) = self.steering.line() {
            lines.push(escape::cut(&line, columns.saturating_sub(1)));
        } else if self.has_keys
            && let Some(counts) = lines.get_mut(1)
            && counts.len() + KEYS.len() < columns
        {
            counts.push_str(KEYS);
        }
        lines
    }

    /// Takes note of something. Says whether there is anything new to see.
    fn take(&mut self, message: Message, columns: usize) -> bool {
        match message {
            Message::Seen(Seen { kind, at, is_past }) => {
                self.board.take(&kind, at);
                if is_past {
                    return true;
                }
                match &kind {
                    Kind::Asks { task, .. } => self.call(task),
                    Kind::Checkpoint { task, .. } => self.call(task),
                    Kind::WaveFailed { wave } => self.call(&format!("wave {wave}")),
                    Kind::Halted { .. } => self.call("the run"),
                    Kind::TaskStarted { .. } | Kind::Resumed | Kind::Decided { .. } => self.untitle(),
                    _ => {}
                }
                if self.asks {
                    self.question = still_open(self.question.take(), &kind);
                }
                if let Some(line) = lines::line(&kind, columns) {
                    self.say(&line);
                }
            }
            Message::Listening => self.has_keys = true,
            Message::Key(key) => {
                let Self { board, steering, .. } = self;
                if board.now(|now| steering.press(key, now)) {
                    self.is_left.store(true, Ordering::Relaxed);
                }
            }
            Message::Say(text) if text.is_empty() => {}
            Message::Say(text) => self.say(&text),
            Message::Needs(needs) => {
                self.say(&list("Nothing needs you", &needs));
                self.steering.found(needs);
            }
            Message::End => {}
        }
        true
    }

    /// Calls a person, who may look at another window: something needs them.
    fn call(&mut self, what: &str) {
        if !self.has_title {
            self.signal.push_str(KEEP_TITLE);
        }
        self.has_title = true;
        self.signal += &format!("\u{1b}]2;{} needs you\u{7}\u{7}", escape::line(what));
    }

    /// Gives the window the title that it had before.
    fn untitle(&mut self) {
        if std::mem::take(&mut self.has_title) {
            self.signal.push_str(OLD_TITLE);
        }
    }

    fn say(&mut self, line: &str) {
        if self.is_left() {
            return;
        }
        let line = if self.has_colours { line.to_owned() } else { strip_str(line).to_string() };
        self.above.extend([line.as_str(), "\n"]);
    }

    fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Relaxed)
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
