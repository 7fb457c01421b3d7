//! `run --detach`, `attach` and `runs`: a run that needs no terminal.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Screen, World};

/// Sessions of one task each, which lives at a pipe and waits at a gate.
struct Waiting {
    world: World,
    alive: Pulse,
    gates: Vec<Gate>,
}

const WORKER: &str = "printf x > alive; cat gate-$TEAM_EXECUTOR_TASK; echo did $TEAM_EXECUTOR_TASK";

impl Waiting {
    fn new(sessions: &[&str]) -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        for name in sessions {
            let table = format!("id,title,deps,role\n{name}-1,Wait,,worker\n{name}-2,Follow,{name}-1,worker\n");
            world.write(&format!(".workflow/.team/{name}/tasks.csv"), table);
            world.write(&format!("gate-{name}-2"), "");
        }
        let alive = Pulse::new(world.dir().join("alive"));
        let gates = sessions.iter().map(|name| Gate::new(world.dir().join(format!("gate-{name}-1")))).collect();
        Self { world, alive, gates }
    }

    fn detach(&self, session: &str) -> Value {
        let session = format!("--session={session}");
        let args = ["run", &session, "--agent-command", WORKER, "-y", "--detach", "--format", "json"];
        let run = self.world.run(&args);
        assert_eq!(run.code, Some(0), "{run}");
        let last = run.stdout.lines().last().expect("an event");
        serde_json::from_str(last).expect("JSON")
    }

    fn runs(&self, more: &[&str]) -> Vec<Value> {
        let run = self.world.run(&[&["runs", "--format", "json"], more].concat());
        let listing: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
        listing["runs"].as_array().expect("a list").clone()
    }
}

#[test]
fn detached_run_outlives_its_starter() {
    let mut waiting = Waiting::new(&["S"]);
    let mut command = waiting.world.command(&["run", "--session=S", "--agent-command", WORKER, "-y", "--detach"]);
    command.env("TERM", "dumb");
    let mut terminal = Screen::start(command, 100, 24);
    terminal.wait_for("goes on in the background (process ");
    assert_eq!(terminal.end().code(), Some(0));
    drop(terminal);
    waiting.alive.wait_alive(1);
    let running = waiting.runs(&[]);
    assert_eq!((running.len(), &running[0]["state"]), (1, &Value::from("running")));
    let mut attached = waiting.world.command(&["attach", "--session=S"]);
    let attached = attached.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    waiting.gates[0].open();
    let output = attached.expect("it starts").limited_output();
    assert_eq!(output.status.code(), Some(0));
    let seen = String::from_utf8_lossy(&output.stderr);
    assert!(seen.contains("is over: 2 of 2 tasks completed, 0 failed, 0 skipped"), "{seen}");
    assert!(waiting.runs(&[]).is_empty());
    assert_eq!(waiting.runs(&["--all"])[0]["state"], "finished");
}

#[test]
fn detached_run_prints_into_its_own_file() {
    let waiting = Waiting::new(&["S"]);
    let event = waiting.detach("S");
    assert_eq!(event["type"], "detached");
    waiting.gates[0].open();
    let attached = waiting.world.run(&["attach", "--session=S", "--format", "json"]);
    assert_eq!(attached.code, Some(0), "{attached}");
    let first: Value = serde_json::from_str(attached.stdout.lines().next().expect("an event")).expect("JSON");
    assert_eq!((&first["type"], &first["seq"]), (&Value::from("run_started"), &Value::from(1)), "{attached}");
    let console = event["console"].as_str().expect("a path");
    // The executor has the file open until its very end.
    let printed = limited_until("the last event", || {
        let printed = std::fs::read_to_string(console).expect("a file");
        printed.contains("\"run_ended\"").then_some(printed)
    });
    assert!(printed.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{printed}");
}

#[test]
fn refused_run_is_not_detached_and_says_why() {
    let waiting = Waiting::new(&["S"]);
    let run = waiting.world.run(&["run", "--session=S", "--agent-command", WORKER, "--detach"]);
    assert_eq!(run.code, Some(2), "it was not confirmed: {run}");
    let event = waiting.detach("S");
    let second = waiting.world.run(&["run", "--session=S", "--agent-command", WORKER, "-y", "--detach"]);
    assert_eq!(second.code, Some(4), "{second}");
    assert!(second.stderr.contains("holds this session"), "{second}");
    waiting.gates[0].open();
    assert_eq!(waiting.world.run(&["attach", "--session=S"]).code, Some(0), "{event}");
    let third = waiting.world.run(&["run", "--session=S", "--agent-command", WORKER, "-y", "--detach"]);
    assert_eq!(third.code, Some(0), "{third}");
    assert!(third.stdout.contains("is finished; nothing was done"), "{third}");
}

#[test]
fn attached_view_ends_without_its_run() {
    let mut waiting = Waiting::new(&["S"]);
    let process = waiting.detach("S")["process"].as_u64().expect("a number");
    waiting.alive.wait_alive(1);
    let mut view = Screen::start(waiting.world.command(&["attach", "--session=S"]), 80, 24);
    view.wait_for("▶ S-1  worker");
    let id = Pid::from_raw(i32::try_from(view.id()).expect("a number")).expect("a process");
    kill_process(id, Signal::INT).expect("it lives");
    assert_eq!(view.end().code(), None, "Ctrl-C ends the view");
    assert_eq!(waiting.runs(&[])[0]["process"], process);
    let executor = Pid::from_raw(i32::try_from(process).expect("a number")).expect("a process");
    let mut view = waiting.world.command(&["attach", "--session=S"]);
    let view = view.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    kill_process(executor, Signal::KILL).expect("it lives");
    let output = view.expect("it starts").limited_output();
    assert_eq!(output.status.code(), Some(3), "no executor has it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("resume --session="), "{output:?}");
    assert_eq!(waiting.runs(&[])[0]["state"], "paused");
}

#[test]
fn runs_go_on_side_by_side() {
    let mut waiting = Waiting::new(&["S", "T"]);
    waiting.detach("S");
    waiting.detach("T");
    waiting.alive.wait_alive(2);
    let states: Vec<_> = waiting.runs(&[]).iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, ["running", "running"]);
    waiting.gates.iter().for_each(Gate::open);
    for session in ["--session=S", "--session=T"] {
        assert_eq!(waiting.world.run(&["attach", session]).code, Some(0));
    }
}
