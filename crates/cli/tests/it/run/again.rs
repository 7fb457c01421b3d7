//! Tasks that are retried or skipped, while an executor has the run and while none has.

use std::process::{Child, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::asked::{ask, said};
use super::ends::{Waiting, end, wait_for};
use super::{DID, arguments, column, folder, read, rows, run, tasks};

/// `A` fails until there is a file `ok`, `B` needs it, and `C` waits at a gate.
struct Failing {
    world: World,
    gate: Gate,
}

impl Failing {
    fn start() -> (Self, Child) {
        let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
        let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let worker = format!(
            "case $TEAM_EXECUTOR_TASK in A) test -e ok || exit 7;; C) printf . > {}; cat {};; esac; {DID}",
            pulse.arg(),
            gate.arg()
        );
        let mut command = world.command(&arguments("--session=S", &worker, &["--retries", "0"]));
        let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        pulse.wait_alive(1);
        wait_for(&mut executor, "– B skipped");
        (Self { world, gate }, executor)
    }
}

#[test]
fn failed_tasks_are_retried_while_the_run_goes_on() {
    let (failing, executor) = Failing::start();
    let world = &failing.world;
    for (words, why) in [
        (&["retry", "nope"][..], "there is no task 'nope'"),
        (&["retry", "A", "C"], "only failed or skipped tasks can be retried, and a named task is in_progress"),
        (&["skip", "C"], "'C' is in_progress and cannot be skipped"),
    ] {
        let refused = ask(world, words);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
    }
    assert_eq!(ask(world, &["retry"]).code, Some(2), "which?");
    world.write("ok", "");
    let retried = ask(world, &["retry", "A"]);
    assert_eq!(said(world, &retried), "Run EX is running\n  A will run again\n  B will run again\n", "{retried}");
    failing.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(world, "findings"), ["did A", "did B", "did C"]);
}

