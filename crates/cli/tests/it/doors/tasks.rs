//! The five invariants of tasks.

use serde_json::json;

use super::{BIN, claimed, edit_refused, invalid_fixtures, lifecycle, order, refused, run, states, two};
use super::{SESSION, tasks_json};
use crate::run::{arguments, folder, read, rows};

/// R: D-06
#[test]
fn task_invariant_1_task_ids_are_unique() {
    invalid_fixtures(&[
        ("tasks-csv-duplicate-different", "task id '1' is not unique"),
        ("tasks-json-duplicate-id", "task id 'BUILD-001' is not unique"),
        ("tasks-json-duplicate-key", "tasks.json corrupt"),
        ("tls-duplicate-task", "task id 'IMPL-001' is not unique"),
        ("tc-duplicate-task-key", "task-analysis.json corrupt"),
    ]);
    edit_refused("\nB,", "\nA,", "A: there are two rows of this task");
    let world = two();
    refused(&world, &["task", "create", "A", "--title", "t", "--assignee", "worker"], "task 'A' already exists");
    let inside = run(&world, &format!("{BIN} task create A --title t --assignee worker && exit 9"));
    assert_eq!((inside.code, states(&world).as_str()), (Some(0), "A completed, B completed"), "{inside}");
    claimed(&json!({"task_id": "B", "id": "B", "worker": "B", "tasks": {"A": {"title": "again"}}}));
}

/// R: D-06
#[test]
fn task_invariant_2_dependencies_have_no_cycle() {
    invalid_fixtures(&[
        ("tasks-csv-cycle", "circular dependency: 1 -> 2 -> 1"),
        ("tasks-json-cycle", "circular dependency: BUILD-001 -> BUILD-002 -> BUILD-001"),
        ("tls-cycle", "circular dependency: IMPL-001 -> IMPL-002 -> IMPL-001"),
        ("tc-cycle-three", "circular dependency: BUILD-001 -> BUILD-003 -> BUILD-002 -> BUILD-001"),
        ("tc-self-dependency", "task 'BUILD-002' depends on itself"),
        ("tasks-json-self-dependency", "task 'BUILD-001' depends on itself"),
    ]);
    edit_refused("A,,Do it,,", "A,,Do it,B,", "A: deps `` -> `B`");
    let create = ["task", "create", "C", "--title", "t", "--assignee", "worker", "--deps", "C"];
    refused(&two(), &create, "unknown dependency 'C'");
    claimed(&json!({"task_id": "A", "deps": ["B"], "dependencies": ["B"], "blockedBy": ["B"]}));
    // To reject what is built on one's own work would be a cycle in time. It is not done; a person is asked.
    let world = two();
    let rejects = r#"{"status":"completed","findings":"f","data":{"verdict":"reject","rejects":["B"]}}"#;
    let asked = run(&world, &format!("echo '{rejects}' > \"$TEAM_EXECUTOR_RESULT\""));
    assert_eq!((asked.code, states(&world).as_str()), (Some(3), "A completed, B pending"), "{asked}");
}

/// R: D-06
#[test]
fn task_invariant_3_dependencies_exist() {
    invalid_fixtures(&[
        ("tasks-csv-unknown-dependency", "task '2' depends on '3', which does not exist"),
        ("tasks-json-unknown-dependency", "task 'BUILD-002' depends on 'BUILD-O01', which does not exist"),
        ("tls-unknown-dependency", "task 'IMPL-002' depends on 'IMPL-01', which does not exist"),
        ("tc-unknown-dependency-far", "task 'BUILD-002' depends on 'RESEARCH-001', which does not exist"),
    ]);
    edit_refused("B,,Do it,A,", "B,,Do it,X,", "B: deps `A` -> `X`");
    let world = two();
    let create = ["task", "create", "C", "--title", "t", "--assignee", "worker", "--deps", "A,X"];
    refused(&world, &create, "unknown dependency 'X'");
    assert_eq!(run(&world, "exit 1").code, Some(1));
    for verb in [&["retry", "X"][..], &["skip", "X"], &["task", "update", "X", "--status", "pending"]] {
        refused(&world, verb, "there is no task 'X'");
    }
    claimed(&json!({"deps": ["X"], "rejects": ["X"]}));
}

