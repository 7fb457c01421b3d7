//! The plan gets longer while a run goes on.

use team_executor_testkit::{Run, World};

use super::asked::ask;
use super::ends::{Waiting, end};
use super::{DID, column, folder, read, run};

/// Adds a task to the session `S`.
fn create(world: &World, id: &str, more: &[&str]) -> Run {
    ask(world, &[&["task", "create", id, "--title", "New", "--assignee", "worker"], more].concat())
}

/// A run whose task A waits; the others write down that they began.
fn waiting() -> Waiting {
    let mut waiting = Waiting::new();
    waiting.worker = format!("echo $TEAM_EXECUTOR_TASK >> order; {}", waiting.worker);
    waiting
}

fn order(world: &World) -> Vec<String> {
    read(world.dir().join("order")).lines().map(str::to_owned).collect()
}

/// R: N-02
#[test]
fn task_is_added_to_a_run_that_goes_on() {
    let mut waiting = waiting();
    let executor = waiting.start();
    let world = &waiting.world;
    let added = create(world, "C", &["--deps", "A,B"]);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stdout.contains("id: C\ntitle: New\n") && added.stdout.contains("deps: A, B\n"), "{added}");
    // What waits for nothing starts beside the one that is at work.
    let free = create(world, "D", &[]);
    assert_eq!(free.code, Some(0), "{free}");
    let watched = ask(world, &["wait", "D"]);
    let status = ask(world, &["task", "get", "C"]);
    assert!(status.stdout.contains("status: pending"), "{watched}{status}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(order(world), ["A", "D", "B", "C"]);
    assert_eq!(column(world, "status"), ["completed"; 4]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"added\"").count(), 2, "{journal}");
    let again = run(world, "exit 9", &[]);
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

/// R: N-02
#[test]
fn kill_9_right_after_a_task_was_added_loses_it_not() {
    let mut waiting = waiting();
    let mut executor = waiting.start();
    let added = create(&waiting.world, "C", &["--deps", "B"]);
    assert_eq!(added.code, Some(0), "{added}");
    executor.kill().expect("it is killed");
    end(executor);
    waiting.pulse.wait_dead();
    let world = &waiting.world;
    let done = run(world, DID, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(world, "status"), ["completed"; 3]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"added\"").count(), 1, "{journal}");
    let names =
        std::fs::read_dir(world.dir().join("S")).expect("a folder").map(|file| file.expect("a file").file_name());
    let tables: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("tasks")).collect();
    assert_eq!(tables, ["tasks.csv"], "there is nothing of which a copy is kept");
}

/// R: N-02
#[test]
fn task_that_does_not_fit_is_refused_and_nothing_is_changed() {
    let mut waiting = waiting();
    let executor = waiting.start();
    let world = &waiting.world;
    let (table, journal) = (world.dir().join("S/tasks.csv"), folder(world).join(".executor/journal"));
    let before = (read(&table), read(&journal));
    for (id, more, why) in [
        ("A", &[][..], "task 'A' already exists"),
        ("C", &["--deps", "X"], "unknown dependency 'X'"),
        ("C", &["--deps", "C"], "unknown dependency 'C'"),
        ("C", &["--deps", "B", "--wave", "7"], "by its dependencies the task is in wave 3"),
    ] {
        let refused = create(world, id, more);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
        assert!(refused.stderr.contains("\nhelp: "), "{refused}");
    }
    assert_eq!((read(&table), read(&journal)), before);
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
}
