//! How long a run would take and what it would cost, as a range: the rules themselves schedule it many times over, with attempts that
//! take what attempts in this project took.

mod drawing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;
use team_executor_core::run::{
    Cadence, Effect, ErrorClass, Input, KeptWaves, Learned, Outcome, Policy, Run, WaveFailed, Work, WorkEnded,
};
use team_executor_core::{Graph, Millis, Session, Timestamp};

use crate::config::defaults::Defaults;
use crate::history::{Known, Sample};

use drawing::Drawing;

/// How many tasks are scheduled in all, and how often a run at least and at most.
const TASKS: usize = 200_000;
const TIMES: (usize, usize) = (4, 100);
/// More tasks are not estimated: to schedule them takes longer than people wait for a plan.
const MOST: usize = 100_000;
/// The part of the outcomes that lies below the range, and above it. Attempts that take longest are rarely among those that are known,
/// so that of what happens about twice as much does.
const OUTSIDE: f64 = 0.025;
/// So many outcomes have quantiles; fewer have a mean and a deviation.
const QUANTILES: usize = 40;

/// How long a run would take, and what it would cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// In milliseconds.
    pub time_ms: Range,
    /// Tokens that would be sent and written; nothing where that is not known.
    pub tokens: Option<Range>,
    /// In millionths of a dollar; nothing where that is not known.
    pub cost_micros: Option<Range>,
    /// From how many attempts.
    pub samples: usize,
    /// How many of the tasks are of a role of which too little is known: they are guessed from others.
    pub guessed_tasks: usize,
}

/// Nine times of ten it lies within.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// Rarely less.
    pub low: u64,
    /// As often more as less.
    pub likely: u64,
    /// Rarely more.
    pub high: u64,
}

/// How a run is to be scheduled.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How many workers at once.
    pub slots: u32,
    /// Beats or waves.
    pub cadence: Cadence,
    /// How often a failed task is tried again.
    pub retries: u32,
}

impl Terms {
    /// As they are configured.
    pub(crate) fn choose(defaults: &Defaults) -> Self {
        let Defaults { concurrency, cadence, retries, .. } = defaults;
        Self { slots: concurrency.value, cadence: cadence.value, retries: retries.value }
    }
}

/// Estimates the tasks of a session that are not over. Nothing, if all are, or if there are very many.
pub fn estimate(session: &Session, graph: &Graph, terms: Terms, known: &Known) -> Option<Estimate> {
    let open = |task: usize| !session.tasks[task].status.is_over();
    let left = (0..session.tasks.len()).filter(|task| open(*task)).count();
    if left == 0 || left > MOST {
        return None;
    }
    let policy = Policy {
        cadence: terms.cadence,
        waves: KeptWaves::plan(session, graph, terms.cadence),
        slots: terms.slots,
        retries: terms.retries,
        wave_failed: WaveFailed::GoOn,
        learned: Learned::new(graph, &known.expected()),
        ..Policy::default()
    };
    let run = Run::new(&session.tasks, graph.clone(), policy).ok()?;
    let times = (TASKS / left).clamp(TIMES.0, TIMES.1);
    let mut chance = drawing::Chance::new(u64::try_from(session.tasks.len()).unwrap_or(0));
    let all: Vec<Simulated> =
        (0..times).map(|_| simulate(run.clone(), known, &mut Drawing::new(known, &mut chance))).collect();
    let range = |of: fn(&Simulated) -> u64| Range::of(all.iter().map(of).collect());
    let used: Vec<usize> = (0..session.tasks.len()).filter(|task| open(*task)).map(|task| known.of[task]).collect();
    let mut pools = used.clone();
    pools.sort_unstable();
    pools.dedup();
    let samples = pools.iter().map(|pool| &known.pools[*pool]);
    let knows =
        |of: fn(&Sample) -> Option<u64>| samples.clone().flat_map(|pool| &pool.samples).any(|one| of(one).is_some());
    let (tokens, cost) = (knows(|one| one.tokens), knows(|one| one.cost_micros));
    Some(Estimate {
        time_ms: range(|one| one.ms),
        tokens: tokens.then(|| range(|one| one.tokens)),
        cost_micros: cost.then(|| range(|one| one.cost_micros)),
        samples: match samples.clone().filter(|pool| pool.is_own).map(|pool| pool.samples.len()).sum() {
            0 => samples.map(|pool| pool.samples.len()).max().unwrap_or(0),
            own => own,
        },
        guessed_tasks: used.iter().filter(|pool| !known.pools[**pool].is_own).count(),
    })
}

