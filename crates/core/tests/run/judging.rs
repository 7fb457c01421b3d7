//! Work that is judged: sent back a bounded number of times, put before a person, or not needed at all.

use team_executor_core::run::{
    Cause, Effect, Ending, ErrorClass, Event, Input, Outcome, PauseReason, Policy, Refused, Review, Stage, Step,
    TaskPolicy, Which,
};
use team_executor_core::{CheckpointAction, Complexity, TaskIndex, TaskStatus, Verdict};

use crate::drive::{Drive, failed};
use crate::plan::{Plan, index};

fn drive(lines: &[&str], own: &[(usize, TaskPolicy)]) -> Drive {
    let tasks = own.iter().map(|(task, own)| (index(*task), *own)).collect();
    Drive::start(Plan::new(lines, Policy { tasks, ..Policy::default() })).0
}

fn says(review: Review) -> Outcome {
    Outcome::Completed { findings: Some("looked".to_owned()), review: Some(Box::new(review)) }
}

fn rejects(tasks: &[usize]) -> Outcome {
    let rejects = tasks.iter().map(|task| index(*task)).collect();
    says(Review { rejects, critique: "no tests".to_owned(), ..Review::default() })
}

fn verdict(verdict: Verdict) -> Outcome {
    says(Review { verdict: Some(verdict), ..Review::default() })
}

fn decide(drive: &mut Drive, action: CheckpointAction, tasks: &[usize], text: &str) -> Step {
    let tasks = tasks.iter().map(|task| index(*task)).collect();
    drive.tell(|now| Input::Decide { now, action, tasks, text: text.to_owned() })
}

fn asks(step: &Step) -> Option<(TaskIndex, Cause)> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::AskCheckpoint { task, cause } => Some((*task, *cause)),
        _ => None,
    })
}

/// R: D-08
#[test]
fn rejected_work_is_redone_twice_then_a_person_decides() {
    let mut drive = drive(&["PLAN:", "IMPL: PLAN", "DOC: IMPL", "REVIEW: IMPL DOC", "SHIP: REVIEW"], &[]);
    drive.complete("PLAN");
    for round in 1..=2 {
        drive.complete("IMPL");
        drive.complete("DOC");
        let step = drive.end("REVIEW", rejects(&[1]));
        assert_eq!(drive.started(&step), "IMPL", "the review is not followed by what comes after it");
        let view = drive.run.view(index(1)).unwrap();
        assert_eq!((view.rounds, view.critique, view.attempt), (round, Some("no tests"), round + 1));
        assert_eq!(drive.run.rounds(), round);
        let wanted = [
            "PLAN completed",
            "IMPL in_progress: no tests",
            "DOC pending: built on IMPL, which is done again",
            "REVIEW pending: built on IMPL, which is done again",
            "SHIP pending",
        ];
        assert_eq!(drive.picture(), wanted);
    }
    drive.complete("IMPL");
    drive.complete("DOC");
    let step = drive.end("REVIEW", rejects(&[1]));
    assert_eq!((asks(&step), drive.started(&step).as_str()), (Some((index(3), Cause::OutOfRounds)), ""));
    assert!(step.effects.contains(&Effect::Over { ending: Ending::Paused }));
    // A person may say that it is good enough.
    let step = decide(&mut drive, CheckpointAction::Resume, &[], "good enough");
    assert_eq!(drive.started(&step), "SHIP");
    let decision = &drive.run.decisions()[0];
    assert_eq!((decision.checkpoint, decision.action), (Some(index(3)), CheckpointAction::Resume));
}

/// R: D-08
#[test]
fn failed_checks_use_rounds_and_spend_no_retry() {
    let mut drive = drive(&["IMPL:", "TEST: IMPL"], &[]);
    for round in 1..=2 {
        let step = drive.end("IMPL", failed(ErrorClass::Rejected));
        assert_eq!(drive.started(&step), "IMPL");
        let view = drive.run.view(index(0)).unwrap();
        assert_eq!((view.rounds, view.failures, view.critique), (round, 0, Some("it broke")));
    }
    let step = drive.end("IMPL", failed(ErrorClass::Rejected));
    assert_eq!(asks(&step), Some((index(0), Cause::OutOfRounds)));
    assert_eq!(drive.picture(), ["IMPL failed: it broke", "TEST skipped: dependency IMPL failed"]);
    // A person fixed it by hand: only the checks run again, and the tasks skipped because of it come back.
    let step = decide(&mut drive, CheckpointAction::Recheck, &[], "");
    assert!(step.effects.iter().any(|effect| matches!(effect, Effect::Check { work, .. } if work.task == index(0))));
    let step = drive.complete("IMPL");
    assert_eq!(drive.started(&step), "+TEST");
}

