//! What each event does to a run. Total: what cannot have happened is ignored.

use super::event::{Event, PauseReason, SkipReason, Then, WaveThen};
use super::input::{ErrorClass, Work};
use super::policy::Cadence;
use super::skip::{Judgement, judge};
use super::state::{NEVER, Run, Stage, State};
use crate::graph::TaskIndex;
use crate::task::TaskStatus;
use crate::time::Timestamp;

impl Run {
    /// Takes note of what happened. What cannot have happened is ignored.
    pub fn apply(&mut self, event: &Event) {
        if let Event::Recovered { at } = event {
            self.set_back(*at);
        }
        self.advance(event.at());
        match event {
            Event::Began { .. } if self.state.stage == Stage::NotBegun => self.state.stage = Stage::Going,
            Event::Began { .. } | Event::Recovered { .. } => {}
            Event::Intended { works, .. } => works.iter().for_each(|work| self.intended(*work)),
            Event::Doubted { .. } => self.doubt(),
            Event::Claimed { work, slot, at, .. } => self.claimed(*work, *slot, *at),
            Event::Completed { work, findings, at } => {
                if self.left(*work, &[TaskStatus::Completed], *at) {
                    let task = &mut self.state.tasks[work.task.get()];
                    (task.findings, task.error) = (findings.clone(), None);
                }
            }
            Event::Failed { work, class, error, then, at } => self.failed(*work, *class, error, *then, *at),
            Event::Interrupted { work, then, at } => self.interrupted(*work, *then, *at),
            Event::Skipped { task, reason, at } => self.skipped(*task, reason, *at),
            Event::Reset { tasks, at } => tasks.iter().for_each(|task| self.reset(*task, *at)),
            Event::WaveMerged { wave, then, .. } => self.merged(*wave, *then),
            Event::Paused { reason, .. } => self.turn_to(Stage::Paused(reason.clone())),
            Event::Resumed { .. } => self.turn_to(Stage::Going),
            Event::Draining { .. } => self.turn_to(Stage::Draining),
            Event::Stopping { .. } => self.turn_to(Stage::Stopping),
            Event::Finished { .. } if self.everything_is_over() => self.turn_to(Stage::Finished),
            Event::Finished { .. } => {}
        }
        debug_assert_eq!(super::invariants::after(self, event), Ok(()));
    }

    /// The clock was set back while no run was there: what still waits, waits as long as it would have.
    fn set_back(&mut self, now: Timestamp) {
        let State { clock, tasks, held, .. } = &mut self.state;
        let by = clock.as_micros().saturating_sub(now.as_micros());
        if *clock == NEVER || by <= 0 {
            return;
        }
        for until in tasks.iter_mut().map(|task| &mut task.not_before).chain(held) {
            *until = Timestamp::from_micros(until.as_micros().saturating_sub(by));
        }
        *clock = now;
        (0..).map(TaskIndex).take(self.graph.len()).for_each(|task| self.put_in_place(task));
    }

    fn intended(&mut self, work: Work) {
        if let Some(task) = self.state.tasks.get_mut(work.task.get())
            && work.attempt == task.attempt.saturating_add(1)
        {
            task.intended = work.attempt;
        }
    }

    fn doubt(&mut self) {
        for task in &mut self.state.tasks {
            task.attempt = task.attempt.max(task.intended);
        }
    }

    fn claimed(&mut self, work: Work, slot: u32, at: Timestamp) {
        let Work { task, attempt } = work;
        let Some(state) = self.state.tasks.get(task.get()) else { return };
        let facts = &self.facts.tasks[task.get()];
        let free = (slot as usize) < self.graph.len() && self.state.slots.task(slot).is_none();
        let allowed = judge(facts.run_on, state.open, state.bad) == Judgement::Run
            && !self.state.queue.is_busy(facts)
            && (self.policy.cadence == Cadence::Beat || self.has_its_turn(task));
        if !free || !allowed || attempt != state.attempt.saturating_add(1) {
            return;
        }
        if self.moved(task, &[TaskStatus::Ready, TaskStatus::InProgress], at) {
            self.state.slots.take(slot, task);
            self.state.queue.set_busy(&self.facts.tasks[task.get()], true);
            let state = &mut self.state.tasks[task.get()];
            (state.attempt, state.slot) = (attempt, slot);
        }
    }

