//! How a run ends, and how it goes on from there.

use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, World};

use super::asked::ask;
use super::{DID, arguments, column, folder, interrupt, read, rows, run, start, tasks};
use crate::fixtures::world as fixture;

/// A task that shows that it runs and then waits, and one behind it.
pub(crate) struct Waiting {
    pub(crate) world: World,
    pub(crate) pulse: Pulse,
    pub(crate) gate: Gate,
    pub(crate) worker: String,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        let world = tasks(&[("A", ""), ("B", "A")]);
        let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let (alive, wait) = (pulse.arg(), gate.arg());
        let a = format!("exec 9>{alive}; printf . >&9; cat {wait}");
        let worker = format!("if [ $TEAM_EXECUTOR_TASK = A ]; then {a}; fi; echo did $TEAM_EXECUTOR_TASK");
        Self { world, pulse, gate, worker }
    }

    /// A run whose first task is at work.
    pub(crate) fn start(&mut self) -> Child {
        let child = start(&self.world, &self.worker);
        self.pulse.wait_alive(1);
        child
    }
}

/// Reads what a run says until it says this.
pub(crate) fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stderr.as_mut().expect("its errors"));
    let said = std::iter::from_fn(|| lines.limited_line()).any(|line| line.contains(words));
    assert!(said, "it never said {words:?}");
}

pub(crate) fn end(child: Child) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = child.limited_output();
    (status.code(), String::from_utf8(stdout).expect("UTF-8"))
}

/// The command that a run says to resume with, pasted into a shell of its world.
pub(super) fn resume(world: &World, said: &str) -> Run {
    world.shell(said.lines().find_map(|line| line.strip_prefix("Resume with: ")).expect("a command"))
}

/// Who has the program by a path only can type what it says.
#[test]
fn printed_resume_command_works_outside_path() {
    let mut world = tasks(&[("A", "")]);
    let program = env!("CARGO_BIN_EXE_team-executor");
    let kept = ["--on-complete", "auto_keep"];
    let installed = run(&world, DID, &kept);
    assert!(installed.stdout.contains("Resume with: team-executor resume --session=S\n"), "{installed}");
    // Another program of this name is not this one.
    world.write("other/team-executor", "#!/bin/sh\nexit 9\n");
    let made = std::fs::set_permissions(world.dir().join("other/team-executor"), PermissionsExt::from_mode(0o755));
    made.expect("a program");
    for path in ["/usr/bin:/bin", "other:/usr/bin:/bin"] {
        world.env("PATH", path);
        let again = ask(&world, &["retry", "A", "--downstream"]);
        assert!(again.stdout.contains(&format!("{program} resume --session=S")), "{again}");
        let run = run(&world, DID, &kept);
        let line = run.stdout.lines().find_map(|line| line.split_once("Resume with: ")).expect("a command").1;
        assert_eq!(line, format!("{program} resume --session=S"), "{run}");
        let again = world.shell(line);
        assert_eq!(again.code, Some(0), "{again}");
    }
}

#[test]
fn a_session_that_is_run_from_within_is_named_by_a_dot() {
    let world = tasks(&[("A", "")]);
    let mut command = world.command(&arguments("--session=.", DID, &[]));
    let done = command.current_dir(world.dir().join("S")).limited_output();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("\nSession         .\n"), "{said}");
}

/// As `nohup` does it, and a shell for what it starts in the background.
#[test]
fn signal_ignored_at_start_stays_ignored() {
    let mut waiting = Waiting::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_team-executor")]);
    command.args(arguments("--session=S", &waiting.worker, &[])).current_dir(waiting.world.dir());
    let executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    waiting.pulse.wait_alive(1);
    let sent = Command::new("kill").args(["-HUP", &executor.id().to_string()]).limited_status();
    assert!(sent.success());
    waiting.gate.open();
    assert_eq!((end(executor).0, column(&waiting.world, "findings")), (Some(0), vec!["did A".into(), "did B".into()]));
}

/// Whatever takes its executor down with it is not started for ever.
#[test]
fn task_with_repeatedly_lost_workers_fails_and_says_so() {
    let world = tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let worker = format!("exec 9>{}; printf . >&9; sleep 600", pulse.arg());
    for _ in 0..6 {
        let mut executor = start(&world, &worker);
        pulse.wait_alive(1);
        executor.kill().expect("it is killed");
        executor.limited_wait();
        pulse.wait_dead();
    }
    let last = run(&world, &worker, &[]);
    assert!(last.code == Some(1) && last.stderr.contains("✗ A its worker was lost 6 times\n"), "{last}");
}