#[test]
fn only_what_a_task_builds_on_can_be_sent_back_by_it() {
    let mut drive = drive(&["A:", "OTHER:", "REVIEW: A", "SHIP: REVIEW"], &[]);
    drive.complete("A");
    drive.complete("OTHER");
    let step = drive.end("REVIEW", rejects(&[1, 2, 3, 99]));
    assert_eq!(asks(&step), Some((index(2), Cause::Blocked)), "a rejection that names nothing is for a person");
    assert!(drive.run.view(index(1)).unwrap().status == TaskStatus::Completed);
}

#[test]
fn workers_on_void_work_end_before_anything_starts() {
    let mut drive = drive(&["A:", "B: A", "REVIEW: A", "FREE: REVIEW"], &[]);
    drive.complete("A");
    let step = drive.end("REVIEW", rejects(&[0]));
    assert_eq!(
        step.effects,
        [Effect::EndWorker { work: team_executor_core::run::Work { task: index(1), attempt: 1 } }]
    );
    assert_eq!(drive.picture()[0], "A completed");
    let step = drive.end("B", Outcome::Interrupted);
    assert_eq!(drive.started(&step), "A");
    assert_eq!(drive.run.view(index(1)).unwrap().interruptions, 0, "it was ended on purpose");
}

#[test]
fn workers_behind_what_a_person_skipped_are_waited_for_too() {
    let mut drive = drive(&["A:", "S: A", "B always: S", "REVIEW: A"], &[]);
    drive.tell(|now| Input::Skip { now, task: index(1), reason: "not needed".to_owned() });
    drive.complete("A");
    let step = drive.end("REVIEW", rejects(&[0]));
    assert!(matches!(step.effects[..], [Effect::EndWorker { work }] if work.task == index(2)), "{:?}", step.effects);
    assert_eq!(drive.picture()[0], "A completed");
    let step = drive.end("B", Outcome::Interrupted);
    assert!(drive.started(&step).contains('A'), "{}", drive.started(&step));
}

/// R: T-03
#[test]
fn a_supervisor_passes_warns_or_blocks() {
    for (word, paused) in [(Verdict::Pass, false), (Verdict::Warn, false), (Verdict::Block, true)] {
        let mut drive = drive(&["A:", "CHECKPOINT-1: A", "B: CHECKPOINT-1"], &[]);
        drive.complete("A");
        let step = drive.end("CHECKPOINT-1", verdict(word));
        assert_eq!(asks(&step), paused.then_some((index(1), Cause::Blocked)), "{word}");
        assert_eq!(drive.started(&step), if paused { "" } else { "+B" });
        assert_eq!(drive.run.view(index(1)).unwrap().verdict, Some(word));
    }
}

/// R: D-09
#[test]
fn a_person_judges_at_a_checkpoint_and_every_decision_is_kept() {
    let asks_person = TaskPolicy { asks: true, ..TaskPolicy::default() };
    let start = || {
        let mut drive = drive(&["A:", "B: A", "QUALITY-1: A B", "C: QUALITY-1"], &[(2, asks_person)]);
        drive.complete("A");
        drive.complete("B");
        let step = drive.complete("QUALITY-1");
        assert_eq!(asks(&step), Some((index(2), Cause::Planned)));
        let paused = Stage::Paused(PauseReason::Checkpoint { task: index(2), cause: Cause::Planned });
        assert_eq!(*drive.run.stage(), paused);
        drive
    };
    for (action, tasks, starts) in [
        (CheckpointAction::Resume, &[][..], "C"),
        (CheckpointAction::Improve, &[], "A"),
        (CheckpointAction::Revise, &[1], "B"),
        (CheckpointAction::Recheck, &[], "QUALITY-1"),
    ] {
        let mut drive = start();
        let step = decide(&mut drive, action, tasks, "shorter");
        assert_eq!(drive.started(&step), starts, "{action}");
        assert_eq!(*drive.run.stage(), Stage::Going);
        assert_eq!((drive.run.decisions()[0].action, drive.run.decisions()[0].text.as_str()), (action, "shorter"));
    }
    let mut drive = start();
    let step = decide(&mut drive, CheckpointAction::Feedback, &[], "mind the gap");
    assert!(step.refused.is_none() && matches!(drive.run.stage(), Stage::Paused(_)), "it still waits");
    let step = decide(&mut drive, CheckpointAction::Revise, &[3], "");
    assert_eq!(step.refused, Some(Refused::NotOver(index(3))));
    // A plain resume is a decision too.
    drive.tell(|now| Input::Resume { now });
    let kept: Vec<_> = drive.run.decisions().iter().map(|decision| decision.action).collect();
    assert_eq!(kept, [CheckpointAction::Feedback, CheckpointAction::Resume]);
    let step = decide(&mut drive, CheckpointAction::Improve, &[], "");
    assert_eq!(step.refused, Some(Refused::Stage { stage: "going on" }));
}

