//! How a worker ends, and that its end is told and written down alike.

use std::process::Command;

use team_executor_agents::Ended;
use team_executor_testkit::limited::*;

use crate::world::World;

#[test]
fn worker_end_is_reported_with_its_output() {
    let world = World::new();
    let exit = world.run("a", &["print", "one", "err", "two", "print", "three"]);
    assert_eq!(exit.ended, Ended::Exit(0));
    assert_eq!((exit.out.bytes, exit.err.bytes, exit.leaked), (10, 4, 0));
    assert_eq!(exit.last_line.as_deref(), Some("three"));
    assert_eq!(world.out("a"), "one\nthree\n");
    assert_eq!(world.log("a", "err.log"), b"two\n");
    let key = exit.key.clone();
    assert_eq!(world.written(&key), Some(exit));
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let world = World::new();
    assert_eq!(world.run("code", &["exit", "7"]).ended, Ended::Exit(7));
    assert_eq!(world.run("kill", &["signal", "9"]).ended, Ended::Signal(9));
    assert_eq!(world.run("term", &["signal", "15"]).ended, Ended::Signal(15));
}

#[test]
fn failed_start_gives_its_reason() {
    let world = World::new();
    let reason = |task: &str, change: fn(&mut team_executor_agents::Assignment)| {
        let mut assignment = world.assignment(task, &[]);
        change(&mut assignment);
        match world.run_assignment(assignment).ended {
            Ended::CouldNotStart(obstacle) => obstacle.reason,
            other => panic!("{other:?}"),
        }
    };
    let missing = reason("missing", |it| it.program = "/no/such/program".into());
    assert_eq!(missing, "/no/such/program: No such file or directory (os error 2)");
    let unknown = reason("unknown", |it| it.program = "no-such-program".into());
    assert_eq!(unknown, "no-such-program: not found in PATH (not set)");
    let folder = reason("folder", |it| it.program = "/".into());
    assert_eq!(folder, "/: Permission denied (os error 13)");
    let cwd = reason("cwd", |it| it.cwd = "/no/such/folder".into());
    assert_eq!(cwd, "/no/such/folder: No such file or directory (os error 2)");
    let stdin = reason("stdin", |it| it.stdin = Some("/no/such/prompt".into()));
    assert_eq!(stdin, "/no/such/prompt: No such file or directory (os error 2)");
    assert_eq!(
        reason("nul", |it| it.args = vec!["\0".into()]).split_once(": ").unwrap().1,
        "data provided contains a nul byte"
    );
    let long = reason("long", |it| it.args = vec!["x".repeat(200_000)]);
    assert!(long.ends_with(": Argument list too long (os error 7)"), "{long}");
    // The keeper is none the worse for it.
    assert_eq!(world.run("after", &["print", "fine"]).ended, Ended::Exit(0));
}

#[test]
fn script_without_shebang_runs_in_sh_and_binary_does_not() {
    let world = World::new();
    let program = |name: &str, bytes: &[u8]| {
        let [text, path] = ["text", "program"].map(|end| world.attempt(&format!("{name}.{end}")));
        std::fs::write(&text, bytes).unwrap();
        // What this process has open for writing, another thread's child may have too, and then it cannot be started.
        assert!(Command::new("install").args(["-m", "755"]).args([&text, &path]).limited_status().success());
        let mut assignment = world.assignment(name, &[]);
        assignment.program = path.to_str().unwrap().into();
        assignment.args = vec!["one".into(), "t w o".into()];
        world.run_assignment(assignment)
    };
    let exit = program("work.sh", b"echo $# \"$2\"; exit 3\n");
    assert_eq!((exit.ended, exit.last_line.as_deref()), (Ended::Exit(3), Some("2 t w o")));
    for (name, bytes) in [("other-machine", &b"\x7fELF\0\0\0\0"[..]), ("empty", b"")] {
        let Ended::CouldNotStart(obstacle) = program(name, bytes).ended else { panic!("{name} was started") };
        assert!(obstacle.reason.ends_with(": Exec format error (os error 8)"), "{}", obstacle.reason);
    }
}

#[test]
fn the_program_is_looked_for_in_the_path_of_the_worker() {
    let world = World::new();
    let mut assignment = world.assignment("a", &["-c", "echo $0"]);
    assignment.program = "sh".into();
    assignment.env = vec![("PATH".into(), "/no/such:relative:/bin".into())];
    assert_eq!(world.run_assignment(assignment).last_line.as_deref(), Some("sh"));
}

#[test]
fn a_worker_is_ended_when_asked() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    world.start(0, world.assignment("a", &["beat", pulse.arg(), "hang"]));
    pulse.wait_alive(1);
    world.end(0);
    assert_eq!(world.ended().ended, Ended::Stopped);
    pulse.wait_dead();
}
