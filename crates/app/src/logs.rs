//! What attempts printed: decoded where it is the stream of a known agent, else line by line or byte for byte; also while it
//! goes on.

mod lines;
mod stream;
mod tail;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use team_executor_agents::adapters::transcript::Entry;
pub use team_executor_agents::adapters::transcript::Kind;
use team_executor_beneath::ours;
use team_executor_core::{TaskIndex, Timestamp};
use team_executor_engine::{Status, control, runs};
use team_executor_files::{Code, Finding, time};
use team_executor_store::Changes;
use team_executor_store::run_folder::{LOGS, RUNS, WORKFLOW};

pub use self::lines::{Hits, Line, Lines};
use self::stream::Stream;
use crate::config::milliseconds;
use crate::error::Error;
use crate::open::Opened;
use crate::status::journal;
use crate::{App, escape};

/// How often is looked whether an executor still has the run.
const LOOK: Duration = Duration::from_secs(1);

/// Which output is wanted, and how.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Of this task, or else of all.
    pub task: Option<&'a str>,
    /// Of which attempts.
    pub attempts: Attempts,
    /// Only so many lines at the end of each stream.
    pub tail: Option<usize>,
    /// Only what was printed at this time or later, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Go on until the attempt ends or the run is over.
    pub follow: bool,
    /// How it is read.
    pub form: Form,
}

/// Which attempts at a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts {
    /// The last one.
    Last,
    /// This one, from 1.
    Number(u32),
    /// All of them.
    All,
}

/// How output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Byte for byte.
    Bytes,
    /// In lines, as they were printed.
    Lines,
    /// In lines, as they were printed, with what each says if it is an agent's event.
    Events,
    /// Streams of agents decoded to text; other output in lines, or byte for byte.
    Text {
        /// Other output is in lines too.
        in_lines: bool,
    },
}

/// What a piece of output is.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// Bytes as they came.
    Bytes,
    /// A line without its end.
    Line,
    /// A line of an agent's stream, and what it says.
    Event(&'a [Entry]),
    /// A line of the text that a stream says; the first of its part or a further one.
    Said(Kind, bool),
}

/// A piece of what an attempt printed.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The task.
    pub task: &'a str,
    /// Which attempt at it.
    pub attempt: u32,
    /// `stdout` or `stderr`.
    pub stream: &'static str,
    /// When it was printed, to about a second, in milliseconds since 1970.
    pub at: Option<u64>,
    /// What it is.
    pub what: What<'a>,
    /// What was printed, or is said.
    pub bytes: &'a [u8],
}

/// Where the output of attempts goes.
pub type Sink<'a> = dyn FnMut(&Piece<'_>) + 'a;

/// A line, for programs.
#[derive(Debug, Serialize)]
pub struct JsonLine<'a> {
    version: u32,
    r#type: &'static str,
    task: &'a str,
    attempt: u32,
    stream: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoded: Option<Vec<JsonSaid<'a>>>,
}

/// What a line of an agent's stream says.
#[derive(Debug, Serialize)]
struct JsonSaid<'a> {
    kind: &'static str,
    text: &'a str,
    goes_on: bool,
}

impl Piece<'_> {
    /// The text of a line.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes).trim_end_matches('\r').to_owned()
    }

    /// When it was printed, as it is written.
    pub fn time(&self) -> Option<String> {
        let millis = i64::try_from(self.at?).ok()?;
        Some(time::format(Timestamp::from_micros(millis.checked_mul(1000)?)))
    }

    /// A line with this text, for programs.
    pub fn json<'a>(&'a self, text: &'a str) -> JsonLine<'a> {
        let Self { task, attempt, stream, .. } = *self;
        let said = |Entry { kind, text, goes_on }: &'a Entry| JsonSaid { kind: kind.word(), text, goes_on: *goes_on };
        let decoded = match self.what {
            What::Event(entries) => Some(entries.iter().map(said).collect()),
            What::Bytes | What::Line | What::Said(..) => None,
        };
        JsonLine { version: 1, r#type: "log_line", task, attempt, stream, text, at: self.time(), decoded }
    }
}

/// Where what an attempt printed is: standard output, then standard error.
pub fn paths(run: &Path, task: &str, attempt: u32) -> [PathBuf; 2] {
    runs::logs(run, task, attempt)
}

