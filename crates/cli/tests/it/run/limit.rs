//! More or fewer workers at a time, while a run goes on and while none does.

use std::fs::File;
use std::process::{Child, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::asked::{ask, said};
use super::ends::end;
use super::{DID, arguments, column, folder, read, run, start, tasks};

/// Four tasks that show that they run, and go on when the gate opens. It stays open.
pub(crate) struct Four {
    pub(crate) world: World,
    pub(crate) pulse: Pulse,
    pub(crate) worker: String,
    /// While this end is held, readers of the gate wait.
    gate: Option<File>,
}

impl Four {
    pub(crate) fn new() -> Self {
        let world = tasks(&[("A", ""), ("B", ""), ("C", ""), ("D", "")]);
        let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let worker = format!("exec 9>{}; printf . >&9; cat {}; {DID}", pulse.arg(), gate.arg());
        let gate = File::options().read(true).write(true).open(gate.arg()).expect("a gate");
        Self { world, pulse, worker, gate: Some(gate) }
    }

    /// Lets all go on, those that wait and those that come.
    pub(crate) fn open(&mut self) {
        let dir = self.world.dir();
        std::fs::write(dir.join("open"), "").expect("a file");
        std::fs::rename(dir.join("open"), dir.join("gate")).expect("who comes finds nothing to wait for");
        self.gate = None;
    }

    /// A run of one worker at a time, whose first worker is at work.
    fn start(&mut self) -> Child {
        let mut command = self.world.command(&arguments("--session=S", &self.worker, &["-c", "1"]));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        self.pulse.wait_alive(1);
        child
    }
}

/// How many workers the last claim of the run left at work.
fn at_work(world: &World) -> usize {
    let shown = ask(world, &["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&shown.stdout).expect("a document");
    status["running"].as_array().expect("workers").len()
}

#[test]
fn raised_limit_starts_workers_at_once() {
    let mut four = Four::new();
    let executor = four.start();
    let limited = ask(&four.world, &["limit", "3"]);
    assert_eq!(said(&four.world, &limited), "Run EX is running\n  at most 3 workers at a time\n", "{limited}");
    four.pulse.wait_alive(2); // two more
    assert_eq!(at_work(&four.world), 3);
    four.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(&four.world, "status"), ["completed"; 4]);
}

#[test]
fn resume_with_more_workers_raises_the_limit_of_a_run() {
    let mut four = Four::new();
    let executor = four.start();
    let raised = ask(&four.world, &["resume", "-c", "3"]);
    assert!(raised.code == Some(0) && raised.stdout.contains("  at most 3 workers at a time\n"), "{raised}");
    four.pulse.wait_alive(2); // two more
    let other = ask(&four.world, &["resume", "--retries", "9"]);
    assert!(other.stderr.contains("not in effect: --retries 9\n"), "{other}");
    four.open();
    assert_eq!(end(executor).0, Some(0));
}

#[test]
fn limit_that_makes_no_sense_is_refused() {
    let mut four = Four::new();
    let refused = ask(&four.world, &["limit", "2"]);
    assert!(refused.stderr.starts_with("error: the session was never run\nhelp: "), "{refused}");
    let executor = four.start();
    for (words, why) in [
        (&["limit", "0"][..], "nothing starts with 0 workers; `pause` is for that"),
        (&["limit", "many"], "a number from 1, or none"),
        (&["limit", "2", "--role", "stranger"], "error: nothing was done: no task has the role 'stranger'\nhelp: "),
        (
            &["limit", "2", "--agent", "stranger"],
            "error: nothing was done: the agent 'stranger' does no task of this run",
        ),
        (&["limit", "2", "--agent", "a", "--role", "worker"], "cannot be used with"),
    ] {
        let refused = ask(&four.world, words);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{why}: {refused}");
    }
    four.open();
    assert_eq!(end(executor).0, Some(0));
    let refused = ask(&four.world, &["limit", "2"]);
    assert!(refused.stderr.starts_with("error: nothing was done: the run is finished\nhelp: "), "{refused}");
}

#[test]
fn limit_outlives_kill_9_right_after_its_answer() {
    let mut four = Four::new();
    let mut executor = four.start();
    let limited = ask(&four.world, &["limit", "2", "--role", "worker"]);
    assert!(limited.stdout.ends_with("  at most 2 workers with the role worker at a time\n"), "{limited}");
    let limited = ask(&four.world, &["limit", "4"]);
    executor.kill().expect("it is killed");
    executor.limited_wait();
    assert_eq!(limited.code, Some(0), "{limited}");
    four.pulse.wait_dead();
    let mut executor = start(&four.world, &four.worker); // as many at a time as the limit says, not 3
    four.pulse.wait_alive(2);
    assert_eq!(at_work(&four.world), 2, "of the role no more than two");
    let lifted = ask(&four.world, &["limit", "none", "--role", "worker"]);
    assert!(lifted.stdout.ends_with("  no limit on workers with the role worker\n"), "{lifted}");
    four.pulse.wait_alive(2);
    assert_eq!(at_work(&four.world), 4);
    executor.kill().expect("it is killed");
    executor.limited_wait();
    four.pulse.wait_dead();
    // Without an executor it is noted, and what is chosen for a start counts more.
    let noted = ask(&four.world, &["limit", "2"]);
    assert!(
        said(&four.world, &noted)
            .contains("  at most 2 workers at a time; no other starts until fewer are at work\nGo on, "),
        "{noted}"
    );
    let unknown = ask(&four.world, &["limit", "2", "--agent", "stranger"]);
    assert!(unknown.stderr.contains("'stranger'") && unknown.code == Some(2), "{unknown}");
    four.open();
    assert_eq!(run(&four.world, DID, &["-c", "1"]).code, Some(0));
    let journal = read(folder(&four.world).join(".executor/journal"));
    let last = journal.lines().rfind(|line| line.contains("\"limited\"")).expect("a limit");
    assert!(last.contains("{\"type\":\"limited\",\"most\":1,"), "{last}");
}

#[test]
fn lowered_limit_lets_workers_finish() {
    let mut four = Four::new();
    let executor = start(&four.world, &four.worker);
    four.pulse.wait_alive(3);
    let limited = ask(&four.world, &["limit", "1"]);
    let words = "  at most 1 worker at a time; no other starts until fewer are at work\n";
    assert!(limited.stdout.ends_with(words), "{limited}");
    four.open();
    assert_eq!(end(executor).0, Some(0));
    let events = ask(&four.world, &["events", "--format", "json"]);
    assert!(events.stdout.contains("\"type\":\"limited\",\"role\":null,\"agent\":null,\"workers\":1"), "{events}");
}
