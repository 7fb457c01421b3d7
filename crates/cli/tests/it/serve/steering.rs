//! Clients that change how a run goes on while it does.

use serde_json::json;
use team_executor_testkit::limited::*;

use super::Served;
use crate::run::cancel::Hanging;
use crate::run::ends::Waiting;
use crate::run::limit::Four;
use crate::run::with::Agents;
use crate::run::{DID, column, run, start, tasks};

#[test]
fn client_changes_how_many_workers_there_are() {
    let mut four = Four::new();
    let executor = start(&four.world, &four.worker);
    four.pulse.wait_alive(3);
    let mut client = Served::new(&four.world, &[]);
    let done = client.call("limit", &json!({"session": "S", "workers": 4})).expect("it is done");
    assert_eq!(done["did"], json!(["at most 4 workers at a time"]));
    four.pulse.wait_alive(1);
    let refused = client.call("limit", &json!({"session": "S", "workers": 1, "role": "stranger"}));
    assert!(refused.expect_err("there is no such role").contains("no task has the role 'stranger'"));
    let both = client.call("limit", &json!({"session": "S", "workers": 1, "role": "worker", "agent": "a"}));
    assert!(both.expect_err("for one of them").contains("not for both"));
    four.open();
    assert_eq!(executor.limited_output().status.code(), Some(0));
}

#[test]
fn client_ends_the_worker_of_one_task() {
    let mut hanging = Hanging::new();
    let executor = hanging.start();
    let mut client = Served::new(&hanging.world, &[]);
    let refused = client.call("cancel", &json!({"session": "S", "task": "C"}));
    assert!(refused.expect_err("it does not run").contains("no worker has 'C': it is pending"));
    let told = json!({"session": "S", "task": "A", "then": "skip", "feedback": "smaller steps"});
    assert!(client.call("cancel", &told).expect_err("no task hears it").contains("only a task that begins anew"));
    let again = json!({"session": "S", "task": "A", "then": "retry", "feedback": "smaller steps"});
    let done = client.call("cancel", &again).expect("it is done");
    let ended = "the worker of A is ended; when it has, A begins anew";
    assert_eq!(done["did"], json!(["the next attempt at A is told so", ended]));
    hanging.gate.open();
    assert_eq!(executor.limited_output().status.code(), Some(0));
}

/// R: N-01
#[test]
fn client_gives_a_task_to_another_agent() {
    let mut agents = Agents::new("sleep 600");
    let executor = agents.start(2);
    let mut client = Served::new(&agents.world, &[]);
    let unknown = json!({"session": "S", "tasks": ["C"], "with": "stranger"});
    assert!(client.call("retry", &unknown).expect_err("no agent does it").contains("there is no agent 'stranger'"));
    let fails = json!({"session": "S", "task": "A", "with": "two"});
    assert!(client.call("cancel", &fails).expect_err("it would fail").contains("only a task that begins anew"));
    let done = client.call("retry", &json!({"session": "S", "tasks": ["C"], "with": "two"})).expect("it is done");
    assert_eq!(done["did"], json!(["from the next attempt on, C is done by two"]));
    let again = json!({"session": "S", "task": "A", "then": "retry", "with": "two"});
    let done = client.call("cancel", &again).expect("it is done");
    assert_eq!(done["did"][0], json!("from the next attempt on, A is done by two"));
    agents.gate.open();
    assert_eq!(executor.limited_output().status.code(), Some(0));
    assert_eq!(column(&agents.world, "findings"), ["did by two", "did by one", "did by two"]);
}