/// The time that a user means by a length of time before now, or by a date with a time. In milliseconds since 1970.
pub fn since(text: &str, now: u64) -> Option<u64> {
    if let Some(ago) = milliseconds(text) {
        return Some(now.saturating_sub(ago));
    }
    u64::try_from(time::parse(text)?.time.as_micros() / 1000).ok()
}

/// What attempts of a run printed, as far as it was read.
#[derive(Debug)]
pub struct Logs<'a> {
    app: &'a App,
    opened: &'a Opened,
    query: Query<'a>,
    /// The one task that is meant, if not all are.
    only: Option<TaskIndex>,
    chosen: Vec<TaskIndex>,
    /// Where the run stands, once there is one.
    status: Option<Status>,
    watch: Changes,
    /// Of each task the last attempt that was seen.
    tried: Vec<u32>,
    open: Vec<Attempt>,
    /// How long the journal was.
    seen: i64,
}

impl App {
    /// What attempts printed in the run of a session that was opened. Where the newest run has not tried a task, an earlier one
    /// may have.
    pub fn logs<'a>(&'a self, opened: &'a Opened, query: Query<'a>) -> Result<Logs<'a>, Error> {
        let (session, graph) = opened.runnable()?;
        let only = query.task.map(|id| opened.task(id).map(|(_, _, task)| task)).transpose()?;
        let chosen = only.map_or_else(|| graph.order().to_vec(), |task| vec![task]);
        let tried = vec![0; session.tasks.len()];
        let (status, open) = (self.status(opened)?, Vec::new());
        let watch = self.watch(opened, status.as_ref())?;
        let mut logs = Logs { app: self, opened, query, only, chosen, status, watch, tried, open, seen: 0 };
        if logs.status.is_none() && !query.follow {
            return Err(logs.never_tried());
        }
        logs.take_earlier()?;
        Ok(logs)
    }

    /// What tells that more was printed, or that a run begins.
    fn watch(&self, opened: &Opened, status: Option<&Status>) -> Result<Changes, Error> {
        Ok(match status {
            Some(status) => Changes::adding_to(&[&status.folder.join(LOGS), &journal(status)]),
            None => {
                let workflow = self.place(opened.named())?.project.join(WORKFLOW);
                Changes::adding_to(&[&workflow, &workflow.join(RUNS)])
            }
        })
    }
}

