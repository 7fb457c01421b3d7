//! Order of starts without waves; requests of people; recovery after a crash.

use proptest::prelude::*;
use team_executor_core::run::{
    Effect, Ending, ErrorClass, Event, Input, Outcome, PauseReason, Policy, Refused, SkipReason, Stage, Then, WaveThen,
    Which, Work, WorkEnded, invariants,
};
use team_executor_core::{Graph, TaskStatus};

use crate::drive::{Drive, failed};
use crate::plan::{Plan, at, index};

fn slots(slots: u32) -> Policy {
    Policy { slots, retries: 0, ..Policy::default() }
}

/// R: E-02
/// R: D-07
#[test]
fn every_end_of_a_task_starts_the_best_ones() {
    let lines = ["low P2:", "short:", "long:", "same:", "first P0:", "next: long", "last: next low"];
    let (mut drive, step) = Drive::start(Plan::new(&lines, slots(2)));
    let mut started = vec![drive.started(&step)];
    for id in ["first", "long", "short", "next", "same", "low", "last"] {
        let step = drive.complete(id);
        started.push(drive.started(&step));
    }
    assert_eq!(started, ["first long", "short", "+next", "same", "low", "", "+last", ""]);
    assert!(drive.all(TaskStatus::Completed));
}

/// R: E-03
#[test]
fn a_linear_successor_starts_at_once_in_the_same_slot() {
    let (mut drive, _) = Drive::start(Plan::new(&["A P0:", "B:", "C: B", "same:", "low P2:", "last: low"], slots(2)));
    let step = drive.complete("B");
    let work = Work { task: index(2), attempt: 1 };
    let claimed = Event::Claimed { work, slot: 1, fast_advance: true, choice: 0, at: at(0) };
    assert_eq!(step.events.last(), Some(&claimed), "before what comes after it in the order");
    assert_eq!(step.effects, [Effect::Spawn { work, slot: 1 }]);
}

/// R: E-03
/// R: D-07
#[test]
fn fast_advance_needs_a_single_best_successor() {
    for (lines, first) in [
        (["A P0:", "B P0:", "C P1: A", "D P2:"], "a higher priority"),
        (["A:", "B: D", "C: A", "D:"], "a longer path"),
        (["A P0:", "D:", "C: A", "B P2:"], "an earlier place"),
    ] {
        let (mut drive, _) = Drive::start(Plan::new(&lines, slots(1)));
        let step = drive.complete("A");
        assert!(!drive.started(&step).contains('C'), "{first}");
        assert_eq!(drive.run.status(index(2)), Some(TaskStatus::Ready), "{first}");
    }
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B: A", "C: A"], slots(1)));
    let step = drive.complete("A");
    assert_eq!(drive.started(&step), "B", "and C waits");
}

#[test]
fn a_resident_worker_takes_one_task_at_a_time() {
    let lines = ["A interactive writer:", "B interactive writer P0:", "C interactive tester:", "D writer:"];
    let (mut drive, step) = Drive::start(Plan::new(&lines, slots(9)));
    assert_eq!(drive.started(&step), "B C D");
    assert_eq!(drive.run.status(index(0)), Some(TaskStatus::Ready));
    let step = drive.complete("B");
    assert_eq!(drive.started(&step), "A");
}

#[test]
fn no_fast_advance_to_a_busy_resident() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B interactive:", "C interactive: A", "D P2:"], slots(2)));
    let step = drive.complete("A");
    assert_eq!((drive.started(&step).as_str(), drive.picture()[2].as_str()), ("D", "C ready"));
}

#[test]
fn time_never_goes_back_within_an_incarnation() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], slots(1)));
    drive.now = 5;
    drive.tell(|now| Input::Woke { now });
    drive.now = 3;
    assert!(drive.complete("A").events.iter().all(|event| event.at() == at(5)));
}

#[test]
fn a_pause_lets_workers_finish_and_starts_none() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B: A"], slots(2)));
    let step = drive.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
    assert_eq!(step.effects, []);
    let step = drive.complete("A");
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Paused }]);
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(drive.started(&step), "B");
}

