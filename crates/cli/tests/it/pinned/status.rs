//! The status of a run in each state that a person may find it in.

use std::io::BufReader;
use std::process::Stdio;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::pin;
use crate::run::ends::{Waiting, end, wait_for};
use crate::run::{run, tasks};

#[track_caller]
fn pinned(name: &str, world: &World) {
    pin(&format!("status-{name}"), &world.run(&["status", "--session=S"]).to_string());
}

#[test]
fn status_of_runs_that_ended_is_pinned() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    pinned("never-run", &world);
    assert_eq!(run(&world, "[ -e go ] || { echo 'no compiler' >&2; exit 2; }", &["--retries", "1"]).code, Some(1));
    pinned("failed", &world);
    world.write("go", "");
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
    pinned("retried", &world);
    assert_eq!(world.run(&["resume", "--session=S"]).code, Some(0));
    pinned("complete", &world);
}

#[test]
fn status_at_a_checkpoint_is_pinned() {
    let mut world = tasks(&[("A", ""), ("QUALITY-001", "A"), ("B", "QUALITY-001")]);
    assert_eq!(run(&world, "true", &[]).code, Some(3));
    pinned("checkpoint", &world);
    assert_eq!(world.run(&["checkpoint", "feedback", "mind the gap", "--session=S"]).code, Some(0));
    pinned("checkpoint-with-feedback", &world);
    world.env("COLUMNS", "40");
    pinned("checkpoint-narrow", &world);
}

#[test]
fn status_of_a_paused_run_is_pinned() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    assert_eq!(waiting.world.run(&["pause", "--session=S"]).code, Some(0));
    pinned("paused-with-a-worker", &waiting.world);
    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    pinned("paused", &waiting.world);
    assert_eq!(waiting.world.run(&["resume", "--session=S"]).code, Some(0));
    assert_eq!(end(executor).0, Some(0));
}

#[test]
fn status_while_a_worker_runs_and_after_kill_9_is_pinned() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let (mut alive, gate) = (Pulse::new(world.dir().join("alive")), Gate::new(world.dir().join("gate")));
    let worker = format!("echo compiling; printf x > {}; cat {}", alive.arg(), gate.arg());
    let mut command = world.command(&["run", "--session=S", "--agent-command", &worker, "-y"]);
    let mut executor = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(executor.stderr.take().expect("its lines"));
    alive.wait_alive(1);
    while lines.limited_line().is_some_and(|line| !line.contains("▶ A")) {}
    pinned("running", &world);
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    drop(gate);
    pinned("killed", &world);
}
