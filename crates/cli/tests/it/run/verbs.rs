//! The task verbs on the command line, used by people and by workers inside a run.

use team_executor_testkit::World;

use super::bus::{BIN, data};
use super::{DID, column, folder, json, read, run, tasks};
use crate::fixtures::world as fixture;

fn refused(world: &World, args: &[&str], why: &str) {
    let before = world.tree();
    let run = world.run(&[&["task"], args, &["--session=S"]].concat());
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains(why) && run.stderr.contains("\nhelp: "), "{run}");
    assert_eq!(world.tree(), before, "something was changed by {args:?}");
}

/// The command line's half of the mapping.
#[test]
fn a_worker_reports_its_own_task_and_no_other() {
    let world = tasks(&[("A", ""), ("B", ""), ("C", ""), ("D", "A")]);
    let worker = format!(
        r#"case $TEAM_EXECUTOR_TASK in
        A)  {BIN} task update B --status failed --error sabotage && exit 1
            {BIN} task update --status pending && exit 2
            {BIN} task update --status skipped --error no && exit 3
            {BIN} task update --status completed && exit 4
            {BIN} task update --status completed --findings f --data '{{"verification":"hoped"}}' && exit 5
            {BIN} task create X --title x --assignee stranger && exit 6
            {BIN} retry B --session="$TEAM_EXECUTOR_SESSION" && exit 10
            {BIN} skip D --session="$TEAM_EXECUTOR_SESSION" && exit 11
            {BIN} stop --now --session="$TEAM_EXECUTOR_SESSION" && exit 12
            {BIN} task update A --status in_progress || exit 7
            test -e "$TEAM_EXECUTOR_RESULT" && exit 8
            {BIN} task update A --status completed --findings 'it is done' --data '{{"decisions":["d"]}}' || exit 9
            {BIN} task get A --format json > "$TEAM_EXECUTOR_ARTIFACTS/task" ;;
        B)  {BIN} task update --status failed --error 'no database' || exit 1 ;;
        C)  {BIN} task update --status completed --findings half || exit 1
            {BIN} task update --status failed --error 'after all not' ;;
        esac"#
    );
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert_eq!(column(&world, "status"), ["completed", "failed", "failed", "completed"]);
    assert_eq!(column(&world, "error"), ["", "no database", "after all not", ""]);
    assert_eq!(column(&world, "findings")[0], "it is done");
    let errors = read(folder(&world).join("logs/A.1.err"));
    for why in [
        "error: a worker can only update its own task 'A', not 'B'\nhelp: send its role a message: team-executor msg log",
        "error: task cannot go from in_progress to pending\nhelp: ",
        "error: task cannot go from in_progress to skipped\nhelp: ",
        "error: a completed task needs findings\nhelp: ",
        "error: the data is not that of a result: ",
        "error: a worker may not control its own run\nhelp: report your own task: ",
        "error: unknown role 'stranger'\nhelp: ",
    ] {
        assert!(errors.contains(why), "{why}\n{errors}");
    }
    let result = json(folder(&world).join("agents/A.1.result.json"));
    assert_eq!((&result["task_id"], &result["status"]), (&"A".into(), &"completed".into()));
    let task = json(folder(&world).join("artifacts/A/task"));
    assert_eq!((&task["task"]["status"], &task["task"]["assignee"]), (&"in_progress".into(), &"worker".into()));
}

#[test]
fn person_may_only_reset_or_skip_tasks() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B"), ("D", "")]);
    refused(&world, &["update", "A", "--status", "skipped"], "the session was never run");
    let worker = "test $TEAM_EXECUTOR_TASK != B && echo did $TEAM_EXECUTOR_TASK";
    assert_eq!(run(&world, worker, &["--retries", "0"]).code, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "failed", "skipped", "completed"]);
    for (task, status, why) in [
        ("A", "failed", "A: task cannot go from completed to failed"),
        ("A", "skipped", "A: task cannot go from completed to skipped"),
        ("B", "completed", "B: task cannot go from failed to completed"),
        ("B", "in_progress", "B: task cannot go from failed to in_progress"),
        ("C", "completed", "C: task cannot go from skipped to completed"),
        ("X", "pending", "there is no task 'X'"),
    ] {
        refused(&world, &["update", task, "--status", status], why);
    }
    refused(&world, &["update", "--status", "pending"], "no task was named");
    let run_of = |args: &[&str]| world.run(&[&["task"], args, &["--session=S"]].concat());
    let again = run_of(&["update", "B", "--status", "pending"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(column(&world, "status"), ["completed", "pending", "pending", "completed"]);
    refused(&world, &["update", "B", "--status", "in_progress"], "B: only its worker can make a task in_progress");
    let skip = run_of(&["update", "C", "--status", "skipped", "--error", "by hand"]);
    assert_eq!(skip.code, Some(0), "{skip}");
    assert_eq!(run(&world, DID, &[]).code, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "completed", "skipped", "completed"]);
    assert_eq!(column(&world, "error")[2], "by hand");
    assert_eq!(run_of(&["update", "A", "--status", "pending"]).code, Some(0), "with everything that depends on it");
    assert_eq!(column(&world, "status"), ["pending", "pending", "skipped", "completed"], "what a person skipped stays");
}

