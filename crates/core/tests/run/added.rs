//! Tasks that are added while a run is open: not there before, pending from then on.

use team_executor_core::TaskStatus;
use team_executor_core::run::{Cadence, Input, NewTask, Policy, Refused, Run, Stage, Step, invariants};

use crate::drive::Drive;
use crate::plan::{Plan, index};

/// The first tasks are there from the beginning, the others are added later.
fn begun(lines: &[&str], first: u32, cadence: Cadence) -> (Drive, Step) {
    let later = (first as usize..lines.len()).map(index).collect();
    let policy = Policy { later, cadence, slots: 2, ..Policy::default() };
    Drive::start(Plan::new(lines, policy))
}

fn add(drive: &mut Drive, tasks: &[usize]) -> Step {
    let tasks = tasks.iter().map(|task| index(*task)).collect();
    drive.tell(|now| Input::Add { now, tasks })
}

fn woke(drive: &mut Drive) -> Step {
    drive.tell(|now| Input::Woke { now })
}

#[test]
fn added_task_runs_when_what_it_waits_for_is_done() {
    for cadence in [Cadence::Beat, Cadence::Wave] {
        let (mut drive, step) = begun(&["A:", "B: A", "N: A", "M: N"], 2, cadence);
        assert_eq!((drive.started(&step).as_str(), drive.run.counts().total()), ("A", 2));
        assert_eq!(add(&mut drive, &[2, 3]).refused, None);
        assert_eq!((drive.run.counts().total(), drive.run.absent()), (4, vec![]));
        drive.complete("A");
        drive.complete("B");
        drive.complete("N");
        let step = drive.complete("M");
        assert_eq!(drive.run.stage(), &Stage::Finished, "{cadence:?} {step:?}");
        assert!(drive.all(TaskStatus::Completed));
    }
}

#[test]
fn run_finishes_without_tasks_that_were_not_added() {
    let (mut drive, _) = begun(&["A:", "N:"], 1, Cadence::Beat);
    let step = drive.complete("A");
    assert_eq!((drive.run.stage(), drive.run.absent()), (&Stage::Finished, vec![index(1)]));
    assert_eq!(step.effects.len(), 1, "{:?}", step.effects);
    assert_eq!(add(&mut drive, &[1]).refused, Some(Refused::Stage { stage: "finished" }));
}

#[test]
fn task_that_has_not_begun_waits_for_an_added_one() {
    for cadence in [Cadence::Beat, Cadence::Wave] {
        let (mut drive, step) = begun(&["A:", "B: A N", "N:"], 2, cadence);
        assert_eq!(drive.started(&step), "A");
        add(&mut drive, &[2]);
        let step = woke(&mut drive);
        assert_eq!(drive.started(&step), "N");
        drive.complete("A");
        assert_eq!(drive.run.status(index(1)), Some(TaskStatus::Pending));
        drive.complete("N");
        assert_eq!(drive.run.status(index(1)), Some(TaskStatus::InProgress));
    }
}

#[test]
fn what_runs_or_ran_waits_for_no_new_task() {
    let (mut drive, _) = begun(&["A: N", "B:", "N:", "O: B"], 2, Cadence::Beat);
    for _ in 0..2 {
        assert_eq!(add(&mut drive, &[2, 3]).refused, Some(Refused::HasBegun(index(0))));
        assert_eq!(drive.run.absent(), [index(2), index(3)], "all or none");
        if drive.run.status(index(0)) == Some(TaskStatus::InProgress) {
            drive.complete("A");
        }
    }
    assert_eq!(add(&mut drive, &[3]).refused, None);
    assert_eq!(add(&mut drive, &[3]).refused, Some(Refused::NoSuchTask(index(3))), "once");
    assert_eq!(add(&mut drive, &[9]).refused, Some(Refused::NoSuchTask(index(9))));
}

