//! The executor or the keeper is killed at a bad moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use team_executor_agents::{Assignment, Ended, Harvest, KeeperEvent, Limit, Limits};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Pulse, usual_signals};

use crate::world::{LONG, World, assignment, exe, harvest, keeper_of, ledgers, written};

/// An executor in a process of its own, to be killed.
struct Executor {
    process: Child,
    requests: ChildStdin,
    events: mpsc::Receiver<String>,
}

impl Executor {
    fn new(dir: &Path) -> Self {
        usual_signals();
        let mut command = Command::new(exe());
        command.arg("execute").arg(ledgers(dir));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = process.stdin.take().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { process, requests, events }
    }

    fn start(&mut self, assignment: &Assignment) {
        let line = serde_json::to_string(assignment).unwrap();
        writeln!(self.requests, "{line}").unwrap();
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.limited_wait();
    }
}

/// A worker with a child in its group, a child that ignores being asked, and a daemon.
fn family(dir: &Path, task: &str, pulse: &Pulse) -> Assignment {
    let p = pulse.arg();
    let script: [&[&str]; 4] = [
        &["spawn", "beat", p, "hang", ";"],
        &["spawn", "ignore-term", "beat", p, "hang", ";"],
        &["daemon", "ignore-term", "beat", p, "hang", ";"],
        &["ignore-term", "beat", p, "hang"],
    ];
    assignment(dir, task, &script.concat())
}

#[test]
fn killed_executor_ends_the_tree_and_ledger_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let mut executor = Executor::new(dir.path());
    let assignments = ["a", "b"].map(|task| family(dir.path(), task, &pulse));
    assignments.iter().for_each(|assignment| executor.start(assignment));
    pulse.wait_alive(8);
    assert!(Harvest::gather(&ledgers(dir.path()), &[], Duration::ZERO).unwrap().is_none(), "they live");
    executor.kill();
    pulse.wait_dead();
    for Assignment { key, .. } in &assignments {
        assert_eq!(written(dir.path(), key).map(|exit| exit.ended), Some(Ended::Interrupted));
    }
}

#[test]
fn stopped_keeper_is_woken_by_the_executors_death() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let mut executor = Executor::new(dir.path());
    let assignment = family(dir.path(), "a", &pulse);
    executor.start(&assignment);
    pulse.wait_alive(4);
    signal_keeper(dir.path(), Signal::STOP);
    executor.kill();
    pulse.wait_dead();
}

/// A world with little patience whose worker `a` is at work; its keeper is stopped.
fn stopped(limits: Limits) -> (World, Pulse) {
    let world = World::with_patience(Duration::from_secs(3));
    let mut pulse = world.pulse("pulse");
    let attempt = world.attempt("a");
    let mut assignment = family(attempt.parent().unwrap(), "a", &pulse);
    assignment.limits = limits;
    world.start(0, assignment);
    pulse.wait_alive(4);
    signal_keeper(attempt.parent().unwrap(), Signal::STOP);
    (world, pulse)
}

#[test]
fn a_keeper_that_was_stopped_is_woken_when_its_worker_is_to_end() {
    let (world, mut pulse) = stopped(Limits::default());
    world.end(0);
    assert_eq!(world.ended().ended, Ended::Stopped);
    pulse.wait_dead();
}

#[test]
fn stopped_keeper_is_woken_for_close_or_next_worker() {
    let (world, mut pulse) = stopped(Limits::default());
    world.close_all();
    pulse.wait_dead();
    let world = World::new();
    world.run("b", &[]);
    kill_process(Pid::from_raw(world.keeper_of("b")).unwrap(), Signal::STOP).unwrap();
    assert_eq!(world.run("c", &[]).ended, Ended::Exit(0));
}

#[test]
fn stopped_keeper_is_woken_at_its_workers_limit() {
    let (world, mut pulse) = stopped(Limits { total_ms: Some(400), grace_ms: Some(50), ..Limits::default() });
    assert_eq!(world.ended().ended, Ended::Limit(Limit::Total));
    pulse.wait_dead();
}

