//! The plan of tasks that have not begun is changed by commands: at rest, and while a run goes on.

use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use super::asked::ask;
use super::ends::{Waiting, end};
use super::{DID, column, folder, read, run, tasks};
use crate::fixtures::world as fixture;

fn fine(run: &Run) -> &Run {
    assert_eq!(run.code, Some(0), "{run}");
    run
}

/// Which tasks a session has, and what each waits for.
fn plan(world: &World, session: &str) -> Vec<String> {
    let listed = world.run(&["task", "list", "--format", "json", session]);
    let listed: serde_json::Value = serde_json::from_str(&fine(&listed).stdout).expect("JSON");
    let task = |task: &serde_json::Value| {
        let deps = task["metadata"]["deps"].as_array().expect("a list").iter().map(|on| on.as_str().expect("an id"));
        format!("{}({})", task["id"].as_str().expect("an id"), deps.collect::<Vec<_>>().join(" "))
    };
    listed["tasks"].as_array().expect("tasks").iter().map(task).collect()
}

/// R: N-02
#[test]
fn tasks_are_changed_and_removed_in_each_dialect() {
    for (name, file) in [
        ("tasks-json-spec-literal", "tasks.json"),
        ("tls-spec-literal", "team-session.json"),
        ("tc-spec-minimal", "task-analysis.json"),
    ] {
        let world = fixture(name);
        let session = format!("--session={name}");
        let listed = world.run(&["task", "list", &session, "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_str(&fine(&listed).stdout).expect("JSON");
        let role = listed["tasks"][0]["assignee"].as_str().expect("a role").to_owned();
        for task in listed["tasks"].as_array().expect("tasks").iter().filter(|_| name != "tc-spec-minimal") {
            world.write(&format!("{name}/roles/{}/role.md", task["assignee"].as_str().expect("a role")), "# Role\n");
        }
        let create = |id: &str, more: &[&str]| {
            world.run(&[&["task", "create", id, "--title", "New", "--assignee", &role, &session], more].concat())
        };
        let before = plan(&world, &session);
        fine(&create("BUILD-008", &[]));
        fine(&create("BUILD-009", &["--before", "BUILD-008"]));
        let edit = |more: &[&str]| world.run(&[&["task", "edit", "BUILD-008", &session], more].concat());
        let shown = edit(&["--title", "Another \"title\"", "--priority", "P0"]);
        assert!(fine(&shown).stdout.contains("title: Another \"title\"\n"), "{shown}");
        assert!(fine(&shown).stdout.contains("deps: BUILD-009\n"), "{shown}");
        let waits = world.run(&["task", "remove", "BUILD-009", &session]);
        assert!(waits.code == Some(2) && waits.stderr.contains("'BUILD-008' depends on 'BUILD-009'"), "{waits}");
        let cycle = world.run(&["task", "edit", "BUILD-009", "--after", "BUILD-008", &session]);
        assert!(cycle.code == Some(2) && cycle.stderr.contains("the dependencies would have errors"), "{cycle}");
        fine(&edit(&["--not-after", "BUILD-009"]));
        for id in ["BUILD-009", "BUILD-008"] {
            let removed = world.run(&["task", "remove", id, &session]);
            assert_eq!(fine(&removed).stdout, format!("{id} is removed\n"));
        }
        assert_eq!(plan(&world, &session), before, "{name}");
        let text = read(world.dir().join(name).join(file));
        assert!(!text.contains("BUILD-008") && !text.contains("BUILD-009"), "{text}");
        fine(&world.run(&["validate", &session]));
    }
}

/// R: N-02
#[test]
fn commands_change_the_plan_of_a_run_that_goes_on() {
    let mut waiting = Waiting::new();
    waiting.worker = format!("echo $TEAM_EXECUTOR_TASK >> order; {}", waiting.worker);
    let executor = waiting.start();
    let world = &waiting.world;
    let create = |id: &str, more: &[&str]| {
        ask(world, &[&["task", "create", id, "--title", "New", "--assignee", "worker"], more].concat())
    };
    fine(&create("C", &["--after", "A", "--before", "B"]));
    fine(&create("D", &["--after", "B"]));
    assert_eq!(plan(world, "--session=S"), ["A()", "B(A C)", "C(A)", "D(B)"]);
    // D starts beside A, and B waits for C only.
    fine(&ask(world, &["task", "edit", "D", "--not-after", "B", "--before", "B"]));
    fine(&ask(world, &["task", "edit", "B", "--not-after", "A", "--title", "Better"]));
    fine(&create("E", &["--after", "A"]));
    let removed = ask(world, &["task", "remove", "E"]);
    assert_eq!(fine(&removed).stdout, "E is removed\n");
    for (words, why) in [
        (&["task", "edit", "A", "--title", "x"][..], "'A' was tried already, and keeps its text and priority"),
        (&["task", "edit", "A", "--after", "B"], "the dependencies would have errors"),
        (&["task", "edit", "D", "--assignee", "other"], "'D' has begun, and keeps its role, mode and dependencies"),
        (&["task", "edit", "X", "--title", "x"], "there is no task 'X'"),
        (&["task", "edit", "B", "--not-after", "A"], "'B' does not depend on 'A'"),
        (&["task", "edit", "C", "--after", "B"], "the dependencies would have errors"),
        (&["task", "remove", "A"], "'C' depends on 'A'"),
        (&["task", "remove", "E"], "there is no task 'E'"),
        (&["task", "edit", "B"], "`task edit` needs <--title"),
    ] {
        limited_until("D is done", || read(world.dir().join("order")).contains('D').then_some(()));
        let refused = ask(world, words);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{words:?} {why}: {refused}");
    }
    let again = create("E", &[]);
    assert!(again.code == Some(2) && again.stderr.contains("'E' was removed from this run"), "{again}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(read(world.dir().join("order")), "A\nD\nC\nB\n");
    assert_eq!(
        (column(world, "id"), column(world, "status")),
        (["A", "B", "C", "D"].map(str::to_owned).to_vec(), vec!["completed".to_owned(); 4])
    );
}

/// R: N-02
#[test]
fn kill_9_right_after_an_edit_was_answered_loses_it_not() {
    let mut waiting = Waiting::new();
    let table = waiting.world.dir().join("S/tasks.csv");
    std::fs::write(&table, read(&table) + "C,,Do it,B,,csv-wave,worker,,pending,,\n").expect("a table");
    let mut executor = waiting.start();
    let world = &waiting.world;
    fine(&ask(world, &["task", "edit", "C", "--after", "A", "--not-after", "B"]));
    fine(&ask(world, &["task", "remove", "B"]));
    executor.kill().expect("it is killed");
    end(executor);
    waiting.pulse.wait_dead();
    // At rest the same rules hold.
    let begun = ask(world, &["task", "edit", "A", "--assignee", "other"]);
    assert!(begun.code == Some(2) && begun.stderr.contains("'A' has begun, so its place in the plan"), "{begun}");
    fine(&ask(world, &["task", "edit", "C", "--assignee", "other"]));
    let done = run(world, "echo $TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ROLE >> roles; echo did", &[]);
    fine(&done);
    assert_eq!(read(world.dir().join("roles")), "A worker\nC other\n");
    assert_eq!(column(world, "id"), ["A", "C"]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"replanned\"").count(), 3, "{journal}");
}

#[test]
fn plan_diff_shows_what_differs_from_the_run() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let diff = |more: &[&str]| ask(&world, &[&["plan", "--diff"], more].concat());
    assert_eq!(fine(&diff(&[])).stdout, "No run of this session, so there is nothing to compare with\n");
    let stopped =
        run(&world, "test $TEAM_EXECUTOR_TASK != B || exit 9; echo did $TEAM_EXECUTOR_TASK", &["--retries", "0"]);
    assert_eq!(stopped.code, Some(1), "{stopped}");
    fine(&ask(&world, &["retry", "B"]));
    assert!(fine(&diff(&[])).stdout.starts_with("The plan is that of EX-S-"));
    let path = world.dir().join("S/tasks.csv");
    let before = read(&path);
    let rows = before.lines().filter(|line| !line.starts_with("B,")).map(|line| format!("{line}\n"));
    let table = rows.collect::<String>().replace("C,,Do it,B,,csv-wave,worker", "C,,Do it,\"A;D\",,csv-wave,other");
    std::fs::write(&path, table + "D,,Do it,,,csv-wave,worker,,pending,,\n").expect("a table");
    let shown = diff(&[]);
    let lines: Vec<&str> = fine(&shown).stdout.lines().skip(1).collect();
    assert_eq!(lines, ["+ D", "- B", "~ C: role worker -> other", "~ C: deps B -> A, D"], "{shown}");
    let json: serde_json::Value = serde_json::from_str(&fine(&diff(&["--format", "json"])).stdout).expect("JSON");
    assert_eq!((&json["added"][0], &json["removed"][0], &json["known"]), (&"D".into(), &"B".into(), &true.into()));
    assert_eq!(json["changed"][0]["fields"][1]["to"], "A, D");
    let refused = run(&world, DID, &[]);
    assert!(refused.code == Some(2) && refused.stderr.contains("'B' has begun"), "{refused}");
}
