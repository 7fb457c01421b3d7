//! What must be on the disk before something else is: results, deliveries, what a table shows.

use team_executor_testkit::World;

use super::{lacks_strace, said, traced};
use crate::run::{arguments, folder, read, tasks};

/// What a run that completes writes and makes durable, a line each.
fn calls(world: &World, worker: &str) -> String {
    let run =
        traced(world, worker, &[], &["-f", "-y", "-s", "1000", "-o", "calls", "-e", "trace=fsync,fdatasync,pwrite64"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    read(world.dir().join("calls"))
}

#[test]
fn a_result_is_on_the_disk_before_the_end_of_its_attempt_is() {
    if lacks_strace("that a result is made durable") {
        return;
    }
    let world = tasks(&[("A", "")]);
    let worker = r#"printf '{"status":"completed","findings":"x"}' >"$TEAM_EXECUTOR_RESULT""#;
    let calls = calls(&world, worker);
    let at = |what: &[&str]| calls.lines().position(|call| what.iter().all(|part| call.contains(part)));
    let written =
        [&["fsync", "/A.1.result.json>"][..], &["fsync", "/agents>"], &["pwrite64", "\\\"type\\\":\\\"completed"]];
    let order = written.map(at);
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}: {calls}");
}

#[test]
fn table_shows_nothing_that_the_journal_may_lose() {
    if lacks_strace("a disk that takes its time") {
        return;
    }
    let world = tasks(&[("A", ""), ("B", "")]);
    // B is at work until the table says that A is done.
    let worker = "[ $TEAM_EXECUTOR_TASK = A ] || until grep -q ^A,.*completed .workflow/.csv-wave/*/tasks.csv; do :; done; echo did it";
    let trace = ["-e", "trace=fdatasync,pwrite64,write", "-e", "inject=fdatasync:delay_enter=600000"];
    let run = traced(&world, worker, &["-c2"], &[&["-f", "-y", "-s", "1000", "-o", "calls"][..], &trace].concat());
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let calls = read(world.dir().join("calls"));
    let lines: Vec<&str> = calls.lines().collect();
    let at = |what: &[&str]| lines.iter().position(|call| what.iter().all(|part| call.contains(part)));
    let happened = at(&["pwrite64", "\\\"type\\\":\\\"completed\\\",\\\"task\\\":\\\"A\\\""]).expect("it is recorded");
    let shown = at(&["write", ",completed,"]).expect("it is shown");
    let is_synced = lines[happened..shown].iter().any(|call| call.contains("fdatasync") && call.contains("= 0"));
    assert!(is_synced, "{happened} {shown}: {calls}");
}

#[test]
fn delivery_is_durable_before_its_attempt_ends() {
    if lacks_strace("that artifacts are made durable") {
        return;
    }
    let world = tasks(&[("A", "")]);
    let worker = "mkdir $TEAM_EXECUTOR_ARTIFACTS/sub; echo text >$TEAM_EXECUTOR_ARTIFACTS/sub/a.md";
    let calls = calls(&world, worker);
    let at = |what: &[&str]| calls.lines().position(|call| what.iter().all(|part| call.contains(part)));
    let end = at(&["pwrite64", "\\\"type\\\":\\\"completed"]).expect("it is completed");
    for synced in ["/artifacts/A/sub/a.md>", "/artifacts/A/sub>", "/artifacts/A>", "/artifacts>"] {
        assert!(at(&["fsync", synced]).is_some_and(|at| at < end), "{synced}: {calls}");
    }
}

#[test]
fn undurable_delivery_stops_the_run_and_is_not_repeated() {
    if lacks_strace("a disk that does not keep artifacts") {
        return;
    }
    let world = tasks(&[("A", "")]);
    let deliver = "echo text >$TEAM_EXECUTOR_ARTIFACTS/a.md; echo did >> ran";
    // The folder of the run must be there to be named.
    assert_eq!(world.run(&arguments("--session=S", "exit 1", &["--retries=0"])).code, Some(1));
    let (table, artifacts) = (folder(&world).join("tasks.csv"), folder(&world).join("artifacts"));
    let again = || std::fs::write(&table, read(table.clone()).replace(",failed,", ",pending,")).expect("it is edited");
    again();
    let artifacts = artifacts.to_str().expect("text");
    let run = |error: &str| {
        let inject = format!("inject=fsync:error={error}");
        let strace = ["-f", "-o", "/dev/null", "-P", artifacts, "-e", "trace=fsync", "-e", &inject];
        traced(&world, deliver, &["--retries=0"], &strace)
    };
    // The first one runs the worker; no later one does.
    for error in ["EIO", "ENOSPC", "EIO"] {
        let broken = run(error);
        assert_eq!(broken.status.code(), Some(74), "{}", said(&broken));
        assert!(said(&broken).contains("cannot be made durable: "), "{}", said(&broken));
    }
    let whole = world.run(&arguments("--session=S", deliver, &[]));
    assert_eq!(whole.code, Some(0), "{whole}");
    assert_eq!(read(world.dir().join("ran")), "did\n");
}
