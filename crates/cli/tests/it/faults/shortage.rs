//! The system has no more open files or processes to give.

use std::os::unix::fs::chown;
use std::process::Command;

use super::{completions, lacks_strace, run_after, said, traced};
use crate::run::{DID, arguments, column, folder, read, run, tasks};
use team_executor_testkit::lacks;
use team_executor_testkit::limited::*;

/// A user of its own: its processes are counted alone.
const LONELY_USER: u32 = 54_321;

#[test]
fn whatever_the_limit_on_open_files_the_program_ends_in_order() {
    for limit in 3..24 {
        let world = tasks(&[("A", ""), ("B", ""), ("C", "A"), ("D", "")]);
        let output = run_after(&world, &format!("ulimit -n {limit}"), DID, &["-c4", "--retries", "0"]);
        let text = said(&output);
        // Too low even to load a library is the system's business.
        let codes: &[i32] = if limit < 6 { &[0, 1, 2, 74, 127] } else { &[0, 1, 2, 74] };
        assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{limit}: {output:?}");
        if output.status.code() == Some(74) {
            let helps = ["Resume with: ", "failed to write", "once the cause is gone, the same command works"];
            assert!(helps.iter().any(|help| text.contains(help)), "{limit}: {text}");
        }
        let again = run(&world, DID, &["-c4"]);
        // What had failed for good stays so; everything else is done now, once.
        assert!(matches!(again.code, Some(0 | 1)), "{limit}: {again}");
        let done = ["A", "B", "C", "D"].map(|task| completions(&folder(&world), task));
        assert!(done.iter().all(|times| *times <= 1), "{limit}: {done:?}");
        assert!(again.code != Some(0) || done == [1; 4], "{limit}: {done:?}");
    }
}

/// Many more are wanted at once than there are descriptors for, and no task may fail even once by itself.
#[test]
fn too_few_open_files_lower_workers_and_cost_no_retry() {
    let ids: Vec<String> = (0..64).map(|number| format!("T{number}")).collect();
    let world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    let worker = "echo found $TEAM_EXECUTOR_TASK >\"$TEAM_EXECUTOR_ARTIFACTS/x\"; echo did $TEAM_EXECUTOR_TASK";
    let output = run_after(&world, "ulimit -n 64", worker, &["-c64", "--retries", "0"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(text.matches("at once from now on: too many open files").count(), 1, "{text}");
    assert!(text.contains("ulimit -n") && !text.contains("could not start"), "{text}");
    let journal = read(folder(&world).join(".executor/journal"));
    let (failed, short) =
        (journal.matches("\"type\":\"failed\"").count(), journal.matches("\"class\":\"shortage\"").count());
    assert!(failed == short && short > 0, "{failed} failures, {short} for want of open files");
    assert!(ids.iter().all(|id| completions(&folder(&world), id) == 1));
}

#[test]
fn file_limit_is_raised_for_the_executor_only() {
    let ids: Vec<String> = (0..64).map(|number| format!("T{number}")).collect();
    let world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    let output = run_after(&world, "ulimit -S -n 64", "echo $(ulimit -S -n)", &["-c64"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!said(&output).contains("at once from now on"), "{output:?}");
    assert_eq!(column(&world, "findings"), vec!["64"; 64]);
}

#[test]
fn whatever_the_limit_on_processes_the_program_ends_in_order() {
    for limit in 1..12 {
        let world = tasks(&[("A", ""), ("B", ""), ("C", "A")]);
        let root = world.dir().parent().expect("a folder").to_owned();
        let all = [root.clone(), world.dir().to_owned(), world.dir().join("S"), world.dir().join("S/tasks.csv")];
        if all.iter().any(|path| chown(path, Some(LONELY_USER), Some(LONELY_USER)).is_err()) {
            lacks("users", "the limit on processes");
            return;
        }
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={LONELY_USER}"), format!("--regid={LONELY_USER}"), "--clear-groups".to_owned()]);
        command.args(["prlimit", &format!("--nproc={limit}"), env!("CARGO_BIN_EXE_team-executor")]);
        command.args(arguments("--session=S", DID, &["-c3", "--retries", "0"])).current_dir(world.dir());
        command.env("HOME", world.dir()).env_remove("XDG_CONFIG_HOME");
        let output = command.limited_output();
        let text = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 1 | 74)), "{limit}: {output:?}");
        let why = ["could not start: ", "temporarily unavailable"].iter().any(|why| text.contains(why));
        assert!(output.status.code() == Some(0) || why, "{limit}: {text}");
    }
}

#[test]
fn check_without_a_free_process_waits() {
    if lacks_strace("a check without means") {
        return;
    }
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[tasks.A.checks]\nverify = [\"true\"]\n");
    let worker = "echo text >$TEAM_EXECUTOR_ARTIFACTS/a.md; echo did >>log";
    // Of each process: the second that a keeper starts is the check.
    let strace = ["-f", "-o", "/dev/null", "-e", "trace=clone", "-e", "inject=clone:error=EAGAIN:when=2"];
    let run = traced(&world, worker, &["--trust-project", "--retries", "0"], &strace);
    let text = said(&run);
    assert_eq!(run.status.code(), Some(0), "{text}");
    assert!(text.contains("A: its check waits until it can start: "), "{text}");
    assert_eq!(read(world.dir().join("log")), "did\n");
    assert_eq!(completions(&folder(&world), "A"), 1);
}
