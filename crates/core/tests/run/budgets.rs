//! Budgets: what fits starts, what uses more than is left is ended, and where nothing fits the run stops until there is more.

use team_executor_core::run::{
    Bound, Budget, Budgets, Effect, Ending, ErrorClass, Event, Halt, Input, Live, Measure, Policy, Scope, Stage, Used,
    Work,
};
use team_executor_core::{RoleName, TaskStatus};

use crate::drive::{Drive, failed, wake};
use crate::plan::{Plan, at, index};

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), ..Budget::default() }
}

fn policy(slots: u32, budgets: Budgets) -> Policy {
    Policy { slots, budgets, ..Policy::default() }
}

fn of_run(slots: u32, budget: Budget) -> Policy {
    policy(slots, Budgets { run: budget, ..Budgets::default() })
}

fn work(drive: &Drive, task: usize) -> Work {
    Work { task: index(task), attempt: drive.run.view(index(task)).unwrap().attempt }
}

/// The running attempt at a task used so many tokens.
fn uses(drive: &mut Drive, task: usize, tokens: u64) -> Vec<Event> {
    let used = Box::new(Used { input: tokens, turns: Some(2), wall_ms: 1000, ..Used::default() });
    let work = work(drive, task);
    drive.tell(|_| Input::Used { work, used }).events
}

fn bound(drive: &Drive) -> Option<Bound> {
    match drive.run.halt() {
        Some(Halt::Budget(bound)) => Some(Bound::clone(bound)),
        _ => None,
    }
}

#[test]
fn expected_overspending_starts_nothing_and_ends_nothing() {
    let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:", "C:", "D:"], of_run(2, tokens(239))));
    assert_eq!(drive.started(&step), "A B", "nothing is known yet");
    uses(&mut drive, 0, 100);
    let step = drive.complete("A");
    // 100 were used, B will probably use 100, and so would C.
    assert_eq!((drive.started(&step).as_str(), bound(&drive)), ("", None));
    uses(&mut drive, 1, 20);
    let step = drive.complete("B");
    assert_eq!(drive.started(&step), "C", "B used less than was set aside: 120 and 60, not twice");
    uses(&mut drive, 2, 90);
    let step = drive.complete("C");
    let expected = Bound { scope: Scope::Run, measure: Measure::Tokens, used: 210, budget: 239, next: 70 };
    assert_eq!((drive.started(&step).as_str(), bound(&drive)), ("", Some(expected)));
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Drained }]);
    assert_eq!((drive.run.counts().completed, drive.run.counts().ready), (3, 1));
}

#[test]
fn few_attempts_run_while_their_use_is_unknown() {
    let tasks = ["A:", "B:", "C:", "D:", "E:", "F:", "G:"];
    let (mut drive, step) = Drive::start(Plan::new(&tasks, of_run(6, tokens(1000))));
    assert_eq!((drive.started(&step).as_str(), drive.run.must_learn()), ("A B C D", true));
    let step = drive.end("A", failed(ErrorClass::Transient));
    assert_eq!(drive.started(&step), "E", "no more is known");
    uses(&mut drive, 1, 100);
    let step = drive.complete("B");
    assert_eq!((drive.started(&step).as_str(), drive.run.must_learn()), ("F G", false));
    // One that is completed and says nothing is one that never says it.
    let (mut drive, _) = Drive::start(Plan::new(&tasks, of_run(6, tokens(1000))));
    let step = drive.complete("A");
    assert_eq!(drive.started(&step), "E F G");
    // Where there is a budget for a task only, it is about that task.
    let of_task = [(index(0), tokens(9))].into();
    let (drive, step) = Drive::start(Plan::new(&tasks, policy(6, Budgets { tasks: of_task, ..Budgets::default() })));
    assert_eq!((drive.started(&step).as_str(), drive.run.must_learn()), ("A B C D E F", false));
}

#[test]
fn the_next_incarnation_goes_on_if_it_may_use_more() {
    let plan = |most| Plan::new(&["A:", "B: A"], of_run(1, tokens(most)));
    let (mut drive, first) = Drive::start(plan(100));
    let mut events = first.events;
    events.extend(uses(&mut drive, 0, 100));
    events.extend(drive.complete("A").events);
    assert!(bound(&drive).is_some(), "all of it is used");
    for (most, started) in [(100, 0), (199, 0), (200, 1)] {
        let mut run = plan(most).run();
        events.iter().for_each(|event| run.apply(event));
        let recovered = Input::Recovered { now: at(5), alive: Vec::new(), harvested: Vec::new(), rebooted: false };
        let step = run.step(recovered);
        let claimed = step.events.iter().filter(|event| matches!(event, Event::Claimed { .. })).count();
        assert_eq!((claimed, run.halt().is_some()), (started, started == 0), "{most}");
    }
}

#[test]
fn an_attempt_counts_once_and_one_that_failed_counts_too() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], of_run(1, tokens(150))));
    let told = uses(&mut drive, 0, 100);
    assert_eq!((told.len(), uses(&mut drive, 0, 100).len()), (1, 0), "it is known");
    let mut again = drive.run.clone();
    again.apply(&told[0]);
    assert_eq!(again, drive.run);
    let step = drive.end("A", failed(ErrorClass::Transient));
    assert_eq!(
        (bound(&drive).map(|bound| bound.used), wake(&step)),
        (Some(100), None),
        "no wait for what may not start"
    );
    let ended = drive.run.used().map(|(work, used)| (work.attempt, used.input)).collect::<Vec<_>>();
    assert_eq!(ended, [(1, 100)]);
    // Nothing runs: late reports are not believed.
    assert_eq!(uses(&mut drive, 0, 100), []);
}

