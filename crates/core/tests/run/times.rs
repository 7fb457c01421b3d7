//! How long tasks and runs took, as the events say.

use team_executor_core::Millis;
use team_executor_core::run::{ErrorClass, Input, Outcome, Policy};

use crate::drive::Drive;
use crate::plan::{Plan, index};

/// What a task took: with a worker, and ready without one.
fn took(drive: &Drive, task: usize) -> (u64, u64) {
    let durations = drive.run.view(index(task)).unwrap().durations;
    (durations.ran.0, durations.waited.0)
}

#[test]
fn attempts_and_waits_of_a_task_add_up() {
    let policy = Policy { slots: 1, ..Policy::default() };
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:A"], policy));
    drive.now = 3000;
    drive.complete("A");
    drive.now = 10_000;
    drive.complete("B");
    drive.now = 14_000;
    drive.complete("C");
    assert_eq!((took(&drive, 0), took(&drive, 1), took(&drive, 2)), ((3000, 0), (7000, 3000), (4000, 7000)));
    assert_eq!((drive.run.active(), drive.run.idle()), (Millis(14_000), Millis(0)));
}

#[test]
fn failed_attempt_counts_and_the_wait_before_the_next_does_not() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], Policy::default()));
    drive.now = 2000;
    drive.end("A", Outcome::Failed { class: ErrorClass::Transient, error: "no".to_owned() });
    let until = drive.run.view(index(0)).unwrap().not_before.expect("it waits").as_micros() / 1000;
    drive.now = until + 500;
    drive.tell(|now| Input::Woke { now });
    drive.now += 1000;
    drive.complete("A");
    assert_eq!(took(&drive, 0), (3000, 500));
    assert_eq!((drive.run.active(), drive.run.idle()), (Millis(3000), Millis((until + 500 - 2000).unsigned_abs())));
}

#[test]
fn time_without_an_executor_is_idle() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], Policy::default()));
    drive.now = 60_000;
    drive.tell(|now| Input::Recovered { now, alive: Vec::new(), harvested: Vec::new(), rebooted: false });
    assert_eq!((drive.run.active(), drive.run.idle()), (Millis(0), Millis(60_000)));
}
