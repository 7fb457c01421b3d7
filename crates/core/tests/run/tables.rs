//! The small decisions, each as a complete table.

use team_executor_core::run::{Effect, Ending, ErrorClass, Event, Input, Outcome, Policy, Stage, TaskPolicy, Then};
use team_executor_core::{Millis, RunOn, TaskStatus};

use crate::drive::{Drive, failed, wake};
use crate::plan::{Plan, at, index};

fn slots(slots: u32) -> Policy {
    Policy { slots, ..Policy::default() }
}

/// How often a task is tried if every attempt ends like this; 20 stands for ever.
fn attempts(retries: u32, outcome: &Outcome) -> u32 {
    let policy = Policy { retries, interruptions: 2, ..Policy::default() };
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], policy));
    for attempt in 1..20 {
        assert_eq!(drive.run.view(index(0)).unwrap().attempt, attempt);
        let step = drive.end("A", outcome.clone());
        if *drive.run.stage() == Stage::Finished {
            return attempt;
        }
        if let Some(wake) = wake(&step) {
            drive.now = wake;
            drive.tell(|now| Input::Woke { now });
        }
    }
    20
}

/// R: D-05
#[test]
fn how_an_attempt_ends_decides_how_many_there_are() {
    let error = || "it broke".to_owned();
    let outcomes = [
        (failed(ErrorClass::Transient), [1, 2, 3, 4]),
        (Outcome::TimedOut { error: error() }, [1, 2, 3, 4]),
        (Outcome::CouldNotStart { error: error() }, [1, 2, 3, 4]),
        (failed(ErrorClass::Fatal), [1, 1, 1, 1]),
        (failed(ErrorClass::Quota { until: None }), [20, 20, 20, 20]),
        (failed(ErrorClass::Quota { until: Some(at(5)) }), [20, 20, 20, 20]),
        (Outcome::Interrupted, [3, 3, 3, 3]),
    ];
    for (outcome, expected) in outcomes {
        assert_eq!([0, 1, 2, 3].map(|retries| attempts(retries, &outcome)), expected, "{outcome:?}");
    }
}

/// R: D-05
#[test]
fn one_task_can_have_retries_of_its_own() {
    let mut policy = Policy { retries: 0, ..slots(2) };
    policy.tasks.insert(index(1), TaskPolicy { retries: Some(1), ..TaskPolicy::default() });
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], policy));
    drive.end("A", failed(ErrorClass::Transient));
    drive.end("B", failed(ErrorClass::Transient));
    assert_eq!(drive.picture(), ["A failed: it broke", "B pending: it broke"]);
}

/// R: D-05
#[test]
fn a_failed_task_waits_longer_each_time() {
    let mut policy = slots(1);
    policy.backoff.jitter = 0;
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], policy));
    for expected in [1000, 2000, 4000] {
        let step = drive.end("A", failed(ErrorClass::Transient));
        assert_eq!(wake(&step), Some(drive.now + expected));
        drive.now += expected - 1;
        assert_eq!(drive.tell(|now| Input::Woke { now }).events, []);
        drive.now += 1;
        let step = drive.tell(|now| Input::Woke { now });
        assert_eq!(drive.started(&step), "A");
    }
}

/// R: D-05
#[test]
fn a_quota_holds_its_pool_and_no_other() {
    let mut policy = slots(2);
    for (task, pool) in [(0, 7), (1, 7), (2, 7), (3, 9)] {
        policy.tasks.insert(index(task), TaskPolicy { retries: Some(0), pool, ..TaskPolicy::default() });
    }
    let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:", "C P0:", "D P2:"], policy));
    assert_eq!(drive.started(&step), "C A");
    let step = drive.end("A", failed(ErrorClass::Quota { until: Some(at(60_000)) }));
    assert_eq!((drive.started(&step).as_str(), wake(&step)), ("D", Some(60_000)));
    assert_eq!(drive.started(&drive.run.clone().step(Input::Woke { now: at(59_999) })), "");
    let step = drive.complete("D");
    assert_eq!((drive.started(&step).as_str(), wake(&step)), ("", Some(60_000)));
    drive.now = 60_000;
    let step = drive.tell(|now| Input::Woke { now });
    assert_eq!(drive.started(&step), "A");
    assert_eq!(drive.run.view(index(0)).map(|view| (view.attempt, view.failures)), Some((2, 0)));
}

/// The loop that carries out effects keeps only the last wake-up time.
#[test]
fn each_step_asks_to_be_woken_at_the_earliest_time_of_all() {
    let mut policy = slots(3);
    policy.backoff.jitter = 0;
    for (task, pool) in [(0, 7), (1, 8), (2, 9)] {
        policy.tasks.insert(index(task), TaskPolicy { pool, ..TaskPolicy::default() });
    }
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:"], policy));
    let early = drive.end("A", failed(ErrorClass::Transient));
    assert_eq!(wake(&early), Some(1000));
    let later = drive.end("B", failed(ErrorClass::Quota { until: Some(at(60_000)) }));
    assert_eq!(wake(&later), Some(1000), "the later one does not replace the earlier one");
    drive.now = 1000;
    let woken = drive.tell(|now| Input::Woke { now });
    assert_eq!((drive.started(&woken).as_str(), wake(&woken)), ("A", Some(60_000)));
}

