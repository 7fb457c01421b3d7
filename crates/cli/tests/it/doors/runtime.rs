//! The seven runtime rules of `tasks.json`.

use serde_json::{Value, json};
use team_executor_testkit::World;

use super::{BIN, SESSION, cells, claimed, edit_refused, order, refused, reports, run, states, tasks_json};
use crate::fixtures::world as fixture;
use crate::run::{arguments, folder, json as file, read};

/// Three tasks in a row, the first with fields that differ.
fn row(first: Value) -> World {
    tasks_json(&[("A", "", first), ("B", "A", json!({})), ("C", "B", json!({}))])
}

/// A field of each task as the session's own file has it.
fn own(world: &World, name: &str) -> Vec<Value> {
    let file = file(world.dir().join("S/tasks.json"));
    let tasks = file["tasks"].as_object().expect("tasks");
    tasks.values().map(|task| task[name].clone()).collect()
}

/// `A` reports this and failed, for that reason; what waits for it is skipped.
#[track_caller]
fn fails(script: &str, why: &str) {
    let world = row(json!({}));
    let done = run(&world, script);
    assert_eq!((done.code, order(&world).as_str()), (Some(1), "A"), "{done}");
    assert_eq!(own(&world, "status"), ["failed", "skipped", "skipped"], "{done}");
    let error = own(&world, "error");
    assert!(error[0].as_str().is_some_and(|error| error.contains(why)), "{why}: {error:?}");
    assert_eq!(error[1..], ["dependency A failed", "dependency B was skipped"]);
}

/// R: D-02, T-01
#[test]
fn runtime_rule_1_a_status_moves_only_as_it_may() {
    for status in ["skipped", "pending", "ready", "in_progress", "archived"] {
        let result = json!({"status": status, "findings": "f", "error": "e"});
        fails(&reports(&result), &format!("its result has the status `{status}`, not `completed` or `failed`"));
    }
    for (from, to, why) in [
        ("worker,1,failed", "worker,1,completed", "A: failed -> completed"),
        ("worker,1,failed", "worker,1,in_progress", "A: failed -> in_progress"),
        ("worker,2,skipped", "worker,2,completed", "B: skipped -> completed"),
        ("worker,2,skipped", "worker,2,failed", "B: skipped -> failed"),
    ] {
        edit_refused(from, to, why);
    }
    let world = row(json!({}));
    assert_eq!(run(&world, "exit 1").code, Some(1));
    for (task, from) in [("A", "failed"), ("B", "skipped")] {
        for to in ["ready", "in_progress", "completed"] {
            refused(&world, &["task", "update", task, "--status", to], &format!("{task}: task cannot go from {from}"));
        }
    }
    refused(&world, &["skip", "A"], "'A' is failed and cannot be skipped");
    // The session's own file is edited between two runs.
    let path = world.dir().join("S/tasks.json");
    let before = read(&path);
    std::fs::write(&path, before.replacen("\"failed\"", "\"completed\"", 1)).expect("written");
    let edited = world.run(&arguments(SESSION, "touch started", &[]));
    assert!(edited.code == Some(2) && !world.dir().join("started").exists(), "{edited}");
    claimed(&json!({"task_id": "B", "data": {"status": "failed"}, "tasks": {"B": {"status": "completed"}}}));
}

