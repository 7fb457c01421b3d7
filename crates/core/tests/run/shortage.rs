//! What happens when the system lacks something: open files, processes, memory, or room on the disk.

use team_executor_core::TaskStatus;
use team_executor_core::run::{Effect, Ending, ErrorClass, Halt, Input, Policy, Stage};

use crate::drive::{Drive, failed, wake};
use crate::plan::{Plan, at, index};

fn plan(tasks: &[&str], slots: u32) -> Plan {
    Plan::new(tasks, Policy { slots, retries: 0, ..Policy::default() })
}

const SHORTAGE: ErrorClass = ErrorClass::Shortage;

/// Each row: what happens, how many workers there may be then, and what starts.
#[test]
fn shortage_lowers_workers_and_good_ends_raise_them() {
    let (mut drive, step) = Drive::start(plan(&["A:", "B:", "C:", "D:", "E:", "F:", "G:"], 4));
    assert_eq!((drive.started(&step).as_str(), drive.run.most_workers()), ("A B C D", 4));
    let table = [
        ("B", Some(SHORTAGE), 3, ""), // A, C and D run; B waits for one of them
        ("D", Some(SHORTAGE), 2, ""),
        ("A", Some(ErrorClass::Fatal), 2, "B"), // a bad end gives back what it had, and no more
        ("B", None, 3, "D E"),                  // a good one lets one more try
        ("E", Some(SHORTAGE), 2, ""),
        ("C", None, 3, "E F"),
        ("D", None, 4, "G"),
        ("E", None, 4, ""), // never more than were chosen
        ("F", None, 4, ""),
    ];
    for (task, class, most, started) in table {
        let step = match class {
            Some(class) => drive.end(task, failed(class)),
            None => drive.complete(task),
        };
        assert_eq!((drive.run.most_workers(), drive.started(&step).as_str()), (most, started), "{task} {class:?}");
    }
    drive.complete("G");
    let picture = drive.picture();
    assert_eq!((picture[0].as_str(), drive.run.counts().completed), ("A failed: it broke", 6), "no retry was spent");
}

#[test]
fn a_shortage_without_another_worker_counts_as_a_failure() {
    let policy = Policy { slots: 4, retries: 1, ..Policy::default() };
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], policy));
    let step = drive.end("A", failed(SHORTAGE));
    drive.now = wake(&step).unwrap();
    assert!(drive.now >= 1000, "it waits");
    drive.tell(|now| Input::Woke { now });
    drive.end("A", failed(SHORTAGE));
    assert_eq!((drive.run.stage(), drive.picture()), (&Stage::Finished, vec!["A failed: it broke".to_owned()]));
}

#[test]
fn next_start_has_the_chosen_number_of_workers() {
    let (mut drive, _) = Drive::start(plan(&["A:", "B:", "C:"], 3));
    drive.end("C", failed(SHORTAGE));
    assert_eq!(drive.run.most_workers(), 2);
    drive.run.step(Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false });
    assert_eq!((drive.run.most_workers(), drive.run.counts().in_progress), (3, 3));
}

#[test]
fn full_disk_starts_nothing_and_lets_workers_finish() {
    let (mut drive, _) = Drive::start(plan(&["A:", "B:", "C: A", "D:"], 2));
    let step = drive.tell(|now| Input::NoRoom { now });
    assert_eq!((step.events.len(), step.effects), (1, vec![]));
    assert_eq!((drive.run.stage(), drive.run.halt()), (&Stage::Draining, Some(&Halt::NoRoom)));
    assert_eq!(drive.tell(|now| Input::NoRoom { now }).events, [], "once is enough");
    // What was about to start spends nothing, also if nothing else runs.
    let step = drive.complete("A");
    assert_eq!((drive.started(&step).as_str(), step.effects), ("", vec![]));
    let step = drive.end("B", failed(SHORTAGE));
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Drained }]);
    assert_eq!(drive.run.status(index(1)), Some(TaskStatus::Ready));
    let recovered = Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false };
    let step = drive.run.step(recovered);
    assert_eq!((drive.started(&step).as_str(), drive.run.halt()), ("B C", None));
}

/// A person who stops a run at the same time, or has paused it, is not overruled.
#[test]
fn full_disk_keeps_a_stopped_or_paused_run_so() {
    let (mut drive, _) = Drive::start(plan(&["A:", "B: A"], 1));
    let mut stopped = drive.clone();
    stopped.tell(|now| Input::Stop { now });
    assert_eq!((stopped.tell(|now| Input::NoRoom { now }).events, stopped.run.stage()), (vec![], &Stage::Stopping));
    drive.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
    drive.tell(|now| Input::NoRoom { now });
    drive.complete("A");
    assert_eq!(drive.run.halt(), Some(&Halt::NoRoom));
    drive.run.step(Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false });
    assert!(matches!(drive.run.stage(), Stage::Paused(_)));
}
