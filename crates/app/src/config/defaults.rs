//! What is settled for a run as a whole: the command line, then the files, then what is built in.

use std::time::Duration;

use team_executor_core::run::{AtCheckpoint, Cadence};
use team_executor_engine::control::Checkpoints;

use super::{Config, Flags, Limits, Origin, Proposals, Set, Time, proposals};

const CONCURRENCY: u32 = 3;
const RETRIES: u32 = 3;
const ROUNDS: u32 = 2;
const GRACE: Time = Time::seconds(10);
const CONVERGE: Time = Time::seconds(2 * 60);
const ANSWER: Time = Time::seconds(5 * 60);
const QUOTA_WAIT: Time = Time::seconds(6 * 3600);

/// What is settled for the run as a whole.
pub(crate) struct Defaults {
    pub(crate) concurrency: Set<u32>,
    pub(crate) cadence: Set<Cadence>,
    pub(crate) retries: Set<u32>,
    pub(crate) rounds: Set<u32>,
    pub(crate) proposals: Set<Proposals>,
    pub(crate) max_proposals: Set<u32>,
    pub(crate) at_checkpoint: Set<AtCheckpoint>,
    pub(crate) checkpoint_wait: Option<Set<Time>>,
    pub(crate) quota_wait: Set<Time>,
    pub(crate) limits: Limits,
}

impl Defaults {
    /// The command line, then the files, then what is built in. The total limit stays open: it differs by mode.
    pub(crate) fn choose(config: &Config, flags: &Flags) -> Self {
        let (all, built_in) = (&config.settings, |value| Set { value, from: Origin::BuiltIn });
        let concurrency = flag(flags.concurrency, "--concurrency").or(all.concurrency.clone());
        let cadence = flag(flags.cadence, "--cadence").or(all.cadence.clone());
        let retries = flag(flags.retries, "--retries").or(all.retries.clone());
        let rounds = flag(flags.rounds, "--rounds").or(all.rounds.clone());
        let at_checkpoint = flag(flags.at_checkpoint, "--at-checkpoint");
        let time = |value| Some(Set { value, from: Origin::BuiltIn });
        let none = || time(Time(None));
        let last = Limits {
            first_output: none(),
            idle: none(),
            total: None,
            grace: time(GRACE),
            converge: time(CONVERGE),
            answer: time(ANSWER),
        };
        Self {
            concurrency: concurrency.unwrap_or_else(|| built_in(CONCURRENCY)),
            cadence: cadence.unwrap_or(Set { value: Cadence::Beat, from: Origin::BuiltIn }),
            retries: retries.unwrap_or_else(|| built_in(RETRIES)),
            rounds: rounds.unwrap_or_else(|| built_in(ROUNDS)),
            proposals: all.proposals.clone().unwrap_or(Set { value: Proposals::Ask, from: Origin::BuiltIn }),
            max_proposals: all.max_proposals.clone().unwrap_or_else(|| built_in(proposals::MOST)),
            at_checkpoint: at_checkpoint
                .or(all.at_checkpoint.clone())
                .unwrap_or(Set { value: AtCheckpoint::Stop, from: Origin::BuiltIn }),
            checkpoint_wait: flag(flags.checkpoint_wait, "--checkpoint-wait").or(all.checkpoint_wait.clone()),
            quota_wait: all.quota_wait.clone().unwrap_or(Set { value: QUOTA_WAIT, from: Origin::BuiltIn }),
            limits: of_flags(flags).or(all.limits.clone()).or(last),
        }
    }

    /// How many tasks workers may propose.
    pub(crate) fn most_proposals(&self) -> u32 {
        if self.proposals.value == Proposals::Refuse { 0 } else { self.max_proposals.value }
    }

    /// What happens at a checkpoint.
    pub(crate) fn checkpoints(&self) -> Checkpoints {
        let wait = self.checkpoint_wait.as_ref().and_then(|set| set.value.0).map(Duration::from_millis);
        Checkpoints { wait, unattended: self.at_checkpoint.value }
    }
}

fn flag<T>(value: Option<T>, name: &'static str) -> Option<Set<T>> {
    value.map(|value| Set { value, from: Origin::Flag(name) })
}

pub(super) fn of_flags(flags: &Flags) -> Limits {
    Limits {
        first_output: flag(flags.first_output_limit, "--first-output-limit"),
        idle: flag(flags.idle_limit, "--idle-limit"),
        total: flag(flags.time_limit, "--time-limit"),
        ..Limits::default()
    }
}