#[test]
fn checkpoint_during_drain_is_there_at_the_next_start() {
    let asks_person = TaskPolicy { asks: true, ..TaskPolicy::default() };
    let mut drive = drive(&["QUALITY-1:", "B: QUALITY-1"], &[(0, asks_person)]);
    drive.tell(|now| Input::Drain { now });
    let step = drive.complete("QUALITY-1");
    assert!(step.effects.contains(&Effect::Over { ending: Ending::Drained }));
    assert_eq!(drive.run.checkpoint(), Some((index(0), Cause::Planned)));
    let mut decided = drive.clone();
    decide(&mut decided, CheckpointAction::Recheck, &[], "again");
    assert_eq!((decided.run.checkpoint(), decided.picture()[0].as_str()), (None, "QUALITY-1 in_progress: again"));
    assert_eq!(decided.run.decisions()[0].checkpoint, Some(index(0)));
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!((asks(&step), drive.started(&step).as_str()), (Some((index(0), Cause::Planned)), ""));
}

/// R: D-08
#[test]
fn exhausted_rounds_show_the_critique_and_its_tasks() {
    let none = TaskPolicy { rounds: Some(0), ..TaskPolicy::default() };
    let mut drive = drive(&["A:", "B: A", "REVIEW: B"], &[(0, none)]);
    ["A", "B"].into_iter().for_each(|task| drop(drive.complete(task)));
    let step = drive.end("REVIEW", rejects(&[0]));
    assert_eq!((asks(&step), drive.run.rounds()), (Some((index(2), Cause::OutOfRounds)), 0));
    assert_eq!((drive.run.judged_at(index(2)), drive.run.critique_at(index(2))), (vec![index(0)], Some("no tests")));
    let mut improved = drive.clone();
    let step = decide(&mut improved, CheckpointAction::Improve, &[], "");
    let critique = improved.run.view(index(0)).unwrap().critique;
    assert_eq!((improved.started(&step).as_str(), critique), ("A", Some("no tests")));
    decide(&mut drive, CheckpointAction::Improve, &[], "shorter");
    assert_eq!(drive.run.view(index(0)).unwrap().critique, Some("shorter"));
}

