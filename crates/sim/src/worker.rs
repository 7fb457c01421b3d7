//! What a simulated worker does, and how its end is written and told.

use team_executor_agents::{Ended, Lack, Limit, Obstacle};
use team_executor_core::run::{ErrorClass, Outcome, Review, Run, Used, Work};
use team_executor_core::{Complexity, TaskIndex, Verdict};

use crate::chance::Chance;
use crate::scenario::Scenario;

/// What a worker will do, decided before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// How it will end by itself.
    pub end: End,
    /// How long that takes, in microseconds.
    pub takes: u64,
    /// It ignores the signal to end.
    pub deaf: bool,
    /// How long things that it left behind go on, in microseconds.
    pub leaves: u64,
    /// What it says if it completes its task.
    pub says: Says,
}

/// What a worker that has completed its task says and delivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Says {
    /// What it delivers is checked, and whether that passes.
    pub checked: Option<bool>,
    /// A supervisor's word.
    pub verdict: Option<Verdict>,
    /// What the task depends on must be done again.
    pub rejects: bool,
    /// How much there is to the work.
    pub complexity: Option<Complexity>,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The work is done.
    Completed,
    /// It is not; another attempt can help.
    Transient,
    /// It is not; there is no quota.
    Quota,
    /// It is not; the agent is not logged in.
    Auth,
    /// It is not; no attempt can help.
    Fatal,
    /// It took too long.
    TimedOut,
    /// It never ran.
    CouldNotStart,
    /// It never ran, because the system had no more open files.
    Shortage,
    /// It was lost or ended from outside.
    Interrupted,
}

/// The exit codes of workers that end by themselves.
const CODES: [(End, i32); 5] =
    [(End::Completed, 0), (End::Transient, 1), (End::Quota, 2), (End::Fatal, 3), (End::Auth, 4)];

const WORDS: [(End, &str); 9] = [
    (End::Completed, "completed"),
    (End::Transient, "transient"),
    (End::Quota, "quota"),
    (End::Auth, "auth"),
    (End::Fatal, "fatal"),
    (End::TimedOut, "timed_out"),
    (End::CouldNotStart, "could_not_start"),
    (End::Shortage, "shortage"),
    (End::Interrupted, "interrupted"),
];

impl Script {
    /// What the worker of an attempt will do.
    pub fn draw(scenario: &Scenario, work: Work) -> Self {
        let weather = &scenario.weather;
        let attempt = if weather.steady { 0 } else { u64::from(work.attempt) };
        let mut chance = Chance::new(&[scenario.seed, 2, u64::from(work.task.0), attempt]);
        let quick = chance.once_in(3);
        let rough = weather.workers;
        let end = match chance.below(if rough { 10 } else { 1 }) {
            0..5 => End::Completed,
            5 => End::Fatal,
            6 if !weather.steady && weather.fallbacks => chance.pick(&[End::Quota, End::Quota, End::Auth]),
            6 if !weather.steady => chance.pick(&[End::Quota, End::Fatal, End::Shortage, End::Shortage]),
            7 => chance.pick(&[End::TimedOut, End::CouldNotStart]),
            _ => End::Transient,
        };
        Self {
            end,
            takes: chance.below(if quick { 3_000 } else { 3_000_000 }),
            deaf: rough && chance.once_in(4),
            leaves: if rough && chance.once_in(4) { chance.below(2_000_000) } else { 0 },
            says: if weather.judges { Says::draw(&mut chance) } else { Says::default() },
        }
    }
}

impl Says {
    fn draw(chance: &mut Chance) -> Self {
        Self {
            checked: chance.once_in(2).then(|| !chance.once_in(3)),
            verdict: chance.once_in(4).then(|| chance.pick(Verdict::ALL)),
            rejects: chance.once_in(5),
            complexity: chance.once_in(3).then(|| chance.pick(Complexity::ALL)),
        }
    }

    /// What the rules are told, once the checks are done.
    fn outcome(self, needs: &[TaskIndex]) -> Outcome {
        if self.checked == Some(false) {
            return Outcome::Failed { class: ErrorClass::Rejected, error: "rejected".to_owned() };
        }
        let review = Review {
            verdict: self.verdict,
            rejects: if self.rejects { needs.to_vec() } else { Vec::new() },
            critique: "bad".to_owned(),
            rounds: None,
            complexity: self.complexity,
        };
        let says_something = self.verdict.is_some() || self.rejects || self.complexity.is_some();
        Outcome::Completed { findings: Some("found".to_owned()), review: says_something.then(|| Box::new(review)) }
    }
}

impl End {
    /// How a keeper writes it down.
    pub fn ended(self) -> Ended {
        match (self, CODES.iter().find(|(end, _)| *end == self)) {
            (_, Some((_, code))) => Ended::Exit(*code),
            (Self::TimedOut, _) => Ended::Limit(Limit::Total),
            (Self::CouldNotStart, _) => Ended::CouldNotStart(Obstacle::new("no")),
            (Self::Shortage, _) => {
                Ended::CouldNotStart(Obstacle { lack: Some(Lack::Means), ..Obstacle::new("no more") })
            }
            _ => Ended::Interrupted,
        }
    }

    /// What a keeper wrote down.
    pub fn from_ended(ended: &Ended) -> Self {
        match ended {
            Ended::Exit(code) => CODES.iter().find(|(_, known)| known == code).map_or(Self::Transient, |(end, _)| *end),
            Ended::Limit(_) => Self::TimedOut,
            Ended::CouldNotStart(Obstacle { lack: Some(_), .. }) => Self::Shortage,
            Ended::CouldNotStart(_) => Self::CouldNotStart,
            Ended::Signal(_) | Ended::Stopped | Ended::Interrupted => Self::Interrupted,
        }
    }

    /// What an attempt used that ended so, if it says that.
    pub fn used(self, scenario: &Scenario, work: Work) -> Option<Used> {
        let mut chance = Chance::new(&[scenario.seed, 6, u64::from(work.task.0), u64::from(work.attempt)]);
        let never_ran = matches!(self, Self::CouldNotStart | Self::Shortage | Self::Interrupted);
        if !scenario.weather.money || never_ran || chance.once_in(5) {
            return None;
        }
        Some(Used {
            agent: "simulated".to_owned(),
            input: chance.below(60),
            output: chance.below(40),
            cost_micros: (!chance.once_in(3)).then(|| chance.below(100)),
            turns: (!chance.once_in(3)).then(|| chance.below(100)),
            wall_ms: chance.below(100),
            ..Used::default()
        })
    }

    /// A word for it.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(end, _)| *end == self).map_or("", |(_, word)| word)
    }

    /// What the rules are told about an attempt that ended so.
    pub fn outcome(self, scenario: &Scenario, rules: &Run, work: Work) -> Outcome {
        let error = self.word().to_owned();
        let failed = |class| Outcome::Failed { class, error: error.clone() };
        match self {
            Self::Completed => Script::draw(scenario, work).says.outcome(rules.graph().dependencies(work.task)),
            Self::Transient => failed(ErrorClass::Transient),
            Self::Quota => failed(ErrorClass::Quota { until: None }),
            Self::Auth => failed(ErrorClass::Auth),
            Self::Shortage => failed(ErrorClass::Shortage),
            Self::Fatal => failed(ErrorClass::Fatal),
            Self::TimedOut => Outcome::TimedOut { error },
            Self::CouldNotStart => Outcome::CouldNotStart { error },
            Self::Interrupted => Outcome::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_read_as_it_was_written() {
        for (end, word) in WORDS {
            assert_eq!((end.word(), End::from_ended(&end.ended())), (word, end));
        }
    }
}
