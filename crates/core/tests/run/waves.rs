//! Wave by wave, and the order within a wave.

use team_executor_core::run::{Cadence, Effect, Ending, Event, Input, KeptWaves, Policy, Step, WaveFailed, Which};

use crate::drive::Drive;
use crate::plan::Plan;

fn policy(wave_failed: WaveFailed) -> Policy {
    Policy { cadence: Cadence::Wave, slots: 2, retries: 0, wave_failed, ..Policy::default() }
}

/// The order of merges and starts in a step.
fn order(drive: &Drive, step: &Step) -> String {
    let word = |event: &Event| match event {
        Event::WaveMerged { wave, .. } => Some(format!("[{wave}]")),
        Event::Claimed { work, .. } => Some(drive.id(work.task).to_owned()),
        _ => None,
    };
    step.events.iter().filter_map(word).collect::<Vec<_>>().join(" ")
}

/// R: W-08
#[test]
fn wave_starts_after_the_last_is_merged() {
    let lines = [
        "late interactive:",
        "A:",
        "B P0:",
        "early1 interactive pre-wave:",
        "C:",
        "early2 interactive pre-wave reviewer:",
        "D: B",
        "E: A D",
    ];
    let (mut drive, step) = Drive::start(Plan::new(&lines, policy(WaveFailed::Ask)));
    let mut orders = vec![order(&drive, &step)];
    for id in ["early1", "early2", "B", "A", "C", "late", "D", "E"] {
        let step = drive.complete(id);
        orders.push(order(&drive, &step));
    }
    assert_eq!(orders, ["early1", "early2", "B A", "C", "", "late", "[1] D", "[2] E", "[3]"]);
}

/// R: P-03
#[test]
fn planned_waves_without_dependencies_are_barriers() {
    for cadence in Cadence::ALL {
        let policy = Policy { cadence: *cadence, waves: KeptWaves::Barriers, slots: 3, ..policy(WaveFailed::GoOn) };
        let mut plan = Plan::new(&["A:", "B:", "C P0:", "D:", "E P0:"], policy);
        for (task, wave) in plan.tasks.iter_mut().zip([1, 1, 2, 2, 9]) {
            task.declared_wave = Some(wave);
        }
        let (mut drive, step) = Drive::start(plan);
        let mut starts = vec![drive.started(&step)];
        for id in ["A", "B", "C", "D"] {
            let step = if id == "B" { drive.fail(id) } else { drive.complete(id) };
            starts.push(drive.started(&step));
        }
        assert_eq!(starts, ["A B", "", "C D", "", "E"], "{cadence}");
    }
}

/// R: P-03
#[test]
fn a_planned_wave_stands_only_wave_by_wave() {
    for (waves, cadence, expected) in
        [(KeptWaves::Planned, Cadence::Wave, ["A", "B", "C"]), (KeptWaves::Computed, Cadence::Beat, ["A C", "+B", ""])]
    {
        let mut plan = Plan::new(&["A:", "B: A", "C:"], Policy { cadence, waves, ..policy(WaveFailed::Ask) });
        plan.tasks[2].declared_wave = Some(4);
        plan.tasks[1].declared_wave = Some(2);
        plan.tasks[0].declared_wave = Some(1);
        let (mut drive, step) = Drive::start(plan);
        let mut starts = vec![drive.started(&step)];
        for id in ["A", "B"] {
            let step = drive.complete(id);
            starts.push(drive.started(&step));
        }
        assert_eq!(starts, expected);
    }
}

/// A wave of two that fails, with a repair behind it.
fn failed_wave(wave_failed: WaveFailed) -> (Drive, Step) {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C: A", "fix failure: B"], policy(wave_failed)));
    drive.fail("A");
    let step = drive.fail("B");
    (drive, step)
}

#[test]
fn when_a_whole_wave_failed_a_person_is_asked_and_can_go_on() {
    let (mut drive, step) = failed_wave(WaveFailed::Ask);
    assert_eq!(step.effects, [Effect::AskWaveFailed { wave: 1 }, Effect::Over { ending: Ending::Paused }]);
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(drive.started(&step), "fix");
}

