//! Nothing that a worker starts outlives it, however it tries.

use team_executor_agents::{Ended, Limit};

use crate::world::World;

/// Runs a worker that ends by itself and leaves others behind; says how many were found.
fn leaks(script: impl Fn(&str) -> Vec<&str>, alive: usize) -> usize {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let gate = world.gate("gate");
    let script: Vec<String> = script(pulse.arg()).into_iter().map(str::to_owned).collect();
    let mut script: Vec<&str> = script.iter().map(String::as_str).collect();
    script.extend(["hold", gate.arg(), "exit", "0"]);
    world.start(0, world.assignment("a", &script));
    // The worker goes on only when all that it started are there.
    pulse.wait_alive(alive);
    gate.open();
    let exit = world.ended();
    assert_eq!(exit.ended, Ended::Exit(0));
    pulse.wait_dead();
    exit.leaked
}

#[test]
fn a_child_that_is_left_behind_is_ended_and_counted() {
    assert_eq!(leaks(|pulse| vec!["spawn", "beat", pulse, "hang", ";"], 1), 1);
}

#[test]
fn child_that_holds_output_does_not_hang_the_keeper() {
    assert_eq!(leaks(|pulse| vec!["spawn", "ignore-term", "beat", pulse, "hang", ";"], 1), 1);
}

#[test]
fn each_live_process_that_is_left_behind_is_counted() {
    assert_eq!(leaks(|pulse| ["spawn", "beat", pulse, "hang", ";"].repeat(3), 3), 3);
}

#[test]
fn a_daemon_is_ended_and_counted() {
    assert_eq!(leaks(|pulse| vec!["daemon", "beat", pulse, "hang", ";"], 1), 1);
    assert_eq!(leaks(|pulse| vec!["daemon", "ignore-term", "close-output", "beat", pulse, "hang", ";"], 1), 1);
}

#[test]
fn a_deep_tree_in_several_sessions_is_ended_and_counted() {
    // Arguments nest only once, so the tree grows through a shell: each level is a session of its own.
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let level =
        "n=$1; [ $n -gt 0 ] && setsid sh \"$0\" $((n-1)) & exec 3>PULSE; printf . >&3; trap '' TERM; wait; cat PIPE";
    let script = world.attempt("level.sh");
    let never = world.pulse("never");
    std::fs::write(&script, level.replace("PULSE", pulse.arg()).replace("PIPE", never.arg())).unwrap();
    let mut assignment = world.assignment("a", &[]);
    assignment.program = "/bin/sh".into();
    assignment.args = vec![script.to_str().unwrap().into(), "7".into()];
    assignment.env.push(("PATH".into(), "/usr/bin:/bin".into()));
    world.start(0, assignment);
    pulse.wait_alive(8);
    world.end(0);
    assert_eq!(world.ended().ended, Ended::Stopped);
    pulse.wait_dead();
}

#[test]
fn a_limit_ends_the_whole_tree_not_only_the_worker() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let p = pulse.arg();
    let script = ["daemon", "ignore-term", "beat", p, "hang", ";", "spawn", "beat", p, "hang", ";", "beat", p, "hang"];
    let mut assignment = world.assignment("a", &script);
    assignment.limits.total_ms = Some(500);
    world.start(0, assignment);
    assert_eq!(world.ended().ended, Ended::Limit(Limit::Total));
    pulse.wait_dead();
}

#[test]
fn closing_the_pool_ends_what_runs() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    for slot in 0..3 {
        world.start(slot, world.assignment(&format!("t{slot}"), &["beat", pulse.arg(), "hang"]));
    }
    pulse.wait_alive(3);
    world.close_all();
    pulse.wait_dead();
    for _ in 0..3 {
        assert_eq!(world.ended().ended, Ended::Stopped);
    }
    // It can be used again.
    assert_eq!(world.run("again", &["exit", "0"]).ended, Ended::Exit(0));
}
