//! Tasks that several agents can do, and agents that are not logged in.

use team_executor_core::run::{
    Assignment, Effect, Ending, ErrorClass, Event, Halt, Input, Policy, Stage, Step, TaskPolicy, Which,
};

use crate::drive::{Drive, failed, wake};
use crate::plan::{Plan, at, index};

const QUOTA: ErrorClass = ErrorClass::Quota { until: None };

/// Each task has these pools, the first first.
fn policy(slots: u32, chains: &[&[u32]]) -> Policy {
    let mut policy = Policy { slots, retries: 0, ..Policy::default() };
    for (task, chain) in chains.iter().enumerate() {
        policy.tasks.insert(index(task), TaskPolicy { pool: chain[0], ..TaskPolicy::default() });
        policy.fallbacks.insert(index(task), chain[1..].to_vec());
    }
    policy
}

/// What a step starts, each with the agent that does it.
fn chosen(drive: &Drive, step: &Step) -> Vec<String> {
    let claimed = step.events.iter().filter_map(|event| match event {
        Event::Claimed { work, choice, .. } => Some(format!("{}{choice}", drive.id(work.task))),
        _ => None,
    });
    claimed.collect()
}

#[test]
fn next_agent_works_until_the_first_has_quota_again() {
    let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:", "C:"], policy(1, &[&[1, 2][..]; 3])));
    assert_eq!(chosen(&drive, &step), ["A0"]);
    let step = drive.end("A", failed(ErrorClass::Quota { until: Some(at(60_000)) }));
    assert_eq!(chosen(&drive, &step), ["A1"], "at once");
    assert_eq!(drive.run.view(index(0)).map(|view| (view.attempt, view.failures, view.choice)), Some((2, 0, 1)));
    let step = drive.complete("A");
    assert_eq!(chosen(&drive, &step), ["B1"]);
    let step = drive.end("B", failed(QUOTA));
    assert_eq!((chosen(&drive, &step).len(), wake(&step).unwrap() < 60_000), (0, true), "the second is back before");
    drive.now = 60_000;
    let step = drive.tell(|now| Input::Woke { now });
    assert_eq!(chosen(&drive, &step), ["B0"]);
}

#[test]
fn run_without_login_stops_and_costs_no_attempt() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C:", "D:"], policy(2, &[&[1], &[2], &[1], &[2]])));
    let step = drive.end("A", failed(ErrorClass::Auth));
    assert_eq!((chosen(&drive, &step).len(), drive.run.stage()), (0, &Stage::Draining), "B is let finish");
    assert_eq!(drive.run.halt(), Some(&Halt::NotLoggedIn(index(0))));
    let step = drive.complete("B");
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Drained }]);
    assert_eq!((drive.run.counts().completed, drive.run.counts().failed), (1, 0));
    let recovered = Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false };
    let step = drive.run.step(recovered);
    assert_eq!((chosen(&drive, &step), drive.run.halt()), (vec!["A0".to_owned(), "C0".to_owned()], None));
}

#[test]
fn unrecorded_stop_is_reported_by_the_next_start() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], policy(2, &[&[1], &[2]])));
    let mut cut = drive.run.clone();
    let step = drive.end("A", failed(ErrorClass::Auth));
    assert!(matches!(&step.events[..], [Event::Failed { .. }, Event::Halted { .. }]));
    cut.apply(&step.events[0]);
    let recovered = Input::Recovered { now: at(9), alive: Vec::new(), harvested: Vec::new(), rebooted: false };
    let step = cut.step(recovered);
    let halted = step.events.iter().position(|event| matches!(event, Event::Halted { .. }));
    let resumed = step.events.iter().position(|event| matches!(event, Event::Resumed { .. }));
    assert!(halted.is_some() && halted < resumed, "{:?}", step.events);
    assert_eq!(chosen(&drive, &step), ["A0", "B0"], "the user may have logged in");
}

#[test]
fn pause_that_begins_logs_no_agent_in() {
    let mut policy = policy(2, &[&[1, 2], &[3]]);
    policy.tasks.insert(index(1), TaskPolicy { pool: 3, rounds: Some(0), ..TaskPolicy::default() });
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], policy));
    let step = drive.end("A", failed(ErrorClass::Auth));
    assert_eq!(chosen(&drive, &step), ["A1"]);
    drive.end("B", failed(ErrorClass::Rejected));
    assert!(matches!(drive.run.stage(), Stage::Paused(_)), "a person judges B");
    drive.end("A", failed(ErrorClass::Auth));
    assert_eq!(drive.run.halt(), Some(&Halt::NotLoggedIn(index(0))), "neither agent is logged in");
}