#[test]
fn drain_waits_and_stop_ends_workers_without_cost() {
    let policy = Policy { interruptions: 0, ..slots(1) };
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], policy));
    assert_eq!(drive.tell(|now| Input::Drain { now }).effects, []);
    let work = Work { task: index(0), attempt: 1 };
    assert_eq!(drive.tell(|now| Input::Stop { now }).effects, [Effect::EndWorker { work }]);
    let step = drive.end("A", Outcome::Interrupted);
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Stopped }]);
    assert_eq!(drive.picture(), ["A ready", "B ready"]);
    assert_eq!(drive.run.view(index(0)).map(|view| view.interruptions), Some(0));
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!(drive.started(&step), "A", "the same command just continues");
}

#[test]
fn run_paused_at_its_end_is_paused_at_next_start() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], slots(1)));
    drive.tell(|now| Input::Pause { now, reason: "a checkpoint".to_owned() });
    drive.tell(|now| Input::Drain { now });
    drive.tell(|now| Input::Stop { now });
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Paused }]);
    assert_eq!(*drive.run.stage(), Stage::Paused(PauseReason::Told("a checkpoint".to_owned())));
    assert_eq!(drive.picture(), ["A ready", "B ready"]);
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(drive.started(&step), "A");
}

#[test]
fn drain_or_pause_at_the_last_task_finishes_the_run() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], slots(1)));
    drive.tell(|now| Input::Drain { now });
    let mut paused = drive.clone();
    assert_eq!(drive.complete("A").effects, [Effect::Over { ending: Ending::AllCompleted }]);
    paused.tell(|now| Input::Resume { now });
    paused.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
    let mut stopped = paused.clone();
    assert_eq!(paused.complete("A").effects, [Effect::Over { ending: Ending::AllCompleted }], "nothing is left");
    stopped.tell(|now| Input::Drain { now });
    assert_eq!(stopped.complete("A").effects, [Effect::Over { ending: Ending::AllCompleted }]);
}

#[test]
fn task_that_would_be_skipped_again_is_not_reset() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B: A", "C: B", "fix failure: D", "D:"], slots(2)));
    drive.fail("A");
    drive.complete("D");
    let retry = |tasks: &[usize], downstream| {
        let which = Which::Tasks(tasks.iter().map(|task| index(*task)).collect());
        drive.clone().tell(|now| Input::Retry { now, which, downstream, feedback: String::new(), with: None })
    };
    let again = |task, on: Option<usize>| Some(Refused::SkippedAgain { task: index(task), on: on.map(index) });
    assert_eq!(retry(&[2], false).refused, again(2, Some(1)));
    assert_eq!(retry(&[2, 1], false).refused, again(1, Some(0)));
    assert_eq!(retry(&[3], false).refused, again(3, None));
    for (tasks, downstream) in [(&[2, 1, 0][..], false), (&[0], false), (&[3, 4], true)] {
        assert_eq!(retry(tasks, downstream).refused, None, "{tasks:?}");
    }
}

#[test]
fn crash_recovery_harvests_adopts_and_retries() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:", "D: A"], slots(3)));
    let work = |task| Work { task: index(task), attempt: 1 };
    let harvested = vec![WorkEnded { work: work(0), outcome: Outcome::completed(Some("x".to_owned())) }];
    let alive = vec![work(1), work(3)];
    let step = drive.tell(|now| Input::Recovered { now, alive, harvested, rebooted: false });
    assert_eq!(drive.started(&step), "C D");
    assert_eq!(step.effects.first(), Some(&Effect::EndWorker { work: work(3) }), "it is unknown");
    assert_eq!(drive.run.view(index(2)).map(|view| (view.attempt, view.interruptions)), Some((2, 1)));
    let again = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert!(!again.events.iter().any(|event| matches!(event, Event::Completed { .. })));
    assert_eq!(drive.run.status(index(0)), Some(TaskStatus::Completed));
}