#[test]
fn keeper_that_does_not_answer_is_killed_and_replaced() {
    let world = World::with_patience(Duration::from_millis(100));
    let all = world.ledgers().with_file_name("artifacts");
    let with_artifacts = |key: &str| {
        let mut assignment = world.assignment(key, &[]);
        assignment.artifacts = Some(all.join(key));
        assignment
    };
    std::fs::create_dir(&all).unwrap();
    assert_eq!(world.run_assignment(with_artifacts("a")).ended, Ended::Exit(0));
    // It wants to give the empty folder of the first task to the second, and waits for this lock.
    let ledgers = std::fs::File::open(world.ledgers()).unwrap();
    ledgers.lock().unwrap();
    world.start(0, with_artifacts("b"));
    world.end(0);
    let KeeperEvent::KeeperDied { slot: 0, reason, .. } = world.next() else { panic!("it is not dead") };
    assert_eq!(reason, "the keeper did not answer and was killed");
    drop(ledgers);
    assert_eq!(world.run("c", &[]).ended, Ended::Exit(0));
}

/// R: A-03
#[test]
fn worker_tree_is_bounded_clean_and_ends_with_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let mut assignment = family(dir.path(), "a", &pulse);
    let first = ["group", "env", "read-stdin", "flood", "1000000"].map(str::to_owned);
    assignment.args.splice(0..0, first);
    assignment.output_cap = 2000;
    let mut executor = Executor::new(dir.path());
    executor.start(&assignment);
    pulse.wait_alive(4);
    executor.kill();
    pulse.wait_dead();
    let exit = written(dir.path(), &assignment.key).expect("it is not lost");
    let log = std::fs::read_to_string(&assignment.logs[0]).unwrap();
    let start = format!("leads its group\nTEAM_EXECUTOR_ATTEMPT={}\n0 bytes: \nxxx", assignment.key);
    assert!(log.starts_with(&start), "{log}");
    assert!(log.len() < 2100, "{}", log.len());
    assert_eq!((exit.ended, exit.out.bytes - exit.out.dropped), (Ended::Interrupted, 2000));
}

#[test]
fn hanging_trial_does_not_outlive_the_executor() {
    let dir = tempfile::tempdir().unwrap();
    for how in ["greet", "ask"] {
        let mut pulse = Pulse::new(dir.path().join(how));
        let mut executor = Command::new(exe());
        executor.arg(how).arg(team_executor_testkit::fake_agent()).args(["ignore-term", "beat", pulse.arg(), "hang"]);
        let mut executor = executor.spawn().unwrap();
        pulse.wait_alive(1);
        executor.kill().unwrap();
        executor.limited_wait();
        pulse.wait_dead();
    }
}

#[test]
fn unheard_outcome_is_harvested() {
    let dir = tempfile::tempdir().unwrap();
    let mut executor = Executor::new(dir.path());
    let assignment = assignment(dir.path(), "a", &["print", "worth keeping"]);
    executor.start(&assignment);
    while !executor.events.recv_timeout(LONG).unwrap().starts_with("Ended") {}
    executor.kill();
    let exit = written(dir.path(), &assignment.key).expect("it is not lost");
    assert_eq!((exit.ended, exit.last_line.as_deref()), (Ended::Exit(0), Some("worth keeping")));
}

/// Sends a signal to the keeper of the attempt `a`, which only its ledger names.
fn signal_keeper(dir: &Path, signal: Signal) {
    kill_process(Pid::from_raw(keeper_of(dir, "a")).unwrap(), signal).unwrap();
}

#[test]
fn killed_keepers_worker_ends_and_slot_works_again() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let attempt = world.attempt("a");
    world.start(0, family(attempt.parent().unwrap(), "a", &pulse));
    pulse.wait_alive(4);
    signal_keeper(attempt.parent().unwrap(), Signal::KILL);
    let KeeperEvent::KeeperDied { slot: 0, key, reason, .. } = world.next() else { panic!("it is not dead") };
    assert_eq!(reason, "the keeper was killed by signal 9");
    // Even without a cgroup: all of these carry the mark of the attempt.
    pulse.wait_dead();
    assert_eq!(world.written(&key), None);
    assert_eq!(world.run("b", &["exit", "0"]).ended, Ended::Exit(0));
}

#[test]
fn killed_keepers_hidden_process_is_ended_by_cgroup() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let attempt = world.attempt("a");
    let gate = world.gate("gate");
    let mut assignment = world.assignment("a", &["daemon", "beat", pulse.arg(), "hold", gate.arg(), ";", "hang"]);
    assignment.env.clear();
    world.start(0, assignment);
    pulse.wait_alive(1);
    signal_keeper(attempt.parent().unwrap(), Signal::KILL);
    assert!(matches!(world.next(), KeeperEvent::KeeperDied { .. }));
    if team_executor_agents::protections().cgroup.is_none() {
        team_executor_testkit::lacks("cgroups", "a process that hid itself from a killed keeper");
        // Nothing else could end it.
        gate.open();
    }
    pulse.wait_dead();
}

