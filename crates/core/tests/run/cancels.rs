//! A person ends the worker of one task, and says what becomes of it.

use team_executor_core::TaskStatus;
use team_executor_core::run::{Cancel, Effect, ErrorClass, Event, Input, Outcome, Policy, Refused, Step, Which, Work};

use crate::drive::{Drive, failed};
use crate::plan::{Plan, index};

/// A and B run, C depends on A.
fn begun() -> Drive {
    Drive::start(Plan::new(&["A:", "B:", "C: A"], Policy { slots: 2, ..Policy::default() })).0
}

fn cancel(drive: &mut Drive, task: usize, then: Cancel, feedback: &str) -> Step {
    let (reason, feedback) = ("too slow".to_owned(), feedback.to_owned());
    drive.tell(|now| Input::Cancel { now, task: index(task), then, reason, feedback, with: None })
}

/// Whatever the worker came to in the meantime, what the person wants counts.
#[test]
fn cancelled_attempt_comes_to_what_was_wanted() {
    let outcomes = [
        Outcome::Interrupted,
        Outcome::completed(Some("done".to_owned())),
        failed(ErrorClass::Transient),
        failed(ErrorClass::Auth),
        failed(ErrorClass::Quota { until: None }),
    ];
    for outcome in outcomes {
        for (then, picture, starts) in [
            (Cancel::Fail, ["A failed: too slow", "B in_progress", "C skipped: dependency A failed"], ""),
            (Cancel::Skip, ["A skipped: too slow", "B in_progress", "C skipped: dependency A was skipped"], ""),
            (Cancel::Retry, ["A in_progress", "B in_progress", "C pending"], "A"),
        ] {
            let mut drive = begun();
            let step = cancel(&mut drive, 0, then, "");
            let work = Work { task: index(0), attempt: 1 };
            assert_eq!(step.effects, [Effect::EndWorker { work }], "others go on");
            assert_eq!(drive.run.view(index(0)).unwrap().cancelled, Some(then));
            let step = drive.end("A", outcome.clone());
            assert_eq!(
                (drive.picture().as_slice(), drive.started(&step).as_str()),
                (&picture.map(str::to_owned)[..], starts),
                "{then:?} {outcome:?}"
            );
            let view = drive.run.view(index(0)).unwrap();
            assert_eq!((view.interruptions, view.cancelled), (0, None));
        }
    }
}

#[test]
fn only_what_runs_can_be_cancelled() {
    let mut drive = begun();
    for task in [2, 9] {
        let refused = if task == 2 { Refused::NotAtWork(index(2)) } else { Refused::NoSuchTask(index(9)) };
        assert_eq!(cancel(&mut drive, task, Cancel::Skip, "").refused, Some(refused));
    }
    drive.complete("B");
    assert_eq!(cancel(&mut drive, 1, Cancel::Fail, "").refused, Some(Refused::NotAtWork(index(1))));
}

#[test]
fn second_cancel_changes_what_becomes_of_the_task() {
    let mut drive = begun();
    cancel(&mut drive, 0, Cancel::Fail, "");
    assert_eq!(cancel(&mut drive, 0, Cancel::Skip, "").effects, [], "it is being ended");
    drive.end("A", Outcome::Interrupted);
    assert_eq!(drive.run.status(index(0)), Some(TaskStatus::Skipped));
}

#[test]
fn advice_stays_until_the_task_is_completed() {
    let mut drive = begun();
    let advice = |drive: &Drive| drive.run.view(index(0)).unwrap().advice.map(str::to_owned);
    cancel(&mut drive, 0, Cancel::Retry, "smaller steps");
    drive.end("A", Outcome::Interrupted);
    assert_eq!(advice(&drive).as_deref(), Some("smaller steps"));
    drive.end("A", failed(ErrorClass::Fatal));
    let which = Which::Tasks(vec![index(0)]);
    drive.tell(|now| Input::Retry { now, which, downstream: false, feedback: "other steps".to_owned(), with: None });
    assert_eq!(advice(&drive).as_deref(), Some("other steps"));
    drive.complete("A");
    assert_eq!(advice(&drive), None);
}

/// What was being ended when the executor was killed comes to what was wanted, also where its worker lives on.
#[test]
fn cancel_outlives_its_executor() {
    let mut drive = begun();
    let events = cancel(&mut drive, 0, Cancel::Skip, "").events;
    assert!(matches!(events[..], [Event::Cancelled { .. }]));
    let alive = vec![Work { task: index(0), attempt: 1 }];
    let step = drive.tell(|now| Input::Recovered { now, alive: alive.clone(), harvested: Vec::new(), rebooted: false });
    assert!(step.effects.contains(&Effect::EndWorker { work: alive[0] }), "{:?}", step.effects);
    let mut killed = begun();
    cancel(&mut killed, 0, Cancel::Skip, "");
    let lost = |now| Input::Recovered { now, alive: Vec::new(), harvested: Vec::new(), rebooted: false };
    killed.tell(lost);
    assert_eq!(killed.run.status(index(0)), Some(TaskStatus::Skipped));
}
