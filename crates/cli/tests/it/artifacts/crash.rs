//! The executor ends while what was delivered is judged: the worker is not run again, the checks are.

use std::process::Stdio;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::{SESSION, folder, one, registered, tasks};
use crate::run::{arguments, column, read};

/// A world whose check waits at a gate, with workers that leave a line each time they run.
fn judged_at_a_gate() -> (World, Pulse, Gate, String) {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let check = format!("echo judged >> judged; printf . > {}; cat {}", pulse.arg(), gate.arg());
    world.write("team-executor.toml", format!("[tasks.A.checks]\nverify = \"{check}\"\n"));
    let worker =
        "echo $TEAM_EXECUTOR_TASK >> worked; echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; echo did it".to_owned();
    (world, pulse, gate, worker)
}

fn start(world: &World, worker: &str) -> std::process::Child {
    let mut command = world.command(&arguments(SESSION, worker, &["--trust-project"]));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

#[test]
fn interrupted_check_is_repeated_without_the_worker() {
    let (world, mut pulse, gate, worker) = judged_at_a_gate();
    for _ in 0..3 {
        let mut executor = start(&world, &worker);
        pulse.wait_alive(1);
        assert_eq!(registered(&world), one("A/a.md", "validating 1.0"));
        assert_eq!(read(world.dir().join("worked")), "A\n", "B waits until it passed");
        executor.kill().expect("killed");
        executor.limited_wait();
        pulse.wait_dead();
    }
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    gate.open();
    assert_eq!(executor.limited_wait().code(), Some(0));
    assert_eq!(read(world.dir().join("worked")), "A\nB\n");
    assert_eq!(read(world.dir().join("judged")).lines().count(), 4);
    assert_eq!(registered(&world)["A/a.md"], "passed 1.0");
    assert_eq!(column(&world, "status"), ["completed", "completed"]);
}

#[test]
fn a_check_that_is_stopped_is_done_again_by_the_next_executor() {
    let (world, mut pulse, gate, worker) = judged_at_a_gate();
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    assert_eq!(world.run(&["stop", "--now", SESSION]).code, Some(0));
    assert_eq!(executor.limited_wait().code(), Some(130));
    pulse.wait_dead();
    assert_eq!(column(&world, "status"), ["pending", "pending"], "no worker has it");
    let shown = world.run(&["status", SESSION]).stdout;
    assert!(shown.contains("\n  · A pending\n") && shown.contains("\nRunning         none\n"), "{shown}");
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    gate.open();
    assert_eq!(executor.limited_wait().code(), Some(0));
    assert_eq!(read(world.dir().join("worked")), "A\nB\n");
}

#[test]
fn check_of_recalled_work_is_not_done_again() {
    let world = tasks(&[("A", ""), ("B", "A"), ("REVIEW-001", "A")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let [gate, review] = ["gate", "review"].map(|name| Gate::new(world.dir().join(name)));
    let check = format!("echo check >> log; [ -e rejected ] || {{ printf . > {}; cat {}; }}", pulse.arg(), gate.arg());
    world.write("team-executor.toml", format!("[tasks.B.checks]\nverify = \"{check}\"\n"));
    let rejects = r#"{"status":"completed","findings":"no","data":{"verdict":"reject","rejects":["A"]}}"#;
    // The first review waits until the delivery of B is being checked, and sends back what it was built on.
    let worker = format!(
        "echo $TEAM_EXECUTOR_TASK >> log; case $TEAM_EXECUTOR_TASK in A) ;; B) echo text > $TEAM_EXECUTOR_ARTIFACTS/b.md;; *) \
         [ -e rejected ] || {{ cat {}; touch rejected; echo '{rejects}' > $TEAM_EXECUTOR_RESULT; exit; }};; esac; echo did it",
        review.arg()
    );
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    review.open();
    assert_eq!(executor.limited_wait().code(), Some(0));
    let log = read(world.dir().join("log"));
    let order: Vec<_> = log.lines().filter(|line| ["A", "check"].contains(line)).collect();
    assert_eq!(order, ["A", "check", "A", "check"], "{log}");
    assert_eq!(column(&world, "status"), ["completed"; 3]);
}

#[test]
fn no_check_begins_while_the_executor_ends() {
    let world = tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    world.write("team-executor.toml", "[tasks.A.checks]\nverify = \"echo judged >> judged\"\n");
    let worker = format!(
        "echo A >> worked; echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; {} task update --status completed --findings done; \
         exec 9>{}; printf . >&9; sleep 600",
        env!("CARGO_BIN_EXE_team-executor"),
        pulse.arg()
    );
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    assert_eq!(world.run(&["stop", "--now", SESSION]).code, Some(0));
    assert_eq!(executor.limited_wait().code(), Some(130));
    assert!(!world.dir().join("judged").exists());
    assert_eq!(start(&world, &worker).limited_wait().code(), Some(0));
    assert_eq!(["worked", "judged"].map(|name| read(world.dir().join(name))), ["A\n", "judged\n"]);
    assert_eq!(column(&world, "findings"), ["done"]);
}

#[test]
fn a_stop_does_not_wait_for_a_large_file_to_be_read() {
    let world = tasks(&[("A", "")]);
    let worker = "echo A >> worked; truncate -s 15G $TEAM_EXECUTOR_ARTIFACTS/big; echo did it";
    let mut executor = start(&world, worker);
    let big = folder_of(&world, &executor).join("artifacts/A/big");
    let open_files = format!("/proc/{}/fd", executor.id());
    let is_open = || {
        let open = std::fs::read_dir(&open_files).expect("it lives").flatten();
        open.filter_map(|file| std::fs::read_link(file.path()).ok()).find(|file| *file == big)
    };
    limited_until("the file is read", is_open);
    assert_eq!(world.run(&["stop", "--now", SESSION]).code, Some(0));
    assert_eq!(executor.limited_wait().code(), Some(130));
    std::fs::write(&big, "small").expect("written");
    assert_eq!(start(&world, worker).limited_wait().code(), Some(0));
    assert_eq!(read(world.dir().join("worked")), "A\n");
    assert_eq!(registered(&world), one("A/big", "passed 1.0"));
}

/// The folder of the run, as soon as there is one.
fn folder_of(world: &World, executor: &std::process::Child) -> std::path::PathBuf {
    let runs = world.dir().join(".workflow/.csv-wave");
    limited_until("the run has a folder", || {
        assert!(std::path::Path::new(&format!("/proc/{}", executor.id())).exists());
        let mut found = std::fs::read_dir(&runs).into_iter().flatten().flatten().map(|entry| entry.path());
        found.find(|path| path.join("artifacts/A").exists())
    })
}

#[test]
fn leftovers_of_an_interrupted_worker_move_aside() {
    let world = tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let gate = Gate::new(world.dir().join("gate"));
    let worker = format!(
        "if [ -e once ]; then echo whole > $TEAM_EXECUTOR_ARTIFACTS/b.md; else touch once; echo half > \
         $TEAM_EXECUTOR_ARTIFACTS/a.md; printf . > {}; cat {}; fi",
        pulse.arg(),
        gate.arg()
    );
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    executor.kill().expect("killed");
    executor.limited_wait();
    pulse.wait_dead();
    assert_eq!(start(&world, &worker).limited_wait().code(), Some(0));
    assert_eq!(registered(&world), one("A/b.md", "passed 1.0"));
    assert_eq!(read(folder(&world).join("quarantine/A.1/a.md")), "half\n");
}

#[test]
fn records_lost_in_a_power_cut_are_recorded_again() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; test -e fine -o $TEAM_EXECUTOR_TASK = A";
    super::run(&world, worker);
    std::fs::remove_file(folder(&world).join(".executor/artifacts")).expect("removed");
    world.write("fine", "");
    assert_eq!(super::again(&world, "B", worker).code, Some(0));
    assert_eq!(registered(&world)["A/a.md"], "passed 1.0");
    assert_eq!(world.run(&["artifacts", "verify", SESSION]).stdout, "2 of 2 artifacts as delivered\n");
}

#[test]
fn artifact_emptied_by_a_power_cut_does_not_pass() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; test -e fine -o $TEAM_EXECUTOR_TASK = A";
    super::run(&world, worker);
    std::fs::remove_file(folder(&world).join(".executor/artifacts")).expect("removed");
    std::fs::write(folder(&world).join("artifacts/A/a.md"), "").expect("emptied");
    world.write("fine", "");
    assert_eq!(super::again(&world, "B", worker).code, Some(0));
    assert_eq!(registered(&world)["A/a.md"], "failed 1.0");
}

#[test]
fn empty_folder_of_a_killed_keeper_is_never_an_artifact() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let worker =
        format!("test -e go -o $TEAM_EXECUTOR_TASK = A || {{ printf . > {}; cat {}; }}", pulse.arg(), gate.arg());
    let mut pulse = pulse;
    let mut executor = start(&world, &worker);
    pulse.wait_alive(1);
    executor.kill().expect("killed");
    executor.limited_wait();
    pulse.wait_dead();
    let run = folder(&world);
    let left = run.join("artifacts/B");
    std::fs::create_dir_all(&left).expect("made");
    let never = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1));
    std::fs::File::open(&left).and_then(|folder| folder.set_times(never)).expect("marked");
    let artifacts = run.join("artifacts");
    let mine = artifacts.join("mine");
    std::fs::create_dir(&mine).expect("made");
    world.write("go", "");
    assert_eq!(start(&world, &worker).limited_wait().code(), Some(0));
    let there = std::fs::read_dir(artifacts).expect("a folder").map(|entry| entry.expect("it is read").path());
    assert_eq!(there.collect::<Vec<_>>(), [mine]);
    assert!(registered(&world).is_empty());
}