#[test]
fn intended_attempt_starts_at_once_with_a_unique_number() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:", "D: A B C"], slots(1)));
    let work = |task, attempt| Work { task: index(task), attempt };
    let intended = drive.run.intend(8, at(5));
    let works = vec![work(1, 1), work(2, 1)];
    assert!(matches!(&intended, Some(Event::Intended { works: all, .. }) if *all == works), "{intended:?}");
    assert_eq!(drive.run.intend(8, at(5)), None, "once is enough");
    assert!(drive.run.is_intended(work(1, 1)) && !drive.run.is_intended(work(3, 1)));
    let mut killed = drive.clone();
    killed.tell(|now| Input::Recovered { now, alive: vec![work(0, 1)], harvested: vec![], rebooted: false });
    assert_eq!(killed.complete("A").effects, [Effect::Spawn { work: work(1, 1), slot: 0 }], "nothing was lost");
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: true });
    assert_eq!(step.effects, [Effect::Spawn { work: work(0, 2), slot: 0 }]);
    assert_eq!(drive.complete("A").effects, [Effect::Spawn { work: work(1, 2), slot: 0 }], "the first may have begun");
    let none = drive.run.view(index(1)).map(|view| (view.failures, view.interruptions));
    assert_eq!(none, Some((0, 0)), "which costs the task nothing");
}

#[test]
fn events_unsaid_at_a_crash_are_said_after_it() {
    let plan = Plan::new(&["A:", "B:", "C: A B"], slots(2));
    let (mut drive, mut step) = Drive::start(plan.clone());
    step.events.extend(drive.fail("B").events);
    let Some(Event::Skipped { task, reason, .. }) = step.events.pop() else { panic!("{step:?}") };
    assert_eq!((task, reason), (index(2), SkipReason::DependencyFailed(index(1))));
    let mut run = plan.run();
    step.events.iter().for_each(|event| run.apply(event));
    let (work, outcome) = (Work { task: index(0), attempt: 1 }, failed(ErrorClass::Fatal));
    run.step(Input::Recovered {
        now: at(0),
        alive: vec![],
        harvested: vec![WorkEnded { work, outcome }],
        rebooted: false,
    });
    assert_eq!(run.view(index(2)).and_then(|view| view.error), Some("dependency B failed"), "not A");
}

#[test]
fn a_task_that_is_tried_anew_does_not_wait() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], Policy::default()));
    drive.end("A", failed(ErrorClass::Transient));
    drive.tell(|now| Input::Skip { now, task: index(0), reason: "enough".to_owned() });
    let step = drive.tell(|now| Input::Retry {
        now,
        which: Which::Tasks(vec![index(0)]),
        downstream: false,
        feedback: String::new(),
        with: None,
    });
    assert_eq!(drive.started(&step), "A");
}

#[test]
fn a_finished_run_starts_nothing_when_it_is_started_again() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], slots(1)));
    drive.complete("A");
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!((step.events, step.effects), (vec![], vec![Effect::Over { ending: Ending::AllCompleted }]));
}

#[test]
fn retry_resets_only_tasks_skipped_because_of_it() {
    let lines = ["A:", "B: A", "C: B", "mine: A", "fix failure: A"];
    let (mut drive, _) = Drive::start(Plan::new(&lines, slots(1)));
    drive.tell(|now| Input::Skip { now, task: index(3), reason: "not needed".to_owned() });
    drive.fail("A");
    drive.complete("fix");
    let retry = |downstream| {
        move |now| Input::Retry {
            now,
            which: Which::Tasks(vec![index(0)]),
            downstream,
            feedback: String::new(),
            with: None,
        }
    };
    let mut other = drive.clone();
    drive.tell(retry(false));
    let picture = ["A in_progress", "B pending", "C pending", "mine skipped: not needed", "fix completed"];
    assert_eq!(drive.picture(), picture);
    assert_eq!(drive.run.view(index(0)).map(|view| (view.attempt, view.failures)), Some((2, 0)));
    other.tell(retry(true));
    assert_eq!(other.picture()[4], "fix pending: built on A, which is done again");
}