/// R: N-03
#[test]
fn client_runs_a_part_of_a_plan() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
    let mut client = Served::new(&world, &["--agent-command", DID]);
    let ran = client.call("run", &json!({"session": "S", "only": ["B"], "with_deps": true})).expect("it is run");
    assert_eq!((&ran["ending"], &ran["counts"]["completed"]), (&json!("drained"), &json!(2)), "{ran}");
    for (part, why) in [
        (json!({"session": "S", "only_role": "stranger"}), "no task has the role 'stranger'"),
        (json!({"session": "S", "wave": 9}), "there is no wave 9"),
        (json!({"session": "S", "until": "X"}), "there is no task 'X'"),
        (json!({"session": "S", "from": "X"}), "there is no task 'X'"),
    ] {
        assert!(client.call("run", &part).expect_err("there is no such part").contains(why), "{why}");
    }
    let ran = client.call("run", &json!({"session": "S"})).expect("it is run");
    assert_eq!((&ran["ending"], &ran["counts"]["completed"]), (&json!("completed"), &json!(3)));
}

/// R: N-02
#[test]
fn client_adds_a_task_to_a_run_that_goes_on() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let mut client = Served::new(&waiting.world, &[]);
    let new = |deps: &[&str]| json!({"session": "S", "task": "C", "title": "New", "assignee": "worker", "deps": deps});
    let refused = client.call("create_task", &new(&["X"]));
    assert!(refused.expect_err("there is no X").contains("unknown dependency 'X'"));
    let done = client.call("create_task", &new(&["B"])).expect("it is done");
    assert_eq!((&done["task"]["id"], &done["task"]["metadata"]["deps"]), (&json!("C"), &json!(["B"])));
    assert!(client.call("create_task", &new(&[])).expect_err("it is there").contains("task 'C' already exists"));
    executor.kill().expect("it is killed");
    executor.limited_wait();
    waiting.pulse.wait_dead();
    assert_eq!(run(&waiting.world, DID, &[]).code, Some(0));
    assert_eq!(column(&waiting.world, "status"), ["completed"; 3]);
}

/// R: N-02
#[test]
fn client_changes_and_removes_tasks_of_a_run() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let mut client = Served::new(&waiting.world, &[]);
    let new = |id: &str, before: &[&str]| json!({"session": "S", "task": id, "title": "New", "assignee": "worker", "before": before});
    client.call("create_task", &new("C", &["B"])).expect("it is done");
    client.call("create_task", &new("D", &[])).expect("it is done");
    let edit = |task: &str, more: serde_json::Value| {
        let mut edit = json!({"session": "S", "task": task});
        more.as_object().expect("fields").iter().for_each(|(key, value)| edit[key] = value.clone());
        edit
    };
    let done = client.call("edit_task", &edit("B", json!({"not_after": ["A"], "priority": "P0"}))).expect("it is done");
    assert_eq!((&done["task"]["id"], &done["task"]["metadata"]["deps"]), (&json!("B"), &json!(["C"])));
    for (task, more, why) in [
        ("A", json!({"after": ["D"]}), "'A' has begun"),
        ("X", json!({"title": "x"}), "there is no task 'X'"),
        ("C", json!({"after": ["B"]}), "the dependencies would have errors"),
        ("C", json!({"priority": "P9"}), "unknown priority 'P9'"),
    ] {
        let refused = client.call("edit_task", &edit(task, more)).expect_err(why);
        assert!(refused.contains(why), "{refused}");
    }
    let gone = client.call(
        "create_task",
        &json!({"session": "S", "task": "E", "title": "New", "assignee": "worker", "deps": ["A"]}),
    );
    gone.expect("it is done");
    let removed = client.call("remove_task", &json!({"session": "S", "task": "E"})).expect("it is done");
    assert_eq!(removed["removed"], "E");
    let refused = client.call("remove_task", &json!({"session": "S", "task": "A"})).expect_err("it runs");
    assert!(refused.contains("'A' has begun, and cannot be removed"), "{refused}");
    executor.kill().expect("it is killed");
    executor.limited_wait();
    waiting.pulse.wait_dead();
    assert_eq!(run(&waiting.world, DID, &[]).code, Some(0));
    assert_eq!(column(&waiting.world, "id"), ["A", "B", "C", "D"]);
    assert_eq!(column(&waiting.world, "status"), ["completed"; 4]);
}