/// R: T-01
#[test]
fn runtime_rule_2_task_starts_after_its_dependencies() {
    for status in ["in_progress", "running", "ready"] {
        let world = tasks_json(&[("A", "", json!({})), ("B", "A", json!({"status": status}))]);
        let done = run(&world, "");
        assert_eq!((done.code, order(&world).as_str()), (Some(0), "A B"), "{status}: {done}");
    }
    let world = row(json!({}));
    let outside = "env -i PATH=\"$PATH\" HOME=\"$HOME\"";
    let tries = ["task update B --status in_progress", "task update B --status completed", "retry B"];
    let script = tries.map(|args| format!("{outside} {BIN} {args} --session=S && exit 9\n")).concat();
    assert_eq!(run(&world, &script).code, Some(0));
    assert_eq!((order(&world).as_str(), states(&world).as_str()), ("A B C", "A completed, B completed, C completed"));
    // A task whose dependencies are not done cannot be made to run.
    let world = row(json!({}));
    assert_eq!(run(&world, "exit 1").code, Some(1));
    assert_eq!(world.run(&["retry", "B", SESSION]).code, Some(2));
    let again = world.run(&arguments(SESSION, "touch started", &[]));
    assert!(again.code == Some(1) && !world.dir().join("started").exists(), "{again}");
    assert_eq!(own(&world, "status"), ["failed", "skipped", "skipped"]);
    claimed(&json!({"task_id": "B", "status": "completed", "deps": []}));
}

/// R: T-01
#[test]
fn runtime_rule_3_dependents_of_a_failed_task_are_skipped() {
    for status in ["failed", "skipped"] {
        let world = row(json!({"status": status, "error": "before"}));
        let done = run(&world, "");
        assert_eq!((done.code, order(&world).as_str()), (Some(1), ""), "{done}");
        assert_eq!(own(&world, "status"), [status, "skipped", "skipped"]);
        assert_eq!(cells(&world, "status"), [status, "skipped", "skipped"]);
    }
    fails("exit 1", "exit code 1");
    fails(&reports(&json!({"status": "failed", "error": "no database", "data": {"rejects": ["C"]}})), "no database");
    // A person skips the first while it waits to be tried again, or wants only the last one.
    let world = row(json!({}));
    assert_eq!(run(&world, "exit 1").code, Some(1));
    for verb in [&["retry", "C"][..], &["task", "update", "C", "--status", "pending"]] {
        assert_eq!(world.run(&[verb, &[SESSION]].concat()).code, Some(2));
        assert_eq!(own(&world, "status"), ["failed", "skipped", "skipped"]);
    }
    assert_eq!(world.run(&["retry", "A", SESSION]).code, Some(0));
    assert_eq!(world.run(&["skip", "A", SESSION]).code, Some(0));
    assert_eq!(own(&world, "status"), ["skipped"; 3]);
    // The table asks for the second alone.
    let path = folder(&world).join("tasks.csv");
    std::fs::write(&path, read(&path).replacen("worker,2,skipped", "worker,2,pending", 1)).expect("written");
    let done = world.run(&arguments(SESSION, "touch started", &[]));
    assert!(!world.dir().join("started").exists(), "{done}");
    assert_eq!(own(&world, "status"), ["skipped"; 3]);
}