#[test]
fn a_task_is_skipped_while_the_run_goes_on() {
    let mut waiting = Waiting::new();
    let executor = waiting.start();
    let skipped = ask(&waiting.world, &["skip", "B", "--reason", "by\nhand"]);
    assert_eq!(said(&waiting.world, &skipped), "Run EX is running\n  B is skipped: by␊hand\n", "{skipped}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(1));
    assert_eq!(rows(&waiting.world)["B"]["status"], "skipped");
}

#[test]
fn misspelt_task_gets_a_suggestion() {
    let world = tasks(&[("IMPL-001", ""), ("TEST-001", "IMPL-001")]);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    for words in [&["retry", "IMPL-01"][..], &["skip", "IMPL-01"], &["logs", "impl-0001"], &["task", "get", "IMPL001"]]
    {
        let refused = ask(&world, words);
        assert_eq!(refused.code, Some(2), "{refused}");
        let name = words.last().expect("a name");
        let said = format!("error: there is no task '{name}'\nhelp: did you mean IMPL-001?\n");
        assert!(refused.stderr.contains(&said), "{refused}");
    }
    let far = ask(&world, &["logs", "X"]);
    assert!(far.code == Some(2) && !far.stderr.contains("did you mean"), "{far}");
}

#[test]
fn a_finished_run_is_opened_again_by_a_retry() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let never = ask(&world, &["retry", "--failed"]);
    assert_eq!(never.code, Some(2), "{never}");
    assert!(never.stderr.starts_with("error: the session was never run\nhelp: run it with: "), "{never}");
    let failed = run(&world, "false", &["--retries", "0"]);
    assert_eq!(failed.code, Some(1), "{failed}");
    let reason = "\n✗ A (worker) exit code 1\n  team-executor logs A --session=S\n";
    assert!(failed.stdout.contains(reason), "{failed}");
    assert!(failed.stdout.ends_with("\nRetry with: team-executor retry --failed --session=S\n"), "{failed}");
    for request in ["pause", "stop"] {
        let over = ask(&world, &[request]);
        assert_eq!(over.code, Some(2), "{over}");
        assert!(over.stderr.ends_with(" is finished\nhelp: see how it ended: team-executor status --session=S\n"));
    }
    let retried = ask(&world, &["retry", "--failed"]);
    assert_eq!(
        said(&world, &retried),
        "Run EX is unfinished\n  A will run again\n  B will run again\n\
         Go on, with the options of the run: team-executor resume --session=S\n",
        "{retried}"
    );
    assert_eq!(column(&world, "status"), ["pending", "pending"], "nothing is started");
    assert!(read(world.dir().join("S/tasks.csv")).contains("\nB,,Do it,A,,csv-wave,worker,,pending,,\n"));
    let resumed = run(&world, DID, &[]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert!(resumed.stderr.contains("▶ A (worker, attempt 2"), "{resumed}");
    assert_eq!(column(&world, "findings"), ["did A", "did B"]);

    let refused = ask(&world, &["retry", "--failed"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.starts_with("error: nothing was done: no task failed\n"), "{refused}");
    let refused = ask(&world, &["retry", "A"]);
    assert!(refused.stderr.contains("add --downstream"), "{refused}");
    assert!(run(&world, DID, &[]).stdout.contains("is finished; nothing was done\n"), "a refusal changes nothing");
    let retried = ask(&world, &["retry", "A", "--downstream"]);
    assert_eq!(retried.code, Some(0), "{retried}");
    assert_eq!(run(&world, "echo again", &[]).code, Some(0));
    assert_eq!(column(&world, "findings"), ["again", "again"]);
}

#[test]
fn retry_of_a_task_to_be_skipped_again_names_the_cause() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    let refused = ask(&world, &["retry", "B"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
    assert!(refused.stderr.contains("'B' would be skipped again, because of 'A': retry that too\n"), "{refused}");
    assert_eq!(ask(&world, &["retry", "B", "A"]).code, Some(0));
}

#[test]
fn thousands_of_tasks_are_retried_by_their_names() {
    let names: Vec<String> = (0..4000).map(|number| format!("a-task-with-a-rather-long-name-{number}")).collect();
    let plan: Vec<(&str, &str)> =
        std::iter::once(("A", "")).chain(names.iter().map(|name| (name.as_str(), "A"))).collect();
    let world = tasks(&plan);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    let words: Vec<&str> = ["retry", "A"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let retried = ask(&world, &words);
    assert!(retried.code == Some(0) && retried.stdout.contains("and 3981 more\n"), "{}", retried.stderr);
}

/// A machine that lost its memory may have begun what was only intended. The lock tells that once: to its next owner.
#[test]
fn request_after_a_reboot_is_noted_for_the_next_executor() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    let journal = folder(&world).join(".executor/journal");
    assert_eq!(ask(&world, &["retry", "nope"]).code, Some(2));
    assert!(!read(&journal).contains("doubted"), "it is still running");
    world.write(".workflow/lock", "process 1 on host (epoch 1, boot another, started at tick 1)\n");
    std::fs::rename(world.dir().join(".workflow/lock"), folder(&world).join(".executor/lock")).expect("moved");
    assert_eq!(ask(&world, &["retry", "nope"]).code, Some(2));
    assert_eq!(read(&journal).matches("doubted").count(), 1, "even if it is refused");
    let finished = world.run(&["--continue", "--agent-command", DID, "-y"]);
    assert!(finished.stderr.contains("error: there is no unfinished run\n"), "{finished}");
    assert_eq!(ask(&world, &["retry", "A"]).code, Some(0));
    assert_eq!(read(&journal).matches("doubted").count(), 1);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
}

#[test]
fn a_task_is_skipped_while_nothing_runs() {
    let mut waiting = Waiting::new();
    let executor = waiting.start();
    assert_eq!(ask(&waiting.world, &["stop"]).code, Some(0));
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(3));
    let world = &waiting.world;
    let unknown = ask(world, &["skip", "nope"]);
    assert_eq!((unknown.code, unknown.stderr.contains("there is no task 'nope'")), (Some(2), true), "{unknown}");
    let skipped = ask(world, &["skip", "B"]);
    let words = "Run EX is finished\n  B is skipped: skipped by hand\n  every task is over\n";
    assert_eq!((said(world, &skipped).as_str(), skipped.code), (words, Some(0)), "{skipped}");
    assert_eq!(rows(world)["B"]["error"], "skipped by hand");
    let last = run(world, DID, &[]);
    assert_eq!(last.code, Some(1), "{last}");
    assert!(last.stdout.contains("is finished; nothing was done\n"), "{last}");
}

#[test]
fn task_running_at_a_kill_can_be_skipped() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    executor.kill().expect("it is killed");
    executor.limited_wait();
    let skipped = ask(&waiting.world, &["skip", "A"]);
    let words = "Run EX is finished\n  A is skipped: skipped by hand\n  B is skipped: dependency A was skipped\n  \
                 every task is over\n";
    assert_eq!((said(&waiting.world, &skipped).as_str(), skipped.code), (words, Some(0)), "{skipped}");
    waiting.pulse.wait_dead();
    let last = run(&waiting.world, DID, &[]);
    assert!(last.code == Some(1) && last.stdout.contains("is finished; nothing was done\n"), "{last}");
}

#[test]
fn task_completed_before_a_kill_is_not_skipped() {
    let world = tasks(&[("A", ""), ("B", "")]);
    // It reports that it is done, and kills the executor: the parent of its keeper.
    let kill = "k=$(cut -d' ' -f4 /proc/$PPID/stat)";
    let worker = format!(
        "{} task update --status completed --findings done; {kill}; kill -9 $k",
        env!("CARGO_BIN_EXE_team-executor")
    );
    assert_eq!(run(&world, &worker, &["-c", "1"]).code, None, "it was killed");
    let refused = ask(&world, &["skip", "A"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("'A' has already finished; `resume` records its result"),
        "{refused}"
    );
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert_eq!(column(&world, "findings"), ["done", "did B"]);
}