/// The plan gives statuses, and does not say why.
#[test]
fn retry_resets_tasks_skipped_before_the_run() {
    let lines = ["done:", "A: done", "B: A", "C: B", "mine: done", "fix always: A", "new:"];
    let mut plan = Plan::new(&lines, slots(1));
    for (task, status) in [(0, TaskStatus::Completed), (1, TaskStatus::Failed)] {
        plan.tasks[task].status = status;
    }
    for task in 2..6 {
        plan.tasks[task].status = TaskStatus::Skipped;
    }
    let (mut drive, _) = Drive::start(plan);
    drive.complete("new");
    drive.tell(|now| Input::Retry {
        now,
        which: Which::AllFailed,
        downstream: false,
        feedback: String::new(),
        with: None,
    });
    let back = drive.run.statuses()[1..4].to_vec();
    assert_eq!(back, [TaskStatus::InProgress, TaskStatus::Pending, TaskStatus::Pending]);
    assert_eq!(drive.run.statuses()[4..6], [TaskStatus::Skipped; 2], "a person skipped them");
}

#[test]
fn several_tasks_are_tried_anew_together_or_not_at_all() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B: A", "C:"], slots(1)));
    drive.fail("A");
    let retry = |tasks: &[usize]| Which::Tasks(tasks.iter().map(|task| index(*task)).collect());
    let one = |tasks: &[usize]| Input::Retry {
        now: at(0),
        which: retry(tasks),
        downstream: false,
        feedback: String::new(),
        with: None,
    };
    let step = drive.run.step(one(&[0, 2]));
    assert!(step.refused.is_some() && step.events.is_empty(), "C runs");
    assert_eq!(drive.picture()[..2], ["A failed: it broke", "B skipped: dependency A failed"]);
    // The second is brought back by the first as well, and that is no contradiction.
    drive.tell(|_| one(&[0, 1]));
    assert_eq!(drive.picture(), ["A ready", "B pending", "C in_progress"]);
}

#[test]
fn impossible_input_is_refused_and_changes_nothing() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B always: A", "C: B"], slots(1)));
    let mut refused = Vec::new();
    let mut tell = |drive: &mut Drive, input: Input| {
        let before = drive.run.clone();
        let step = drive.run.step(input);
        assert!(step.events.is_empty() && step.effects.is_empty() && before == drive.run);
        refused.push(step.refused.map(|refused| refused.to_string()).unwrap_or_default());
    };
    let now = at(0);
    let ended = |task, attempt| {
        let work = Work { task: index(task), attempt };
        Input::Ended { now, ended: WorkEnded { work, outcome: Outcome::Interrupted } }
    };
    let retry = |which, downstream| Input::Retry { now, which, downstream, feedback: String::new(), with: None };
    tell(&mut drive, Input::Skip { now, task: index(0), reason: String::new() });
    tell(&mut drive, Input::Skip { now, task: index(9), reason: String::new() });
    tell(&mut drive, retry(Which::Tasks(vec![index(1)]), true));
    tell(&mut drive, retry(Which::Tasks(vec![index(9)]), true));
    tell(&mut drive, retry(Which::AllFailed, false));
    tell(&mut drive, ended(0, 2));
    tell(&mut drive, ended(9, 1));
    drive.fail("A");
    tell(&mut drive, ended(0, 1));
    tell(&mut drive, retry(Which::AllFailed, false));
    drive.complete("B");
    tell(&mut drive, retry(Which::Tasks(vec![index(1)]), false));
    assert_eq!(
        refused,
        [
            "task cannot go from in_progress to skipped",
            "there is no task number 9",
            "task cannot go from pending to pending",
            "there is no task number 9",
            "no task failed",
            "attempt 2 at task number 0 is not running",
            "attempt 1 at task number 9 is not running",
            "attempt 1 at task number 0 is not running",
            "task number 1, which depends on it, is running",
            "task cannot go from completed to pending",
        ]
    );
    assert_eq!(drive.tell(|now| Input::Start { now }).refused, Some(Refused::Stage { stage: "going on" }));
}

