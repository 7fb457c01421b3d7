//! What people and agents can read while a run goes on, and after it.

use std::path::Path;

use serde_json::{Value, json as value};
use team_executor_testkit::World;

use super::{arguments, column, folder, json, read, run, tasks};
use crate::fixtures::world as fixture;

/// The newest picture that a worker took of a file.
fn seen(world: &World, name: &str) -> Value {
    json(world.dir().join(name))
}

/// Each worker copies what it sees of the run's folder to `seen-<task>`.
const COPIES: &str = "cp -r .workflow/.csv-wave/EX-*/ seen-$TEAM_EXECUTOR_TASK; echo found $TEAM_EXECUTOR_TASK";

fn waves() -> World {
    let world = tasks(&[]);
    let table = "id,title,deps,context_from,exec_mode,role,position\nA,Do A,,,csv-wave,r,\nB,Do B,,,csv-wave,r,\nI,Do I,,,interactive,r,\n\
                 P,Do P,,,interactive,s,pre-wave\nC,Do C,A;B,A;B,csv-wave,r,\nD,Do D,C,C,csv-wave,r,\n";
    world.write("S/tasks.csv", table);
    world
}

/// R: W-06
#[test]
fn a_wave_has_a_table_with_its_context_until_it_is_merged() {
    let world = waves();
    world.write(".workflow/.csv-wave/keep", "not a run");
    let done = run(&world, COPIES, &["--cadence", "wave"]);
    assert_eq!(done.code, Some(0), "{done}");
    let table =
        |task: &str, wave: u32| std::fs::read_to_string(world.dir().join(format!("seen-{task}/wave-{wave}.csv")));
    let first = table("A", 1).expect("the table of the first wave");
    assert!(first.starts_with(
        "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,prev_context\nA,"
    ));
    assert_eq!(first.lines().count(), 3, "only the one-shot tasks of the wave: {first}");
    let second = table("C", 2).expect("the table of the second wave");
    assert!(second.contains("\"[Task A] found A\n\n[Task B] found B\""), "{second}");
    assert!(table("C", 1).is_err() && table("D", 2).is_err(), "a merged wave has none");
    assert!(table("D", 3).expect("the third").contains("[Task C] found C"));
    let left = folder(&world).read_dir().expect("a folder").flatten().map(|entry| entry.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("wave-")));
}

/// R: W-06
#[test]
fn wave_files_of_a_killed_run_are_cleaned_not_read() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let kills = "if [ $TEAM_EXECUTOR_TASK = A ]; then kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99; fi";
    assert_eq!(run(&world, kills, &["--cadence", "wave"]).code, None, "the executor is killed");
    let path = folder(&world);
    assert!(path.join("wave-1.csv").exists());
    std::fs::write(path.join("wave-1.csv"), "id,status,findings\nA,completed,lies\nB,completed,lies\n")
        .expect("written");
    std::fs::write(path.join("wave-07.csv"), "mine").expect("written");
    let scribble =
        "for f in .workflow/.csv-wave/*/wave-?.csv; do echo Z,completed > $f; done; echo $TEAM_EXECUTOR_TASK";
    let done = run(&world, scribble, &["--cadence", "wave"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "findings"), ["A", "B"]);
    assert!(!path.join("wave-1.csv").exists() && !path.join("wave-2.csv").exists());
    assert_eq!(read(path.join("wave-07.csv")), "mine", "that is no name of ours");
}