/// R: T-01, T-02
#[test]
fn runtime_rule_4_a_completed_task_has_a_discovery() {
    let discovery = |world: &World, task: &str| file(world.dir().join(format!("S/discoveries/{task}.json")));
    let sound = |world: &World| {
        for task in ["A", "B", "C"] {
            let found = discovery(world, task);
            assert_eq!((&found["task_id"], &found["status"]), (&task.into(), &"completed".into()), "{found}");
        }
        let valid = world.run(&["validate", SESSION, "--strict"]);
        assert_eq!(valid.code, Some(0), "{valid}");
    };
    // The file lacks it: told, and written. It contradicts: refused.
    let world = row(json!({"status": "completed", "findings": "before"}));
    let told = run(&world, "");
    assert!(told.stderr.contains("a completed task has no discovery"), "{told}");
    assert_eq!(discovery(&world, "A")["findings"], "before");
    let name = "tasks-json-contradicting-discovery";
    super::invalid(&fixture(name), name, "is completed in tasks.json, but failed in discoveries/BUILD-001.json");
    // Workers remove, forge and overwrite those of others.
    let forged = |task: &str, status: &str| {
        json!({"task_id": task, "worker": task, "timestamp": "2026-03-24T10:00:00Z", "status": status,
            "findings": "forged", "error": "forged", "data": {}})
    };
    let at = "\"$TEAM_EXECUTOR_SESSION\"/discoveries";
    for (a, b) in [
        (format!("echo '{}' > {at}/B.json", forged("B", "completed")), format!("rm {at}/A.json")),
        (format!("echo '{}' > {at}/A.json", forged("B", "completed")), format!("echo '{{' > {at}/A.json")),
        (
            format!("echo '{}' > {at}/C.json", forged("C", "failed")),
            format!("echo '{}' > {at}/A.json", forged("A", "failed")),
        ),
    ] {
        let world = row(json!({}));
        world.write("B.sh", &b);
        let done = run(&world, &a);
        assert_eq!(
            (done.code, own(&world, "findings")),
            (Some(0), vec!["did A".into(), "did B".into(), "did C".into()]),
            "{done}"
        );
        sound(&world);
    }
    // To say nothing at all, or that one has failed, is to have failed.
    fails("exit 0", "No discovery file produced");
    fails(&format!("echo '{}' > {at}/A.json", forged("A", "failed")), "forged");
    fails(&format!("echo '{{' > {at}/A.json"), "its discovery discoveries/A.json cannot be read");
    claimed(&json!({"discoveries": {"B": {"status": "failed"}}}));
}

/// R: T-01
#[test]
fn runtime_rule_5_a_completed_task_has_findings() {
    for findings in [json!(null), json!(""), json!(" \n")] {
        fails(&reports(&json!({"status": "completed", "findings": findings})), "No discovery file produced");
    }
    fails(&reports(&json!({"status": "completed"})), "No discovery file produced");
    let update = format!("{BIN} task update --status completed");
    fails(&format!("{update} && exit 9; {update} --findings ' ' && exit 9; exit 1"), "exit code 1");
    let world = row(json!({"status": "completed", "findings": null}));
    let told = run(&world, "");
    assert!(told.code == Some(0) && told.stderr.contains("a completed task has no findings"), "{told}");
    // It did not run, so it stays as the user wrote it.
    assert_eq!(own(&world, "findings"), [json!(null), "did B".into(), "did C".into()]);
    claimed(&json!({"task_id": "B", "tasks": {"B": {"status": "completed", "findings": null}}}));
}

/// R: T-01
#[test]
fn runtime_rule_6_a_failed_or_skipped_task_has_an_error() {
    fails("exit 3", "exit code 3");
    for error in [json!(null), json!(""), json!(" ")] {
        fails(&reports(&json!({"status": "failed", "error": error})), "it reported failed without an error");
    }
    let update = format!("{BIN} task update --status failed");
    fails(&format!("{update} && exit 9; {update} --error '' && exit 9; {update} --error because"), "because");
    let filled = |world: &World| {
        let errors = own(world, "error");
        assert!(errors.iter().all(|error| error.as_str().is_some_and(|error| !error.is_empty())), "{errors:?}");
        assert!(cells(world, "error").iter().all(|error| !error.is_empty()));
        let valid = world.run(&["validate", SESSION]).stdout;
        assert!(!valid.contains("has no error"), "{valid}");
    };
    for status in ["failed", "skipped"] {
        let world = row(json!({"status": status}));
        let told = run(&world, "");
        assert!(told.stderr.contains(&format!("a {status} task has no error")), "{told}");
        // It did not run, so it stays as the user wrote it.
        assert_eq!(own(&world, "error")[0], json!(null));
        assert!(own(&world, "error")[1..].iter().all(|error| error.as_str().is_some_and(|error| !error.is_empty())));
    }
    // A person skips without a reason, by command and in the table.
    let world = row(json!({}));
    assert_eq!(run(&world, "exit 1").code, Some(1));
    assert_eq!(world.run(&["retry", "A", SESSION]).code, Some(0));
    assert_eq!(world.run(&["task", "update", "A", "--status", "skipped", SESSION]).code, Some(0));
    filled(&world);
    assert_eq!(world.run(&["retry", "A", SESSION]).code, Some(0));
    let path = folder(&world).join("tasks.csv");
    std::fs::write(&path, read(&path).replacen("worker,1,pending", "worker,1,skipped", 1)).expect("written");
    assert_eq!(run(&world, "").code, Some(1));
    assert_eq!(own(&world, "status"), ["skipped"; 3]);
    filled(&world);
}

