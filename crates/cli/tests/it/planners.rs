//! Sessions in the shapes of today's planners: judged, planned, run, killed and resumed, with every other byte as it was.

use std::path::Path;
use std::process::Stdio;

use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::run::{arguments, read};

fn world(files: &[(&str, &str)]) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    files.iter().for_each(|(path, text)| drop(world.write(&format!("S/{path}"), text)));
    world
}

/// Judges and plans `S`, which changes nothing, and runs it to its end.
fn run(world: &World, worker: &str) {
    let before = world.tree();
    for command in ["validate", "plan"] {
        let looked = world.run(&[command, "--session=S"]);
        assert_eq!(looked.code, Some(0), "{looked}");
    }
    assert_eq!(world.tree(), before);
    let run = world.run(&arguments("--session=S", worker, &["--retries", "0"]));
    assert_eq!(run.code, Some(0), "{run}");
}

/// Runs `S`, kills the executor while the task is worked on, and goes on to the end. No task is done twice.
fn run_killed_at(world: &World, task: &str, session_files: &[&str]) {
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = {task} ] && [ ! -e go ]; then touch there; sleep 600; fi; echo $TEAM_EXECUTOR_TASK >> ran; echo ok"
    );
    let args = arguments("--session=S", &worker, &[]);
    let mut executor = world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    limited_until("the worker begins", || world.dir().join("there").exists().then_some(()));
    let begun = || session_files.iter().any(|file| read(world.dir().join(file)).contains("in_progress"));
    limited_until("the file shows what runs", || begun().then_some(()));
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    world.write("go", "");
    let resumed = world.run(&args);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    let ran = read(world.dir().join("ran"));
    let mut tasks: Vec<_> = ran.lines().collect();
    tasks.sort_unstable();
    let all = tasks.len();
    tasks.dedup();
    assert_eq!(tasks.len(), all, "{ran}");
}

fn strict(world: &World) {
    let judged = world.run(&["validate", "--session=S", "--strict"]);
    assert_eq!(judged.code, Some(0), "{judged}");
}

fn again(world: &World) {
    let before = world.tree();
    let again = world.run(&arguments("--session=S", "touch again", &[]));
    assert!(again.to_string().contains("nothing was done"), "{again}");
    assert_eq!(world.tree(), before);
}

const CHAIN: &str = "{ \"session_id\":\"shop\",\t\"schema_version\": 2.0,\n  \"status\": \"active\", \"x\": [1,  2],\n  \"chain\": [\n    \
    {\"step_id\": \"plan\", \"command\": \"/plan\", \"args\": \"cards\", \"status\": \"completed\", \"took\": 1e2},\n    \
    {\"step_id\": \"do\",   \"command\": \"/do\",\"args\":{\"all\":true}, \"status\": \"pending\"},\n    \
    {\"step_id\": \"test\", \"command\": \"/test\", \"args\": \"\", \"status\": \"pending\"}\n  ]\n}\n";

/// R: P-06, P-05
#[test]
fn chain_runs_step_by_step_and_keeps_every_other_byte() {
    let world = world(&[("session.json", CHAIN)]);
    run(&world, "echo $TEAM_EXECUTOR_TASK >> ran; cat > prompt.$TEAM_EXECUTOR_TASK");
    assert_eq!(read(world.dir().join("ran")), "do\ntest\n");
    assert!(read(world.dir().join("prompt.do")).contains("/do {\"all\":true}"));
    let expected = CHAIN.replace("\"pending\"", "\"completed\"").replace("\"active\"", "\"completed\"");
    assert_eq!(read(world.dir().join("S/session.json")), expected);
    strict(&world);
    again(&world);
}

/// R: P-06
#[test]
fn killed_chain_is_resumed() {
    let world = world(&[("session.json", CHAIN)]);
    run_killed_at(&world, "test", &["S/session.json"]);
    assert_eq!(read(world.dir().join("ran")), "do\ntest\n");
    let text = read(world.dir().join("S/session.json"));
    assert_eq!(text.matches("\"status\": \"completed\"").count(), 4, "{text}");
}

