//! Programs that cannot be started, that do nothing, that flood, that leave daemons behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Pulse, fake_agent};

use super::lacks_strace;
use crate::run::{arguments, column, folder, run, tasks};

#[test]
fn a_program_that_may_not_be_executed_is_named() {
    let world = tasks(&[("A", "")]);
    let program = world.write("tool", "#!/bin/sh\necho no\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o644)).expect("permissions");
    let run = run(&world, "./tool now", &["--retries", "0"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("/tool is not executable"), "{run}");
}

/// R: X-07
#[test]
fn program_that_the_disk_cannot_show_stops_the_start_with_74() {
    if lacks_strace("a program on a failing disk") {
        return;
    }
    let mut world = tasks(&[("A", "")]);
    let program = world.write("bin/mytool", "#!/bin/sh\necho did it\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = format!("{}:/usr/bin:/bin", world.dir().join("bin").display());
    let fails = ["strace", "-f", "-o", "/dev/null", "-P", program.to_str().expect("text")];
    let fails = [&fails[..], &["-e", "trace=%%stat", "-e", "inject=%%stat:error=EIO"]].concat();
    world.env("PATH", &path).through(fails.iter().map(|&word| word.to_owned()).collect());
    for command in ["mytool", "bin/mytool"] {
        let run = run(&world, command, &[]);
        assert_eq!(run.code, Some(74), "{run}");
        assert!(run.stderr.contains("bin/mytool: input/output error"), "{run}");
        assert!(!world.dir().join(".workflow").exists(), "{run}");
    }
    world.through(Vec::new());
    assert_eq!(run(&world, "mytool", &[]).code, Some(0));
}

#[test]
fn program_in_a_relative_path_folder_is_refused() {
    let mut world = tasks(&[("A", "")]);
    let program = world.write("bin/mytool", "#!/bin/sh\necho no\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    world.env("PATH", "bin:/usr/bin:/bin");
    let run = run(&world, "mytool", &[]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("the program 'mytool' is not found in PATH"), "{run}");
    assert!(!world.dir().join(".workflow").exists());
}

#[test]
fn without_a_path_programs_are_found_where_the_system_has_them() {
    let world = tasks(&[("A", "")]);
    let mut command = world.command(&arguments("--session=S", "echo did it", &[]));
    let output = command.env_remove("PATH").limited_output();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(column(&world, "findings"), ["did it"]);
}

#[test]
fn project_path_not_utf8_is_refused_before_start() {
    let world = tasks(&[("A", "")]);
    let odd = world.dir().join(OsStr::from_bytes(b"d\xff"));
    std::fs::create_dir(&odd).expect("a folder");
    std::fs::rename(world.dir().join("S"), odd.join("S")).expect("it is moved");
    let mut command = world.command(&arguments("--session=S", "echo did it", &[]));
    let output = command.current_dir(&odd).limited_output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not valid UTF-8, so workers cannot use it\n") && said.contains("\nhelp: "), "{said}");
    assert!(!odd.join(".workflow").exists());
}

/// Without a result the exit status decides, and it says that all is well.
#[test]
fn silent_success_completes_without_findings() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = run(&world, "/bin/true", &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["nothing was reported"; 2]);
}

#[test]
fn daemons_of_a_worker_end_before_the_next_task() {
    let world = tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    // Without parents, in a session of their own, with closed streams, and one ignores being asked. Each shows that it
    // lives before the worker ends.
    let (agent, p) = (fake_agent().display(), pulse.arg());
    let worker = format!("{agent} daemon beat {p} hang ; daemon ignore-term close-output beat {p} hang ; print left");
    let quoted = worker.replace(" ; ", " ';' ");
    let run = run(&world, &format!("{quoted}; head -c 2 <{p} >/dev/null || :"), &[]);
    assert_eq!(run.code, Some(0), "{run}");
    pulse.wait_dead();
    assert_eq!(column(&world, "findings"), ["left"]);
}

#[test]
fn floods_on_both_streams_are_cut_in_their_logs() {
    let world = tasks(&[("A", "")]);
    let worker = "head -c 200000000 /dev/zero >&2 & head -c 200000000 /dev/zero; wait; echo; echo the end";
    let run = run(&world, worker, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["the end"]);
    for stream in ["out", "err"] {
        let length = folder(&world).join(format!("logs/A.1.{stream}")).metadata().expect("a log").len();
        assert!((64 << 20..(64 << 20) + 100).contains(&length), "{stream}: {length}");
    }
}
