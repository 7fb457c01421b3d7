//! A keeper is killed after its worker has ended, and before all that the worker started has.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use team_executor_agents::{Assignment, Ended};
use team_executor_testkit::{Gate, Pulse};

use crate::orders::Keeper;
use crate::world::{World, assignment, harvest};

/// A worker that delivers a file, ends with 0 and leaves a shell behind. When that is asked to end it stops the keeper, so that
/// nothing more is done, and shows that.
fn leaves_behind(dir: &Path, pulse: &Pulse) -> (Assignment, PathBuf) {
    let all = dir.join("artifacts");
    std::fs::create_dir(&all).unwrap();
    let left = format!("trap 'kill -STOP $KEEPER; printf . >&9' TERM; exec 9>{}; printf . >&9", pulse.arg());
    let worker = format!(
        "KEEPER=$PPID; ({left}; while :; do sleep 0.05; done) >/dev/null & \
         echo > {}/a/report.md; echo said; read -r _ < {}; exit 0",
        all.display(),
        dir.join("gate").display(),
    );
    let mut assignment = assignment(dir, "a", &[]);
    assignment.env.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    (assignment.program, assignment.args) = ("/bin/sh".to_owned(), vec!["-c".to_owned(), worker]);
    assignment.artifacts = Some(all.join("a"));
    (assignment, all)
}

/// R: X-01
#[test]
fn exit_is_known_if_the_keeper_dies_while_it_ends_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let gate = Gate::new(dir.path().join("gate"));
    let (assignment, all) = leaves_behind(dir.path(), &pulse);
    let mut keeper = Keeper::new(dir.path());
    keeper.ask(&[json!({ "run": assignment })]);
    pulse.wait_alive(1);
    gate.open();
    pulse.wait_alive(1);
    keeper.process.kill().unwrap();
    let (key, mut harvest) = (assignment.key.as_str(), harvest(dir.path(), &assignment.key));
    assert!(!harvest.is_gone(key));
    assert!(harvest.sweep(&[key]).unwrap() > 0);
    pulse.wait_dead();
    harvest.complete(|_| Some(&*all));
    let exit = harvest.exit(key).expect("it was noted");
    assert_eq!((&exit.ended, exit.last_line.as_deref(), exit.artifacts), (&Ended::Exit(0), Some("said"), 1));
}

#[test]
fn exit_is_reported_if_keeper_dies_in_cleanup() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let gate = world.gate("gate");
    let (assignment, _) = leaves_behind(world.attempt("").as_path(), &pulse);
    world.start(0, assignment);
    pulse.wait_alive(1);
    gate.open();
    pulse.wait_alive(1);
    kill_process(Pid::from_raw(world.keeper_of("a")).unwrap(), Signal::KILL).unwrap();
    let exit = world.ended();
    assert_eq!((exit.ended, exit.last_line.as_deref(), exit.artifacts), (Ended::Exit(0), Some("said"), 1));
    pulse.wait_dead();
}
