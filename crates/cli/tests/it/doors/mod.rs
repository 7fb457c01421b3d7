//! What must always hold, broken through every door there is: the files of a session, the table of its run, the command
//! line, the message bus, and what a worker reports or leaves. What is so afterwards is read from the files.

mod artifacts;
mod runtime;
mod session;
mod structural;
mod tasks;

use serde_json::{Value, json};
use team_executor_testkit::{Run, World};

use crate::fixtures::world as fixture;
use crate::run::{arguments, folder, read, rows};

/// The program, for workers.
const BIN: &str = env!("CARGO_BIN_EXE_team-executor");
const SESSION: &str = "--session=S";

/// `tasks.json` with these tasks: an id, what it waits for, and fields that differ.
fn tasks_json(tasks: &[(&str, &str, Value)]) -> World {
    let mut wave = 0;
    let all = tasks.iter().map(|(id, after, other)| {
        wave += 1;
        let after: Vec<_> = after.split_whitespace().collect();
        let task = json!({
            "title": id, "description": "d", "role": "worker", "deps": after, "context_from": [], "wave": wave,
            "status": "pending", "findings": null, "quality_score": null, "supervision_verdict": null, "error": null
        });
        ((*id).to_owned(), with(task, other))
    });
    let world = World::new(BIN);
    let file = json!({
        "session_id": "tlv4-x-20260324", "skill": "s", "pipeline": "p", "requirement": "r",
        "created_at": "2026-03-24T10:00:00+08:00", "tasks": all.collect::<serde_json::Map<_, _>>()
    });
    world.write("S/tasks.json", file.to_string());
    world
}

/// A lifecycle session with these tasks, and fields of its own that differ.
fn lifecycle(tasks: &[(&str, &str, Value)], own: &Value) -> World {
    let all = tasks.iter().map(|(id, after, other)| {
        let after: Vec<_> = after.split_whitespace().collect();
        let task = json!({
            "id": id, "role": "executor", "phase": "impl", "dependencies": after, "status": "pending", "priority": "P1"
        });
        with(task, other)
    });
    let world = World::new(BIN);
    let file = json!({
        "session_id": "TLS-x-20260305", "slug": "x", "status": "active", "pipeline_type": "impl-only",
        "created_at": "2026-03-05T09:00:00Z", "updated_at": "2026-03-05T09:00:00Z",
        "artifact_registry": {}, "task_list": all.collect::<Vec<_>>()
    });
    world.write("S/team-session.json", with(file, own).to_string());
    world
}

/// An object in which these fields differ.
fn with(mut object: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}

/// Two tasks, the second after the first.
fn two() -> World {
    crate::run::tasks(&[("A", ""), ("B", "A")])
}

/// The file of a session breaks a rule: nothing is started, and nothing is changed.
#[track_caller]
fn invalid(world: &World, name: &str, why: &str) {
    let before = world.tree();
    let session = format!("--session={name}");
    for args in [&["validate", &session][..], &arguments(&session, "touch started", &[])] {
        let run = world.run(args);
        assert!(run.code == Some(2) && run.to_string().contains(why), "{why}: {run}");
    }
    assert_eq!(world.tree(), before, "{name}");
}

/// The same for sessions that are kept with what is said of them.
#[track_caller]
fn invalid_fixtures(all: &[(&str, &str)]) {
    for (name, why) in all {
        invalid(&fixture(name), name, why);
    }
}

/// The command line is told to break a rule: it says why not, and nothing is changed that people or programs read.
#[track_caller]
fn refused(world: &World, args: &[&str], why: &str) {
    let before = visible(world);
    let run = world.run(&[args, &[SESSION]].concat());
    assert!(run.code == Some(2) && run.stderr.contains(why) && run.stderr.contains("help: "), "{why}: {run}");
    assert_eq!(visible(world), before, "something was changed by {args:?}");
}

/// Everything but what the executor keeps for itself.
fn visible(world: &World) -> Vec<String> {
    let tree = world.tree().to_string();
    tree.lines().filter(|line| !line.contains(".executor") && !line.contains(".lock")).map(str::to_owned).collect()
}

