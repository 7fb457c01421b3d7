//! What becomes of a task after an attempt that did not complete it.

use super::event::Then;
use super::input::{ErrorClass, Work};
use super::state::{Run, Stage};
use crate::fnv;
use crate::time::Timestamp;

impl Run {
    /// After a failure: another attempt if one can help and is left. The attempt is running. Where another agent can do
    /// the task, only the quota waits.
    pub(super) fn after_failure(&self, work: Work, class: ErrorClass, now: Timestamp) -> (ErrorClass, Then) {
        let task = &self.state.tasks[work.task.get()];
        let facts = &self.facts.tasks[work.task.get()];
        let wait = |times| {
            let chance = chance(self.policy.seed, facts.id.as_str(), work.attempt);
            now.after(self.policy.backoff.wait(times, chance))
        };
        let then = match class {
            ErrorClass::Fatal => Then::Over,
            ErrorClass::Auth | ErrorClass::Budget => Then::Again { not_before: now },
            ErrorClass::Unreachable if self.has_another(work.task) => {
                return self.after_failure(work, ErrorClass::Quota { until: None }, now);
            }
            ErrorClass::Unreachable => return self.after_failure(work, ErrorClass::Transient, now),
            ErrorClass::Shortage if self.state.slots.running() > 1 || self.state.stage != Stage::Going => {
                Then::Again { not_before: now } // as soon as there are few enough
            }
            ErrorClass::Shortage => return self.after_failure(work, ErrorClass::Transient, now),
            ErrorClass::Rejected if task.rounds >= facts.rounds => Then::Over,
            ErrorClass::Rejected => Then::Again { not_before: now },
            ErrorClass::Transient if task.failures >= facts.retries => Then::Over,
            ErrorClass::Transient => Then::Again { not_before: wait(task.failures + 1) },
            ErrorClass::Quota { until } => {
                let wait = wait(task.refusals.saturating_add(1)); // an agent may name a time that has passed
                let hold = until.map_or(wait, |until| until.max(wait));
                // Too long: for this incarnation it counts as a missing login.
                if self.policy.quota_wait.is_some_and(|longest| hold > now.after(longest)) {
                    return self.after_failure(work, ErrorClass::Auth, now);
                }
                if self.has_another(work.task) {
                    return (ErrorClass::Quota { until: Some(hold) }, Then::Again { not_before: now });
                }
                Then::Again { not_before: hold }
            }
        };
        (class, then)
    }

    /// Whether workers are being ended on purpose.
    pub(super) fn ends_workers(&self) -> bool {
        self.state.stage == Stage::Stopping || !self.state.recalled.is_empty()
    }

    /// After the loss of a worker: another attempt, unless that happens again and again. Workers that were ended on
    /// purpose do not count.
    pub(super) fn after_interruption(&self, work: Work, now: Timestamp) -> Then {
        let lost = self.state.tasks[work.task.get()].interruptions;
        if self.ends_workers() || lost < self.policy.interruptions {
            Then::Again { not_before: now }
        } else {
            Then::Over
        }
    }
}

/// A number that looks like chance and is the same on every machine.
fn chance(seed: u64, id: &str, attempt: u32) -> u64 {
    let bytes = id.bytes().chain(attempt.to_le_bytes());
    mixed(fnv::add(mixed(seed ^ fnv::START), bytes))
}

/// Spreads the bits of a number over all its bits.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
