//! Keepers that are stopped (SIGSTOP) while their workers run and no request reaches them.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use team_executor_agents::{Assignment, Ended, KeeperEvent};

use crate::world::{LONG, World};

/// Less than anything but the heartbeat takes to notice a keeper that was stopped.
const SOON: Duration = Duration::from_secs(10);

/// The next event that is not a line for the screen.
fn event(world: &World) -> KeeperEvent {
    loop {
        match world.any() {
            KeeperEvent::Line { .. } | KeeperEvent::Used { .. } => {}
            event => return event,
        }
    }
}

#[test]
fn stopped_keeper_is_woken_and_its_worker_goes_on() {
    let world = World::new();
    let (mut pulse, gate) = (world.pulse("pulse"), world.gate("gate"));
    let assignment = world.assignment("a", &["beat", pulse.arg(), "hold", gate.arg(), "print", "done"]);
    let key = assignment.key.clone();
    world.start(0, assignment);
    pulse.wait_alive(1);
    for _ in 0..2 {
        let stopped = Instant::now();
        kill_process(Pid::from_raw(world.keeper_of("a")).unwrap(), Signal::STOP).unwrap();
        assert_eq!(event(&world), KeeperEvent::Woken { slot: 0, key: key.clone() });
        assert!(stopped.elapsed() < SOON, "{:?}", stopped.elapsed());
    }
    gate.open();
    let exit = world.ended();
    assert_eq!((exit.ended, exit.last_line.as_deref()), (Ended::Exit(0), Some("done")));
}

#[test]
fn worker_that_ended_while_its_keeper_was_stopped_has_completed() {
    let world = World::new();
    let mut assignment = world.assignment("a", &[]);
    let script = "kill -STOP $PPID; echo done".to_owned();
    (assignment.program, assignment.args) = ("/bin/sh".to_owned(), vec!["-c".to_owned(), script]);
    world.start(0, assignment);
    assert!(matches!(event(&world), KeeperEvent::Woken { .. }));
    let exit = world.ended();
    assert_eq!((exit.ended, exit.last_line.as_deref()), (Ended::Exit(0), Some("done")));
}

/// A worker that stops its keeper whenever that goes on, and does not end when it is asked to: the keeper does not get as far
/// as to kill it.
fn insistent(world: &World, pulse: &str) -> Assignment {
    let script = format!("trap '' TERM; exec 9>{pulse}; printf . >&9; while :; do kill -STOP $PPID; done");
    let mut assignment = world.assignment("a", &[]);
    assignment.env.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    (assignment.program, assignment.args) = ("/bin/sh".to_owned(), vec!["-c".to_owned(), script]);
    assignment
}

#[test]
fn repeatedly_stopped_keeper_is_killed_with_its_worker() {
    let world = World::with(|keepers| keepers.with_patience(LONG).with_heartbeat(Duration::from_millis(100)));
    let mut pulse = world.pulse("pulse");
    world.start(0, insistent(&world, pulse.arg()));
    pulse.wait_alive(1);
    let mut woken = 0;
    let reason = loop {
        match event(&world) {
            KeeperEvent::Woken { .. } => woken += 1,
            KeeperEvent::KeeperDied { reason, .. } => break reason,
            event => panic!("{event:?}"),
        }
    };
    assert!(woken >= 5, "{woken}");
    assert_eq!(reason, "the keeper was stopped again and again, and was killed");
    pulse.wait_dead();
}

#[test]
fn keeper_that_is_late_and_stopped_is_killed_with_its_worker() {
    let world = World::with(|keepers| keepers.with_patience(Duration::from_millis(300)).with_heartbeat(LONG));
    let mut pulse = world.pulse("pulse");
    let mut assignment = insistent(&world, pulse.arg());
    (assignment.limits.total_ms, assignment.limits.grace_ms) = (Some(100), Some(1000));
    world.start(0, assignment);
    pulse.wait_alive(1);
    let KeeperEvent::KeeperDied { reason, .. } = world.next() else { panic!("it is not dead") };
    assert_eq!(reason, "the keeper did not answer and was killed");
    pulse.wait_dead();
}