#[test]
fn a_retry_brings_back_what_was_skipped_in_an_earlier_run() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let worker = "test $TEAM_EXECUTOR_TASK != B && echo did $TEAM_EXECUTOR_TASK";
    assert_eq!(run(&world, worker, &["--retries", "0"]).code, Some(1));
    let new = world.run(&["task", "create", "D", "--title", "New", "--assignee", "worker", "--session=S"]);
    assert_eq!(new.code, Some(0), "{new}");
    assert_eq!(run(&world, DID, &[]).code, Some(1), "B and C stay as they were");
    let retried = world.run(&["retry", "--failed", "--session=S"]);
    assert_eq!(retried.code, Some(0), "{retried}");
    let done = run(&world, DID, &[]);
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn looking_at_tasks_changes_nothing() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let before = world.tree();
    let list = world.run(&["task", "list", "--session=S"]);
    assert_eq!(list.stdout, "A completed (worker)\nB completed (worker)\n");
    assert_eq!(world.run(&["task", "list", "--status", "failed", "--session=S"]).stdout, "No tasks\n");
    let list = data(&world.run(&["task", "list", "--assignee", "worker", "--session=S", "--format", "json"]));
    assert_eq!(list["tasks"][1]["metadata"], serde_json::json!({"deps": ["A"], "context_from": [], "wave": 2}));
    let one = world.run(&["task", "get", "B", "--session=S"]);
    assert_eq!(
        one.stdout,
        "id: B\ndescription: Do it\nassignee: worker\nstatus: completed\ndeps: A\nwave: 2\nfindings: did B\n"
    );
    refused(&world, &["get", "X"], "there is no task 'X'");
    assert_eq!(world.tree(), before);
}

#[test]
fn task_is_added_only_if_the_session_is_valid_with_it() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let new = |id: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [&["create", id, "--title", "New", "--assignee", "worker"], more].concat()
    };
    refused(&world, &new("A", &[]), "task 'A' already exists");
    refused(&world, &new("C", &["--deps", "A,X"]), "unknown dependency 'X'");
    refused(&world, &new("C", &["--deps", "C"]), "unknown dependency 'C'");
    refused(&world, &new("C", &["--deps", "B", "--wave", "7"]), "by its dependencies the task is in wave 3");
    refused(&world, &new(" ", &[]), "choose another id");
    refused(&world, &["create", "C", "--title", "t", "--assignee", ""], "name the role: --assignee ROLE");
    let added = world.run(&[&["task"], &new("C", &["--deps", "B", "--wave", "3"])[..], &["--session=S"]].concat());
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stdout.contains("id: C\ntitle: New\n") && added.stdout.contains("deps: B\nwave: 3\n"), "{added}");
    assert!(read(world.dir().join("S/tasks.csv")).starts_with("id,title,description,deps,"));
    assert_eq!(run(&world, "test $TEAM_EXECUTOR_TASK != C", &["--retries", "0"]).code, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "completed", "failed"]);
    let retried = world.run(&["retry", "C", "--session=S"]);
    assert_eq!(retried.code, Some(0), "{retried}");
    let added = world.run(&[&["task"], &new("D", &[])[..], &["--session=S"]].concat());
    assert_eq!(added.code, Some(0), "the run is open, and goes on with it: {added}");
    let again = run(&world, DID, &["--format", "json"]);
    assert!(again.stdout.contains("\"D\""), "{again}");
}

#[test]
fn task_is_added_in_its_dialect_for_a_known_role() {
    for (name, file) in [("tasks-json-spec-literal", "tasks.json"), ("tls-spec-literal", "team-session.json")] {
        let world = fixture(name);
        let session = format!("--session={name}");
        let listed = data(&world.run(&["task", "list", &session, "--format", "json"]));
        let role = listed["tasks"][0]["assignee"].as_str().expect("a role").to_owned();
        world.write(&format!("{name}/roles/{role}/role.md"), "# Role\n");
        for task in listed["tasks"].as_array().expect("tasks") {
            world.write(&format!("{name}/roles/{}/role.md", task["assignee"].as_str().expect("a role")), "# Role\n");
        }
        let before = read(world.dir().join(name).join(file));
        let create =
            |role: &str| world.run(&["task", "create", "BUILD-009", "--title", "Nine", "--assignee", role, &session]);
        let odd = create("stranger");
        assert_eq!(odd.code, Some(2), "{odd}");
        assert!(odd.stderr.contains("the session with this task is not valid: "), "{odd}");
        assert_eq!(read(world.dir().join(name).join(file)), before);
        let added = create(&role);
        assert_eq!(added.code, Some(0), "{added}");
        assert!(read(world.dir().join(name).join(file)).contains("\"BUILD-009\""));
        assert_eq!(world.run(&["validate", &session]).code, Some(0));
    }
    let world = fixture("tc-spec-minimal");
    let before = world.tree();
    let run = world.run(&["task", "create", "X-1", "--title", "t", "--assignee", "r", "--session=tc-spec-minimal"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("task 'X-1' has the unknown role 'r'"), "{run}");
    assert_eq!(world.tree(), before);
}

/// R: T-03
#[test]
fn the_worker_of_a_checkpoint_must_say_whether_to_go_on() {
    let world = tasks(&[("CHECKPOINT-001", ""), ("B", "CHECKPOINT-001")]);
    let worker = format!(
        r#"if [ $TEAM_EXECUTOR_TASK = B ]; then exit 0; fi
        {BIN} task update --status completed --findings looked && exit 1
        {BIN} task update --status completed --findings looked --verdict maybe && exit 2
        {BIN} task update --status completed --findings looked --verdict block"#
    );
    let blocked = run(&world, &worker, &[]);
    assert_eq!(blocked.code, Some(3), "{blocked}");
    let done = column(&world, "status").iter().filter(|status| *status == "completed").count();
    assert_eq!(done, 1, "a person decides before B starts");
    let errors = read(folder(&world).join("logs/CHECKPOINT-001.1.err"));
    assert!(errors.contains("a CHECKPOINT needs a verdict: --verdict pass, warn or block"), "{errors}");
}
