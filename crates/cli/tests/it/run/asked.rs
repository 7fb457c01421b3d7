//! What a run is asked while an executor has it, and while none has.

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, Terminal, World};

use super::ends::{Waiting, end, wait_for};
use super::{DID, arguments, column, folder, run, start, tasks, until_recorded};

/// Asks the run of `S`.
pub(super) fn ask(world: &World, words: &[&str]) -> Run {
    world.run(&[words, &["--session=S"]].concat())
}

/// What was printed, without the name of the run.
pub(super) fn said(world: &World, run: &Run) -> String {
    let id = folder(world).file_name().expect("a name").to_string_lossy().into_owned();
    run.stdout.replace(&id, "EX")
}

/// R: E-05
#[test]
fn a_paused_run_waits_until_it_is_resumed() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let world = &waiting.world;
    let shown = ask(world, &["status"]);
    assert!(shown.stdout.contains("[..............................] 0/2 completed\n1 running\n"), "{shown}");
    assert!(shown.stdout.contains("\nWave 1\n  ▶ A in_progress  attempt 1, "), "{shown}");
    assert!(shown.stdout.contains("\nWave 2\n  · B pending  after A\n"), "{shown}");
    assert!(shown.stdout.contains("\nRunning         A (worker, "), "{shown}");
    assert!(shown.stdout.contains("\nReady           none\n"), "{shown}");
    assert!(!shown.stdout.contains("No executor"), "{shown}");

    let paused = ask(world, &["pause", "--reason", "lunch"]);
    assert_eq!(said(world, &paused), "Run EX is paused\n  no new workers start; 1 still running\n", "{paused}");
    assert_eq!(paused.code, Some(0));
    let again = ask(world, &["pause"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(
        again.stderr.starts_with("error: nothing was done: the run is paused\nhelp: see how the run stands: "),
        "{again}"
    );

    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    let shown = ask(world, &["check"]);
    assert!(said(world, &shown).contains("\nRun EX is paused: lunch\n"), "{shown}");
    assert!(shown.stdout.contains("✓ A completed\n") && shown.stdout.contains("○ B ready  after A\n"), "{shown}");
    assert!(shown.stdout.contains("\nRunning         none\nReady           B\n"), "{shown}");

    let resumed = ask(world, &["resume"]);
    assert!(said(world, &resumed).starts_with("Run EX is running\n  workers start again\nRun EX is "), "{resumed}");
    assert_eq!((resumed.code, end(executor).0), (Some(0), Some(0)));
    assert_eq!(column(world, "status"), ["completed", "completed"]);
    assert!(!folder(world).join(".executor/control").exists(), "the socket is gone");
}

#[test]
fn a_paused_run_whose_last_task_completes_is_finished() {
    let world = tasks(&[("A", "")]);
    let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let executor = start(&world, &format!("printf . > {}; cat {}; {DID}", pulse.arg(), gate.arg()));
    pulse.wait_alive(1);
    assert_eq!(ask(&world, &["pause"]).code, Some(0));
    gate.open();
    assert_eq!((end(executor).0, column(&world, "status")), (Some(0), vec!["completed".to_owned()]));
}

#[test]
fn resume_of_a_running_run_only_shows_its_status() {
    let mut waiting = Waiting::new();
    let executor = waiting.start();
    let resumed = ask(&waiting.world, &["continue"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert!(said(&waiting.world, &resumed).starts_with("Run EX is running\n["), "{resumed}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
}

#[test]
fn a_run_that_is_stopped_ends_with_its_workers_or_at_once() {
    let mut waiting = Waiting::new();
    let executor = waiting.start();
    let stopped = ask(&waiting.world, &["stop"]);
    let words = "Run EX is draining\n  no new workers start; the executor ends when the last of 1 has ended\n";
    assert_eq!((said(&waiting.world, &stopped).as_str(), stopped.code), (words, Some(0)));
    waiting.gate.open();
    let (code, out) = end(executor);
    assert_eq!(code, Some(3), "{out}");
    assert!(out.contains("\nResume with: team-executor resume "), "{out}");
    let shown = said(&waiting.world, &ask(&waiting.world, &["status"]));
    assert!(
        shown.starts_with("Needs you: 1\n  stopped: no executor has the run; ")
            && shown.contains("\nRun EX is stopped\n["),
        "{shown}"
    );
    assert_eq!(column(&waiting.world, "status"), ["completed", "pending"]);

    let mut waiting = Waiting::new();
    let executor = waiting.start();
    let stopped = ask(&waiting.world, &["stop", "--now"]);
    assert_eq!(said(&waiting.world, &stopped), "Run EX is stopping\n  the executor ends its workers and itself\n");
    assert_eq!(end(executor).0, Some(130));
    waiting.pulse.wait_dead();
    let shown = said(&waiting.world, &ask(&waiting.world, &["status"]));
    assert!(shown.contains("Run EX is stopped\n["), "{shown}");
    assert_eq!(column(&waiting.world, "status"), ["pending", "pending"]);
    let skipped = said(&waiting.world, &ask(&waiting.world, &["skip", "B"]));
    assert!(skipped.starts_with("Run EX is stopped\n  B is skipped"), "{skipped}");
}

/// A run whose worker of `A` ends with 0 when it is asked to, after this command.
fn stopped_at_its_end(last: &str) -> World {
    let world = tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let trap = format!("trap '{last} exit 0' TERM");
    let executor =
        start(&world, &format!("{trap}; exec 9>{}; printf . >&9; while :; do sleep 0.05; done", pulse.arg()));
    pulse.wait_alive(1);
    assert_eq!(ask(&world, &["stop", "--now"]).code, Some(0));
    end(executor);
    pulse.wait_dead();
    world
}

#[test]
fn stopped_worker_that_hands_in_its_result_has_completed() {
    let result = "{\"status\":\"completed\",\"findings\":\"just in time\"}";
    let world = stopped_at_its_end(&format!("echo {result:?} > $TEAM_EXECUTOR_RESULT;"));
    let resumed = run(&world, "exit 9", &[]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!((column(&world, "status"), column(&world, "findings")), (one("completed"), one("just in time")));
}

#[test]
fn stopped_worker_without_result_has_not_completed() {
    let failed = format!("echo {:?} > $TEAM_EXECUTOR_RESULT;", "{\"status\":\"failed\",\"error\":\"cut off\"}");
    for last in ["", "echo done;", &failed] {
        let world = stopped_at_its_end(last);
        assert_eq!((column(&world, "status"), column(&world, "error")), (one("pending"), one("")), "{last}");
        let resumed = run(&world, DID, &[]);
        assert_eq!((resumed.code, column(&world, "findings")), (Some(0), one("did A")), "{last}: {resumed}");
    }
}

fn one(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

/// An answer is durable: it outlives the executor. So does the socket, though it has no listener then.
///
/// R: E-05
#[test]
fn a_run_whose_executor_was_killed_is_not_said_to_go_on() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let shown = said(&waiting.world, &ask(&waiting.world, &["status"]));
    assert!(shown.starts_with("Run EX is running\n[") && shown.contains("1 running"), "{shown}");
    executor.kill().expect("killed");
    executor.limited_wait();
    waiting.pulse.wait_dead();
    let shown = said(&waiting.world, &ask(&waiting.world, &["status"]));
    assert!(shown.contains("\nRun EX is unfinished\n[") && shown.contains("1 cut off"), "{shown}");
    assert!(shown.contains("\nCut off ") && shown.contains("  attempt 1\n"), "{shown}");
}

#[test]
fn paused_run_continues_after_its_executor_was_killed() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    assert_eq!(ask(&waiting.world, &["pause"]).code, Some(0));
    executor.kill().expect("killed");
    executor.limited_wait();
    waiting.pulse.wait_dead();
    assert!(folder(&waiting.world).join(".executor/control").exists(), "it is still there");
    let shown = ask(&waiting.world, &["status"]);
    assert!(said(&waiting.world, &shown).contains("\nRun EX is paused: paused by hand\n"), "{shown}");
    assert!(shown.stdout.contains("\n    Resume: team-executor resume --session=S\n"), "{shown}");
    let program = env!("CARGO_BIN_EXE_team-executor");
    let mut elsewhere = std::process::Command::new(program);
    elsewhere.args(["status", "--session=S"]).current_dir(waiting.world.dir()).env("PATH", "/usr/bin");
    let shown = String::from_utf8(elsewhere.limited_output().stdout).expect("text");
    assert!(shown.contains(&format!("\n    Resume: {program} resume --session=S\n")), "{shown}");
    for request in ["pause", "stop"] {
        let refused = ask(&waiting.world, &[request]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.starts_with("error: nothing runs: no executor has EX-S-"), "{refused}");
        assert!(refused.stderr.contains("help: continue it with: team-executor resume --session=S\n"), "{refused}");
    }
    let mut executor = waiting.start();
    assert_eq!(ask(&waiting.world, &["pause"]).code, Some(0), "the socket was replaced");
    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    let stopped = ask(&waiting.world, &["stop"]);
    assert_eq!(said(&waiting.world, &stopped), "Run EX is draining\n  the executor ends\n");
    assert_eq!(end(executor).0, Some(3));
    let last = ask(&waiting.world, &["resume", "--agent-command", DID, "-y"]);
    assert_eq!(last.code, Some(0), "{last}");
    assert_eq!(column(&waiting.world, "findings"), ["did A", "did B"]);
}

#[test]
fn finished_run_starts_without_a_question() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let args = ["run", "--session=S", "--agent-command", DID];
    let mut terminal = Terminal::start(world.command(&args));
    terminal.say("");
    let (code, shown) = terminal.end();
    assert!(code == Some(0) && shown.contains("is finished; nothing was done\n"), "{shown}");
    assert!(!shown.contains("Start?"), "{shown}");
    let alone = world.run(&args);
    assert!(alone.code == Some(0) && alone.stdout.contains("is finished; nothing was done\n"), "{alone}");
    // A person is asked about work that is done again. The start without one said yes before.
    assert_eq!(ask(&world, &["retry", "A", "--downstream"]).code, Some(0));
    let mut terminal = Terminal::start(world.command(&args));
    terminal.wait_for("Start? [Y/n]");
    terminal.say("n");
    assert_eq!(terminal.end().0, Some(2));
    assert_eq!(world.run(&args).code, Some(0));
}

#[test]
fn a_list_says_of_each_run_how_it_stands() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.copy_tree(world.dir().join("S"), ".workflow/.team/S");
    let session = "--session=.workflow/.team/S";
    let listed = || {
        let listed = world.run(&["sessions"]).stdout;
        let row = listed.lines().find(|line| line.contains("EX-S-")).expect("a row").to_owned();
        row.split_whitespace().nth(2).expect("a status").to_owned()
    };
    // It ends when the executor has taken note: before, B might begin.
    let stopped = format!("kill -INT $(cut -d' ' -f4 /proc/$PPID/stat); {}", until_recorded("draining"));
    assert_eq!(world.run(&["run", session, "-y", "--agent-command", &stopped]).code, Some(3));
    assert_eq!(listed(), "paused");
    assert_eq!(world.run(&["run", session, "-y", "--agent-command", DID]).code, Some(0));
    assert_eq!(listed(), "finished");
    assert_eq!(world.run(&["archive", session]).code, Some(0));
    assert_eq!(listed(), "archived");
}

/// A run at a terminal, wave by wave, of tasks that fail until there is a file `ok`.
fn at_terminal(world: &World) -> Terminal {
    let worker = format!("test -e ok || exit 7; {DID}");
    let keep = ["--on-complete", "auto_keep"]; // the last question is none of these tests
    let args = ["run", "--session=S", "--agent-command", &worker, "--cadence", "wave", "--retries", "0"];
    let args = [&args[..], &keep].concat();
    let mut terminal = Terminal::start(world.command(&args));
    terminal.wait_for("Start? [Y/n]").say("y").wait_for("error: every task of wave 1 failed\n");
    terminal.wait_for("help: type r to retry them or a to abort, and Enter\n");
    terminal
}

/// R: W-14
#[test]
fn failed_wave_asks_for_retry_or_abort() {
    let world = tasks(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,deps,role,run_on\nA,Do A,,worker,\nB,Do B,,worker,\nC,Do C,A,worker,\nD,Do D,A,worker,failure\n",
    );
    let mut terminal = at_terminal(&world);
    terminal.say("abort");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("Run stopped: 2 failed, 1 skipped, 0 of 4 completed\n"), "{shown}");
    assert_eq!(column(&world, "status"), ["failed", "failed", "skipped", "pending"]);

    // The question is still open.
    let mut terminal = at_terminal(&world);
    terminal.say("what?").wait_for("error: every task of wave 1 failed\n");
    world.write("ok", "");
    terminal.say("r");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(1), "{shown}");
    assert_eq!(column(&world, "status"), ["completed", "completed", "completed", "skipped"]);

    // With -y there is no question, not even at a terminal.
    let world = one_and_repair();
    let args = arguments("--session=S", "false", &["--cadence", "wave", "--retries", "0"]);
    let (code, shown) = Terminal::start(world.command(&args)).end();
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("every task of wave 1 failed, so the run stops here\n"), "{shown}");
}

