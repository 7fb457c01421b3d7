//! The attempts of a run with their times, as its events tell them: what reports and timelines are made of.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use team_executor_core::{Session, TaskIndex, Timestamp};
use team_executor_engine::event::{Counts, Event, Kind};
use team_executor_files::time;

use crate::App;
use crate::error::Error;
use crate::open::Opened;

/// What became of a run, task by task.
#[derive(Debug)]
pub struct Course {
    /// The name of the run.
    pub run: String,
    /// When it began.
    pub began: Option<Timestamp>,
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
        self.began.zip(self.last).map_or(Duration::ZERO, |(began, last)| between(began, last))
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
        let mut events = self.subscribe(opened, 0, false)?;
        let mut reading = Reading::new(session, events.run_name());
        events.run(false, &mut |event| {
            if let Some(event) = event {
                reading.take(event);
            }
            true
        })?;
        Ok(reading.course)
    }
}

struct Reading {
    course: Course,
    indexes: HashMap<String, TaskIndex>,
}

impl Reading {
    fn new(session: &Session, run: String) -> Self {
        let tasks = session.tasks.iter();
        Self {
            indexes: tasks.map(|task| task.id.to_string()).zip((0..).map(TaskIndex)).collect(),
            course: Course {
                run,
                began: None,
                last: None,
                counts: Counts::default(),
                tasks: vec![TaskCourse::default(); session.tasks.len()],
            },
        }
    }

    fn task(&mut self, id: &str) -> Option<&mut TaskCourse> {
        let index = self.indexes.get(id)?;
        self.course.tasks.get_mut(index.get())
    }

    fn take(&mut self, event: Event) {
        let at = event.at;
        self.course.began.get_or_insert(at);
        self.course.last = Some(at);
        if let Some(counts) = counts(&event.kind) {
            self.course.counts = counts;
        }
        match event.kind {
            Kind::TaskStarted { task, attempt, agent, .. } => {
                let started = Attempt {
                    number: attempt,
                    agent,
                    started: at,
                    ended: None,
                    outcome: Outcome::Running,
                    tokens: 0,
                    cost_micros: None,
                };
                if let Some(task) = self.task(&task) {
                    task.end = None;
                    task.attempts.push(started);
                }
            }
            Kind::TaskUsed { task, attempt, tokens_in, tokens_out, cost_micros, .. } => {
                let of = |task: &&mut TaskCourse| task.attempts.iter().rposition(|one| one.number == attempt);
                if let Some(task) = self.task(&task)
                    && let Some(nth) = of(&task)
                {
                    task.attempts[nth].tokens = tokens_in.saturating_add(tokens_out);
                    task.attempts[nth].cost_micros = cost_micros;
                }
            }
            Kind::TaskCompleted { task, findings, .. } => {
                if let Some(task) = self.ended(&task, at, Outcome::Completed) {
                    task.findings = findings;
                    task.end = Some(TaskEnd::Completed);
                }
            }
            Kind::TaskFailed { task, error, again, .. } => {
                if let Some(task) = self.ended(&task, at, Outcome::Failed(error.clone())) {
                    task.end = (!again).then_some(TaskEnd::Failed(error));
                }
            }
            Kind::TaskInterrupted { task, .. } => {
                self.ended(&task, at, Outcome::Interrupted);
            }
            Kind::TaskSkipped { task, reason, .. } => {
                if let Some(task) = self.task(&task) {
                    task.end = Some(TaskEnd::Skipped(reason));
                }
            }
            Kind::TasksReset { tasks, .. } | Kind::Returned { tasks, .. } => {
                for id in tasks {
                    if let Some(task) = self.task(&id) {
                        task.end = None;
                        task.findings.clear();
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes how the last attempt at a task ended, if one goes on.
    fn ended(&mut self, task: &str, at: Timestamp, outcome: Outcome) -> Option<&mut TaskCourse> {
        let task = self.task(task)?;
        if let Some(attempt) = task.attempts.last_mut().filter(|attempt| attempt.ended.is_none()) {
            attempt.ended = Some(at);
            attempt.outcome = outcome;
        }
        Some(task)
    }
}

fn counts(kind: &Kind) -> Option<Counts> {
    match kind {
        Kind::RunStarted { counts, .. }
        | Kind::TaskStarted { counts, .. }
        | Kind::TaskCompleted { counts, .. }
        | Kind::TaskFailed { counts, .. }
        | Kind::TaskInterrupted { counts, .. }
        | Kind::TaskSkipped { counts, .. }
        | Kind::TasksReset { counts, .. }
        | Kind::Returned { counts, .. }
        | Kind::RunFinished { counts } => Some(*counts),
        _ => None,
    }
}