#[test]
fn leftovers_without_a_cgroup_are_known_by_their_mark() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let p = pulse.arg();
    let mut command = Command::new(team_executor_testkit::fake_agent());
    command.args(["daemon", "ignore-term", "beat", p, "hang", ";", "daemon", "beat", p, "hang"]);
    let key = format!("{}/a/1", dir.path().display());
    assert!(command.env("TEAM_EXECUTOR_ATTEMPT", &key).limited_status().success());
    pulse.wait_alive(2);
    let harvest = harvest(dir.path(), &key);
    assert_eq!(harvest.sweep(&["another/attempt/1"]).unwrap(), 0);
    assert_eq!(harvest.sweep(&["another/attempt/1", &key]).unwrap(), 2);
    pulse.wait_dead();
}

#[test]
fn leftovers_of_killed_keepers_end_with_the_next_executor() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let mut executor = Executor::new(dir.path());
    let assignment = family(dir.path(), "a", &pulse);
    executor.start(&assignment);
    pulse.wait_alive(4);
    // The executor is stopped, so it cannot do anything about the death of its keeper.
    let process = Pid::from_child(&executor.process);
    kill_process(process, Signal::STOP).unwrap();
    signal_keeper(dir.path(), Signal::KILL);
    executor.kill();
    let harvest = harvest(dir.path(), &assignment.key);
    assert_eq!(harvest.exit(&assignment.key), None);
    let swept = harvest.sweep(&[&assignment.key]).unwrap();
    assert!(swept >= 4, "{swept}: {harvest:?}");
    pulse.wait_dead();
    assert_eq!(harvest.sweep(&[&assignment.key]).unwrap(), 0);
}

/// An executor was killed, and its keeper was stopped while it ended its worker, which takes so long.
fn stopped_while_it_ends(dir: &Path, pulse: &mut Pulse, grace_ms: u64) -> Assignment {
    let mut executor = Executor::new(dir);
    let mut assignment = family(dir, "a", pulse);
    assignment.limits.grace_ms = Some(grace_ms);
    executor.start(&assignment);
    pulse.wait_alive(4);
    executor.kill();
    signal_keeper(dir, Signal::STOP);
    assignment
}

#[test]
fn keeper_stopped_after_executors_death_is_woken_by_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let Assignment { key, .. } = stopped_while_it_ends(dir.path(), &mut pulse, 3000);
    let harvest =
        Harvest::insist(&ledgers(dir.path()), std::slice::from_ref(&key), LONG).unwrap().expect("all are gone");
    assert_eq!(harvest.exit(&key).map(|exit| &exit.ended), Some(&Ended::Interrupted));
    pulse.wait_dead();
}

#[test]
fn hanging_keeper_and_its_worker_are_killed_by_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let Assignment { key, .. } = stopped_while_it_ends(dir.path(), &mut pulse, 600_000);
    let all = [key];
    assert!(
        Harvest::gather(&ledgers(dir.path()), &all, Duration::ZERO).unwrap().is_none(),
        "a read-only look ends no process"
    );
    let harvest = Harvest::insist(&ledgers(dir.path()), &all, Duration::ZERO).unwrap().expect("all are gone");
    assert_eq!(harvest.exit(&all[0]), None);
    harvest.sweep(&[&all[0]]).unwrap();
    pulse.wait_dead();
}

#[test]
fn an_assignment_that_a_dead_executor_left_behind_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let assignment = assignment(dir.path(), "a", &["write", dir.path().join("ran").to_str().unwrap(), ""]);
    let mut keeper = Command::new(exe());
    keeper.arg("__keeper").arg(ledgers(dir.path()).join("1-0"));
    let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let keeper_pid = Pid::from_child(&keeper);
    kill_process(keeper_pid, Signal::STOP).unwrap();
    let mut requests = keeper.stdin.take().unwrap();
    writeln!(requests, "{}", serde_json::json!({ "run": assignment })).unwrap();
    drop(requests);
    kill_process(keeper_pid, Signal::CONT).unwrap();
    assert!(keeper.limited_wait().success());
    assert!(!dir.path().join("ran").exists());
}