#[test]
fn agent_without_login_is_replaced_if_another_can_do_it() {
    let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:", "C:"], policy(1, &[&[1, 2], &[1], &[1, 2]])));
    assert_eq!(chosen(&drive, &step), ["A0"]);
    let step = drive.end("A", failed(ErrorClass::Auth));
    assert_eq!(chosen(&drive, &step), ["A1"]);
    let step = drive.complete("A");
    assert_eq!(chosen(&drive, &step), ["C1"], "B would only fail");
    let step = drive.complete("C");
    assert_eq!(step.effects, [Effect::Over { ending: Ending::Drained }]);
    assert_eq!(drive.run.halt(), Some(&Halt::NotLoggedIn(index(1))));
}

/// R: A-12
#[test]
fn service_that_does_not_answer_is_replaced_or_tried_again() {
    let plan = policy(1, &[&[1, 2][..], &[3]]);
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], Policy { retries: 1, ..plan }));
    let step = drive.end("A", failed(ErrorClass::Unreachable));
    assert_eq!(chosen(&drive, &step), ["A1"], "at once");
    assert!(matches!(&step.events[0], Event::Failed { class: ErrorClass::Quota { until: Some(_) }, .. }));
    let step = drive.complete("A");
    assert_eq!(chosen(&drive, &step), ["B0"]);
    let step = drive.end("B", failed(ErrorClass::Unreachable));
    assert!(matches!(&step.events[0], Event::Failed { class: ErrorClass::Transient, .. }), "no other agent can do it");
    drive.now = wake(&step).unwrap();
    drive.tell(|now| Input::Woke { now });
    drive.end("B", failed(ErrorClass::Unreachable));
    assert_eq!(drive.run.counts().failed, 1, "it spends retries");
}

/// R: A-12
#[test]
fn quota_that_is_too_far_away_is_not_waited_for() {
    let plan = || policy(1, &[&[1, 2][..], &[1, 2]]);
    let longest = |ms: u64| Policy { quota_wait: Some(team_executor_core::Millis(ms)), ..plan() };
    let hour = ErrorClass::Quota { until: Some(at(3_600_000)) };
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], longest(60_000)));
    let step = drive.end("A", failed(hour));
    assert_eq!(chosen(&drive, &step), ["A1"], "the other one has quota");
    let step = drive.end("A", failed(hour));
    assert_eq!((chosen(&drive, &step).len(), drive.run.halt()), (0, Some(&Halt::NotLoggedIn(index(0)))));
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], longest(0)));
    drive.end("A", failed(QUOTA));
    drive.end("A", failed(QUOTA));
    assert!(drive.run.halt().is_some(), "it is switched off");
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:"], longest(7_200_000)));
    drive.end("A", failed(hour));
    let step = drive.end("A", failed(hour));
    assert_eq!((wake(&step), drive.run.halt()), (Some(3_600_000), None), "it is waited for");
}

/// R: N-01
#[test]
fn given_task_is_done_by_its_agent_alone_and_keeps_its_attempts() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C: A"], policy(2, &[&[1, 2][..]; 3])));
    drive.end("A", failed(ErrorClass::Fatal));
    drive.end("B", failed(ErrorClass::Fatal));
    let to = |agent: &str, model: Option<&str>| Assignment { agent: agent.to_owned(), model: model.map(str::to_owned) };
    let give = |drive: &mut Drive, task: usize, to: Assignment| {
        let which = Which::Tasks(vec![index(task)]);
        drive.tell(|now| Input::Retry { now, which, downstream: false, feedback: String::new(), with: Some(to) })
    };
    let step = give(&mut drive, 0, to("other", Some("best")));
    assert_eq!(chosen(&drive, &step), ["A2"]);
    let step = drive.end("A", failed(ErrorClass::Quota { until: Some(at(60_000)) }));
    assert_eq!((chosen(&drive, &step).len(), wake(&step)), (0, Some(60_000)), "no other does it");
    let step = give(&mut drive, 1, to("other", Some("best")));
    assert_eq!(chosen(&drive, &step), [""; 0], "which has no quota for this either");
    let step = give(&mut drive, 1, to("other", None));
    assert_eq!(chosen(&drive, &step), ["B3"], "a task that waits may be given too");
    let step = give(&mut drive, 0, to("third", None));
    assert_eq!(chosen(&drive, &step), ["A3"]);
    let all: Vec<_> = drive.run.assigned().map(|(task, choice, to)| (task, choice, to.agent.as_str())).collect();
    let [a, b] = [index(0), index(1)];
    assert_eq!(all, [(a, 2, "other"), (a, 3, "third"), (b, 2, "other"), (b, 3, "other")]);
    assert!(drive.run.is_for(a, 3) && !drive.run.is_for(a, 2));
    let step = drive.complete("A");
    assert_eq!(chosen(&drive, &step), ["C0"]);
}
