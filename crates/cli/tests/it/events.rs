//! `events`: one stream for those who watch a run and for those who come later.

use std::fs::File;
use std::io::BufReader;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, World};

/// How many tasks wait for the first one.
const MANY: usize = 10_000;

/// A session whose first task waits at a gate, and so many others for that.
struct Gated {
    world: World,
    alive: Pulse,
    gate: Gate,
    worker: String,
}

impl Gated {
    fn new(others: usize) -> Self {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let mut table = String::from("id,title,deps,role\nFIRST,Wait,,worker\n");
        table.extend((1..=others).map(|nth| format!("T-{nth},Do it,FIRST,worker\n")));
        world.write("S/tasks.csv", table);
        let (alive, gate) = (Pulse::new(world.dir().join("alive")), Gate::new(world.dir().join("gate")));
        let waits = format!("printf x > {}; cat {}", alive.arg(), gate.arg());
        let worker = format!("case $TEAM_EXECUTOR_TASK in FIRST) {waits};; esac; echo did it");
        Self { world, alive, gate, worker }
    }

    /// Starts a run, and waits until its first task is at work.
    fn start(&mut self) -> Child {
        let mut command = self.world.command(&["run", "--session=S", "--agent-command", &self.worker, "-y", "-c8"]);
        let executor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        self.alive.wait_alive(1);
        executor
    }

    /// Follows the run into a file, and waits for the first event in it.
    fn follow(&self, name: &str, more: &[&str]) -> Child {
        let out = File::create(self.world.dir().join(name)).expect("a file");
        let args = [&["events", "-f", "--session=S", "--format", "json"], more].concat();
        let follower = self.world.command(&args).stdout(out).stderr(Stdio::piped()).spawn().expect("it starts");
        limited_until("the first event", || self.read(name).contains('\n').then_some(()));
        follower
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.world.dir().join(name)).expect("a text")
    }

    fn events(&self, more: &[&str]) -> Run {
        self.world.run(&[&["events", "--session=S", "--format", "json"], more].concat())
    }
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The number of an event, and which of its record it is.
fn place(event: &Value) -> (u64, u64) {
    (event["seq"].as_u64().expect("a number"), event["part"].as_u64().unwrap_or(0))
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it lives");
}

/// R: X-05, U-05
#[test]
fn stopped_subscriber_blocks_neither_run_nor_others() {
    let mut gated = Gated::new(MANY);
    let mut executor = gated.start();
    let (mut stopped, mut other) = (gated.follow("stopped", &[]), gated.follow("other", &[]));
    signal(&stopped, Signal::STOP);
    gated.gate.open();
    assert!(executor.limited_wait().success(), "it ends although one subscriber takes nothing");
    assert!(other.limited_wait().success());
    let seen = gated.read("other");
    let events = parsed(&seen);
    let places: Vec<_> = events.iter().map(place).collect();
    assert!(places.is_sorted_by(|before, after| before < after), "each once, in order");
    for kind in ["task_started", "task_completed"] {
        assert_eq!(events.iter().filter(|event| event["type"] == kind).count(), MANY + 1, "{kind}");
    }
    assert_eq!(events.last().expect("an event")["type"], "run_finished");
    assert_eq!(gated.events(&[]).stdout, seen, "a finished run has the same events");
    signal(&stopped, Signal::CONT);
    assert!(stopped.limited_wait().success());
    assert_eq!(gated.read("stopped"), seen, "it misses nothing");
}

#[test]
fn events_begin_at_the_number_that_was_asked_for() {
    let mut gated = Gated::new(3);
    let mut executor = gated.start();
    gated.gate.open();
    assert!(executor.limited_wait().success());
    let all = gated.events(&[]).stdout;
    for (at, event) in parsed(&all).iter().enumerate() {
        let rest: String = all.lines().skip(at).map(|line| format!("{line}\n")).collect();
        assert_eq!(gated.events(&["--from", &place(event).0.to_string()]).stdout, rest);
    }
    assert_eq!(gated.events(&["--from", "999", "-f"]).stdout, "");
}

#[test]
fn run_that_goes_on_is_read_without_following_it() {
    let mut gated = Gated::new(1);
    let mut executor = gated.start();
    let events = parsed(&gated.events(&[]).stdout);
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().expect("a type")).collect();
    assert_eq!(kinds, ["run_started", "task_started"]);
    gated.gate.open();
    assert!(executor.limited_wait().success());
}

#[test]
fn follower_of_a_killed_run_sees_how_to_continue() {
    let mut gated = Gated::new(3);
    let mut executor = gated.start();
    let follower = gated.follow("before", &[]);
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    let ended = follower.limited_output();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("no executor has the run EX-S-") && said.contains("and it is not finished\n"), "{said}");
    assert!(said.contains("help: team-executor --session=S continues it\n"), "{said}");
    let (_, command) = said.split_once("help: team-executor events -f --from ").expect("a command");
    let from = command.split(' ').next().expect("a number");
    assert_eq!(gated.world.run(&["run", "--session=S", "--agent-command", "echo did it", "-y"]).code, Some(0));
    let after = gated.events(&["-f", "--from", from]);
    assert_eq!(after.code, Some(0), "{after}");
    assert_eq!(gated.read("before") + &after.stdout, gated.events(&[]).stdout);
    let resumed = parsed(&after.stdout);
    assert_eq!((&resumed[0]["type"], &resumed[0]["resumed"]), (&"run_started".into(), &true.into()));
}

