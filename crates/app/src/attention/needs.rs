//! What a person must do, or nothing goes on.

use team_executor_core::run::{Cause, Halt, PauseReason};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus, Timestamp};
use team_executor_engine::Running;

use super::{Action, Item, Kind, Seen, budget_flag, budget_setting, item};
use crate::words::count;

/// How many tasks are named in one command.
const NAMED: usize = 20;

pub(super) fn needs(seen: &Seen<'_>) -> Vec<Item> {
    let mut needs: Vec<Item> = seen.status.running.iter().flat_map(|running| permissions(seen, running)).collect();
    needs.extend(checkpoint(seen));
    needs.extend(failed_wave(seen));
    needs.extend(proposals(seen));
    needs.extend(halted(seen));
    needs.extend(goes_on(seen, !needs.is_empty()));
    needs
}

/// What the agent of a running attempt asks to be allowed.
fn permissions(seen: &Seen<'_>, running: &Running) -> Vec<Item> {
    let id = seen.id(running.task);
    let open = seen.status.talk(id, running.attempt).map_or(&[][..], |talk| &talk.state.questions);
    let asked = |open: &team_executor_agents::driver::door::Open| {
        let micros = |ms: u64| i64::try_from(ms.saturating_mul(1000)).ok();
        let since = open.since_ms.and_then(micros).map(Timestamp::from_micros);
        let actions = [true, false].map(|allow| seen.typing.answer(id, open.question, allow));
        let why = format!("asks to use {}: {}", open.tool, open.what);
        seen.about(Kind::Permission, running.task, since, why, actions.into())
    };
    open.iter().map(asked).collect()
}

/// Where the run waits for a decision.
fn checkpoint(seen: &Seen<'_>) -> Option<Item> {
    let checkpoint = seen.status.checkpoint.as_ref()?;
    let mut why = match checkpoint.cause {
        Cause::Planned => "review it and decide".to_owned(),
        Cause::Blocked => "a reviewer blocked it; you decide".to_owned(),
        Cause::OutOfRounds => "work was sent back as often as it may be".to_owned(),
    };
    if let Some(critique) = &checkpoint.critique {
        why.push_str(&format!(": {critique}"));
    }
    let decide = |label: &str, action, task| seen.typing.decide(label, action, task);
    let mut actions = vec![decide("Approve", CheckpointAction::Resume, None)];
    actions.push(match checkpoint.judges.is_empty() {
        true => decide("Send back", CheckpointAction::Revise, Some(seen.id(checkpoint.task))),
        false => decide("Send back", CheckpointAction::Improve, None),
    });
    actions.push(decide("Recheck", CheckpointAction::Recheck, None));
    if checkpoint.judges.len() > 1 {
        let judged = checkpoint.judges.iter().take(NAMED).map(|(task, _)| seen.id(*task));
        actions.extend(judged.map(|task| decide(&format!("Redo {task}"), CheckpointAction::Revise, Some(task))));
    }
    actions.push(decide("Add a note", CheckpointAction::Feedback, None));
    let actions = only_steering(seen, actions);
    Some(seen.about(Kind::Checkpoint, checkpoint.task, seen.status.stage_since, why, actions))
}

/// A wave of which everything failed; not if a person has it retried already.
fn failed_wave(seen: &Seen<'_>) -> Option<Item> {
    let Some(PauseReason::WaveFailed(wave)) = seen.status.pause else { return None };
    let failed = of_wave(seen, wave);
    if failed.is_empty() {
        return None;
    }
    let ids: Vec<&str> = failed.iter().map(|task| seen.id(*task)).collect();
    let retry = if ids.len() > NAMED { seen.typing.retry_failed() } else { seen.typing.retry(&ids) };
    let mut actions = vec![retry, seen.typing.resume(seen.status.is_heard)];
    actions.extend(seen.status.is_heard.then(|| seen.typing.stop()));
    let why = format!("every task of wave {wave} failed; retry them and resume, or resume without them");
    Some(item(Kind::WaveFailed, seen.status.stage_since, why, only_steering(seen, actions)))
}

fn of_wave(seen: &Seen<'_>, wave: u32) -> Vec<TaskIndex> {
    let is_failed = |task: &TaskIndex| seen.status.statuses.get(task.get()) == Some(&TaskStatus::Failed);
    let tasks = seen.graph.order().iter().copied();
    tasks.filter(|task| seen.graph.wave(*task) == wave).filter(is_failed).collect()
}

/// Tasks that workers found to be missing. While an executor has the run, its session keeps its tasks.
fn proposals(seen: &Seen<'_>) -> Vec<Item> {
    let proposed = |proposal: &team_executor_engine::bus::Proposal| {
        let (id, is_heard) = (proposal.id.as_str(), seen.status.is_heard);
        let later = if is_heard { "; it can be accepted when the run rests" } else { "" };
        let why = format!("proposed by {} for {}: {}{later}", proposal.by, proposal.role, proposal.title);
        let mut actions = vec![seen.typing.proposal(id, false)];
        if !is_heard {
            actions.insert(0, seen.typing.proposal(id, true));
        }
        let actions = only_steering(seen, actions);
        Item { task: Some(id.to_owned()), ..item(Kind::Proposal, proposal.at, why, actions) }
    };
    seen.status.proposals.iter().map(proposed).collect()
}

/// What stopped the run: a login or a budget.
fn halted(seen: &Seen<'_>) -> Option<Item> {
    let status = seen.status;
    let halted = status.halt.as_ref().filter(|_| !status.finished)?;
    let since = status.stage_since;
    match &halted.why {
        Halt::NotLoggedIn(task) => {
            let said = halted.words.strip_prefix(&format!("{}: ", seen.id(*task))).unwrap_or(&halted.words).to_owned();
            Some(seen.about(Kind::Login, *task, since, said, vec![seen.typing.resume(status.is_heard)]))
        }
        Halt::Budget(bound) => {
            let setting = budget_setting(bound, halted).map(|setting| format!("; {setting}")).unwrap_or_default();
            let with_more = budget_flag(bound).map(|(flag, most)| format!("{flag} {most}"));
            let resume = match with_more {
                Some(flag) => seen.typing.resume_with(&flag),
                None => seen.typing.resume(status.is_heard),
            };
            let why = format!("{}{setting}", halted.words);
            Some(item(Kind::Budget, since, why, vec![resume]))
        }
        Halt::NoRoom | Halt::PartDone => None,
    }
}

/// A run that only a person brings to go on.
fn goes_on(seen: &Seen<'_>, is_needed: bool) -> Option<Item> {
    let status = seen.status;
    if status.finished {
        return None;
    }
    let actions = vec![seen.typing.resume(status.is_heard)];
    match &status.pause {
        _ if !status.is_heard => {
            let left = status.counts.pending + status.counts.ready + status.counts.in_progress;
            let why = format!("no executor has the run; {} to do", count(left, "task"));
            Some(item(Kind::Stopped, status.stage_since, why, actions))
        }
        Some(PauseReason::Told(reason)) => Some(item(Kind::Paused, status.stage_since, reason.clone(), actions)),
        Some(PauseReason::WaveFailed(wave)) if !is_needed => {
            let why = format!("wave {wave} is to be retried");
            Some(item(Kind::Paused, status.stage_since, why, actions))
        }
        _ => None,
    }
}

/// Nothing can be asked of a run that is not the newest of its session: only to continue it.
fn only_steering(seen: &Seen<'_>, actions: Vec<Action>) -> Vec<Action> {
    if seen.typing.can_steer() { actions } else { vec![seen.typing.resume(false)] }
}