#[test]
fn question_waits_while_the_run_ends() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], policy(WaveFailed::Ask)));
    drive.tell(|now| Input::Drain { now });
    let step = drive.fail("A");
    assert_eq!((order(&drive, &step).as_str(), step.effects), ("", vec![Effect::Over { ending: Ending::Drained }]));
    let step = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!(order(&drive, &step), "[1]");
    assert_eq!(step.effects, [Effect::AskWaveFailed { wave: 1 }, Effect::Over { ending: Ending::Paused }]);
}

#[test]
fn no_wave_is_merged_while_a_pause_is_being_ended() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B: A"], policy(WaveFailed::Ask)));
    drive.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
    drive.tell(|now| Input::Drain { now });
    let step = drive.complete("A");
    assert_eq!(order(&drive, &step), "");
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(order(&drive, &step), "[1] B");
}

#[test]
fn paused_runs_last_wave_is_merged_unless_a_question_waits() {
    let paused = || {
        let (mut drive, _) = Drive::start(Plan::new(&["A:"], policy(WaveFailed::Ask)));
        drive.tell(|now| Input::Pause { now, reason: "lunch".to_owned() });
        drive
    };
    let mut drive = paused();
    let step = drive.complete("A");
    assert_eq!(order(&drive, &step), "[1]");
    assert_eq!(step.effects, [Effect::Over { ending: Ending::AllCompleted }]);
    let mut drive = paused();
    assert_eq!(drive.fail("A").effects, [Effect::Over { ending: Ending::Paused }]);
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(step.effects, [Effect::AskWaveFailed { wave: 1 }, Effect::Over { ending: Ending::Paused }]);
}

#[test]
fn failures_before_the_run_do_not_count_for_its_waves() {
    let mut plan = Plan::new(&["A:", "fix failure: A"], policy(WaveFailed::Abort));
    plan.tasks[0].status = team_executor_core::TaskStatus::Failed;
    let (drive, step) = Drive::start(plan);
    assert_eq!(order(&drive, &step), "[1] fix");
}

#[test]
fn unanswered_question_is_asked_again() {
    let (mut drive, step) = failed_wave(WaveFailed::Ask);
    assert_eq!(drive.tell(|now| Input::Stop { now }).effects, [Effect::Over { ending: Ending::Stopped }]);
    let again = drive.tell(|now| Input::Recovered { now, alive: vec![], harvested: vec![], rebooted: false });
    assert_eq!(again.effects, step.effects);
}

#[test]
fn when_a_whole_wave_failed_a_person_is_asked_and_can_retry() {
    let (mut drive, _) = failed_wave(WaveFailed::Ask);
    drive.tell(|now| Input::Retry {
        now,
        which: Which::AllFailed,
        downstream: false,
        feedback: String::new(),
        with: None,
    });
    assert_eq!(drive.picture(), ["A ready", "B ready", "C pending", "fix pending"]);
    let step = drive.tell(|now| Input::Resume { now });
    assert_eq!(drive.started(&step), "A B");
    drive.complete("A");
    let step = drive.complete("B");
    assert_eq!(
        (order(&drive, &step).as_str(), drive.picture()[3].as_str()),
        ("[1] C", "fix skipped: no dependency failed")
    );
}

#[test]
fn when_a_whole_wave_failed_the_run_can_stop_or_go_on_by_itself() {
    let (drive, step) = failed_wave(WaveFailed::Abort);
    assert_eq!(
        (step.effects, drive.picture()[3].as_str()),
        (vec![Effect::Over { ending: Ending::Stopped }], "fix ready")
    );
    let (drive, step) = failed_wave(WaveFailed::GoOn);
    assert_eq!(order(&drive, &step), "[1] fix");
}

#[test]
fn a_wave_in_which_one_completed_did_not_fail() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:", "B:", "C: A"], policy(WaveFailed::Abort)));
    drive.fail("B");
    let step = drive.complete("A");
    assert_eq!(order(&drive, &step), "[1] C");
}
