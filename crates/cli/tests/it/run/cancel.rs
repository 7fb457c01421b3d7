//! A person ends the worker of one task, while the others go on.

use std::process::Child;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::asked::{ask, said};
use super::ends::end;
use super::{DID, column, folder, read, run, start, tasks};

/// A hangs in its first attempt, B waits at a gate, C needs A.
pub(crate) struct Hanging {
    pub(crate) world: World,
    pulse: Pulse,
    pub(crate) gate: Gate,
    worker: String,
}

impl Hanging {
    pub(crate) fn new() -> Self {
        let world = tasks(&[("A", ""), ("B", ""), ("C", "A")]);
        let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let never = Gate::new(world.dir().join("never"));
        let worker = format!(
            "cat > prompt.$TEAM_EXECUTOR_TASK; \
             if [ $TEAM_EXECUTOR_TASK = A ] && ! [ -e again ]; then touch again; exec 9>{0}; printf . >&9; cat {2}; fi; \
             if [ $TEAM_EXECUTOR_TASK = B ]; then exec 9>{0}; printf . >&9; cat {1}; fi; {DID}",
            pulse.arg(),
            gate.arg(),
            never.arg()
        );
        Self { world, pulse, gate, worker }
    }

    pub(crate) fn start(&mut self) -> Child {
        let child = start(&self.world, &self.worker);
        self.pulse.wait_alive(2);
        child
    }
}

#[test]
fn cancelled_task_fails_or_is_skipped_and_others_go_on() {
    for (words, becomes, statuses) in [
        (&["cancel", "A", "--reason", "it hangs"][..], "fails", ["failed", "completed", "skipped"]),
        (&["cancel", "A", "--skip"], "is skipped", ["skipped", "completed", "skipped"]),
    ] {
        let mut hanging = Hanging::new();
        let executor = hanging.start();
        let cancelled = ask(&hanging.world, words);
        let told = format!("Run EX is running\n  the worker of A is ended; when it has, A {becomes}\n");
        assert_eq!(said(&hanging.world, &cancelled), told, "{cancelled}");
        hanging.gate.open();
        assert_eq!(end(executor).0, Some(1));
        assert_eq!(column(&hanging.world, "status"), statuses);
        let error = if becomes == "fails" { "it hangs" } else { "cancelled by hand" };
        assert_eq!(column(&hanging.world, "error")[0], error);
    }
}

#[test]
fn restarted_task_begins_anew_with_the_words_of_the_person() {
    let mut hanging = Hanging::new();
    let executor = hanging.start();
    let restarted = ask(&hanging.world, &["restart", "A", "--feedback", "take smaller steps\n## Task"]);
    let told = "  the next attempt at A is told so\n  the worker of A is ended; when it has, A begins anew\n";
    assert!(restarted.stdout.ends_with(told), "{restarted}");
    hanging.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(&hanging.world, "status"), ["completed"; 3]);
    let events = ask(&hanging.world, &["events", "--format", "json"]);
    assert!(events.stdout.contains("\"type\":\"task_cancelled\",\"task\":\"A\",\"then\":\"retry\""), "{events}");
    let journal = read(folder(&hanging.world).join(".executor/journal"));
    assert!(journal.contains("{\"type\":\"advised\",\"tasks\":[\"A\"],\"text\":\"take smaller steps\\n## Task\""));
    let told = "\n## What the user said about this task\n\n> take smaller steps\n> ## Task\n";
    let prompt = read(hanging.world.dir().join("prompt.A"));
    assert!(prompt.contains(told), "{prompt}");
}

#[test]
fn retried_task_is_told_what_to_do_differently() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, "exit 9", &["--retries", "0"]).code, Some(1));
    let retried = ask(&world, &["retry", "A", "--feedback", "use the new API"]);
    assert!(retried.stdout.contains("  the next attempt at A is told so\n  A will run again\n"), "{retried}");
    let shown = world.run(&["prompt", "A", "--session=S"]);
    assert!(shown.stdout.contains("## What the user said about this task\n\n> use the new API\n"), "{shown}");
    assert_eq!(run(&world, "grep -q '^> use the new API' && echo did", &[]).code, Some(0));
}

#[test]
fn cancel_of_what_does_not_run_is_refused() {
    let mut hanging = Hanging::new();
    let refused = ask(&hanging.world, &["cancel", "A"]);
    assert!(refused.stderr.starts_with("error: the session was never run"), "{refused}");
    let executor = hanging.start();
    for (words, why) in [
        (&["cancel", "C"][..], "error: nothing was done: no worker has 'C': it is pending\nhelp: "),
        (&["restart", "C"], "error: nothing was done: no worker has 'C': it is pending\nhelp: "),
        (&["cancel", "X"], "there is no task 'X'"),
        (&["cancel", "A", "--skip", "--retry"], "cannot be used with"),
    ] {
        let refused = ask(&hanging.world, words);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
    }
    assert_eq!(ask(&hanging.world, &["cancel", "A", "--skip"]).code, Some(0));
    hanging.gate.open();
    assert_eq!(end(executor).0, Some(1));
    let refused = ask(&hanging.world, &["cancel", "B"]);
    assert!(refused.stderr.starts_with("error: nothing was done: no worker has 'B': it is completed\n"), "{refused}");
}

/// Killed right after the answer: the next executor does what was wanted.
#[test]
fn cancel_outlives_kill_9_right_after_its_answer() {
    for (words, statuses) in [
        (&["cancel", "A"][..], ["failed", "completed", "skipped"]),
        (&["cancel", "A", "--skip"], ["skipped", "completed", "skipped"]),
        (&["restart", "A", "--feedback", "smaller steps"], ["completed"; 3]),
    ] {
        let mut hanging = Hanging::new();
        let mut executor = hanging.start();
        let cancelled = ask(&hanging.world, words);
        executor.kill().expect("it is killed");
        executor.limited_wait();
        assert_eq!(cancelled.code, Some(0), "{cancelled}");
        hanging.pulse.wait_dead();
        run(&hanging.world, DID, &[]);
        assert_eq!(column(&hanging.world, "status"), statuses, "{words:?}");
    }
}

/// Without an executor the request is noted: what is left of the lost worker does not count.
#[test]
fn cancel_without_an_executor_counts_at_the_next_start() {
    let mut hanging = Hanging::new();
    let mut executor = hanging.start();
    executor.kill().expect("it is killed");
    executor.limited_wait();
    hanging.pulse.wait_dead();
    let noted = ask(&hanging.world, &["cancel", "A", "--skip"]);
    assert!(noted.code == Some(0) && noted.stdout.contains("\nGo on, "), "{noted}");
    run(&hanging.world, DID, &[]);
    assert_eq!(column(&hanging.world, "status"), ["skipped", "completed", "skipped"]);
}
