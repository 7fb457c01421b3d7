//! Many runs: each seed first without trouble, twice, and then with something that strikes at its first operation, at its
//! second one, and so on, until there is none left.

use std::panic::{AssertUnwindSafe, catch_unwind};

use team_executor_core::TaskStatus;

use crate::one::{Report, run};
use crate::scenario::Scenario;

/// What was done.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// How many runs there were.
    pub runs: u64,
    /// Of how many seeds.
    pub seeds: u64,
    /// How many times something struck.
    pub strikes: u64,
    /// How many executors there were.
    pub executors: u64,
    /// How many runs were given up because something durable was spoiled.
    pub given_up: u64,
}

/// A run that broke something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// Where something struck first.
    pub operation: Option<u64>,
    /// What is broken.
    pub broken: String,
}

impl Tally {
    fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.strikes += u64::from(report.strikes);
        self.executors += report.executors;
        self.given_up += u64::from(report.statuses.is_none());
    }
}

/// Does everything with one seed.
pub fn seed(seed: u64, tally: &mut Tally, go_on: &mut dyn FnMut(&Tally) -> bool) -> Result<(), Failure> {
    let Some(scenario) = Scenario::new(seed) else {
        return Err(Failure { seed, operation: None, broken: "the scenario has no graph".to_owned() });
    };
    tally.seeds += 1;
    let calm = one(&scenario, None, true, tally)?;
    let again = one(&scenario, None, true, tally)?;
    if calm.trace != again.trace {
        return Err(Failure { seed, operation: None, broken: "I14: the same seed gives another run".to_owned() });
    }
    for operation in 0..calm.first {
        if !go_on(tally) {
            return Ok(());
        }
        let struck = one(&scenario, Some(operation), false, tally)?;
        if let Some(broken) = differs(&scenario, &calm.statuses, &struck.statuses) {
            return Err(Failure { seed, operation: Some(operation), broken });
        }
    }
    Ok(())
}

/// One run; what panics is broken too.
pub fn one(scenario: &Scenario, operation: Option<u64>, trace: bool, tally: &mut Tally) -> Result<Report, Failure> {
    let report = catch_unwind(AssertUnwindSafe(|| run(scenario, operation, trace)));
    let failed = |broken| Failure { seed: scenario.seed, operation, broken };
    let report = report.map_err(|_| failed("it panics".to_owned()))?;
    tally.add(&report);
    match report.broken {
        Some(broken) => Err(failed(broken)),
        None => Ok(report),
    }
}

/// Where workers end the same way however often they are tried, crashes change nothing about what comes of a run.
fn differs(scenario: &Scenario, calm: &Option<Vec<TaskStatus>>, struck: &Option<Vec<TaskStatus>>) -> Option<String> {
    let (Some(calm), Some(struck)) = (calm, struck) else { return None };
    let same = !scenario.weather.steady || calm == struck;
    (!same).then(|| format!("I14: without trouble it ends as {calm:?}, with it as {struck:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_broken_whatever_strikes_at_any_operation() {
        let mut tally = Tally::default();
        for number in 0.. {
            let mut go_on = |tally: &Tally| tally.runs < 700;
            if !go_on(&tally) {
                break;
            }
            assert_eq!(seed(number, &mut tally, &mut go_on), Ok(()));
        }
        assert!(tally.seeds > 8 && tally.strikes > 500 && tally.executors > 1200, "{tally:?}");
    }

    /// Everything that happens is the same, byte for byte, also after crashes.
    #[test]
    fn the_same_seed_and_operation_give_the_same_run() {
        for number in 0..6 {
            let scenario = Scenario::new(number).unwrap();
            let traces = [0, 0, 1].map(|add| run(&scenario, Some(20 + add), true).trace.unwrap());
            assert!(traces[0].lines().count() > 3, "{}", traces[0]);
            assert_eq!(traces[0], traces[1]);
            assert_ne!(traces[0], traces[2]);
        }
    }

    #[test]
    fn difference_is_reported_where_none_is_allowed() {
        let all: Vec<Scenario> = (0..20).filter_map(Scenario::new).collect();
        let steady = all.iter().find(|scenario| scenario.weather.steady).unwrap();
        let other = all.iter().find(|scenario| !scenario.weather.steady).unwrap();
        let (calm, struck) = (Some(vec![TaskStatus::Completed]), Some(vec![TaskStatus::Failed]));
        assert!(differs(steady, &calm, &struck).is_some_and(|broken| broken.starts_with("I14")));
        assert_eq!(differs(steady, &calm, &calm), None);
        assert_eq!(differs(steady, &calm, &None), None);
        assert_eq!(differs(other, &calm, &struck), None);
    }
}
