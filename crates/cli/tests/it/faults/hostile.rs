//! Workers that turn against their keeper, the executor and the executor's files.

use team_executor_testkit::Pulse;

use super::completions;
use crate::run::{DID, folder, read, run, tasks};

#[test]
fn worker_that_kills_its_keeper_is_ended_and_replaced() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = A ] && mkdir once; then exec 9>{}; printf . >&9; kill -9 $PPID; exec sleep 600; fi; {DID}",
        pulse.arg()
    );
    let run = run(&world, &worker, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    pulse.wait_dead();
    assert!(run.stderr.contains("▶ A (worker, attempt 2"), "{run}");
    assert_eq!((completions(&folder(&world), "A"), completions(&folder(&world), "B")), (1, 1));
}

/// Its leftovers have no mark, no parents and no cgroup of ours: they become children of the executor.
/// R: A-03
#[test]
fn worker_that_hides_and_kills_its_keeper_is_ended() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let leave = "tree=$(grep ' cgroup2 ' /proc/mounts | cut -d' ' -f2); own=$(grep ^0:: /proc/self/cgroup | cut -d: -f3); \
                 echo $$ >\"$tree${own%/*}/cgroup.procs\"";
    let hidden = "sh -c \"kill -9 $PPID; exec sleep 600\"";
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = A ] && mkdir once; then exec 9>{}; printf . >&9; {leave}; \
         exec env -i PATH=\"$PATH\" setsid -w {hidden}; fi; {DID}",
        pulse.arg()
    );
    let run = run(&world, &worker, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    pulse.wait_dead();
    assert!(run.stderr.contains("▶ A (worker, attempt 2"), "{run}");
    assert_eq!((completions(&folder(&world), "A"), completions(&folder(&world), "B")), (1, 1));
}

#[test]
fn worker_that_kills_the_executor_is_ended() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = B ] && mkdir once; then exec 9>{}; printf . >&9; \
         kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); exec sleep 600; fi; {DID}",
        pulse.arg()
    );
    let killed = run(&world, &worker, &[]);
    assert_eq!(killed.code, None, "{killed}");
    let continued = run(&world, &worker, &[]);
    pulse.wait_dead();
    assert_eq!(continued.code, Some(0), "{continued}");
    assert!(!continued.stderr.contains("▶ A"), "{continued}");
    assert_eq!((completions(&folder(&world), "A"), completions(&folder(&world), "B")), (1, 1));
}

#[test]
fn a_worker_that_writes_into_the_journal_is_found_out() {
    let damage = "printf X | dd of=\"$(ls -d .workflow/.csv-wave/EX-*)/.executor/journal\" bs=1 seek=SEEK conv=notrunc";
    for seek in ["0", "700"] {
        let damage = damage.replace("SEEK", seek);
        let worker = format!("if [ $TEAM_EXECUTOR_TASK = C ]; then {damage}; fi; {DID}");
        let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
        assert_eq!(run(&world, &worker, &[]).code, Some(0));
        let before = read(folder(&world).join(".executor/journal"));
        let refused = run(&world, &worker, &[]);
        assert_eq!(refused.code, Some(74), "{refused}");
        assert!(refused.stderr.contains("team-executor doctor --"), "{refused}");
        assert_eq!(read(folder(&world).join(".executor/journal")), before);
        let status = world.run(&["status", "--session=S"]);
        assert!(status.stderr.contains("team-executor doctor --"), "{status}");
    }
}