const FORM: &str = "{\r\n\t\"id\": \"IMPL-001\",\r\n\t\"title\": \"Form\", \"scope\": \"src/form\",\r\n\t\"status\": \"pending\",\r\n\t\"meta\": {\"agent\":\"@dev\"}\r\n}";
const BASE: &str = "{\"id\":\"IMPL-002\",\"title\":\"Base\",\"status\":\"completed\",\"findings\":null}\n";
const TEST: &str = "{\"id\":\"IMPL-003\",\"title\":\"Test\",\"depends_on\":[\"IMPL-001\"],\"status\":\"pending\",\"updated_at\":\"2026-01-01T00:00:00Z\"}";

/// R: P-06, P-05
#[test]
fn task_files_are_run_and_only_their_state_changes() {
    let plan = "{\"summary\": \"Gift cards\", \"task_ids\": [\"IMPL-001\"]}";
    let world = world(&[
        (".task/IMPL-001.json", FORM),
        (".task/IMPL-002.json", BASE),
        (".task/IMPL-003.json", TEST),
        ("plan.json", plan),
    ]);
    run(&world, "echo $TEAM_EXECUTOR_TASK >> ran; cat > prompt.$TEAM_EXECUTOR_TASK");
    assert_eq!(read(world.dir().join("ran")), "IMPL-001\nIMPL-003\n");
    assert!(read(world.dir().join("prompt.IMPL-001")).contains("src/form"));
    assert_eq!(read(world.dir().join("S/.task/IMPL-001.json")), FORM.replace("\"pending\"", "\"completed\""));
    assert_eq!(read(world.dir().join("S/.task/IMPL-002.json")), BASE);
    assert_eq!(read(world.dir().join("S/plan.json")), plan);
    let test = read(world.dir().join("S/.task/IMPL-003.json"));
    let (head, time) = test.split_once("\"updated_at\":\"").expect("a time");
    assert_eq!(
        Some(head),
        TEST.replace("\"pending\"", "\"completed\"").split_once("\"updated_at\":\"").map(|(head, _)| head)
    );
    assert!(time.starts_with("20") && !time.starts_with("2026-01-01T00:00:00Z"), "{test}");
    strict(&world);
    again(&world);
}

/// R: P-06
#[test]
fn task_files_keep_the_words_of_their_planner_over_a_kill() {
    let file = |id: &str, deps: &str| {
        format!("{{\"task_id\":\"{id}\",\"title\":\"t\",\"depends_on\":[{deps}],\"status\":\"open\"}}")
    };
    let (one, two, three) = (file("TASK-001", ""), file("TASK-002", "\"TASK-001\""), file("TASK-003", "\"TASK-002\""));
    let world = world(&[("tasks/TASK-001.json", &one), ("tasks/TASK-002.json", &two), ("tasks/TASK-003.json", &three)]);
    run_killed_at(&world, "TASK-002", &["S/tasks/TASK-002.json"]);
    for (id, text) in [("TASK-001", one), ("TASK-002", two), ("TASK-003", three)] {
        let expected = text.replace("\"open\"}", "\"done\",\"findings\":\"ok\"}");
        assert_eq!(read(world.dir().join(format!("S/tasks/{id}.json"))), expected);
    }
}

/// R: P-06
#[test]
fn task_file_set_back_by_a_person_runs_again() {
    let world = world(&[
        ("tasks/A.json", "{\"id\":\"A\",\"title\":\"a\",\"status\":\"open\"}"),
        ("tasks/B.json", "{\"id\":\"B\",\"title\":\"b\",\"status\":\"open\"}"),
    ]);
    run(&world, "echo $TEAM_EXECUTOR_TASK >> ran");
    world.write("S/tasks/A.json", "{\"id\":\"A\",\"title\":\"a\",\"status\":\"open\"}");
    run(&world, "echo $TEAM_EXECUTOR_TASK >> again");
    assert_eq!(read(world.dir().join("again")), "A\n");
    assert_eq!(read(world.dir().join("S/tasks/A.json")), "{\"id\":\"A\",\"title\":\"a\",\"status\":\"done\"}");
}