#[test]
fn a_role_without_budget_waits_and_the_others_go_on() {
    let roles = [(RoleName::parse("qa").unwrap(), tokens(50))].into();
    let budgets = Budgets { roles, ..Budgets::default() };
    let (mut drive, step) = Drive::start(Plan::new(&["A qa P0:", "B qa P0:", "C:", "D: C"], policy(1, budgets)));
    assert_eq!(drive.started(&step), "A");
    uses(&mut drive, 0, 60);
    let step = drive.complete("A");
    assert_eq!(drive.started(&step), "C");
    let step = drive.complete("C");
    assert_eq!(drive.started(&step), "+D");
    drive.complete("D");
    let scope = bound(&drive).map(|bound| bound.scope);
    assert_eq!(scope, Some(Scope::Role(RoleName::parse("qa").unwrap())));
    assert_eq!(drive.run.status(index(1)), Some(TaskStatus::Ready));
}

#[test]
fn task_budget_covers_all_attempts_in_each_measure() {
    let measures = [
        (Budget { usd: Some(5), ..Budget::default() }, Measure::Usd, 7),
        (tokens(5), Measure::Tokens, 30),
        (Budget { turns: Some(2), ..Budget::default() }, Measure::Turns, 2),
        (Budget { wall: Some(900), ..Budget::default() }, Measure::Wall, 1000),
    ];
    for (budget, measure, used) in measures {
        let tasks = [(index(0), budget)].into();
        let budgets = Budgets { tasks, ..Budgets::default() };
        let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:"], policy(1, budgets)));
        assert_eq!(drive.started(&step), "A");
        let attempt = work(&drive, 0);
        let amount =
            Used { input: 10, output: 20, cost_micros: Some(7), turns: Some(2), wall_ms: 1000, ..Used::default() };
        drive.tell(|_| Input::Used { work: attempt, used: Box::new(amount) });
        assert_eq!(drive.run.budget_left(index(0), measure, &Live::new()), Some(0));
        assert_eq!(drive.run.budget_left(index(1), measure, &Live::new()), None);
        let step = drive.end("A", failed(ErrorClass::Rejected));
        assert_eq!(drive.started(&step), "B");
        drive.complete("B");
        let expected =
            Bound { scope: Scope::Task(index(0)), measure, used, budget: budget.limit(measure).unwrap(), next: used };
        assert_eq!(bound(&drive), Some(expected));
    }
}

#[test]
fn a_run_that_is_paused_or_over_does_not_stop_for_a_budget() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], of_run(1, tokens(10))));
    drive.tell(|now| Input::Pause { now, reason: String::new() });
    uses(&mut drive, 0, 10);
    drive.complete("A");
    assert!(matches!(drive.run.stage(), Stage::Paused(_)));
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!((step.effects, drive.run.stage()), (vec![Effect::Over { ending: Ending::Drained }], &Stage::Draining));
    drive.tell(|now| Input::Skip { now, task: index(1), reason: String::new() });
    assert_eq!((drive.run.stage(), drive.run.halt()), (&Stage::Finished, None));
}

/// What running attempts have used so far, each in requests of 10 tokens.
fn live(drive: &Drive, used: &[(usize, u64)]) -> Live {
    let of = |tokens: u64| Used { input: tokens, turns: Some(tokens / 10), ..Used::default() };
    used.iter().map(|(task, tokens)| (work(drive, *task), of(*tokens))).collect()
}

fn ended(drive: &Drive, used: &[(usize, u64)]) -> String {
    let ended = drive.run.overspent(&live(drive, used));
    ended.iter().map(|(work, _)| drive.id(work.task).to_string()).collect::<Vec<_>>().join(" ")
}

/// R: A-10
#[test]
fn attempts_that_use_up_a_budget_are_ended_all_of_them() {
    let (drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:"], of_run(3, tokens(100))));
    assert_eq!(ended(&drive, &[(0, 50), (1, 30), (2, 10)]), "", "one more request of 10 fits");
    assert_eq!(ended(&drive, &[(0, 50), (1, 30), (2, 11)]), "A B C");
    assert_eq!(ended(&drive, &[(0, 100)]), "A", "of a command nothing is known");
    let bound = drive.run.overspent(&live(&drive, &[(0, 100), (1, 50)])).remove(0).1;
    assert_eq!(bound, Bound { scope: Scope::Run, measure: Measure::Tokens, used: 150, budget: 100, next: 0 });
}

/// R: A-10
#[test]
fn attempt_that_uses_others_reserve_is_ended() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:"], of_run(2, tokens(100))));
    uses(&mut drive, 0, 30);
    drive.complete("A");
    // 30 were used, and B and C will probably use 30 each.
    assert_eq!(ended(&drive, &[(1, 40), (2, 10)]), "");
    assert_eq!(ended(&drive, &[(1, 41), (2, 10)]), "B", "30 are reserved for C");
    assert_eq!(ended(&drive, &[(1, 41), (2, 35)]), "B C", "nothing is left");
    let left = |task| drive.run.budget_left(index(task), Measure::Tokens, &live(&drive, &[(1, 35), (2, 10)]));
    assert_eq!((left(1), left(2)), (Some(40), Some(35)));
}

/// R: A-10
#[test]
fn attempt_that_was_ended_for_a_budget_spends_no_retry() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], of_run(1, tokens(100))));
    for _ in 0..9 {
        uses(&mut drive, 0, 100);
        drive.end("A", failed(ErrorClass::Budget));
        let failures = drive.run.view(index(0)).map(|view| (view.status, view.failures));
        assert_eq!((failures, bound(&drive).is_some()), (Some((TaskStatus::Ready, 0)), true));
        drive.run.step(Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false });
    }
}