/// R: W-12
#[test]
fn interactive_tasks_leave_results_and_close_each_spawn() {
    let world = waves();
    let worker = format!("if [ $TEAM_EXECUTOR_TASK = I ] && mkdir once; then exit 3; fi; {COPIES}");
    let done = run(&world, &worker, &["--cadence", "wave", "--retries", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    let path = folder(&world);
    let results: Vec<_> = path.join("interactive").read_dir().expect("a folder").flatten().collect();
    assert_eq!(results.len(), 2, "only interactive tasks have one");
    let result = json(path.join("interactive/I-result.json"));
    assert_eq!((&result["status"], &result["findings"]), (&"completed".into(), &"found I".into()));
    let registry = json(path.join("agents/registry.json"));
    assert_eq!(registry["active"], value!([]));
    let closed: Vec<_> =
        registry["closed"].as_array().expect("a list").iter().map(|agent| agent["id"].as_str()).collect();
    let run = path.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(
        closed,
        [format!("{run}/I/1"), format!("{run}/I/2"), format!("{run}/P/1")].each_ref().map(|id| Some(id.as_str()))
    );
}

/// R: W-12
#[test]
fn an_agent_that_a_crash_ended_is_closed_by_the_next_run() {
    let world = tasks(&[]);
    world.write("S/tasks.csv", "id,title,exec_mode,role\nA,Do A,interactive,r\n");
    let alive =
        "cp .workflow/.csv-wave/*/agents/registry.json seen; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99";
    // The registry is rendered in time: until it names the agent, the worker waits for it.
    let waits =
        format!("until grep -q '/A/1' .workflow/.csv-wave/*/agents/registry.json; do read -t 1 x; done; {alive}");
    let killed = run(&world, &format!("exec bash -c '{}'", waits.replace('\'', "'\\''")), &[]);
    assert_eq!(killed.code, None, "{killed}");
    assert_eq!(seen(&world, "seen")["active"][0]["task_id"], "A");
    assert_eq!(run(&world, "echo done", &[]).code, Some(0));
    let registry = json(folder(&world).join("agents/registry.json"));
    assert_eq!(registry["active"], value!([]));
    let closed: Vec<_> = registry["closed"].as_array().expect("a list").iter().map(|agent| &agent["status"]).collect();
    assert_eq!(closed, ["tried again", "completed"]);
}

/// R: T-04
#[test]
fn tasks_json_is_current_while_the_run_goes_on() {
    let world = tasks(&[]);
    let state = value!({"session_id": "s", "tasks": {
        "A": {"title": "a", "role": "r", "deps": [], "status": "pending"},
        "B": {"title": "b", "role": "r", "deps": ["A"], "status": "pending"}}, "gc_rounds": 2, "mine": [1]});
    std::fs::remove_dir_all(world.dir().join("S")).expect("removed");
    world.write("S/tasks.json", state.to_string());
    // Each worker waits until the file says that it works.
    let worker = "exec bash -c 'until grep -q \"\\\"$TEAM_EXECUTOR_TASK\\\": *\\\"EX-\" S/tasks.json; do read -t 1 x; done; \
                  cp S/tasks.json seen-$TEAM_EXECUTOR_TASK; echo did it'";
    let done = run(&world, worker, &["-c", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    let (a, b, end) = (seen(&world, "seen-A"), seen(&world, "seen-B"), seen(&world, "S/tasks.json"));
    assert_eq!(a["status"], Value::Null, "active");
    assert!(a["active_agents"]["A"].as_str().is_some_and(|agent| agent.ends_with("/A/1")), "{a}");
    assert_eq!((&a["completed_waves"], &a["tasks"]["A"]["status"]), (&Value::Null, &"in_progress".into()));
    assert_eq!((&b["completed_waves"], &b["tasks"]["A"]["status"]), (&value!([1]), &"completed".into()));
    assert_eq!(b["active_agents"].as_object().map(serde_json::Map::len), Some(1), "{b}");
    assert_eq!((&end["completed_waves"], &end["active_agents"]), (&value!([1, 2]), &value!({})));
    for state in [a, b, end] {
        assert_eq!((&state["gc_rounds"], &state["mine"]), (&2.into(), &value!([1])));
    }
}

#[test]
fn tc_session_is_active_while_running_then_paused() {
    let world = fixture("tc-spec-minimal");
    let state = "tc-spec-minimal/team-session.json";
    let worker =
        format!("exec bash -c 'until grep -q agent_id {state}; do read -t 1 x; done; cp {state} seen; exit 1'");
    let done = world.run(&arguments("--session=tc-spec-minimal", &worker, &["--retries", "0"]));
    assert_eq!(done.code, Some(1), "{done}");
    let during = seen(&world, "seen");
    assert_eq!(during["status"], "active");
    assert!(during["active_workers"][0]["agent_id"].as_str().is_some_and(|agent| agent.starts_with("EX-")), "{during}");
    let after = json(world.dir().join(state));
    assert_eq!((&after["status"], &after["active_workers"]), (&"paused".into(), &value!([])));
}

fn with_discoveries(worker: &str, more: &[&str]) -> (World, team_executor_testkit::Run) {
    let world = tasks(&[]);
    std::fs::remove_dir_all(world.dir().join("S")).expect("removed");
    let state =
        value!({"session_id": "s", "tasks": {"A": {"title": "a", "role": "r", "deps": [], "status": "pending"}}});
    world.write("S/tasks.json", state.to_string());
    let run = run(&world, worker, more);
    (world, run)
}

/// R: T-02
#[test]
fn every_finished_task_has_a_discovery_that_agrees_with_it() {
    let theirs = |status: &str| {
        format!("echo '{{\"task_id\":\"A\",\"status\":\"{status}\",\"mine\":1}}' > S/discoveries/A.json")
    };
    let (completed, failed) = (theirs("completed"), theirs("failed"));
    for (worker, status, findings, error) in [
        ("echo reported".to_owned(), "completed", "reported", ""),
        ("true".to_owned(), "failed", "", "No discovery file produced"),
        (completed.clone(), "completed", "", ""),
        (format!("{completed}; exit 7"), "failed", "", "exit code 7"),
        (format!("{failed}; echo fine"), "failed", "", "its discovery discoveries/A.json says that it failed"),
        (
            "echo { > S/discoveries/A.json; echo fine".to_owned(),
            "failed",
            "",
            "its discovery discoveries/A.json cannot be read",
        ),
    ] {
        let (world, done) = with_discoveries(&worker, &["--retries", "0"]);
        assert_eq!(done.code, Some(i32::from(status == "failed")), "{done}");
        let found = json(world.dir().join("S/discoveries/A.json"));
        assert_eq!(
            (&found["task_id"], &found["status"], &found["findings"]),
            (&"A".into(), &status.into(), &findings.into())
        );
        assert_eq!(found["error"].as_str().unwrap_or_default(), error, "{found}");
        let state = json(world.dir().join("S/tasks.json"));
        assert_eq!(state["tasks"]["A"]["status"], status);
        let schema: Value = serde_json::from_str(&world.run(&["schema", "discovery"]).stdout).expect("a schema");
        assert!(jsonschema::is_valid(&schema, &found), "{found}");
        let valid = world.run(&["validate", "--session=S"]);
        assert_eq!(valid.code, Some(0), "what is left can be run again: {valid}");
        let is_aside = world.dir().join("S/discoveries/A.json.aside-1").exists();
        let why = match error {
            "exit code 7" => Some("contradicts that it is failed"),
            error => error.ends_with("cannot be read").then_some("cannot be read"),
        };
        let says = done.stderr.split("warning: A: its discovery ").nth(1).and_then(|said| said.split(';').next());
        assert_eq!((is_aside, says), (why.is_some(), why), "{done}");
    }
}

/// R: W-05
#[test]
fn master_table_is_always_whole_and_keeps_columns() {
    let world = tasks(&[]);
    let rows: String = (0..40).map(|n| format!("T{n},,worker,\"mood, {n}\"\n")).collect();
    world.write("S/tasks.csv", format!("id,deps,role,mood\n{rows}"));
    let looks = "t=.workflow/.csv-wave/*/tasks.csv; [ $(grep -c 'mood, ' $t) = 40 ] && [ $(tail -n1 $t | cut -d, -f1) = T39 ] && echo whole";
    let done = run(&world, looks, &["-c", "2", "--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "mood").iter().filter(|mood| mood.starts_with("mood, ")).count(), 40);
    assert!(read(Path::new(&folder(&world)).join("tasks.csv")).starts_with("id,deps,role,mood,title,"));
}