/// R: X-03
#[test]
fn the_first_interrupt_drains_and_the_second_ends_the_workers() {
    let mut waiting = Waiting::new();
    let mut first = waiting.start();
    interrupt(&first);
    wait_for(&mut first, "Stopping after 1 running worker");
    interrupt(&first);
    let (code, said) = end(first);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("\nResume with: team-executor resume --session=S\n"), "{said}");
    waiting.pulse.wait_dead();
    assert_eq!(column(&waiting.world, "status"), ["pending", "pending"]);

    let mut second = waiting.start();
    interrupt(&second);
    wait_for(&mut second, "Stopping after 1 running worker");
    waiting.gate.open();
    let (code, said) = end(second);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(column(&waiting.world, "status"), ["completed", "pending"]);

    let last = resume(&waiting.world, &said);
    assert!(last.code == Some(0) && last.stderr.contains(" goes on, 1 done\n"), "{last}");
    assert!(!last.stderr.contains("▶ A"), "{last}");
    assert_eq!(column(&waiting.world, "findings"), ["did A", "did B"]);
}

/// A closed window may hang up twice: the system does, and the program that had the window.
///
/// R: X-03
#[test]
fn second_sighup_is_ignored() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let mut lines = BufReader::new(executor.stderr.take().expect("its errors"));
    let hang_up = |executor: &Child| {
        let sent = Command::new("kill").args(["-HUP", &executor.id().to_string()]).limited_status();
        assert!(sent.success());
    };
    hang_up(&executor);
    let mut said = std::iter::from_fn(|| lines.limited_line());
    assert!(said.any(|line| line.contains("Stopping after 1 running worker")), "it stops");
    hang_up(&executor);
    // It has time to hear of the second one before it answers.
    ask(&waiting.world, &["stop"]);
    waiting.gate.open();
    assert_eq!(executor.limited_wait().code(), Some(3));
    let rest: Vec<String> = said.collect();
    assert!(!rest.iter().any(|line| line.contains("warning") || line.contains("Stopping")), "{rest:?}");
    assert_eq!(column(&waiting.world, "status"), ["completed", "pending"]);
}

/// R: X-02
#[test]
fn second_executor_sees_the_holder() {
    let mut waiting = Waiting::new();
    let first = waiting.start();
    let second = run(&waiting.world, DID, &[]);
    assert_eq!(second.code, Some(4), "{second}");
    let holder = format!("error: another executor holds this session: process {} on ", first.id());
    assert!(second.stderr.contains(&holder), "{second}");
    let help = "help: wait for it to end, or end it with: team-executor stop --session=S\n";
    assert!(second.stderr.contains(help), "{second}");
    let export = waiting.world.run(&["export", "--session=S", "--to", "out"]);
    assert!(export.code == Some(4) && export.stderr.contains(help), "{export}");
    waiting.gate.open();
    assert_eq!(end(first).0, Some(0));
    assert_eq!(column(&waiting.world, "findings"), ["did A", "did B"]);
}

/// R: X-07
#[test]
fn exit_codes_are_as_documented() {
    let one = || tasks(&[("A", "")]);
    assert_eq!(run(&one(), "true", &[]).code, Some(0), "all completed");
    assert_eq!(run(&one(), "false", &["--retries", "0"]).code, Some(1), "a task failed");

    let world = one();
    assert_eq!(run(&world, "true", &["--no-such-flag"]).code, Some(2), "wrong usage");
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do A,B,worker\n");
    let before = world.tree();
    let invalid = run(&world, "true", &[]);
    assert_eq!(invalid.code, Some(2), "an invalid session");
    assert!(invalid.stderr.contains("Nothing was started: "), "{invalid}");
    assert_eq!(world.tree(), before);

    let mut waiting = Waiting::new();
    let mut drained = waiting.start();
    assert_eq!(run(&waiting.world, "true", &[]).code, Some(4), "another executor holds it");
    interrupt(&drained);
    wait_for(&mut drained, "Stopping after");
    waiting.gate.open();
    assert_eq!(end(drained).0, Some(3), "drained");

    let mut waiting = Waiting::new();
    let mut ended = waiting.start();
    interrupt(&ended);
    wait_for(&mut ended, "Stopping after");
    interrupt(&ended);
    assert_eq!(end(ended).0, Some(130), "interrupted");

    let world = one();
    world.write(".workflow/.csv-wave", "a file where a folder must be");
    let failed = run(&world, "true", &[]);
    assert_eq!(failed.code, Some(74), "the disk says no: {failed}");
    assert!(failed.stderr.contains("help: once the cause is gone, the same command continues\n"), "{failed}");
    assert!(run(&world, "true", &["--help"]).stdout.starts_with("Run a session"));
    let help = world.run(&["--help"]).stdout;
    let codes = help.split("Exit codes:").nth(1).expect("they are in the help").replace('\n', " ");
    for code in ["0 all tasks completed", "1 finished with", "2 usage", "3 stopped", "4 another", "74 input", "130 int"]
    {
        assert!(codes.contains(code), "{code}: {codes}");
    }
}

