//! What people get wrong in their first hour, and what they read then.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use team_executor_testkit::World;

use super::pin;

const TABLE: &str = "id,title,description,deps,role\nA,Build,Build it,,dev\nB,Test,Test it,A,tester\n";

fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

/// A world with one session, a worker that succeeds and one that cannot be started.
fn shop() -> World {
    let world = world();
    world.write(".workflow/.team/TC-shop/tasks.csv", TABLE);
    let work = world.write("work.sh", "#!/bin/sh\necho done\n");
    std::fs::set_permissions(work, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    world.write("plain.sh", "#!/bin/sh\necho done\n");
    world
}

/// A shop whose run failed.
fn failed() -> World {
    let world = shop();
    let run = world.run(&["run", "--agent-command", "echo 'no compiler' >&2; exit 2", "--retries=0", "-y"]);
    assert_eq!(run.code, Some(1), "{run}");
    world
}

/// A shop whose run is complete.
fn complete() -> World {
    let world = shop();
    let run = world.run(&["run", "--agent-command", "./work.sh", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    world
}

/// Runs command lines one after the other and pins all that they print.
#[track_caller]
fn pinned(name: &str, world: &World, lines: &[&str]) {
    let mut all = String::new();
    for line in lines {
        let run = world.run(&line.split(' ').collect::<Vec<_>>());
        assert_ne!(run.code, Some(70), "{run}");
        writeln!(all, "{run}").expect("a string");
    }
    pin(name, &all);
}

#[test]
fn mistakes_without_a_session_are_pinned() {
    let world = world();
    world.write("notes.txt", "hello");
    pinned(
        "mistakes-no-session",
        &world,
        &[
            "run",
            "status",
            "statsu",
            "run shop",
            "init",
            "man nope",
            "plan --session=shop",
            "plan --session=notes.txt",
            "plan --session=.",
        ],
    );
}

#[test]
fn mistakes_before_the_first_run_are_pinned() {
    let world = shop();
    world.write("empty/readme.txt", "");
    pinned(
        "mistakes-before-a-run",
        &world,
        &[
            "run",
            "run --agent claud -y",
            "run --agent claude -y",
            "run --agent-command ./missing.sh -y",
            "run --agent-command ./plain.sh -y",
            "run --agent-command ./work.sh",
            "run --agent-command ./work.sh -c 0 -y",
            "run --agent-command ./work.sh --budget-usd ten -y",
            "run --agent-command ./work.sh --only Z -y",
            "validate --session=sho",
            "validate --session=empty",
            "logs",
            "resume",
            "pause",
            "prompt X",
        ],
    );
}

#[test]
fn mistakes_after_a_run_are_pinned() {
    pinned(
        "mistakes-after-a-run",
        &complete(),
        &[
            "run --agent-command ./work.sh -y",
            "retry A",
            "retry Z",
            "logs Z",
            "logs A --attempt 9",
            "status --run EX-nothing",
            "checkpoint approve",
            "stop",
            "artifacts show x",
            "export",
            "task create A --title again --assignee dev",
        ],
    );
    pinned("mistakes-after-a-failure", &failed(), &["status", "logs A", "logs B", "retry B", "skip A", "plan"]);
}

#[test]
fn broken_files_are_pinned() {
    const CONFIG: &str = "team-executor.toml";
    const TASKS: &str = ".workflow/.team/TC-shop/tasks.csv";
    const HEAD: &str = "id,title,description,deps,role\n";
    for (name, file, text, line) in [
        ("config-no-toml", CONFIG, "[defaults\nagent = \"x\"\n", "config"),
        ("config-wrong-keys", CONFIG, "[defaults]\nagnet = \"claude\"\nretries = \"two\"\n", "config"),
        ("config-unknown-agent", CONFIG, "[roles.dev]\nagent = \"claud\"\n", "run -y"),
        ("tasks-no-json", "broken/tasks.json", "{\"tasks\": [}\n", "validate --session=broken"),
        ("tasks-unknown-dependency", TASKS, "A,Build,Build it,C,dev\n", "validate"),
        ("tasks-open-quote", TASKS, "A,\"Build,Build it,,dev\n", "validate"),
        ("tasks-cycle", TASKS, "A,x,x,B,dev\nB,x,x,A,dev\n", "plan"),
    ] {
        let world = shop();
        let head = if file == TASKS { HEAD } else { "" };
        world.write(file, format!("{head}{text}"));
        pinned(&format!("broken-{name}"), &world, &[line]);
    }
}