/// R: T-01
#[test]
fn runtime_rule_7_a_checkpoint_says_its_verdict() {
    let checkpoint = |other: Value| tasks_json(&[("CHECKPOINT-001", "", other), ("NEXT", "CHECKPOINT-001", json!({}))]);
    let none = "the result of a CHECKPOINT task needs `supervision_verdict`: pass, warn, block";
    let said = |verdict: Value| json!({"status": "completed", "findings": "f", "supervision_verdict": verdict});
    let unsaid = checkpoint(json!({}));
    unsaid.write("CHECKPOINT-001.sh", format!("{BIN} task update --status completed --findings f || exit 8"));
    assert_eq!(run(&unsaid, "").code, Some(1));
    assert!(own(&unsaid, "error")[0].as_str().is_some_and(|error| error.starts_with("exit code 8")));
    let silent = checkpoint(json!({}));
    assert_eq!(run(&silent, "").code, Some(0), "exit 0 of a command is the verdict pass");
    assert_eq!(own(&silent, "supervision_verdict")[0], "pass");
    for script in [
        reports(&json!({"status": "completed", "findings": "f", "data": {"supervision_verdict": "pass"}})),
        reports(&said(json!(null))),
    ] {
        let world = checkpoint(json!({}));
        world.write("CHECKPOINT-001.sh", &script);
        let done = run(&world, "");
        assert_eq!((done.code, own(&world, "status")), (Some(1), vec!["failed".into(), "skipped".into()]), "{done}");
        assert_eq!(own(&world, "error")[0], none, "{script}");
    }
    for odd in [json!("maybe"), json!(true), json!("PASS!")] {
        let world = checkpoint(json!({}));
        world.write("CHECKPOINT-001.sh", reports(&said(odd.clone())));
        let done = run(&world, "");
        assert_eq!((done.code, order(&world).as_str()), (Some(1), "CHECKPOINT-001"), "{odd}: {done}");
        assert_eq!(own(&world, "supervision_verdict"), [Value::Null, Value::Null], "{odd}");
    }
    for (verdict, code) in [("pass", 0), ("warn", 0), ("block", 3)] {
        let world = checkpoint(json!({}));
        world.write("CHECKPOINT-001.sh", reports(&said(json!(verdict))));
        let done = run(&world, "");
        assert_eq!((done.code, &own(&world, "supervision_verdict")[0]), (Some(code), &verdict.into()), "{done}");
    }
    // No person, no table and no file makes one completed.
    let world = checkpoint(json!({}));
    world.write("CHECKPOINT-001.sh", reports(&json!({"status": "completed", "findings": "f"})));
    assert_eq!(run(&world, "").code, Some(1));
    refused(&world, &["task", "update", "CHECKPOINT-001", "--status", "completed"], "task cannot go from failed");
    let path = folder(&world).join("tasks.csv");
    std::fs::write(&path, read(&path).replacen("worker,1,failed", "worker,1,completed", 1)).expect("written");
    assert_eq!(run(&world, "").code, Some(2));
    let world = checkpoint(json!({"status": "completed", "findings": "f"}));
    let told = world.run(&["validate", SESSION]);
    assert!(told.stdout.contains("a completed CHECKPOINT has no supervision_verdict"), "{told}");
    assert_eq!(world.run(&arguments(SESSION, "true", &["--strict"])).code, Some(2));
}