/// The table of a run that failed is edited so that it breaks a rule: the edit is refused, kept aside, and undone.
#[track_caller]
fn edit_refused(from: &str, to: &str, why: &str) {
    let world = two();
    assert_eq!(run(&world, "exit 1").code, Some(1));
    let path = folder(&world).join("tasks.csv");
    let before = read(&path);
    assert!(before.contains(from), "{from}: {before}");
    std::fs::write(&path, before.replacen(from, to, 1)).expect("written");
    let again = run(&world, "");
    assert!(again.code == Some(2) && again.stderr.contains(why), "{why}: {again}");
    assert_eq!((read(&path), order(&world)), (before, "A".to_owned()));
    assert!(read(folder(&world).join("tasks.csv.edited-1")).contains(to));
}

/// A forbidden claim goes through the bus, through a line that a worker writes itself, and through a result: both
/// tasks run once, in their order, and what the session plans stays.
#[track_caller]
fn claimed(claim: &Value) {
    let line = json!({
        "id": "MSG-900", "ts": "2026-01-01T00:00:00Z", "from": "coordinator", "to": "all", "type": "task_update",
        "summary": "a claim", "data": claim
    });
    let result = with(json!({"status": "completed", "findings": "f"}), claim);
    let script = format!(
        "{BIN} msg log 'a claim' --type state_update --data '{claim}' || exit 8
        echo '{line}' >> \"$TEAM_EXECUTOR_SESSION/.msg/messages.jsonl\"
        echo '{result}' > \"$TEAM_EXECUTOR_RESULT\""
    );
    for world in [two(), tasks_json(&[("A", "", json!({})), ("B", "A", json!({}))])] {
        let planned = plan(&world);
        let done = run(&world, &script);
        assert_eq!(done.code, Some(0), "{claim}: {done}");
        assert_eq!((order(&world).as_str(), states(&world).as_str()), ("A B", "A completed, B completed"), "{claim}");
        assert_eq!(plan(&world), planned, "{claim}");
        assert_eq!(world.run(&["validate", SESSION]).code, Some(0), "{claim}");
    }
}

/// What a session plans: its tasks with roles, dependencies and waves.
fn plan(world: &World) -> Vec<String> {
    let run = world.run(&["plan", SESSION, "--format", "json"]);
    let plan: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    let line = |task: &Value| format!("{} {} {} {}", task["id"], task["role"], task["dependencies"], task["wave"]);
    plan["tasks"].as_array().expect("tasks").iter().map(line).collect()
}

/// Runs `S`, one worker at a time. Each notes its start in `order` and does what `<task>.sh` says; for `A` that is given.
fn run(world: &World, script: &str) -> Run {
    run_with(world, script, &[])
}

fn run_with(world: &World, script: &str, more: &[&str]) -> Run {
    let worker = "echo \"$TEAM_EXECUTOR_TASK\" >> order\n\
                  if [ -e \"$TEAM_EXECUTOR_TASK.sh\" ]; then . \"./$TEAM_EXECUTOR_TASK.sh\"; fi\n\
                  [ -e \"$TEAM_EXECUTOR_RESULT\" ] || echo \"did $TEAM_EXECUTOR_TASK\"\n";
    world.write("worker.sh", worker);
    world.write("A.sh", script);
    world.run(&arguments(SESSION, "sh worker.sh", &[&["--retries", "0", "-c", "1"], more].concat()))
}

/// A script that reports this.
fn reports(result: &Value) -> String {
    format!("cat > \"$TEAM_EXECUTOR_RESULT\" <<'END'\n{result}\nEND\n")
}

/// Which tasks started, in their order.
fn order(world: &World) -> String {
    let order = std::fs::read_to_string(world.dir().join("order")).unwrap_or_default();
    order.lines().collect::<Vec<_>>().join(" ")
}

/// How the tasks stand in the table of the run.
fn states(world: &World) -> String {
    let all = rows(world).into_iter().map(|(id, row)| format!("{id} {}", row["status"]));
    all.collect::<Vec<_>>().join(", ")
}

/// One column of the table of the run, for each task.
fn cells(world: &World, column: &str) -> Vec<String> {
    rows(world).into_values().map(|mut row| row.remove(column).unwrap_or_default()).collect()
}