impl Logs<'_> {
    /// Reads what has come since the last time, and says whether more may come.
    pub fn read(&mut self, sink: &mut Sink<'_>) -> Result<bool, Error> {
        let (session, _) = self.opened.runnable()?;
        let is_heard = self.look_again()?;
        let Some(status) = &self.status else { return Ok(true) };
        for task in &self.chosen {
            let (number, id) = (status.attempts[task.get()], session.tasks[task.get()].id.as_str());
            let tried = &mut self.tried[task.get()];
            let before = std::mem::replace(tried, number.max(*tried));
            let new = (before + 1..=number).filter(|nth| match self.query.attempts {
                Attempts::Last => *nth == number,
                Attempts::Number(one) => *nth == one,
                Attempts::All => true,
            });
            self.open.extend(new.map(|nth| Attempt::new(*task, nth, runs::logs(&status.folder, id, nth))));
        }
        let goes_on = self.query.follow && is_heard && !status.finished;
        for mut attempt in std::mem::take(&mut self.open) {
            let is_at_work = goes_on && attempt.is_at_work(status);
            let id = session.tasks[attempt.task.get()].id.as_str();
            attempt.read(id, &self.query, !is_at_work, sink)?;
            self.open.extend(is_at_work.then_some(attempt));
        }
        // One task is waited for until it is tried, and then as long as it is tried.
        let least = if let Attempts::Number(number) = self.query.attempts { number } else { 1 };
        let is_waiting = |task: TaskIndex| self.tried[task.get()] < least && !status.statuses[task.get()].is_over();
        let is_over = !goes_on || self.only.is_some_and(|task| self.open.is_empty() && !is_waiting(task));
        if is_over && self.tried.iter().all(|number| *number < least) {
            return Err(self.never_tried());
        }
        Ok(!is_over)
    }

    /// The run, if its logs were pruned.
    pub fn pruned(&self) -> Option<String> {
        let status = self.status.as_ref().filter(|status| status.has_no_logs())?;
        status.folder.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Waits until something may have come.
    pub fn wait(&self) {
        self.watch.wait(Some(LOOK));
    }

    /// Looks how the run stands, and says whether an executor has it.
    fn look_again(&mut self) -> Result<bool, Error> {
        let Some(status) = &self.status else {
            self.status = self.app.status(self.opened)?;
            if self.status.is_some() {
                self.watch = self.app.watch(self.opened, self.status.as_ref())?;
            }
            return Ok(self.status.as_ref().is_some_and(|status| status.is_heard));
        };
        let is_heard = control::is_heard(&status.folder);
        // What comes while it is read makes it longer, and is read the next time.
        let length = ours::look_at(&journal(status)).map_or(0, |file| file.st_size);
        if self.query.follow
            && length != std::mem::replace(&mut self.seen, length)
            && let Some(now) = self.app.status(self.opened)?
        {
            self.status = Some(now);
        }
        Ok(is_heard)
    }

    /// Takes what the newest earlier run printed that tried the one task that is meant, if the newest run has not.
    fn take_earlier(&mut self) -> Result<(), Error> {
        let (Some(task), Some(id), None) = (self.only, self.query.task, &self.opened.run) else { return Ok(()) };
        let is_tried = self.status.as_ref().is_none_or(|status| status.attempts[task.get()] > 0);
        if is_tried || self.query.follow {
            return Ok(());
        }
        let place = self.app.place(self.opened.named())?;
        let earlier = runs::of_session(&place.folder, &place.current).into_iter().skip(1);
        let found = earlier.map(|(_, run)| (runs::printed(&run, id), run)).find(|(attempts, _)| !attempts.is_empty());
        let Some((attempts, run)) = found else { return Ok(()) };
        let last = attempts.last().copied().unwrap_or_default();
        self.tried[task.get()] = last;
        let chosen = attempts.into_iter().filter(|nth| match self.query.attempts {
            Attempts::Last => *nth == last,
            Attempts::Number(one) => *nth == one,
            Attempts::All => true,
        });
        self.open.extend(chosen.map(|nth| Attempt::new(task, nth, runs::logs(&run, id, nth))));
        Ok(())
    }

    fn never_tried(&self) -> Error {
        let last = self.only.map_or(0, |task| self.tried[task.get()]);
        let message = match (self.query.task, self.query.attempts) {
            (Some(id), Attempts::Number(number)) if last > 0 => {
                format!("task '{id}' has no attempt {number}: its last one is {last}")
            }
            (Some(id), _) => format!("task '{id}' was never tried"),
            (None, Attempts::Number(number)) => format!("no task has an attempt {number}"),
            (None, _) => "no task was tried yet".to_owned(),
        };
        let help = format!("see how the run stands: team-executor status {}", escape::session(&self.opened.path));
        Finding::error(Code::Usage, message).help(help).into()
    }
}

/// An attempt, as far as it was read.
#[derive(Debug)]
struct Attempt {
    task: TaskIndex,
    number: u32,
    streams: [Stream; 2],
}

impl Attempt {
    fn new(task: TaskIndex, number: u32, [out, err]: [PathBuf; 2]) -> Self {
        Self { task, number, streams: [Stream::new("stdout", out), Stream::new("stderr", err)] }
    }

    fn is_at_work(&self, status: &Status) -> bool {
        status.running.iter().any(|running| running.task == self.task && running.attempt == self.number)
    }

    /// Reads what has come since the last time; at the end also lines that were never ended.
    fn read(&mut self, task: &str, query: &Query<'_>, is_end: bool, sink: &mut Sink<'_>) -> Result<(), Error> {
        let attempt = self.number;
        for stream in &mut self.streams {
            let name = stream.name;
            let mut each = |at, what: What<'_>, bytes: &[u8]| {
                sink(&Piece { task, attempt, stream: name, at, what, bytes });
            };
            stream.read(query, is_end, &mut each).map_err(|error| stream.unreadable(&error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_length_of_time_or_a_time() {
        let now = 1_000_000_000;
        assert_eq!(since("10m", now), Some(now - 600_000));
        assert_eq!(since("90", now), Some(now - 90_000));
        assert_eq!(since("1970-01-02T00:00:00Z", now), Some(86_400_000));
        assert_eq!(since("1970-01-02", now), Some(86_400_000));
        assert_eq!(since("yesterday", now), None);
    }
}
