//! What became of a run, task by task and attempt by attempt, out of what `status` reads: what reports are made of.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use team_executor_core::{Session, Task, TaskStatus, Timestamp};
use team_executor_engine::event::Counts;
use team_executor_engine::{AttemptTimes, Status, TaskNote};
use team_executor_files::{Code, Finding, time};

use crate::error::Error;
use crate::open::Opened;
use crate::{App, escape};

/// What became of a run, task by task.
#[derive(Debug)]
pub struct Course {
    /// The name of the run.
    pub run: String,
    /// When it began.
    pub began: Timestamp,
    /// When the last thing happened in it.
    pub last: Option<Timestamp>,
    /// How many tasks there are of each status.
    pub counts: Counts,
    /// Each task, in the order of the session.
    pub tasks: Vec<TaskCourse>,
}

/// What became of a task.
#[derive(Debug, Default, Clone)]
pub struct TaskCourse {
    /// Every attempt at it, in order.
    pub attempts: Vec<Attempt>,
    /// What the task found; empty unless it is completed.
    pub findings: String,
    /// What became of it, if anything did.
    pub end: Option<TaskEnd>,
}

/// What became of a task in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// It is completed.
    Completed,
    /// It failed for good, and why.
    Failed(String),
    /// It will not run, and why.
    Skipped(String),
}

/// One try at a task.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// The agent, as the user calls it.
    pub agent: String,
    /// When its worker started.
    pub started: Timestamp,
    /// When it ended; nothing while it goes on.
    pub ended: Option<Timestamp>,
    /// What it ended as.
    pub outcome: Outcome,
    /// Tokens that were sent and written.
    pub tokens: u64,
    /// In dollars, times a million.
    pub cost_micros: Option<u64>,
}

/// What an attempt ended as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "why")]
pub enum Outcome {
    /// It goes on.
    Running,
    /// Its task is completed.
    Completed,
    /// It failed.
    Failed(String),
    /// It was interrupted.
    Interrupted,
}

impl Attempt {
    /// How long it took, or has taken until then.
    pub fn length(&self, now: Timestamp) -> Duration {
        between(self.started, self.ended.unwrap_or(now))
    }
}

impl TaskCourse {
    /// How long its attempts took together.
    pub fn length(&self, now: Timestamp) -> Duration {
        self.attempts.iter().map(|attempt| attempt.length(now)).sum()
    }
}

impl Course {
    /// How long it took from its begin to the last thing that happened.
    pub fn length(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| between(self.began, last))
    }
}

/// The time between two moments; none where the clock went back.
pub fn between(from: Timestamp, to: Timestamp) -> Duration {
    let micros = to.as_micros().saturating_sub(from.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// A moment as RFC 3339.
pub fn rfc3339(at: Timestamp) -> String {
    time::format(at)
}

impl App {
    /// What became of the newest run of a session so far.
    pub fn course(&self, opened: &Opened) -> Result<Course, Error> {
        let (session, _) = opened.runnable()?;
        Ok(Course::new(session, self.status_of_a_run(opened)?))
    }

    /// How a run stands, or an error if the session was never run.
    pub(crate) fn status_of_a_run(&self, opened: &Opened) -> Result<Status, Error> {
        self.status(opened)?.ok_or_else(|| {
            let finding = Finding::error(Code::Usage, "the session was never run");
            finding.help(format!("run it with: team-executor run {}", escape::session(&opened.path))).into()
        })
    }
}

impl Course {
    /// What became of a run that stands so.
    pub(crate) fn new(session: &Session, status: Status) -> Self {
        let spent: HashMap<_, _> =
            status.used.iter().map(|one| ((one.task.as_str(), one.attempt), &one.used)).collect();
        let mut times = status.times.iter();
        let stands = session.tasks.iter().zip(status.statuses.iter().zip(status.judged));
        let one = |(task, (stands, note)): (&Task, (&TaskStatus, TaskNote))| {
            let why = note.why.unwrap_or_default();
            let end = match stands {
                TaskStatus::Completed => Some(TaskEnd::Completed),
                TaskStatus::Failed => Some(TaskEnd::Failed(why)),
                TaskStatus::Skipped => Some(TaskEnd::Skipped(why)),
                _ => None,
            };
            let attempt = |times: &AttemptTimes| {
                let used = spent.get(&(task.id.as_str(), times.attempt));
                Attempt {
                    number: times.attempt,
                    agent: times.agent.to_string(),
                    started: times.started,
                    ended: times.checked,
                    outcome: Outcome::of(times),
                    tokens: used.map_or(0, |used| used.input.saturating_add(used.output)),
                    cost_micros: used.and_then(|used| used.cost_micros),
                }
            };
            let attempts = times.next().map(Vec::as_slice).unwrap_or_default().iter().map(attempt);
            TaskCourse { attempts: attempts.collect(), findings: note.findings.unwrap_or_default(), end }
        };
        Self {
            tasks: stands.map(one).collect(),
            run: status.run,
            began: status.began,
            last: status.last,
            counts: status.counts.into(),
        }
    }
}

impl Outcome {
    fn of(times: &AttemptTimes) -> Self {
        match times.outcome {
            None => Self::Running,
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed(times.error.clone().unwrap_or_default()),
            Some(_) => Self::Interrupted,
        }
    }
}
