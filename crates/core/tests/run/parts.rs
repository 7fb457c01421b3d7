//! Only a part of a plan is run: the rest stays pending, and the run stops when nothing of the part can start.

use team_executor_core::run::{
    Budget, Budgets, Cadence, Effect, Ending, ErrorClass, Halt, Input, Policy, Stage, Used, Work,
};

use crate::drive::{Drive, failed, wake};
use crate::plan::{Plan, index};

fn part(lines: &[&str], tasks: &[usize], cadence: Cadence) -> Drive {
    let part = Some(tasks.iter().map(|task| index(*task)).collect());
    Drive::start(Plan::new(lines, Policy { part, cadence, ..Policy::default() })).0
}

#[test]
fn part_runs_and_the_rest_stays_pending() {
    for cadence in [Cadence::Beat, Cadence::Wave] {
        let mut drive = part(&["A:", "B: A", "C:"], &[0], cadence);
        assert_eq!(drive.picture(), ["A in_progress", "B pending", "C pending"]);
        let step = drive.complete("A");
        assert_eq!(step.effects, [Effect::Over { ending: Ending::Drained }]);
        assert_eq!((drive.run.halt(), drive.run.stage()), (Some(&Halt::PartDone), &Stage::Draining));
        assert_eq!(drive.run.part().map(|part| (part.completed, part.total())), Some((1, 1)));
        assert_eq!(drive.picture(), ["A completed", "B pending", "C pending"]);
    }
}

#[test]
fn omitted_task_is_not_skipped() {
    let mut drive = part(&["A:", "B: A"], &[0], Cadence::Beat);
    drive.fail("A");
    assert_eq!(drive.picture(), ["A failed: it broke", "B pending"]);
}

#[test]
fn part_that_waits_for_a_retry_is_not_done() {
    let mut drive = part(&["A:", "B:"], &[0], Cadence::Beat);
    let step = drive.end("A", failed(ErrorClass::Transient));
    assert!(wake(&step).is_some() && drive.run.halt().is_none(), "{:?}", step.effects);
}

#[test]
fn part_that_needs_an_omitted_task_stops_at_once() {
    let drive = part(&["A:", "B: A"], &[1], Cadence::Beat);
    assert_eq!(drive.run.waits_for_left_out(), Some((index(1), index(0))));
    assert_eq!(drive.run.halt(), Some(&Halt::PartDone));
}

/// A budget is in the way of B, but the wave before it is, too: what is left out of that never starts.
#[test]
fn part_before_an_open_wave_stops_for_no_budget() {
    let part = Some([index(0), index(1)].into());
    let budgets = Budgets { run: Budget { tokens: Some(10), ..Budget::default() }, ..Budgets::default() };
    let plan = Plan::new(&["A:", "B: A", "C:"], Policy { part, budgets, cadence: Cadence::Wave, ..Policy::default() });
    let mut drive = Drive::start(plan).0;
    let work = Work { task: index(0), attempt: 1 };
    drive.tell(|_| Input::Used { work, used: Box::new(Used { input: 10, ..Used::default() }) });
    drive.complete("A");
    assert_eq!(drive.run.halt(), Some(&Halt::PartDone));
}

#[test]
fn whole_plan_as_a_part_finishes() {
    let mut drive = part(&["A:"], &[0], Cadence::Beat);
    drive.complete("A");
    assert_eq!(drive.run.stage(), &Stage::Finished);
    assert!(drive.tell(|now| Input::Woke { now }).refused.is_none());
}