const ADDED: &str = "[\n  {\"id\": \"BUILD-001\", \"subject\": \"One\", \"status\": \"pending\", \"owner\": \"builder\", \"blockedBy\": []},\n  \
    {\"id\": \"BUILD-007\", \"subject\": \"Added\", \"status\": \"pending\", \"owner\": \"builder\", \"blockedBy\": [\"BUILD-001\"], \"x\": 1.0}\n]\n";

/// A world with a `tc` session to which a task was added at run time.
fn added() -> World {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions/tc-state-beside");
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(fixture, "S");
    world.write("S/tasks.json", ADDED);
    world
}

/// R: P-06, P-05
#[test]
fn tasks_added_beside_a_team_session_are_run_and_told() {
    let world = added();
    run(&world, "echo $TEAM_EXECUTOR_TASK >> ran; echo ok");
    let ran = read(world.dir().join("ran"));
    let mut all: Vec<_> = ran.lines().collect();
    all.sort_unstable();
    assert_eq!(all, ["BUILD-001", "BUILD-002", "BUILD-007"]);
    let expected = ADDED
        .replace("\"pending\"", "\"completed\"")
        .replace("\"blockedBy\": []}", "\"blockedBy\": [], \"findings\": \"ok\"}")
        .replace("\"x\": 1.0}", "\"x\": 1.0, \"findings\": \"ok\"}");
    assert_eq!(read(world.dir().join("S/tasks.json")), expected);
    let session = read(world.dir().join("S/team-session.json"));
    assert!(session.contains("BUILD-007") && session.contains("\"tasks_completed\": 3"), "{session}");
    again(&world);
}

/// R: P-06
#[test]
fn killed_team_session_with_added_tasks_is_resumed() {
    let world = added();
    run_killed_at(&world, "BUILD-007", &["S/tasks.json"]);
    let text = read(world.dir().join("S/tasks.json"));
    assert_eq!(text.matches("\"status\": \"completed\"").count(), 2, "{text}");
    again(&world);
}

/// R: P-06, P-05
#[test]
fn task_list_that_is_an_array_stays_one() {
    let world = world(&[("tasks.json", ADDED)]);
    run(&world, "echo $TEAM_EXECUTOR_TASK >> ran; echo ok");
    assert_eq!(read(world.dir().join("ran")), "BUILD-001\nBUILD-007\n");
    let text = read(world.dir().join("S/tasks.json"));
    let expected = ADDED
        .replace("\"pending\"", "\"completed\"")
        .replace("\"blockedBy\": []}", "\"blockedBy\": [], \"findings\": \"ok\"}")
        .replace("\"x\": 1.0}", "\"x\": 1.0, \"findings\": \"ok\"}");
    assert_eq!(text, expected);
    strict(&world);
    again(&world);
}

/// R: P-06
#[test]
fn killed_task_list_is_resumed() {
    let world = world(&[("tasks.json", ADDED)]);
    run_killed_at(&world, "BUILD-007", &["S/tasks.json"]);
    assert_eq!(read(world.dir().join("ran")), "BUILD-001\nBUILD-007\n");
}

/// R: P-06
#[test]
fn state_of_the_bus_is_shared_in_the_place_of_shared_memory() {
    let world = added();
    world.write("S/.msg/meta.json", "{\"pipeline_mode\": \"quick and careful\"}\n");
    run(&world, "cat > prompt");
    assert!(!world.dir().join("S/shared-memory.json").exists());
    assert!(read(world.dir().join("prompt")).contains("quick and careful"));
}