/// R: D-05
#[test]
fn a_shorter_hold_does_not_end_a_longer_one() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], slots(2)));
    drive.end("A", failed(ErrorClass::Quota { until: Some(at(60_000)) }));
    let step = drive.end("B", failed(ErrorClass::Quota { until: None }));
    drive.now = wake(&step).unwrap();
    let step = drive.tell(|now| Input::Woke { now });
    assert_eq!((drive.started(&step).as_str(), wake(&step)), ("", Some(60_000)));
}

/// For each status of a first and a second dependency (completed, failed, skipped, pending), what becomes of a task.
fn reviewed(run_on: RunOn) -> [String; 4] {
    let statuses = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Skipped, TaskStatus::Pending];
    let letter = |first, second| {
        let mut plan = Plan::new(&["A:", "B:", &format!("C {run_on}: A B")], slots(9));
        (plan.tasks[0].status, plan.tasks[1].status) = (first, second);
        let (drive, _) = Drive::start(plan);
        match drive.picture()[2].as_str() {
            "C in_progress" => 'R',
            "C pending" => 'W',
            "C skipped: dependency A failed" => 'F',
            "C skipped: dependency B failed" => 'f',
            "C skipped: dependency A was skipped" => 'S',
            "C skipped: dependency B was skipped" => 's',
            "C skipped: no dependency failed" => 'N',
            other => panic!("{other}"),
        }
    };
    statuses.map(|first| statuses.iter().map(|second| letter(first, *second)).collect())
}

/// R: W-09
#[test]
fn dependency_outcomes_decide_a_task() {
    assert_eq!(reviewed(RunOn::Success), ["RfsW", "FFFF", "SSSS", "WfsW"]);
    assert_eq!(reviewed(RunOn::Failure), ["NRRW", "RRRW", "RRRW", "WWWW"]);
    assert_eq!(reviewed(RunOn::Always), ["RRRW", "RRRW", "RRRW", "WWWW"]);
}

/// R: W-09
#[test]
fn a_failure_skips_everything_behind_it_except_repairs() {
    let lines = ["A:", "B: A", "C: B", "fix failure: A", "after: fix", "report always: C after", "idle failure:"];
    let (mut drive, _) = Drive::start(Plan::new(&lines, slots(3)));
    let step = drive.fail("A");
    assert_eq!(drive.started(&step), "fix");
    assert_eq!(
        drive.picture(),
        [
            "A failed: it broke",
            "B skipped: dependency A failed",
            "C skipped: dependency B was skipped",
            "fix in_progress",
            "after pending",
            "report pending",
            "idle skipped: no dependency failed",
        ]
    );
    drive.complete("fix");
    drive.complete("after");
    let step = drive.complete("report");
    assert_eq!(step.effects, [Effect::Over { ending: Ending::WithFailures }]);
}

/// What a run that is in each stage answers to each input that is about the whole run.
#[test]
fn inputs_accepted_at_each_stage() {
    let now = at(9);
    let inputs: [(&str, Input); 6] = [
        ("start", Input::Start { now }),
        ("woke", Input::Woke { now }),
        ("pause", Input::Pause { now, reason: String::new() }),
        ("resume", Input::Resume { now }),
        ("drain", Input::Drain { now }),
        ("stop", Input::Stop { now }),
    ];
    let plan = Plan::new(&["A:"], slots(1));
    let run = |path: &[usize]| {
        let mut run = plan.run();
        path.iter().for_each(|nth| assert_eq!(run.step(inputs[*nth].1.clone()).refused, None));
        run
    };
    let mut finished = Drive::start(plan.clone()).0;
    finished.complete("A");
    let stages = [run(&[]), run(&[0]), run(&[0, 2]), run(&[0, 4]), run(&[0, 5]), finished.run];
    let rows = stages.map(|stage| {
        let taken = inputs.iter().filter(|(_, input)| stage.clone().step(input.clone()).refused.is_none());
        format!("{}: {}", stage.stage().word(), taken.map(|(word, _)| *word).collect::<Vec<_>>().join(" "))
    });
    assert_eq!(
        rows,
        [
            "not begun: start",
            "going on: woke pause drain stop",
            "paused: woke resume drain stop",
            "draining: woke resume stop",
            "stopping: woke resume",
            "finished: woke",
        ]
    );
}

#[test]
fn jitter_differs_by_seed_task_and_attempt() {
    let wait = |seed, id: &str| {
        let line = format!("{id}:");
        let (mut drive, _) = Drive::start(Plan::new(&[&line], Policy { seed, ..Policy::default() }));
        let mut waits = Vec::new();
        for _ in 0..3 {
            let step = drive.end(id, failed(ErrorClass::Transient));
            let Some(Event::Failed { then: Then::Again { not_before }, .. }) = step.events.first() else {
                panic!("{step:?}")
            };
            waits.push((not_before.as_micros() - drive.now * 1000) / 1000);
            drive.now += 10_000;
            drive.tell(|now| Input::Woke { now });
        }
        waits
    };
    assert_eq!(wait(1, "A"), wait(1, "A"));
    let all = [wait(1, "A"), wait(2, "A"), wait(1, "B")];
    let mut shares: Vec<_> = all.iter().flat_map(|waits| waits.iter().enumerate().map(|(n, w)| w >> n)).collect();
    shares.sort_unstable();
    shares.dedup();
    assert!(shares.len() >= 8, "{all:?}");
    assert!(shares.iter().all(|share| (1000..1500).contains(share)), "{all:?}");
    assert_eq!(Policy::default().backoff.cap, Millis(300_000));
}