    /// A worker has ended, and its task took these moves.
    fn left(&mut self, work: Work, path: &[TaskStatus], at: Timestamp) -> bool {
        let Some(slot) = self.running(work).map(|task| task.slot) else { return false };
        self.state.slots.leave(slot);
        self.state.queue.set_busy(&self.facts.tasks[work.task.get()], false);
        self.moved(work.task, path, at)
    }

    fn failed(&mut self, work: Work, class: ErrorClass, error: &str, then: Then, at: Timestamp) {
        if self.running(work).is_none() {
            return;
        }
        let task = &mut self.state.tasks[work.task.get()];
        task.error = Some(error.to_owned());
        match (class, then) {
            (ErrorClass::Quota { .. }, Then::Again { not_before }) => {
                task.refusals += 1;
                let held = &mut self.state.held[self.facts.tasks[work.task.get()].pool];
                *held = not_before.max(*held);
            }
            _ => task.failures += 1,
        }
        self.after(work, then, at);
    }

    fn interrupted(&mut self, work: Work, then: Then, at: Timestamp) {
        if self.running(work).is_none() {
            return;
        }
        let task = &mut self.state.tasks[work.task.get()];
        task.interruptions += u32::from(self.state.stage != Stage::Stopping);
        if then == Then::Over {
            task.error = Some(format!("its worker was lost {} times", task.interruptions));
        }
        self.after(work, then, at);
    }

    fn after(&mut self, work: Work, then: Then, at: Timestamp) {
        match then {
            Then::Again { not_before } => {
                self.state.tasks[work.task.get()].not_before = not_before;
                self.left(work, &[TaskStatus::Failed, TaskStatus::Pending], at);
            }
            Then::Over => drop(self.left(work, &[TaskStatus::Failed], at)),
        }
    }

    fn skipped(&mut self, task: TaskIndex, reason: &SkipReason, at: Timestamp) {
        if self.moved(task, &[TaskStatus::Skipped], at) {
            let error = self.explain(reason);
            let task = &mut self.state.tasks[task.get()];
            task.error = Some(error);
            task.skipped_by_rule = !matches!(reason, SkipReason::Person(_));
        }
    }

    /// A task that is over begins anew. That is no move of the task but another life of it, so the table of moves has
    /// no say; its attempts go on counting.
    fn reset(&mut self, task: TaskIndex, at: Timestamp) {
        if !self.state.tasks.get(task.get()).is_some_and(|task| task.status.is_over()) || self.is_behind(task) {
            return;
        }
        self.put(task, TaskStatus::Pending);
        let state = &mut self.state.tasks[task.get()];
        (state.failures, state.interruptions, state.refusals, state.not_before) = (0, 0, 0, NEVER);
        (state.since, state.findings, state.error, state.skipped_by_rule) = (Some(at), None, None, false);
        self.put_in_place(task);
        self.state.merged = self.state.merged.min(self.facts.tasks[task.get()].wave - 1);
        if self.state.stage == Stage::Finished {
            self.state.stage = Stage::Going;
        }
    }

    fn merged(&mut self, wave: u32, then: WaveThen) {
        if self.policy.cadence == Cadence::Beat || self.current_wave() != Some(wave) || self.wave_is_open(wave) {
            return;
        }
        self.state.merged = wave;
        match then {
            WaveThen::GoOn => {}
            WaveThen::Ask => self.turn_to(Stage::Paused(PauseReason::WaveFailed(wave))),
            WaveThen::Abort => self.turn_to(Stage::Stopping),
        }
    }

    fn turn_to(&mut self, stage: Stage) {
        if matches!(self.state.stage, Stage::NotBegun | Stage::Finished) {
            return;
        }
        let ends = matches!(stage, Stage::Draining | Stage::Stopping);
        let before = std::mem::replace(&mut self.state.stage, stage);
        match before {
            _ if !ends => self.state.pause = None,
            Stage::Paused(reason) => self.state.pause = Some(reason),
            _ => {}
        }
    }
}
