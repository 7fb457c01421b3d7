//! Keys in the live view of `run` and `attach`.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Screen, World};

/// A session of three tasks side by side and one behind the first, each of which waits at a gate of its name.
struct Scene {
    world: World,
    gates: Vec<Gate>,
}

const WORKER: &str = "echo working on $TEAM_EXECUTOR_TASK; cat gate-$TEAM_EXECUTOR_TASK; echo did $TEAM_EXECUTOR_TASK";

impl Scene {
    fn new() -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.write(
            "S/tasks.csv",
            "id,title,deps,role\nA,First,,worker\nB,Second,,worker\nC,Third,,worker\nD,Last,A,worker\n",
        );
        world.write("gate-D", "");
        let gates = ["A", "B", "C"].map(|name| Gate::new(world.dir().join(format!("gate-{name}"))));
        Self { world, gates: gates.into() }
    }

    fn run(&self, more: &[&str]) -> Screen {
        let args =
            ["run", "--session=S", "--agent-command", WORKER, "--retries", "0", "-y", "--on-complete", "auto_keep"];
        Screen::start(self.world.command(&[&args, more].concat()), 100, 30)
    }

    fn detach(&self) {
        let args = ["run", "--session=S", "--agent-command", WORKER, "--retries", "0", "-y", "--detach"];
        let run = self.world.run(&[&args[..], &["-c", "2"]].concat());
        assert_eq!(run.code, Some(0), "{run}");
    }

    fn open(&self) {
        self.gates.iter().for_each(Gate::open);
    }

    fn statuses(&self) -> Vec<String> {
        let status = self.world.run(&["status", "--session=S", "--format", "json"]);
        let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
        let tasks = status["tasks"].as_array().expect("tasks").iter();
        tasks.map(|task| task["status"].as_str().expect("a status").to_owned()).collect()
    }
}

/// R: N-05
#[test]
fn keys_of_a_run_show_and_steer_it() {
    let scene = Scene::new();
    let mut view = scene.run(&["-c", "2"]);
    view.wait_for("▶ B  worker");
    view.wait_for("2 running, 1 ready, 1 waiting   ? keys");
    view.type_in("?");
    view.wait_for("1-9    the log of the first to ninth task that runs");
    view.type_in("p");
    view.wait_for("No problems");
    view.type_in("n");
    view.wait_for("Nothing needs you");
    view.type_in("t");
    view.wait_for("1 A\n  working on A\n2 B\n  working on B");
    view.type_in("2");
    view.wait_for("Log of B:\n  working on B");
    view.type_in("9");
    view.wait_for("No task 9 runs");
    view.type_in("+");
    view.wait_for("▶ C  worker");
    view.type_in("-");
    view.wait_for("Limit: at most 2 workers");
    view.type_in(" ");
    view.wait_for("Paused: paused by a key");
    view.type_in(" ");
    view.wait_for("Going on");
    view.type_in("c");
    view.wait_for("Cancel which? 1 A  2 B  3 C  (Esc: none)");
    view.type_in("\u{1b}");
    view.wait_for("3 running");
    view.type_in("c3");
    view.wait_for("Cancel C? y/n");
    view.type_in("y");
    view.wait_for("✗ C");
    view.type_in("q");
    view.wait_for("Ctrl-C stops it");
    scene.gates[..2].iter().for_each(Gate::open);
    assert_eq!(view.end().code(), Some(1), "{}", view.glass());
    assert_eq!(scene.statuses(), ["completed", "completed", "failed", "completed"]);
    let seen = view.glass().history().join("\n");
    assert!(!seen.contains("c3y") && !seen.lines().any(|line| line.trim() == "?"), "nothing typed is shown: {seen}");
}

#[test]
fn attached_view_takes_keys_and_leaves_the_run_alone() {
    let scene = Scene::new();
    scene.detach();
    for leave in ["q", "\u{3}"] {
        let mut view = Screen::start(scene.world.command(&["attach", "--session=S"]), 100, 30);
        view.wait_for("▶ B  worker");
        view.type_in("t");
        view.wait_for("1 A\n");
        view.type_in(leave);
        view.wait_for(" goes on; see it again: team-executor attach --session=S");
        assert_eq!(view.end().code(), Some(0), "{}", view.glass());
    }
    let mut view = Screen::start(scene.world.command(&["attach", "--session=S"]), 100, 30);
    view.wait_for("▶ B  worker");
    view.type_in("+");
    view.wait_for("▶ C  worker");
    scene.open();
    view.wait_for("is over: 4 of 4 tasks completed");
    assert_eq!(view.end().code(), Some(0), "{}", view.glass());
}

