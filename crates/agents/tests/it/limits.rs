//! A worker that takes too long is ended, and its outcome names the limit.

use team_executor_agents::{Ended, Limit, Limits};

use crate::world::World;

fn run(limits: Limits, script: &[&str]) -> Ended {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let mut assignment = world.assignment("a", &[&["beat", pulse.arg()], script].concat());
    assignment.limits = limits;
    let ended = world.run_assignment(assignment).ended;
    pulse.wait_dead();
    ended
}

#[test]
fn silence_from_the_start_runs_into_the_first_limit() {
    let limits = Limits { first_output_ms: Some(30), ..Limits::default() };
    assert_eq!(run(limits, &["hang"]), Ended::Limit(Limit::FirstOutput));
}

#[test]
fn silence_after_some_output_runs_into_the_idle_limit() {
    let limits = Limits { first_output_ms: Some(60_000), idle_ms: Some(30), ..Limits::default() };
    assert_eq!(run(limits, &["err", "x", "hang"]), Ended::Limit(Limit::Idle));
}

#[test]
fn output_does_not_help_against_the_limit_on_the_whole() {
    let limits = Limits { idle_ms: Some(60_000), total_ms: Some(100), ..Limits::default() };
    assert_eq!(run(limits, &["flood", "1000000000000"]), Ended::Limit(Limit::Total));
}

#[test]
fn a_worker_that_ignores_being_asked_is_killed() {
    let limits = Limits { total_ms: Some(300), grace_ms: Some(30), ..Limits::default() };
    assert_eq!(run(limits, &["ignore-term", "print", "still here", "hang"]), Ended::Limit(Limit::Total));
}

#[test]
fn limits_that_are_too_large_for_the_clock_are_none() {
    let most = Some(u64::MAX);
    let limits = Limits { first_output_ms: most, idle_ms: most, total_ms: most, grace_ms: most, ..Limits::default() };
    assert_eq!(run(limits, &["print", "x", "exit", "3"]), Ended::Exit(3));
}
