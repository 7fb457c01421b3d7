//! What is left to do in a run that goes on, and when it will probably be done.

use std::time::Duration;

use team_executor_app::Error;
use team_executor_app::left::Left;
use team_executor_core::{TaskIndex, Timestamp};

use crate::watched::{Looked, Watched};

/// What is left to do.
pub(crate) struct Rest {
    left: Left,
    running: Vec<(TaskIndex, Duration)>,
    slots: u32,
}

/// What is left to do; nothing where no executor has the run.
pub(crate) fn rest(watched: &Watched, looked: &Looked) -> Result<Option<Rest>, Error> {
    let Looked { opened, status, .. } = looked;
    let Some(slots) = status.most_workers.filter(|_| !status.finished) else { return Ok(None) };
    let (_, graph) = opened.runnable()?;
    let mut left = Left::new(graph, &watched.app.expected(opened));
    left.begin(&status.statuses);
    for (task, times) in (0..).map(TaskIndex).zip(&status.times) {
        for one in times.iter().filter(|one| matches!(one.outcome, Some("completed" | "failed"))) {
            if let Some(over) = one.checked.or(one.ended) {
                left.measure(task, between(one.started, over));
            }
        }
    }
    let at_work = status.running.iter().filter_map(|one| Some((one.task, between(one.since?, status.at))));
    Ok(Some(Rest { left, running: at_work.collect(), slots }))
}

impl Rest {
    /// About how long it will take, in milliseconds.
    pub(crate) fn left(&self) -> Option<u64> {
        self.left.left(&self.running, self.slots).map(millis)
    }

    /// When each task will probably be at work: from and to, in milliseconds from now on.
    pub(crate) fn future(&self) -> Vec<(TaskIndex, u64, u64)> {
        let mut future = Vec::new();
        self.left
            .future(&self.running, self.slots, &mut |task, from, to| future.push((task, millis(from), millis(to))));
        future
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(to.as_micros().saturating_sub(from.as_micros())).unwrap_or(0))
}
