//! Keepers are used again and again, and nothing piles up.

use std::collections::BTreeSet;
use std::fs;

use team_executor_agents::{Ended, KeeperEvent, Keepers};

use crate::world::World;

/// What the open files of a process are.
fn open_files(pid: i32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let mut targets: Vec<_> = targets.map(|path| path.display().to_string()).collect();
    targets.sort();
    targets
}

#[test]
fn one_keeper_serves_a_thousand_tasks_and_leaves_nothing_open() {
    let world = World::new();
    let run = |number: usize| {
        let mut assignment = world.assignment(&format!("t{number}"), &[]);
        assignment.program = "/bin/true".into();
        assert_eq!(world.run_assignment(assignment).ended, Ended::Exit(0));
    };
    run(0);
    let keeper = world.keeper_of("t0");
    let before = open_files(keeper);
    let start = std::time::Instant::now();
    (1..1000).for_each(run);
    println!("{:.0} tasks/s through one keeper", 999.0 / start.elapsed().as_secs_f64());
    assert_eq!(world.keeper_of("t999"), keeper);
    // It holds the folder of the last log.
    let after = open_files(keeper)
        .into_iter()
        .map(|file| if file.ends_with("/t999") { file.replace("/t999", "/t0") } else { file });
    assert_eq!(after.collect::<Vec<_>>(), before);
    let children = fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).unwrap_or_default();
    assert_eq!(children, "");
}

#[test]
fn slots_work_at_the_same_time() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let gates: Vec<_> = (0..8).map(|slot| world.gate(&format!("gate{slot}"))).collect();
    for (slot, gate) in gates.iter().enumerate() {
        let script = ["beat", pulse.arg(), "hold", gate.arg(), "print", "done"];
        world.start(slot, world.assignment(&format!("t{slot}"), &script));
    }
    pulse.wait_alive(8);
    gates.iter().for_each(|gate| gate.open());
    let mut slots = BTreeSet::new();
    while slots.len() < 8 {
        if let KeeperEvent::Ended { slot, exit, .. } = world.next() {
            assert_eq!(exit.ended, Ended::Exit(0));
            slots.insert(slot);
        }
    }
}

#[test]
fn a_slot_that_is_not_free_refuses_without_harm() {
    let world = World::new();
    let mut pulse = world.pulse("pulse");
    let gate = world.gate("gate");
    world.start(0, world.assignment("a", &["beat", pulse.arg(), "hold", gate.arg()]));
    pulse.wait_alive(1);
    world.start(0, world.assignment("b", &[]));
    assert_eq!(refusal(&world.next()), "no keeper took the attempt: the slot is not free");
    gate.open();
    assert_eq!(world.ended().ended, Ended::Exit(0));
}

#[test]
fn a_keeper_that_died_while_idle_is_replaced() {
    let world = World::new();
    world.run("a", &[]);
    let keeper = world.keeper_of("a");
    rustix::process::kill_process(rustix::process::Pid::from_raw(keeper).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    // Whether its end was noticed already or not: the task is run, by another keeper.
    let mut assignment = world.assignment("b", &[]);
    for attempt in 0.. {
        world.start(0, assignment);
        match world.next() {
            KeeperEvent::Ended { exit, .. } => {
                assert_eq!(exit.ended, Ended::Exit(0));
                break;
            }
            event => assert!(matches!(event, KeeperEvent::KeeperDied { .. }) && attempt < 3, "{event:?}"),
        }
        assignment = world.assignment(&format!("b{attempt}"), &[]);
    }
}

/// Why an attempt was not begun.
fn refusal(event: &KeeperEvent) -> &str {
    let KeeperEvent::Ended { exit, .. } = event else { panic!("{event:?}") };
    let Ended::CouldNotStart(obstacle) = &exit.ended else { panic!("{exit:?}") };
    &obstacle.reason
}

#[test]
fn keeper_without_ledger_starts_nothing() {
    let world = World::new();
    let ledgers = world.ledgers();
    fs::remove_dir_all(&ledgers).unwrap();
    for task in ["a", "b"] {
        let Ended::CouldNotStart(obstacle) = world.run(task, &[]).ended else { panic!("{task} was started") };
        assert_eq!(obstacle.reason, "the keeper has no ledger: No such file or directory (os error 2)");
    }
    fs::create_dir(&ledgers).unwrap();
    assert_eq!(world.run("c", &[]).ended, Ended::Exit(0));
    assert_eq!(fs::read_dir(&ledgers).unwrap().count(), 1);
}

#[test]
fn a_pool_without_keepers_says_so() {
    use std::os::fd::AsFd as _;
    let dir = tempfile::tempdir().unwrap();
    let mut keepers = Keepers::new("/no/such/program".into(), dir.path().to_owned(), 1);
    keepers.start(0, crate::world::assignment(dir.path(), "a", &[]));
    let (silence, _open) = std::io::pipe().unwrap();
    let events = keepers.wait(silence.as_fd(), Some(crate::world::LONG)).unwrap();
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!(refusal(event), "no keeper took the attempt: No such file or directory (os error 2)");
}

#[test]
fn unsendable_attempt_is_refused_and_slot_stays_free() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let mut assignment = world.assignment("a", &[]);
    assignment.cwd = std::ffi::OsStr::from_bytes(b"/\xff").into();
    world.start(0, assignment);
    assert_eq!(refusal(&world.next()), "no keeper took the attempt: path contains invalid UTF-8 characters");
    assert_eq!(world.run("b", &[]).ended, Ended::Exit(0));
}