/// R: D-06
#[test]
fn task_invariant_4_what_matters_most_starts_first() {
    invalid_fixtures(&[("tls-priority-unknown", "invalid field 'task_list[0].priority'")]);
    let priority = |word: &str| json!({"priority": word});
    let tasks = [("LOW-001", "", priority("P2")), ("A", "", priority("P0")), ("MID-001", "", priority("P1"))];
    let claim = r#"{"status":"completed","findings":"f","priority":"P2","tasks":{"LOW-001":{"priority":"P0"}}}"#;
    let script = format!(
        "{BIN} msg log first --type state_update --data '{claim}' || exit 8
        echo '{claim}' > \"$TEAM_EXECUTOR_RESULT\""
    );
    let world = lifecycle(&tasks, &json!({}));
    assert_eq!(run(&world, &script).code, Some(0));
    assert_eq!(order(&world), "A MID-001 LOW-001");
    // The task that is set back first does not start first.
    for task in ["LOW-001", "MID-001"] {
        let asked = world.run(&["task", "update", task, "--status", "pending", SESSION]);
        assert_eq!(asked.code, Some(0), "{asked}");
    }
    assert_eq!(run(&world, "").code, Some(0));
    assert_eq!(order(&world), "A MID-001 LOW-001 MID-001 LOW-001");
}

/// R: D-06
#[test]
fn task_invariant_5_a_task_has_one_worker_at_a_time() {
    // The file says that it is in progress: it is not, which is told, and it runs once.
    let world = tasks_json(&[("A", "", json!({"status": "in_progress"}))]);
    let done = run(&world, "");
    assert!(done.stderr.contains("corrected: A: in_progress -> pending (no worker of this run has it)"), "{done}");
    assert_eq!((order(&world).as_str(), states(&world).as_str()), ("A", "A completed"));
    // Its worker, and a person beside it, try to have a second one.
    let world = two();
    let attempts = [
        "retry A",
        "skip A",
        "task update A --status pending",
        "task update A --status in_progress",
        "checkpoint revise A",
        "checkpoint recheck",
    ];
    let outside = "env -i PATH=\"$PATH\" HOME=\"$HOME\"";
    let each = attempts.map(|args| format!("{outside} {BIN} {args} --session=S; echo $? >> codes\n")).concat();
    let second = format!("{outside} {BIN} run --session=S --agent-command 'touch second' -y; echo $? >> codes\n");
    let done = run(&world, &(each + &second));
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(read(world.dir().join("codes")), "2\n".repeat(attempts.len()) + "4\n");
    assert_eq!((order(&world).as_str(), states(&world).as_str()), ("A B", "A completed, B completed"));
    assert!(!world.dir().join("second").exists());
    claimed(&json!({"task_id": "A", "status": "completed", "active_agents": {"A": "agent-2"}}));
    // A table in which it is in progress is no worker either.
    edit_refused("csv-wave,worker,2,skipped", "csv-wave,worker,2,in_progress", "B: skipped -> in_progress");
}

/// R: D-02
#[test]
fn finished_task_stays_finished_against_later_claims() {
    let world = two();
    assert_eq!(run(&world, "").code, Some(0));
    for status in ["failed", "skipped", "in_progress", "completed"] {
        refused(&world, &["task", "update", "A", "--status", status], "A: task cannot go from completed to ");
    }
    refused(&world, &["skip", "A"], "'A' is completed and cannot be skipped");
    // A result that comes after the end counts for nothing.
    world.write("late.json", r#"{"status":"failed","error":"late"}"#);
    let late = folder(&world).join("agents/A.2.result.json");
    std::fs::copy(world.dir().join("late.json"), late).expect("copied");
    assert_eq!(world.run(&arguments(SESSION, "touch started", &[])).code, Some(0));
    assert_eq!(rows(&world)["A"]["findings"], "did A");
    assert!(!world.dir().join("started").exists());
}