/// R: D-09, T-03
#[test]
fn every_checkpoint_is_decided_one_after_the_other() {
    let asks_person = TaskPolicy { asks: true, ..TaskPolicy::default() };
    let lines = ["A:", "D:", "CHECKPOINT-1: A", "QUALITY-1: D", "SHIP: CHECKPOINT-1", "PRINT: QUALITY-1"];
    let both = |drains: bool| {
        let mut drive = drive(&lines, &[(3, asks_person)]);
        drive.complete("A");
        drive.complete("D");
        if drains {
            drive.tell(|now| Input::Drain { now });
        }
        let step = drive.end("CHECKPOINT-1", verdict(Verdict::Block));
        assert_eq!(asks(&step), (!drains).then_some((index(2), Cause::Blocked)));
        let step = drive.complete("QUALITY-1");
        assert_eq!(asks(&step), None, "one question at a time");
        assert_eq!(drive.run.checkpoint(), Some((index(2), Cause::Blocked)));
        drive
    };
    for drains in [false, true] {
        let mut drive = both(drains);
        if drains {
            let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
            assert_eq!(asks(&step), Some((index(2), Cause::Blocked)));
        }
        let step = decide(&mut drive, CheckpointAction::Resume, &[], "ship it");
        assert_eq!((asks(&step), drive.started(&step).as_str()), (Some((index(3), Cause::Planned)), ""));
        let step = drive.tell(|now| Input::Resume { now });
        assert_eq!(drive.started(&step), "SHIP PRINT");
        let decided: Vec<_> = drive.run.decisions().iter().map(|decision| decision.checkpoint).collect();
        assert_eq!(decided, [Some(index(2)), Some(index(3))]);
    }
    // Work that is done again because of one is judged again, and not before.
    let mut drive = both(false);
    let step = decide(&mut drive, CheckpointAction::Revise, &[0, 1], "anew");
    assert_eq!((asks(&step), drive.started(&step).as_str()), (None, "A D"));
    // So is what a person wants again meanwhile.
    let mut drive = both(false);
    let which = Which::Tasks(vec![index(3)]);
    let step = drive.tell(|now| Input::Retry { now, which, downstream: true, feedback: String::new(), with: None });
    assert_eq!(step.refused, None);
    let step = decide(&mut drive, CheckpointAction::Resume, &[], "");
    assert_eq!((asks(&step), drive.started(&step).as_str()), (None, "QUALITY-1 SHIP"));
}

#[test]
fn paused_run_stays_paused_after_a_checkpoint_decision() {
    let asks_person = TaskPolicy { asks: true, ..TaskPolicy::default() };
    let paused = || {
        let mut drive = drive(&["QUALITY-1:", "B: QUALITY-1", "QUALITY-2:"], &[(0, asks_person), (2, asks_person)]);
        drive.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
        let step = drive.complete("QUALITY-1");
        assert_eq!(asks(&step), Some((index(0), Cause::Planned)));
        assert_eq!(asks(&drive.complete("QUALITY-2")), None);
        let step = decide(&mut drive, CheckpointAction::Resume, &[], "fine");
        assert_eq!(asks(&step), Some((index(2), Cause::Planned)));
        drive
    };
    let mut drive = paused();
    let step = decide(&mut drive, CheckpointAction::Resume, &[], "fine too");
    assert_eq!((drive.started(&step).as_str(), drive.run.checkpoint()), ("", None));
    assert_eq!(*drive.run.stage(), Stage::Paused(PauseReason::Told("lunch".to_owned())));
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(drive.started(&step), "B");
    // A person who resumes the run has decided.
    let mut drive = paused();
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!((drive.started(&step).as_str(), drive.run.decisions().len()), ("B", 2));
}

#[test]
fn unneeded_task_is_skipped_without_its_dependents() {
    let least = TaskPolicy { least: Some(Complexity::High), ..TaskPolicy::default() };
    let off = TaskPolicy { is_off: true, ..TaskPolicy::default() };
    let lines = ["ASSESS:", "DESIGN: ASSESS", "BUILD: DESIGN", "CHECKPOINT-1: BUILD", "SHIP: CHECKPOINT-1"];
    for (found, starts) in [(Complexity::Medium, "BUILD"), (Complexity::High, "+DESIGN")] {
        let mut drive = drive(&lines, &[(1, least), (3, off)]);
        let step = drive.end("ASSESS", says(Review { complexity: Some(found), ..Review::default() }));
        assert_eq!(drive.started(&step), starts);
        if found == Complexity::High {
            drive.complete("DESIGN");
        }
        drive.complete("BUILD");
        let step = drive.complete("SHIP");
        assert!(step.effects.contains(&Effect::Over { ending: Ending::AllCompleted }), "nothing is amiss");
        let skipped = drive.picture().into_iter().filter(|row| row.contains("skipped")).collect::<Vec<_>>();
        let design = "DESIGN skipped: not needed: ASSESS found the complexity medium";
        let checkpoint = "CHECKPOINT-1 skipped: not needed: switched off";
        let wanted: &[&str] = if found == Complexity::High { &[checkpoint] } else { &[design, checkpoint] };
        assert_eq!(skipped, wanted);
        assert!(step.events.iter().any(|event| matches!(event, Event::Finished { .. })));
    }
}
