//! What happens before the first worker starts.

use serde_json::json as value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use super::{arguments, folder, json, read, run, tasks};
use crate::fixtures::world as fixture;

/// A session whose files contradict each other in every way that reconciliation knows.
fn in_disorder() -> World {
    let world = fixture("tc-spec-literal");
    let path = world.dir().join("tc-spec-literal/team-session.json");
    let mut session = json(&path);
    session["completed_tasks"] = value!(["GONE-001", "BUILD-001", "BUILD-001"]);
    session["active_workers"] = value!([{"task_id": "BUILD-002", "agent_id": "ghost"}]);
    session["status"] = "paused".into();
    std::fs::write(&path, session.to_string()).expect("written");
    world
}

/// R: E-01
#[test]
fn state_is_reconciled_in_order_before_the_start() {
    let world = in_disorder();
    let worker = "cp tc-spec-literal/team-session.json seen-$TEAM_EXECUTOR_TASK; echo did it";
    let done = world.run(&arguments("--session=tc-spec-literal", worker, &["-c", "1"]));
    assert_eq!(done.code, Some(0), "{done}");
    let told: Vec<_> = done.stderr.lines().filter_map(|line| line.strip_prefix("corrected: ")).collect();
    let begins = |nth: usize, words: &str| {
        assert!(told.get(nth).is_some_and(|line| line.starts_with(words)), "{nth} {words}: {told:#?}")
    };
    begins(0, "GONE-001: removed from the list of completed tasks");
    begins(1, "BUILD-001: pending -> completed (the session lists it");
    begins(2, "BUILD-001: removed from the list of completed tasks");
    begins(3, "worker ghost with BUILD-002: cleared (it is not of this run)");
    let first = json(world.dir().join("seen-BUILD-002"));
    assert_eq!(first["completed_tasks"], value!(["BUILD-001"]), "it is in the file before a worker starts");
    assert_eq!(first["status"], "active");
    assert!(!first["active_workers"].to_string().contains("ghost"), "{first}");
    let last_told = done.stderr.rfind("corrected: ").expect("something");
    assert!(last_told < done.stderr.find("▶ ").expect("a start"), "{done}");
}

/// R: E-01
#[test]
fn stale_or_missing_state_becomes_pending() {
    let world = tasks(&[]);
    world.write("S/tasks.csv", "id,title,deps,role,status\nA,Do A,,r,in_progress\nB,Do B,A,r,completed\nC,Do C,,r,\n");
    let done = run(&world, "echo did $TEAM_EXECUTOR_TASK", &[]);
    assert!(done.stderr.contains("corrected: A: in_progress -> pending (no worker of this run has it)\n"), "{done}");
    assert!(done.stderr.contains("▶ A ") && done.stderr.contains("▶ C ") && !done.stderr.contains("▶ B "), "{done}");
}

/// A worker of a killed executor that is proved to be ours is ended, and its task has one live worker at a time.
/// R: E-01
#[test]
fn a_worker_of_an_earlier_run_is_ended_and_never_duplicated() {
    let world = tasks(&[("A", "")]);
    // It holds a lock as long as it lives: a second one at the same time would not get it.
    let worker = "exec 9>alive; flock -n 9 || { echo twice >> twice; exit 1; }; if mkdir once; then kill -9 $(cut -d' ' -f4 \
                  /proc/$PPID/stat); trap '' TERM; while :; do read -t 9 x < fifo; done; fi; echo done";
    world.write("x", "");
    assert!(std::process::Command::new("mkfifo").arg(world.dir().join("fifo")).limited_status().success());
    let worker = format!("exec bash -c '{}'", worker.replace('\'', "'\\''"));
    assert_eq!(run(&world, &worker, &[]).code, None, "the executor is killed");
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(!world.dir().join("twice").exists());
    assert!(read(folder(&world).join("tasks.csv")).contains(",completed,done,"));
}