/// What a simulated run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Simulated {
    /// How long it took.
    pub ms: u64,
    tokens: u64,
    cost_micros: u64,
}

/// What attempts come to, one after the other.
pub trait Fate {
    /// An attempt at a task of this kind.
    fn draw(&mut self, pool: usize) -> Sample;
}

/// Lets the rules schedule a run whose attempts take what is drawn.
pub fn simulate(mut run: Run, known: &Known, fate: &mut impl Fate) -> Simulated {
    let (start, mut now) = (Timestamp::from_micros(0), Timestamp::from_micros(0));
    let mut ends: BinaryHeap<Reverse<(Timestamp, Work, bool)>> = BinaryHeap::new();
    let (mut wake, mut came_to) = (None, Simulated::default());
    let mut input = Input::Start { now };
    loop {
        let step = run.step(input);
        for effect in step.effects {
            match effect {
                Effect::Spawn { work, .. } | Effect::Check { work, .. } => {
                    let sample = fate.draw(known.of.get(work.task.get()).copied().unwrap_or(0));
                    came_to.tokens = came_to.tokens.saturating_add(sample.tokens.unwrap_or(0));
                    came_to.cost_micros = came_to.cost_micros.saturating_add(sample.cost_micros.unwrap_or(0));
                    ends.push(Reverse((now.after(Millis(sample.ms)), work, sample.is_completed)));
                }
                Effect::WakeAt { at } => wake = Some(at),
                Effect::Over { .. } => {
                    let micros = u64::try_from(now.as_micros().saturating_sub(start.as_micros())).unwrap_or(0);
                    return Simulated { ms: micros / 1000, ..came_to };
                }
                // People decide at once in an estimate.
                Effect::EndWorker { .. } | Effect::AskWaveFailed { .. } | Effect::AskCheckpoint { .. } => {}
            }
        }
        let next_end = ends.peek().map(|Reverse((at, ..))| *at);
        input = match (next_end, wake) {
            (Some(end), wake) if wake.is_none_or(|wake| end <= wake) => {
                let Some(Reverse((at, work, is_completed))) = ends.pop() else { return came_to };
                now = now.max(at);
                let outcome = if is_completed {
                    Outcome::Completed { findings: None, review: None }
                } else {
                    Outcome::Failed { class: ErrorClass::Transient, error: String::new() }
                };
                Input::Ended { now, ended: WorkEnded { work, outcome } }
            }
            (_, Some(at)) => {
                wake = None;
                now = now.max(at);
                Input::Woke { now }
            }
            // Nothing will happen any more: something waits for a person.
            (None | Some(_), None) => {
                let micros = u64::try_from(now.as_micros()).unwrap_or(0);
                return Simulated { ms: micros / 1000, ..came_to };
            }
        };
    }
}

impl Range {
    /// The range of what came out.
    fn of(mut all: Vec<u64>) -> Self {
        all.sort_unstable();
        let at = |part: f64| {
            let nth = (part * (all.len().saturating_sub(1)) as f64).round();
            all.get(nth as usize).copied().unwrap_or(0)
        };
        if all.len() >= QUANTILES {
            return Self { low: at(OUTSIDE), likely: at(0.5), high: at(1.0 - OUTSIDE) };
        }
        let count = all.len().max(1) as f64;
        let mean = all.iter().map(|one| *one as f64).sum::<f64>() / count;
        let deviation = (all.iter().map(|one| (*one as f64 - mean).powi(2)).sum::<f64>() / count).sqrt();
        Self { low: (mean - 2.0 * deviation).max(0.0) as u64, likely: at(0.5), high: (mean + 2.0 * deviation) as u64 }
    }
}

#[cfg(test)]
mod tests;
