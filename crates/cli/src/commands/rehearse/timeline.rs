//! When each task would run: the order in which the engine told things, with the times that tasks take in a rehearsal.

use std::io::Write;
use std::time::Duration;

use team_executor_app::count;
use team_executor_app::event::Kind;
use team_executor_core::{Graph, Session, TaskIndex, TaskStatus};
use unicode_width::UnicodeWidthStr;

use crate::commands::plan::mark;
use crate::escape;
use crate::face::{Event, Rehearsed};
use crate::failure::Failure;

/// How many columns the bars have.
const BAR: usize = 24;

/// When each task would run.
pub(super) struct Timeline {
    /// When the last end was, in rehearsed time. How long this machine took to get there does not count.
    now: Duration,
    tasks: Vec<Lane>,
}

/// What is known of one task.
#[derive(Debug, Clone, Default)]
struct Lane {
    /// How long an attempt takes.
    takes: Duration,
    /// When its first attempt began, and when the last one did.
    began: Option<(Duration, Duration)>,
    ended: Duration,
    attempts: u32,
    outcome: Option<TaskStatus>,
    /// Why it was skipped.
    reason: String,
}

impl Timeline {
    /// An empty one; each task with the time that an attempt takes, in the order of the session.
    pub(super) fn new(tasks: impl Iterator<Item = Duration>) -> Self {
        let tasks = tasks.map(|takes| Lane { takes, ..Lane::default() });
        Self { now: Duration::ZERO, tasks: tasks.collect() }
    }

    /// Notes what the engine told.
    pub(super) fn note(&mut self, kind: &Kind, graph: &Graph) {
        let (id, outcome) = match kind {
            Kind::TaskStarted { task, .. } => (task, None),
            Kind::TaskCompleted { task, .. } => (task, Some(TaskStatus::Completed)),
            Kind::TaskFailed { task, again, .. } => (task, (!again).then_some(TaskStatus::Failed)),
            Kind::TaskSkipped { task, .. } => (task, Some(TaskStatus::Skipped)),
            _ => return,
        };
        let Some(lane) = graph.index_of(id).and_then(|index| self.tasks.get_mut(index.get())) else { return };
        lane.outcome = outcome;
        match (kind, lane.began) {
            (Kind::TaskStarted { .. }, began) => {
                lane.attempts += 1;
                lane.began = Some((began.map_or(self.now, |(first, _)| first), self.now));
            }
            (Kind::TaskSkipped { reason, .. }, _) => lane.reason = reason.clone(),
            (_, Some((_, last))) => {
                lane.ended = last + lane.takes;
                self.now = self.now.max(lane.ended);
            }
            (_, None) => {}
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
            let line = format!("{id}  {}", self.about(*index));
            writeln!(out, "  {style}{sign}{style:#} {}", escape::cut(&line, width - 4))?;
        }
        writeln!(out, "\nMakespan        {}", clock(self.now))?;
        let skipped = self.tasks.iter().filter(|lane| lane.outcome == Some(TaskStatus::Skipped)).count();
        if skipped > 0 {
            writeln!(out, "Would be skipped: {}", count(skipped, "task"))?;
        }
        Ok(())
    }

    /// The same for programs.
    pub(super) fn event<'a>(&'a self, session: &'a Session) -> Event<'a> {
        let tasks = self.tasks.iter().zip(&session.tasks).map(|(lane, task)| Rehearsed {
            task: task.id.as_str(),
            status: lane.outcome.unwrap_or(task.status).word(),
            from_s: lane.began.map(|(first, _)| first.as_secs()),
            to_s: lane.began.map(|_| lane.ended.as_secs()),
            attempts: lane.attempts,
            reason: Some(lane.reason.as_str()).filter(|reason| !reason.is_empty()),
        });
        Event::Rehearsed { tasks: tasks.collect(), makespan_s: self.now.as_secs() }
    }

    /// What happened to a task.
    fn about(&self, task: TaskIndex) -> String {
        let lane = &self.tasks[task.get()];
        let attempts = count(lane.attempts as usize, "attempt");
        let note = match lane.outcome {
            Some(TaskStatus::Skipped) => return format!("skipped: {}", lane.reason),
            Some(TaskStatus::Failed) => format!("  failed, {attempts}"),
            _ => String::new(),
        };
        let Some((from, _)) = lane.began else { return "not run".to_owned() };
        let (bar, wide) = (bar(from, lane.ended, self.now), clock(self.now).len());
        format!("{bar}  {:>wide$} - {:>wide$}{note}", clock(from), clock(lane.ended))
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

#[cfg(test)]
mod tests {
    use team_executor_app::event::Counts;
    use team_executor_core::{RoleName, SessionId, Task, TaskId};

    use super::*;

    fn started(task: &str) -> Kind {
        Kind::TaskStarted {
            task: task.to_owned(),
            role: String::new(),
            attempt: 1,
            agent: String::new(),
            instead: false,
            fast_advance: false,
            counts: Counts::default(),
        }
    }

    fn completed(task: &str) -> Kind {
        Kind::TaskCompleted { task: task.to_owned(), took_ms: 0, findings: String::new(), counts: Counts::default() }
    }

    fn failed(task: &str, again: bool) -> Kind {
        Kind::TaskFailed { task: task.to_owned(), error: String::new(), again, short: false, counts: Counts::default() }
    }

    #[test]
    fn times_are_those_of_the_rehearsal_and_not_of_the_machine() {
        let mut session = Session::new(SessionId::parse("S").unwrap());
        for (id, after) in [("A", ""), ("B", ""), ("C", "A"), ("D", "C"), ("E", "")] {
            let mut task = Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap());
            task.dependencies = TaskId::parse(after).into_iter().collect();
            session.tasks.push(task);
        }
        let graph = Graph::seal(&session.tasks).graph.unwrap();
        let mut timeline = Timeline::new([60, 90, 30, 30, 30].into_iter().map(Duration::from_secs));
        let skipped = Kind::TaskSkipped {
            task: "D".to_owned(),
            reason: "dependency C failed".to_owned(),
            counts: Counts::default(),
        };
        for notice in [
            &started("A"),
            &started("B"),
            &completed("A"),
            &started("C"),
            &completed("B"),
            &failed("C", true),
            &started("C"),
            &failed("C", false),
            &skipped,
        ] {
            timeline.note(notice, &graph);
        }
        let mut out = Vec::new();
        timeline.print(&session, &graph, 80, &mut out).unwrap_or_default();
        let text = String::from_utf8(out).unwrap();
        for line in [
            "A  [############............]  0:00 - 1:00\n",
            "B  [##################......]  0:00 - 1:30\n",
            "E  not run\n",
            "C  [............############]  1:00 - 2:00  failed, 2 attempts\n",
            "D  skipped: dependency C failed\n",
            "Makespan        2:00\nWould be skipped: 1 task\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