#[test]
fn task_of_a_merged_wave_joins_the_one_that_goes_on() {
    let (mut drive, _) = begun(&["A:", "B: A", "C: B", "N:"], 3, Cadence::Wave);
    drive.complete("A");
    add(&mut drive, &[3]);
    assert_eq!(drive.run.status(index(1)), Some(TaskStatus::InProgress), "what runs goes on");
    let step = woke(&mut drive);
    assert_eq!(drive.started(&step), "N", "it joins the wave that goes on");
    assert_eq!(drive.started(&drive.clone().complete("B")), "", "the wave waits for it");
    drive.complete("B");
    let step = drive.complete("N");
    assert_eq!(drive.started(&step), "C");
}

/// A replay knows all tasks from the beginning, and comes to the same.
#[test]
fn replay_with_added_tasks_gives_the_same_run() {
    let lines = ["A:", "B: A N", "N: A"];
    let policy = Policy { later: [index(2)].into(), ..Policy::default() };
    let plan = Plan::new(&lines, policy);
    let (mut drive, first) = Drive::start(plan.clone());
    let mut events = first.events;
    events.extend(add(&mut drive, &[2]).events);
    events.extend(drive.complete("A").events);
    events.extend(drive.complete("N").events);
    let mut again: Run = plan.run();
    events.iter().for_each(|event| again.apply(event));
    assert!(again == drive.run && invariants::check(&again).is_ok());
    assert_eq!(again.status(index(1)), Some(TaskStatus::InProgress));
}

/// What is learned while the run goes on comes to the same as a replay that knows it from the beginning.
#[test]
fn longer_plan_gives_the_run_that_knew_it_from_the_beginning() {
    for cadence in [Cadence::Beat, Cadence::Wave] {
        let lines = ["A:", "B: A", "N reviewer: A", "M reviewer interactive P0: N B"];
        let policy = |later: &[usize]| Policy {
            later: later.iter().map(|task| index(*task)).collect(),
            cadence,
            ..Policy::default()
        };
        let (mut drive, first) = Drive::start(Plan::new(&lines[..2], policy(&[])));
        let all = Plan::new(&lines, policy(&[2, 3]));
        let mut events = first.events;
        for task in [2, 3] {
            let new = drive.run.extend(vec![NewTask::plain(&all.tasks[task])], None);
            assert_eq!(new, Ok(vec![index(task)]));
            let step = add(&mut drive, &[task]);
            assert_eq!(step.refused, None);
            events.extend(step.events);
        }
        drive.plan = all.clone();
        for task in ["A", "B", "N", "M"] {
            events.extend(drive.complete(task).events);
        }
        assert_eq!(drive.run.stage(), &Stage::Finished, "{cadence:?}");
        let mut again: Run = all.run();
        events.iter().for_each(|event| again.apply(event));
        assert!(again.statuses() == drive.run.statuses() && again.stage() == drive.run.stage(), "{cadence:?}");
        assert_eq!(invariants::check(&drive.run), Ok(()));
        assert!(drive.run.extend(vec![NewTask::plain(&all.tasks[0])], None).is_err(), "an id is there once");
    }
}

/// What a new task depends on may end between the moment at which the rules learn of the task and that of its coming.
#[test]
fn end_before_a_learned_task_is_added_counts() {
    let all = Plan::new(&["A:", "B:", "N: A B"], Policy::default());
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], Policy::default()));
    drive.run.extend(vec![NewTask::plain(&all.tasks[2])], None).unwrap();
    drive.complete("A");
    assert_eq!(add(&mut drive, &[2]).refused, None);
    drive.plan = all;
    assert_eq!(drive.run.status(index(2)), Some(TaskStatus::Pending));
    let step = drive.complete("B");
    assert_eq!(drive.started(&step), "+N");
    assert_eq!(invariants::check(&drive.run), Ok(()));
}

#[test]
fn task_that_was_not_added_cannot_be_steered() {
    let (mut drive, _) = begun(&["A:", "N:"], 1, Cadence::Beat);
    let skip = drive.tell(|now| Input::Skip { now, task: index(1), reason: String::new() });
    assert_eq!(skip.refused, Some(Refused::NoSuchTask(index(1))));
}