#[test]
fn follower_goes_on_with_the_next_executor_from_its_number() {
    let mut gated = Gated::new(20);
    let mut executor = gated.start();
    let mut follower = gated.follow("followed", &[]);
    signal(&follower, Signal::STOP);
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    let mut executor = gated.start();
    signal(&follower, Signal::CONT);
    gated.gate.open();
    assert!(executor.limited_wait().success());
    assert!(follower.limited_wait().success());
    assert_eq!(gated.read("followed"), gated.events(&[]).stdout);
}

/// What an executor prints while it runs has the numbers and the bytes that its journal has later.
#[test]
fn run_prints_the_events_that_the_journal_keeps() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,deps,role\nA,Do,,worker\nB,Do,A,worker\nC,Do,B,worker\nD,Do,A,worker\nE,Do,D,worker\n";
    world.write("S/tasks.csv", table);
    let worker = "echo did it; test $TEAM_EXECUTOR_TASK != B";
    for cadence in ["beat", "wave"] {
        let arguments = ["run", "--session=S", "--agent-command", worker, "-y", "--cadence", cadence, "--retries", "1"];
        let printed = world.run(&[&arguments[..], &["--format", "json"]].concat());
        let durable: String =
            printed.stdout.lines().filter(|line| line.contains(",\"seq\":")).map(|line| format!("{line}\n")).collect();
        let kept = world.run(&["events", "--session=S", "--format", "json"]);
        assert_eq!(durable, kept.stdout, "{cadence}");
        let kinds: Vec<_> = parsed(&durable).iter().map(|event| event["type"].to_string()).collect();
        for kind in ["task_failed", "task_skipped", "task_completed", "run_finished"] {
            assert!(kinds.contains(&format!("{kind:?}")), "{kind}: {kinds:?}");
        }
        world.write("S/tasks.csv", table); // everything is to be done again
    }
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do,,worker\nB,Do,,worker\n");
    let worker = r#"printf '{"status":"completed","findings":"\\u001b[31mred\\u0000\\u009b"}' > "$TEAM_EXECUTOR_RESULT"
        printf '\033]0;title\007loud\000\n' >&2; test $TEAM_EXECUTOR_TASK != B"#;
    world.run(&["run", "--session=S", "--agent-command", worker, "-y", "--retries", "0"]);
    for format in ["text", "json"] {
        let shown = world.run(&["events", "--session=S", "--format", format]);
        assert_eq!(shown.code, Some(0), "{shown}");
        assert!(shown.stdout.contains("red"), "{shown}");
        assert!(shown.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{format}: {:?}", shown.stdout);
    }
}

#[test]
fn live_events_reach_their_readers() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do,,worker\n");
    let (mut alive, said, gate) = (
        Pulse::new(world.dir().join("alive")),
        Gate::new(world.dir().join("say")),
        Gate::new(world.dir().join("gate")),
    );
    let worker = format!("printf x > {}; cat {}; echo aloud; cat {}", alive.arg(), said.arg(), gate.arg());
    let arguments = ["run", "--session=S", "--agent-command", &worker, "-y"];
    let mut executor =
        world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    alive.wait_alive(1);
    let args = ["events", "-f", "--live", "--session=S", "--format", "json"];
    let mut follower = world.command(&args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("its output"));
    let mut next = || {
        let line = lines.limited_line().expect("an event");
        serde_json::from_str::<Value>(&line).expect("an event")
    };
    assert_eq!([next(), next()].map(|event| event["type"].clone()), ["run_started", "task_started"]);
    said.open();
    let live = next();
    assert_eq!((&live["type"], &live["text"], live.get("seq")), (&"task_output".into(), &"aloud".into(), None));
    gate.open();
    assert_eq!(next()["type"], "task_completed");
    assert!(executor.limited_wait().success() && follower.limited_wait().success());
    let kept = world.run(&["events", "--session=S", "--format", "json"]);
    assert!(!kept.stdout.contains("task_output"), "{kept}");
}

/// R: U-01, U-05
#[test]
fn live_events_say_what_needs_a_person() {
    let mut gated = Gated::new(1);
    let mut executor = gated.start();
    let mut follower = gated.follow("told", &["--live"]);
    let attention = |is_it: &dyn Fn(&Value) -> bool| {
        limited_until("the line about what needs a person", || {
            let told = gated.read("told");
            let last = told.lines().rfind(|line| line.contains(r#""type":"attention""#))?;
            serde_json::from_str::<Value>(last).ok().filter(|last| is_it(last))
        })
    };
    let pause = gated.world.run(&["pause", "--session=S", "--reason", "lunch"]);
    assert_eq!(pause.code, Some(0), "{pause}");
    let told = attention(&|last| last["needs"][0]["kind"] == "paused");
    let status = gated.world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!((&told["needs"], &told["attention_counts"]), (&status["needs"], &status["attention_counts"]));
    assert_eq!((&told["version"], told["at"].is_string(), told.get("seq")), (&1.into(), true, None));
    assert_eq!(gated.world.run(&["resume", "--session=S"]).code, Some(0));
    attention(&|last| last["needs"] == serde_json::json!([]));
    gated.gate.open();
    assert!(executor.limited_wait().success() && follower.limited_wait().success());
}

#[test]
fn session_that_was_never_run_has_no_events() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do,,worker\n");
    let refused = world.run(&["events", "--session=S"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("the session was never run"), "{refused}");
    assert!(refused.stderr.contains("help: run it with: team-executor run "), "{refused}");
}
