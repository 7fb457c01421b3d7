//! The six structural rules of `tasks.json`.

use serde_json::{Value, json};
use team_executor_testkit::World;

use super::{BIN, SESSION, claimed, edit_refused, invalid, invalid_fixtures, refused, run, states, tasks_json, two};
use crate::run::json as file;

/// Two tasks in `tasks.json`.
fn pair(second: Value) -> World {
    tasks_json(&[("A", "", json!({})), ("B", "A", second)])
}

/// The tasks as the file has them.
fn own(world: &World) -> Value {
    file(world.dir().join("S/tasks.json"))["tasks"].clone()
}

/// A person creates a task that breaks a rule; a worker may not create any.
#[track_caller]
fn create_refused(more: &[&str], why: &str) {
    let world = pair(json!({}));
    world.write("S/roles/worker/role.md", "# Role\n");
    let create = ["task", "create", "C", "--title", "t", "--assignee", "worker"];
    refused(&world, &[&create, more].concat(), why);
    let inside = run(&world, &format!("{BIN} {} {} && exit 9", create.join(" "), more.join(" ")));
    assert_eq!((inside.code, states(&world).as_str()), (Some(0), "A completed, B completed"), "{inside}");
    assert_eq!(own(&world).as_object().map(serde_json::Map::len), Some(2));
}

/// R: T-01
#[test]
fn structural_rule_1_every_id_is_unique() {
    invalid_fixtures(&[
        ("tasks-json-duplicate-key", "tasks.json corrupt"),
        ("tasks-json-duplicate-id", "task id 'BUILD-001' is not unique"),
    ]);
    let world = pair(json!({}));
    refused(&world, &["task", "create", "B", "--title", "t", "--assignee", "worker"], "task 'B' already exists");
    claimed(&json!({"task_id": "B", "tasks": {"A": {"id": "B"}}}));
}

/// R: T-01
#[test]
fn structural_rule_2_every_dependency_exists() {
    invalid(&pair(json!({"deps": ["A", "X"]})), "S", "task 'B' depends on 'X', which does not exist");
    create_refused(&["--deps", "X"], "unknown dependency 'X'");
    edit_refused("B,,Do it,A,", "B,,Do it,A;X,", "B: deps `A` -> `A;X`");
    claimed(&json!({"deps": ["X"]}));
}

/// R: T-01
#[test]
fn structural_rule_3_context_comes_from_tasks_that_exist() {
    invalid(&pair(json!({"context_from": ["A", "X"]})), "S", "task 'B' takes context from 'X', which does not exist");
    edit_refused("B,,Do it,A,,", "B,,Do it,A,X,", "B: context_from `` -> `X`");
    claimed(&json!({"context_from": ["X"], "data": {"context_from": ["X"]}}));
}

/// R: T-01
#[test]
fn structural_rule_4_there_is_no_cycle() {
    let world = tasks_json(&[("A", "B", json!({"wave": 3})), ("B", "A", json!({}))]);
    invalid(&world, "S", "circular dependency: A -> B -> A");
    invalid(&pair(json!({"deps": ["B"]})), "S", "task 'B' depends on itself");
    create_refused(&["--deps", "C"], "unknown dependency 'C'");
    claimed(&json!({"deps": ["B"], "data": {"rejects": ["B"]}}));
}

/// R: T-01
#[test]
fn structural_rule_5_task_is_in_a_later_wave_than_its_deps() {
    invalid(&pair(json!({"wave": 1})), "S", "task 'B' of wave 1 depends on 'A' of wave 1");
    create_refused(&["--deps", "B", "--wave", "2"], "by its dependencies the task is in wave 3");
    edit_refused("csv-wave,worker,2,", "csv-wave,worker,1,", "B: wave `2` -> `1`");
    // In a table, waves are what the dependencies make of them, which is told.
    let world = two();
    let table = "id,title,deps,role,wave,status\nA,Do A,,worker,2,pending\nB,Do B,A,worker,1,pending\n";
    world.write("S/tasks.csv", table);
    let done = run(&world, "");
    assert!(done.stderr.contains("task 'B' of wave 1 depends on 'A' of wave 2: waves were computed anew"), "{done}");
    assert_eq!((done.code, super::order(&world).as_str()), (Some(0), "A B"));
    assert_eq!(super::cells(&world, "wave"), ["1", "2"]);
    claimed(&json!({"wave": 9, "completed_waves": [1, 2]}));
}

/// R: T-01
#[test]
fn structural_rule_6_every_role_exists() {
    let world = pair(json!({"role": "ghost"}));
    world.write("S/roles/worker/role.md", "# Role\n");
    invalid(&world, "S", "role 'ghost' is not in roles/");
    let world = pair(json!({}));
    world.write("S/roles/worker/role.md", "# Role\n");
    let create = ["task", "create", "C", "--title", "t", "--assignee", "ghost"];
    refused(&world, &create, "the session with this task is not valid: role 'ghost' is not in roles/");
    edit_refused("csv-wave,worker,2,", "csv-wave,ghost,2,", "B: role `worker` -> `ghost`");
    // No worker speaks as a role that is not its own, and to claim one changes nothing.
    let forged = format!("{BIN} msg log x --from ghost && exit 9; TEAM_EXECUTOR_ROLE=ghost {BIN} msg log honest");
    assert_eq!(run(&world, &forged).code, Some(0));
    let said = world.run(&["msg", "list", SESSION]).stdout;
    assert_eq!(said, "MSG-001 worker -> all [message] honest\n");
    claimed(&json!({"role": "ghost", "worker": "ghost"}));
}