/// A shell after the view: what was typed during it does not reach the shell, and what is typed afterwards is shown.
#[test]
fn keys_do_not_leak_into_the_shell() {
    let scene = Scene::new();
    let binary = env!("CARGO_BIN_EXE_team-executor");
    let run = format!("{binary} run --session=S --agent-command '{WORKER}' --retries 0 -y --on-complete auto_keep");
    let mut command = Command::new("/bin/sh");
    let script =
        format!("{run}; stty -a | grep -o -e '-*icanon' -e '-*echo '; read line; echo \"the shell got [$line]\"");
    command.args(["-c", &script]).current_dir(scene.world.dir()).env("TERM", "xterm").stdin(Stdio::null());
    let mut view = Screen::start(command, 100, 30);
    view.wait_for("▶ B  worker");
    view.type_in("xyz\nexit\n");
    view.type_in("t");
    view.wait_for("1 A\n");
    scene.open();
    view.wait_for("icanon\necho");
    view.type_in("typed\n");
    view.wait_for("the shell got [typed]");
    assert_eq!(view.end().code(), Some(0), "{}", view.glass());
    assert!(!view.glass().to_string().contains("-icanon"), "{}", view.glass());
}

/// R: N-05
#[test]
fn needs_are_answered_by_a_key() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write(
        "S/tasks.csv",
        "id,title,deps,role\nA,First,,worker\nQUALITY-001,Second,A,tester\nB,Third,QUALITY-001,worker\n",
    );
    let begun =
        world.run(&["run", "--session=S", "--agent-command", "true", "-y", "--detach", "--checkpoint-wait", "10m"]);
    assert_eq!(begun.code, Some(0), "{begun}");
    let mut view = Screen::start(world.command(&["attach", "--session=S"]), 120, 30);
    view.wait_for("2/3");
    view.type_in("n");
    view.wait_for("1 Approve");
    view.type_in("1");
    view.wait_for("is over: 3 of 3 tasks completed");
    assert_eq!(view.end().code(), Some(0), "{}", view.glass());
}

/// A person at another window hears and sees that something needs them.
#[test]
fn need_rings_and_has_the_title_until_it_is_over() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write(
        "S/tasks.csv",
        "id,title,deps,role\nA,First,,worker\nQUALITY-001,Second,A,tester\nB,Third,QUALITY-001,worker\n",
    );
    let gate = Gate::new(world.dir().join("gate"));
    let worker = "[ $TEAM_EXECUTOR_TASK != B ] || cat gate";
    let args = ["run", "--session=S", "--agent-command", worker, "-y", "--checkpoint-wait", "10m"];
    let mut view = Screen::start(world.command(&[&args[..], &["--on-complete", "auto_keep"]].concat()), 120, 30);
    view.wait_for("Checkpoint after QUALITY-001");
    assert_eq!((view.glass().bells(), view.glass().title()), (1, "QUALITY-001 needs you"));
    view.type_in("n");
    view.wait_for("1 Approve");
    view.type_in("1");
    view.wait_for("▶ B  worker");
    assert_eq!(view.glass().title(), "");
    gate.open();
    assert_eq!(view.end().code(), Some(0), "{}", view.glass());
    assert_eq!((view.glass().bells(), view.glass().title()), (1, ""));
}

#[test]
fn without_a_terminal_there_are_no_keys() {
    let scene = Scene::new();
    let args = ["run", "--session=S", "--agent-command", WORKER, "--retries", "0", "-y", "--on-complete", "auto_keep"];
    let mut command = scene.world.command(&args);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.as_ref().expect("its input");
    std::io::Write::write_all(&mut input, b"c1y").expect("written");
    scene.open();
    let output = child.limited_output();
    assert_eq!((output.status.code(), output.status.signal()), (Some(0), None));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("keys"), "{output:?}");
}