#[test]
fn empty_run_finishes_and_foreign_graph_is_refused() {
    let (_, step) = Drive::start(Plan::new(&[], slots(1)));
    assert_eq!(step.effects, [Effect::Over { ending: Ending::AllCompleted }]);
    let (plan, other) = (Plan::new(&["A:", "B:"], slots(1)), Plan::new(&["B:", "A:"], slots(1)));
    let graph = |plan: &Plan| Graph::seal(&plan.tasks).graph.unwrap();
    assert!(team_executor_core::run::Run::new(&plan.tasks, graph(&other), slots(1)).is_err());
    assert!(team_executor_core::run::Run::new(&plan.tasks[..1], graph(&plan), slots(1)).is_err());
}

fn events() -> impl Strategy<Value = Event> {
    let time = || prop_oneof![4 => 0..9_i64, 1 => prop::sample::select(vec![i64::MIN / 1000, i64::MAX / 1000])];
    let work = || (0..6_usize, 0..4_u32).prop_map(|(task, attempt)| Work { task: index(task), attempt });
    let then = prop_oneof![time().prop_map(|t| Then::Again { not_before: at(t) }), Just(Then::Over)];
    let class = prop_oneof![Just(ErrorClass::Transient), Just(ErrorClass::Quota { until: None })];
    let ends = (work(), class, then, time(), any::<bool>()).prop_map(|(work, class, then, t, lost)| match lost {
        true => Event::Interrupted { work, then, at: at(t) },
        false => Event::Failed { work, class, error: String::new(), then, at: at(t) },
    });
    let stages = (time(), 0..8_usize).prop_map(|(t, nth)| {
        let at = at(t);
        let reason = String::new();
        [
            Event::Began { at },
            Event::Recovered { at },
            Event::Paused { reason: PauseReason::Told(reason), at },
            Event::Resumed { at },
            Event::Draining { at },
            Event::Stopping { at },
            Event::Finished { at },
            Event::Began { at },
        ][nth]
            .clone()
    });
    let merged = (prop_oneof![0..5_u32, Just(u32::MAX)], time()).prop_map(|(wave, t)| Event::WaveMerged {
        wave,
        then: WaveThen::Ask,
        at: at(t),
    });
    let slot = prop_oneof![9 => 0..5_u32, 1 => Just(u32::MAX)];
    let skip = (0..6_usize, time()).prop_map(|(task, t)| Event::Skipped {
        task: index(task),
        reason: SkipReason::DependencyFailed(index(task + 1)),
        at: at(t),
    });
    prop_oneof![
        2 => stages,
        6 => (work(), slot, time()).prop_map(|(work, slot, t)| Event::Claimed { work, slot, fast_advance: false, choice: 0, at: at(t) }),
        3 => (work(), time()).prop_map(|(work, t)| Event::Completed { work, findings: None, reviewed: None, at: at(t) }),
        3 => ends,
        1 => skip,
        1 => (prop::collection::vec((0..6_usize).prop_map(index), 0..4), time())
            .prop_map(|(tasks, t)| Event::Reset { tasks, at: at(t) }),
        1 => merged,
    ]
}

proptest! {
    /// Whatever a damaged or foreign journal says: the run stays whole, and can go on.
    ///
    /// R: D-06
    #[test]
    fn events_that_cannot_have_happened_are_ignored(
        events in prop::collection::vec(events(), 0..80),
        wave in any::<bool>(),
    ) {
        let cadence = team_executor_core::run::Cadence::ALL[usize::from(wave)];
        let lines = ["A:", "B interactive:", "C interactive always: A", "D: A B", "E failure: D"];
        let mut run = Plan::new(&lines, Policy { cadence, ..slots(3) }).run();
        for event in &events {
            run.apply(event);
            prop_assert_eq!(invariants::check(&run), Ok(()));
        }
        run.step(Input::Recovered { now: at(5), alive: vec![], harvested: vec![], rebooted: false });
        prop_assert_eq!(invariants::check(&run), Ok(()));
    }
}
