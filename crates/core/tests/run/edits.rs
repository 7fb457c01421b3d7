//! What a person changed while nothing ran.

use team_executor_core::TaskIndex;
use team_executor_core::run::{Event, Input, Policy, Step};

use crate::drive::Drive;
use crate::plan::{Plan, index};

/// A was completed, B failed, C and D wait for them, E is in progress, F waits for nothing but a worker.
fn drained() -> Drive {
    let policy = Policy { slots: 3, retries: 0, ..Policy::default() };
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C: A B", "D always: A", "E:", "F P2:"], policy));
    drive.tell(|now| Input::Drain { now });
    drive.complete("A");
    drive.fail("B");
    drive
}

fn edit(drive: &mut Drive, again: &[u32], skip: &[u32]) -> Step {
    let tasks = |numbers: &[u32]| numbers.iter().map(|number| TaskIndex(*number)).collect();
    let (again, skip) = (tasks(again), tasks(skip));
    drive.tell(|now| Input::Edited { now, again, skip, reason: "an edit".to_owned() })
}

#[test]
fn an_edit_is_taken_before_anything_starts() {
    let mut drive = drained();
    let step = edit(&mut drive, &[1], &[5]);
    assert_eq!((step.events.len(), step.effects.as_slice(), step.refused), (2, &[][..], None));
    assert!(matches!(&step.events[1], Event::Reset { tasks, .. } if *tasks == [index(1), index(2)]));
    assert_eq!(
        drive.picture(),
        ["A completed", "B ready", "C pending", "D ready", "E in_progress", "F skipped: an edit"]
    );
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!(drive.started(&step), "B D E", "and only then something does");
}

#[test]
fn a_completed_task_begins_anew_with_everything_behind_it() {
    let mut drive = drained();
    drive.complete("E");
    assert_eq!(edit(&mut drive, &[0, 2], &[]).refused, None);
    assert_eq!(drive.picture()[..3], ["A ready", "B failed: it broke", "C pending"]);
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], Policy::default()));
    drive.complete("A");
    edit(&mut drive, &[0], &[]);
    assert_eq!(drive.run.stage().word(), "going on", "a finished run is open again");
}

#[test]
fn an_edit_that_is_wrong_in_one_point_changes_nothing() {
    for (again, skip, why) in [
        (&[1, 3][..], &[][..], "task cannot go from pending to pending"),
        (&[1], &[0], "task cannot go from completed to skipped"),
        (&[], &[5, 4], "task cannot go from in_progress to skipped"),
        (&[9], &[], "there is no task number 9"),
        (&[1], &[9], "there is no task number 9"),
    ] {
        let mut drive = drained();
        let before = drive.run.clone();
        let step = edit(&mut drive, again, skip);
        assert_eq!(step.refused.map(|refused| refused.to_string()).as_deref(), Some(why));
        assert!(step.events.is_empty() && drive.run == before, "{why}");
    }
}
