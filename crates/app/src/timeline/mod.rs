//! When each attempt of a run was ready, at work and checked, and the chain of attempts that made the run as long as it was.

mod chain;
mod json;
mod svg;
mod trace;

use std::time::Duration;

use team_executor_core::{Session, TaskIndex, Timestamp};
use team_executor_engine::{AttemptTimes, Status};

use crate::App;
use crate::attempts::between;
use crate::error::Error;
use crate::open::Opened;

pub use chain::{Because, Link};
pub use json::JsonTimeline;

/// A run on its time axis.
#[derive(Debug)]
pub struct Timeline {
    /// The name of the run.
    pub run: String,
    /// Where it begins.
    pub began: Timestamp,
    /// Where it ends: the last thing that happened, or now.
    pub end: Timestamp,
    /// Every attempt, by its start.
    pub bars: Vec<Bar>,
    /// What made it as long as it was, from the first attempt to the last.
    pub chain: Vec<Link>,
    /// How many tasks there are.
    pub tasks: usize,
    /// The most attempts that were at work at a time.
    pub most: usize,
}

/// One attempt.
#[derive(Debug, Clone)]
pub struct Bar {
    /// At which task.
    pub task: TaskIndex,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// In which slot.
    pub slot: u32,
    /// The agent, as the user calls it.
    pub agent: String,
    /// When its task could have started.
    pub ready: Timestamp,
    /// When its worker started.
    pub started: Timestamp,
    /// When it first printed something, if that is known.
    pub first_output: Option<Timestamp>,
    /// When its worker ended. From then on it was checked.
    pub ended: Timestamp,
    /// When its outcome was decided.
    pub over: Timestamp,
    /// What it ended as; nothing while it goes on.
    pub outcome: Option<&'static str>,
    /// Its work was not accepted.
    pub is_sent_back: bool,
    /// It is on the chain.
    pub on_chain: bool,
}

impl Bar {
    /// What became of it, in a word.
    pub fn word(&self) -> &'static str {
        match self.outcome {
            _ if self.is_sent_back => "sent back",
            Some(word) => word,
            None => "running",
        }
    }
}

impl App {
    /// The attempts of a run on its time axis.
    pub fn timeline(&self, opened: &Opened) -> Result<Timeline, Error> {
        let (session, graph) = opened.runnable()?;
        Ok(Timeline::new(session, graph, &self.status_of_a_run(opened)?))
    }
}

impl Timeline {
    /// From what `status` reads.
    pub fn new(session: &Session, graph: &team_executor_core::Graph, status: &Status) -> Self {
        let end = if status.is_heard { status.at } else { status.last.unwrap_or(status.began) };
        let bars = (0..).map(TaskIndex).zip(&status.times);
        let bars = bars.flat_map(|(task, attempts)| attempts.iter().map(move |times| bar(task, times, end)));
        let mut bars: Vec<Bar> = bars.collect();
        bars.sort_by_key(|bar| (bar.started, bar.slot, bar.task));
        let chain = chain::find(&bars, graph, status.began);
        for link in &chain {
            bars[link.bar].on_chain = true;
        }
        let most = most(&bars);
        Self { run: status.run.clone(), began: status.began, end, bars, chain, tasks: session.tasks.len(), most }
    }

    /// How long it took.
    pub fn length(&self) -> Duration {
        between(self.began, self.end)
    }

    /// As an SVG document; large runs have a row for each slot instead of one for each task.
    pub fn to_svg(&self, session: &Session) -> String {
        svg::draw(self, session)
    }

    /// In the trace event format, which Perfetto and Chrome open.
    pub fn write_trace(&self, session: &Session, out: &mut impl std::io::Write) -> std::io::Result<()> {
        trace::write(self, session, out)
    }
}

fn bar(task: TaskIndex, times: &AttemptTimes, end: Timestamp) -> Bar {
    // Keepers tell ends by their own clock: none is outside of what the journal says.
    let over = times.checked.unwrap_or(end).max(times.started);
    let ended = times.ended.unwrap_or(over).clamp(times.started, over);
    Bar {
        task,
        attempt: times.attempt,
        slot: times.slot,
        agent: times.agent.to_string(),
        ready: times.ready.unwrap_or(times.started).min(times.started),
        started: times.started,
        first_output: times.first_output,
        ended,
        over,
        outcome: times.outcome,
        is_sent_back: times.is_sent_back,
        on_chain: false,
    }
}

/// The most bars that are at work at a time.
fn most(bars: &[Bar]) -> usize {
    let mut moves: Vec<(Timestamp, i32)> = bars.iter().flat_map(|bar| [(bar.started, 1), (bar.over, -1)]).collect();
    // One that ends makes room for one that starts at the same time.
    moves.sort_unstable();
    let mut at_work = 0_i32;
    let most = moves.into_iter().map(|(_, step)| {
        at_work += step;
        at_work
    });
    usize::try_from(most.max().unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
