//! What the agents of a run have used since it was started or resumed, summed while they work.

use std::collections::HashMap;

use team_executor_app::event::{Activity, Kind};
use team_executor_app::usage::so_far;

/// A sum of what attempts used. Attempts that have ended are in the sum; of the others the last word is kept.
#[derive(Default)]
pub(super) struct Spending {
    ended: Activity,
    running: HashMap<(String, u32), Activity>,
    is_resumed: bool,
}

impl Spending {
    /// Takes note of what happened.
    pub(super) fn take(&mut self, kind: &Kind) {
        match kind {
            Kind::RunStarted { resumed, .. } => *self = Self { is_resumed: *resumed, ..Self::default() },
            Kind::TaskActivity { task, attempt, activity, .. } if activity.input + activity.output > 0 => {
                self.running.insert((task.clone(), *attempt), activity.clone());
            }
            Kind::TaskUsed { task, attempt, tokens_in, tokens_out, cost_micros, estimated, .. } => {
                self.running.remove(&(task.clone(), *attempt));
                let (input, output, cost_micros) = (*tokens_in, *tokens_out, *cost_micros);
                add(
                    &mut self.ended,
                    &Activity { input, output, cost_micros, is_estimated: *estimated, ..Activity::default() },
                );
            }
            _ => {}
        }
    }

    /// For people: `; 12k tokens, $0.14 so far`. Nothing before an agent says what it uses.
    pub(super) fn words(&self) -> String {
        let mut all = self.ended.clone();
        self.running.values().for_each(|one| add(&mut all, one));
        match so_far(&all) {
            none if none.is_empty() => none,
            all if self.is_resumed => format!("; {all} since it was resumed"),
            all => format!("; {all} so far"),
        }
    }
}

fn add(sum: &mut Activity, more: &Activity) {
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cost_micros = match (sum.cost_micros, more.cost_micros) {
        (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
        (sum, more) => sum.or(more),
    };
    sum.is_estimated |= more.is_estimated;
}

#[cfg(test)]
mod tests {
    use team_executor_app::event::Counts;

    use super::*;

    fn works(task: &str, input: u64, cost_micros: Option<u64>) -> Kind {
        let activity = Activity { input, cost_micros, ..Activity::default() };
        Kind::TaskActivity { task: task.to_owned(), attempt: 1, agent: "claude".to_owned(), activity }
    }

    fn used(task: &str, tokens_in: u64, cost_micros: Option<u64>) -> Kind {
        Kind::TaskUsed {
            task: task.to_owned(),
            attempt: 1,
            agent: "claude".to_owned(),
            model: None,
            session_id: None,
            tokens_in,
            tokens_cached: 0,
            tokens_out: 0,
            cost_micros,
            estimated: false,
            turns: None,
            wall_ms: 1,
        }
    }

    #[test]
    fn attempts_that_end_are_counted_once() {
        let mut spending = Spending::default();
        assert_eq!(spending.words(), "");
        for (kind, words) in [
            (works("A", 1000, None), "; 1000 tokens so far"),
            (works("A", 2000, Some(20_000)), "; 2000 tokens, $0.02 so far"),
            (works("B", 500, None), "; 2500 tokens, $0.02 so far"),
            (used("A", 3000, Some(50_000)), "; 3500 tokens, $0.05 so far"),
            (used("B", 600, Some(10_000)), "; 3600 tokens, $0.06 so far"),
            (works("C", 0, None), "; 3600 tokens, $0.06 so far"),
        ] {
            spending.take(&kind);
            assert_eq!(spending.words(), words);
        }
        let (run, counts, statuses) = ("EX".to_owned(), Counts::default(), Vec::new());
        spending.take(&Kind::RunStarted { run, resumed: true, counts, statuses });
        spending.take(&works("A", 10, None));
        assert_eq!(spending.words(), "; 10 tokens since it was resumed");
    }
}