#[test]
fn failed_task_is_retried_then_dependents_are_skipped() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B"), ("D", "")]);
    let worker = "if [ $TEAM_EXECUTOR_TASK = A ]; then echo x >> tries; exit 7; fi; echo fine";
    let run = run(&world, worker, &["--retries", "1"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(read(world.dir().join("tries")), "x\nx\n");
    assert!(run.stderr.contains("✗ A exit code 7; it will be tried again\n"), "{run}");
    assert!(run.stderr.contains("▶ A (worker, attempt 2"), "{run}");
    assert!(run.stdout.contains("Run failed: 1 failed, 2 skipped, 1 of 4 completed\n"), "{run}");
    assert_eq!(column(&world, "status"), ["failed", "skipped", "skipped", "completed"]);
    assert_eq!(column(&world, "error"), ["exit code 7", "dependency A failed", "dependency B was skipped", ""]);
}

/// There is no person to ask. The next call runs the tasks that follow on a failure.
#[test]
fn a_wave_of_which_every_task_failed_stops_the_run() {
    let world = tasks(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,deps,role,run_on\nA,Do A,,worker,\nB,Do B,A,worker,\nC,Do C,A,worker,failure\n",
    );
    let wave = ["--cadence", "wave", "--retries", "0"];
    let first = run(&world, "false", &wave);
    assert_eq!(first.code, Some(3), "{first}");
    assert!(first.stderr.contains("warning: every task of wave 1 failed, so the run stops here\n"), "{first}");
    assert!(first.stdout.starts_with("Run stopped: 1 failed, 1 skipped, 0 of 3 completed\n"), "{first}");
    assert_eq!(column(&world, "status"), ["failed", "skipped", "pending"]);
    let second = run(&world, DID, &wave);
    assert_eq!(second.code, Some(1), "{second}");
    assert_eq!(column(&world, "status"), ["failed", "skipped", "completed"]);
}

#[test]
fn a_task_that_fails_once_completes() {
    let world = tasks(&[("A", "")]);
    let run = run(&world, "if mkdir once; then exit 1; fi; echo $TEAM_EXECUTOR_ATTEMPT", &["--retries", "1"]);
    assert_eq!(run.code, Some(0), "{run}");
    let row = &rows(&world)["A"];
    assert!(row["findings"].ends_with("/A/2"), "{row:?}");
    assert_eq!(row["error"], "");
}

#[test]
fn wrong_session_state_is_corrected_and_reported() {
    let world = fixture("tc-spec-literal");
    let run = world.run(&super::arguments("--session=tc-spec-literal", DID, &[]));
    let told = "corrected: BUILD-001: pending -> completed (the session lists it as";
    assert!(run.stderr.contains(told), "{run}");
    assert!(!run.stderr.contains("▶ BUILD-001"), "{run}");
}

#[test]
fn a_session_that_was_changed_under_its_run_is_refused() {
    let mut waiting = Waiting::new();
    let mut first = waiting.start();
    interrupt(&first);
    wait_for(&mut first, "Stopping after");
    waiting.gate.open();
    assert_eq!(end(first).0, Some(3));
    let path = waiting.world.dir().join("S/tasks.csv");
    let table = read(&path);
    // A task that has begun cannot be removed.
    let fewer = table.lines().filter(|line| !line.starts_with("A,")).map(|line| line.replace(",A,", ",,") + "\n");
    let fewer: String = fewer.collect();
    assert_ne!(fewer, table);
    std::fs::write(&path, fewer).expect("written");
    let refused = run(&waiting.world, DID, &[]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("have changed since the run"), "{refused}");
    assert!(refused.stderr.contains("help: undo the change"), "{refused}");
}

/// R: W-18
#[test]
fn failed_command_is_shown_with_the_last_lines_of_its_errors() {
    let world = tasks(&[("A", "")]);
    let worker = "echo almost; echo one >&2; printf 'no such \\033[31mfile\\033[0m: x.rs\\n\\n' >&2; exit 7";
    let done = run(&world, worker, &["--retries=0"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert!(done.stderr.contains("✗ A exit code 7: one; no such "), "{done}");
    assert!(done.stderr.contains("file"), "{done}");
    let error = &column(&world, "error")[0];
    assert!(error.starts_with("exit code 7: one; no such ") && error.ends_with(": x.rs"), "{error}");
    assert!(!error.contains('\u{1b}'), "{error}");
    assert!(read(folder(&world).join("context.md")).contains("exit code 7: one; no such "));
    assert!(world.run(&["status", "--session=S"]).stdout.contains("exit code 7: one; no such "));
}
