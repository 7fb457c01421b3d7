//! When each task would run: what the engine told, in rehearsed time.

use std::io::Write;
use std::time::{Duration, Instant};

use team_executor_core::{Graph, Session, TaskIndex, TaskStatus};
use team_executor_engine::Notice;
use unicode_width::UnicodeWidthStr;

use crate::commands::plan::mark;
use crate::commands::validate::count;
use crate::escape;
use crate::failure::Failure;

/// How many columns the bars have.
const BAR: usize = 24;

/// When each task would run.
pub(super) struct Timeline {
    /// When the first task began.
    began: Option<Instant>,
    speed: u32,
    tasks: Vec<Lane>,
}

/// What is known of one task.
#[derive(Debug, Clone, Default)]
struct Lane {
    /// When its first attempt began and its last one ended.
    times: Option<(Duration, Duration)>,
    attempts: u32,
    outcome: Option<TaskStatus>,
    /// Why it was skipped.
    reason: String,
}

impl Timeline {
    /// Begins with the first task.
    pub(super) fn new(speed: u32, tasks: usize) -> Self {
        Self { began: None, speed, tasks: vec![Lane::default(); tasks] }
    }

    /// Notes what the engine told.
    pub(super) fn note(&mut self, notice: &Notice, graph: &Graph) {
        if matches!(notice, Notice::Started { .. }) {
            self.began.get_or_insert_with(Instant::now);
        }
        let now = self.began.map_or(Duration::ZERO, |began| began.elapsed() * self.speed);
        self.note_at(notice, graph, now);
    }

    fn note_at(&mut self, notice: &Notice, graph: &Graph, now: Duration) {
        let (id, outcome, reason) = match notice {
            Notice::Started { task, .. } => (task, None, ""),
            Notice::Completed { task, .. } => (task, Some(TaskStatus::Completed), ""),
            Notice::Failed { task, again: false, .. } => (task, Some(TaskStatus::Failed), ""),
            Notice::Failed { task, .. } | Notice::Interrupted { task } => (task, None, ""),
            Notice::Skipped { task, reason } => (task, Some(TaskStatus::Skipped), reason.as_str()),
            _ => return,
        };
        let Some(lane) = graph.index_of(id).and_then(|index| self.tasks.get_mut(index.get())) else { return };
        if matches!(notice, Notice::Started { .. }) {
            lane.attempts += 1;
            lane.times = lane.times.or(Some((now, now)));
        } else if let Some((_, end)) = &mut lane.times {
            *end = now;
        }
        if outcome.is_some() {
            (lane.outcome, lane.reason) = (outcome, reason.to_owned());
        }
    }

    /// Shows the waves, each task with its bar, and how long all of it would take.
    pub(super) fn print(
        &self,
        session: &Session,
        graph: &Graph,
        width: usize,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let end = self.tasks.iter().filter_map(|lane| lane.times).map(|(_, end)| end).max().unwrap_or_default();
        let widest = session.tasks.iter().map(|task| escape::line(task.id.as_str()).width()).max().unwrap_or(0).min(24);
        writeln!(out, "Rehearsed: no model was called and no work was done; how long tasks take is invented")?;
        let mut wave = 0;
        for index in graph.order() {
            if graph.wave(*index) != wave {
                wave = graph.wave(*index);
                writeln!(out, "\nWave {wave}")?;
            }
            let (lane, task) = (&self.tasks[index.get()], &session.tasks[index.get()]);
            let (sign, style) = mark(lane.outcome.unwrap_or(task.status));
            let id = escape::pad(&escape::cut(task.id.as_str(), widest), widest);
            let line = format!("{id}  {}", self.about(*index, end));
            writeln!(out, "  {style}{sign}{style:#} {}", escape::cut(&line, width - 4))?;
        }
        writeln!(out, "\nMakespan        about {}", clock(end))?;
        let skipped = self.tasks.iter().filter(|lane| lane.outcome == Some(TaskStatus::Skipped)).count();
        if skipped > 0 {
            writeln!(out, "Would be skipped: {}", count(skipped, "task"))?;
        }
        Ok(())
    }

    /// What happened to a task.
    fn about(&self, task: TaskIndex, end: Duration) -> String {
        let lane = &self.tasks[task.get()];
        let note = match lane.outcome {
            Some(TaskStatus::Skipped) => return format!("skipped: {}", lane.reason),
            Some(TaskStatus::Failed) => format!("  failed, {}", count(lane.attempts as usize, "attempt")),
            _ if lane.attempts > 1 => format!("  {}", count(lane.attempts as usize, "attempt")),
            _ => String::new(),
        };
        match lane.times {
            Some((from, to)) => format!("{}  {:>7} - {:>7}{note}", bar(from, to, end), clock(from), clock(to)),
            None => "not run".to_owned(),
        }
    }
}

/// Where a task lies in the whole.
fn bar(from: Duration, to: Duration, end: Duration) -> String {
    let column = |at: Duration| {
        let column = at.as_micros() * BAR as u128 / end.as_micros().max(1);
        usize::try_from(column).unwrap_or(BAR).min(BAR)
    };
    let first = column(from).min(BAR - 1);
    let last = column(to).max(first + 1);
    format!("[{}{}{}]", ".".repeat(first), "#".repeat(last - first), ".".repeat(BAR - last))
}

/// A time as minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}