#[test]
fn retry_after_an_abort_asks_no_question() {
    let world = one_and_repair();
    let mut terminal = at_terminal(&world);
    terminal.say("a");
    assert_eq!(terminal.end().0, Some(3));
    assert_eq!(ask(&world, &["retry", "--failed"]).code, Some(0));
    let args = ["run", "--session=S", "--agent-command", DID, "--cadence", "wave"];
    let mut terminal = Terminal::start(world.command(&args));
    terminal.wait_for("Start? [Y/n]").say("y").wait_for("Run finished: 1 skipped, 1 of 2 completed\n");
    terminal.wait_for("done? [v/D]").say("");
    assert_eq!(terminal.end().0, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "skipped"]);
}

/// A task, and one that runs only if the first fails.
fn one_and_repair() -> World {
    let world = tasks(&[]);
    world.write("S/tasks.csv", "id,title,deps,role,run_on\nA,Do A,,worker,\nD,Do D,A,worker,failure\n");
    world
}

#[test]
fn question_is_answered_from_another_terminal() {
    let world = tasks(&[("A", "")]);
    let terminal = at_terminal(&world);
    world.write("ok", "");
    assert_eq!(ask(&world, &["retry", "--failed"]).code, Some(0));
    assert_eq!(ask(&world, &["resume"]).code, Some(0));
    assert_eq!(terminal.end().0, Some(0));

    let world = tasks(&[("A", "")]);
    let mut terminal = at_terminal(&world);
    terminal.say("a");
    assert_eq!(terminal.end().0, Some(1));
    assert!(run(&world, DID, &[]).stdout.contains("is finished; nothing was done\n"));
}
