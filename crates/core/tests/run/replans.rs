//! The plan of tasks that no one has tried is changed while a run goes on.

use team_executor_core::run::{Cadence, Event, Input, NewTask, NextPlan, PlanMark, Policy, Refused, Run, Stage, Step};
use team_executor_core::{TaskIndex, TaskStatus};

use crate::drive::Drive;
use crate::plan::{Plan, id, index};

fn begun(lines: &[&str], cadence: Cadence) -> Drive {
    Drive::start(Plan::new(lines, Policy { slots: 2, cadence, ..Policy::default() })).0
}

/// The rules are told of these lines; those whose place is named are done by others.
fn replan(drive: &mut Drive, lines: &[&str], anew: &[usize], removed: &[&str]) -> Step {
    let plan = Plan::new(lines, drive.plan.policy.clone());
    let anew = anew.iter().map(|task| (index(*task), NewTask::plain(&plan.tasks[*task])));
    let next = NextPlan { graph: plan.run().graph().clone(), anew: anew.clone().collect() };
    drive.run.plan_next(next).unwrap();
    let (changed, removed) = (anew.map(|(task, _)| task).collect(), removed.iter().map(|task| id(task)).collect());
    let mark = PlanMark { digest: "d".to_owned(), tasks: 1 };
    let step = drive.tell(|now| Input::Replan { now, changed, removed, plan: mark });
    if step.refused.is_none() {
        drive.plan = plan;
    }
    step
}

fn woke(drive: &mut Drive) -> Step {
    drive.tell(|now| Input::Woke { now })
}

#[test]
fn task_that_waits_no_more_starts_and_one_that_waits_does_not() {
    let mut drive = begun(&["A:", "B:", "C: A", "D:"], Cadence::Beat);
    let step = replan(&mut drive, &["A:", "B:", "C:", "D: C"], &[], &[]);
    let changed: Vec<TaskIndex> = vec![index(2), index(3)];
    assert!(matches!(&step.events[..], [Event::Replanned { changed: said, .. }] if *said == changed), "{step:?}");
    let step = woke(&mut drive);
    assert_eq!(drive.started(&step), "", "both places are taken");
    let step = drive.complete("B");
    assert_eq!(drive.started(&step), "C");
    let step = drive.complete("C");
    assert_eq!(drive.started(&step), "+D");
}

#[test]
fn removed_task_counts_no_more_and_the_run_finishes_without_it() {
    let mut drive = begun(&["A:", "B: A", "C: B"], Cadence::Beat);
    assert_eq!(replan(&mut drive, &["A:", "B:", "C: B"], &[], &["B"]).refused, Some(Refused::NoSuchTask(index(1))));
    assert_eq!(replan(&mut drive, &["A:", "B:", "C: A"], &[], &["B"]).refused, None);
    assert_eq!((drive.run.counts().total(), drive.run.is_there(index(1))), (2, false));
    drive.complete("A");
    drive.complete("C");
    assert_eq!(drive.run.stage(), &Stage::Finished);
    let again = replan(&mut drive, &["A:", "B:", "C: A"], &[], &[]);
    assert_eq!(again.refused, Some(Refused::Stage { stage: "finished" }));
}

#[test]
fn what_has_begun_keeps_its_plan() {
    let mut drive = begun(&["A:", "B:", "C: A", "D:"], Cadence::Beat);
    assert_eq!(replan(&mut drive, &["A: B", "B:", "C: A", "D:"], &[], &[]).refused, Some(Refused::Begun(index(0))));
    assert_eq!(replan(&mut drive, &["A:", "B:", "C:", "D:"], &[], &["A"]).refused, Some(Refused::Begun(index(0))));
    assert_eq!(
        replan(&mut drive, &["A tester:", "B:", "C: A", "D:"], &[0], &[]).refused,
        Some(Refused::Begun(index(0)))
    );
    drive.complete("A");
    let begun = replan(&mut drive, &["A:", "B:", "C:", "D:"], &[], &[]).refused;
    assert_eq!(begun, Some(Refused::Begun(index(2))), "it followed at once");
    drive.fail("B");
    assert_eq!(replan(&mut drive, &["A:", "B: A", "C: A", "D:"], &[], &[]).refused, Some(Refused::Begun(index(1))));
    let mut waves = begun_by_wave();
    assert_eq!(replan(&mut waves, &["A:", "B:"], &[], &[]).refused, Some(Refused::KeepsWaves));
}

fn begun_by_wave() -> Drive {
    begun(&["A:", "B: A"], Cadence::Wave)
}

#[test]
fn task_with_another_role_has_the_worker_of_that_role() {
    let mut drive = begun(&["A tester interactive:", "B:", "C: A"], Cadence::Beat);
    assert_eq!(replan(&mut drive, &["A tester interactive:", "B:", "C tester interactive:"], &[2], &[]).refused, None);
    drive.complete("B");
    assert_eq!(drive.run.status(index(2)), Some(TaskStatus::Ready), "its resident worker is busy");
    let step = drive.complete("A");
    assert!(drive.started(&step).ends_with('C'), "{step:?}");
}

/// A replay knows the last plan from the beginning, without what was removed, and comes to the same.
#[test]
fn replay_of_the_last_plan_gives_the_same_run() {
    let mut fresh = begun(&["A:", "B: A", "C: B", "D: C"], Cadence::Beat);
    let mut all = Drive::start(fresh.plan.clone()).1.events;
    all.extend(replan(&mut fresh, &["A:", "B: A", "C:", "D: A"], &[], &["C"]).events);
    all.extend(woke(&mut fresh).events);
    for task in ["A", "B", "D"] {
        all.extend(fresh.complete(task).events);
    }
    assert_eq!(fresh.run.stage(), &Stage::Finished);
    let mut again: Run = fresh.plan.run();
    all.iter().for_each(|event| again.apply(event));
    assert!(again == fresh.run);
}
