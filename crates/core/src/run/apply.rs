//! Applies each event to a run. Total: impossible events are ignored.

use super::cancel::Cancel;
use super::decision::Decision;
use super::event::{Event, Halt, PauseReason, SkipReason, Then, WaveThen};
use super::input::{ErrorClass, Work};
use super::policy::Cadence;
use super::review::{Cause, ReviewThen, Reviewed};
use super::skip::{Gate, gate};
use super::state::{NEVER, Objection, Run, Stage, State};
use crate::bus::CheckpointAction;
use crate::graph::TaskIndex;
use crate::task::TaskStatus;
use crate::time::Timestamp;

impl Run {
    /// Takes note of what happened. What cannot have happened is ignored.
    pub fn apply(&mut self, event: &Event) {
        if let Event::Recovered { at } = event {
            self.set_back(*at);
        }
        self.count_time(event);
        self.advance(event.at());
        match event {
            Event::Began { .. } if self.state.stage == Stage::NotBegun => self.state.stage = Stage::Going,
            Event::Began { .. } => {}
            Event::Recovered { .. } => self.state.slots.lift(),
            Event::Intended { works, .. } => works.iter().for_each(|work| self.intended(*work)),
            Event::Doubted { .. } => self.doubt(),
            Event::Claimed { work, slot, choice, at, .. } => {
                if self.claimed(*work, *slot, *at) {
                    self.state.tasks[work.task.get()].choice = *choice;
                }
            }
            Event::Used { work, used, .. } => self.count(*work, used),
            Event::Completed { work, findings, reviewed, at } => {
                self.completed(*work, findings.as_ref(), reviewed.as_deref(), *at);
            }
            Event::Failed { work, class, error, then, at } => self.failed(*work, *class, error, *then, *at),
            Event::Interrupted { work, then, at } => self.interrupted(*work, *then, *at),
            Event::Skipped { task, reason, at } => self.skipped(*task, reason, *at),
            Event::Reset { tasks, at } => {
                let done = self.completed_of(tasks);
                tasks.iter().for_each(|task| self.reset(*task, *at));
                self.say_why(&done, tasks);
            }
            Event::Returned { tasks, at } => self.returned(tasks, *at),
            Event::Decided { checkpoint, action, tasks, text, at } => {
                let (checkpoint, action, at) = (*checkpoint, *action, *at);
                let (tasks, text) = (tasks.clone(), text.clone());
                self.decided(Decision { checkpoint, action, tasks, text, at });
            }
            Event::Cancelled { work, then, reason, .. } => self.cancel(*work, *then, reason),
            Event::Advised { tasks, text, .. } => self.advise(tasks, text),
            Event::Assigned { tasks, to, .. } => self.assign(tasks, to),
            Event::Added { tasks, .. } => self.add(tasks),
            Event::Replanned { changed, removed, .. } => self.replanned(changed, removed),
            Event::WaveMerged { wave, then, at } => self.merged(*wave, *then, *at),
            Event::Limited { group, most, .. } => self.limited(group, *most),
            Event::Paused { reason, .. } => self.turn_to(Stage::Paused(reason.clone())),
            Event::Resumed { .. } => self.go_on(),
            Event::Draining { .. } => self.turn_to(Stage::Draining),
            Event::Halted { why, .. } => self.halted(why),
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

    fn claimed(&mut self, work: Work, slot: u32, at: Timestamp) -> bool {
        let Work { task, attempt } = work;
        let Some(state) = self.state.tasks.get(task.get()) else { return false };
        let facts = &self.facts.tasks[task.get()];
        let free = (slot as usize) < self.graph.len() && self.state.slots.task(slot).is_none();
        let allowed = !state.is_absent
            && gate(facts.run_on, state.open, state.bad) == Gate::Run
            && self.needless(task).is_none()
            && state.cancelled.is_none()
            && self.state.recalled.is_empty()
            && !self.state.queue.is_busy(facts)
            && (self.policy.cadence == Cadence::Beat || self.has_its_turn(task));
        if !free || !allowed || attempt != state.attempt.saturating_add(1) {
            return false;
        }
        let ready = self.ready_since(task);
        let moved = self.moved(task, &[TaskStatus::Ready, TaskStatus::InProgress], at);
        if moved {
            self.count_wait(task, ready, at);
            self.state.slots.take(slot, task);
            self.state.queue.set_busy(&self.facts.tasks[task.get()], true);
            let state = &mut self.state.tasks[task.get()];
            (state.attempt, state.slot) = (attempt, slot);
        }
        moved
    }

    /// A worker has ended, and its task took these moves.
    fn left(&mut self, work: Work, path: &[TaskStatus], at: Timestamp) -> bool {
        let Some(slot) = self.running(work).map(|task| task.slot) else { return false };
        // A task to skip is skipped when it is pending again.
        let cancelled = &mut self.state.tasks[work.task.get()].cancelled;
        if cancelled.as_ref().is_some_and(|cancelled| cancelled.then != Cancel::Skip) {
            *cancelled = None;
        }
        self.state.slots.leave(slot);
        self.state.queue.set_busy(&self.facts.tasks[work.task.get()], false);
        self.count_attempt(work.task, at);
        self.moved(work.task, path, at)
    }

    fn completed(&mut self, work: Work, findings: Option<&String>, reviewed: Option<&Reviewed>, at: Timestamp) {
        if self.running(work).is_none() {
            return;
        }
        // What depends on it is judged by what it found.
        let task = &mut self.state.tasks[work.task.get()];
        (task.findings, task.error, task.check_only, task.objection) = (findings.cloned(), None, false, None);
        task.advice = None;
        (task.verdict, task.complexity) =
            reviewed.map_or((None, None), |reviewed| (reviewed.verdict, reviewed.complexity));
        self.left(work, &[TaskStatus::Completed], at);
        self.state.slots.raise();
        self.state.spending.is_known = true;
        match reviewed.map(|reviewed| &reviewed.then) {
            None | Some(ReviewThen::GoOn) => {}
            Some(ReviewThen::Ask { cause, tasks, critique }) => {
                let objection = Objection { tasks: tasks.clone(), critique: critique.clone() };
                self.state.tasks[work.task.get()].objection = Some(Box::new(objection));
                self.pause_after(work.task, *cause);
            }
            Some(ReviewThen::SendBack { tasks, critique }) => {
                self.recall(tasks, critique);
                self.state.rounds += 1;
                for task in tasks {
                    self.state.tasks.get_mut(task.get()).into_iter().for_each(|task| task.rounds += 1);
                }
            }
        }
    }

    /// These tasks are to be done again, when nothing that builds on them runs any more.
    fn recall(&mut self, tasks: &[TaskIndex], critique: &str) {
        for task in tasks {
            if let Some(state) = self.state.tasks.get_mut(task.get())
                && state.status.is_over()
            {
                state.critique = Some(critique.to_owned());
                self.state.recalled.insert(*task);
            }
        }
    }

    /// A person is to judge what there is after this task, when everything was decided that came before it. A
    /// pause that a person asked for lasts longer than all of that.
    fn pause_after(&mut self, task: TaskIndex, cause: Cause) {
        let reason = PauseReason::Checkpoint { task, cause };
        let State { stage, pause, later, .. } = &mut self.state;
        let ends = matches!(stage, Stage::Draining | Stage::Stopping);
        let current = match stage {
            Stage::Paused(current) => Some(current),
            _ => pause.as_mut(),
        };
        let is_told = |reason: &PauseReason| matches!(reason, PauseReason::Told(_));
        match current {
            Some(current) => {
                let next = if is_told(current) { std::mem::replace(current, reason) } else { reason };
                let place = later.len() - usize::from(later.last().is_some_and(is_told));
                later.insert(place, next);
            }
            None if ends => *pause = Some(reason),
            None => self.turn_to(Stage::Paused(reason)),
        }
    }

    /// Goes on: to what a person is to judge next, or with the work. What is done again is judged again then.
    fn go_on(&mut self) {
        if !self.state.later.is_empty() {
            let (again, _) = self.sent_back();
            self.state.later.retain(|reason| match reason {
                PauseReason::Checkpoint { task, .. } => again.binary_search(task).is_err(),
                PauseReason::Told(_) | PauseReason::WaveFailed(_) => true,
            });
        }
        let next = (!self.state.later.is_empty()).then(|| self.state.later.remove(0));
        self.turn_to(next.map_or(Stage::Going, Stage::Paused));
    }

    fn returned(&mut self, tasks: &[TaskIndex], at: Timestamp) {
        let done = self.completed_of(tasks);
        for task in tasks {
            let state = self.state.tasks.get(task.get());
            let Some((rounds, critique)) = state.map(|state| (state.rounds, state.critique.clone())) else { continue };
            let (check_only, is_sent_back) =
                (state.is_some_and(|state| state.check_only), self.state.recalled.contains(task));
            self.reset(*task, at);
            let state = &mut self.state.tasks[task.get()];
            if state.status == TaskStatus::Pending {
                (state.rounds, state.critique, state.check_only) = (rounds, critique, check_only);
                state.error = state.critique.clone().filter(|_| is_sent_back);
            }
        }
        self.say_why(&done, tasks);
    }

    fn completed_of(&self, tasks: &[TaskIndex]) -> Vec<TaskIndex> {
        let status = |task: &TaskIndex| self.state.tasks.get(task.get()).map(|task| task.status);
        tasks.iter().copied().filter(|task| status(task) == Some(TaskStatus::Completed)).collect()
    }

    /// What was done and begins anew because of others says so.
    fn say_why(&mut self, done: &[TaskIndex], tasks: &[TaskIndex]) {
        for task in done {
            let Some(state) = self.state.tasks.get(task.get()) else { continue };
            let begins = |on: &&TaskIndex| tasks.binary_search(on).is_ok();
            if state.error.is_none()
                && state.status == TaskStatus::Pending
                && let Some(on) = self.graph.dependencies(*task).iter().find(begins)
            {
                let why = format!("built on {}, which is done again", self.facts.tasks[on.get()].id);
                self.state.tasks[task.get()].error = Some(why);
            }
        }
    }

    fn decided(&mut self, decision: Decision) {
        let Decision { checkpoint, action, tasks, text, .. } = &decision;
        if !tasks.is_empty() {
            self.recall(tasks, text);
            self.state.rounds += u32::from(*action != CheckpointAction::Recheck); // which is not done again
        }
        if *action != CheckpointAction::Feedback {
            self.go_on();
        }
        for task in tasks {
            let Some(state) = self.state.tasks.get_mut(task.get()) else { continue };
            // Work that a person sends back has all its rounds again. Work that failed its checks is only
            // checked again.
            state.rounds = 0;
            if *action == CheckpointAction::Recheck {
                state.check_only = *checkpoint == Some(*task) && state.status == TaskStatus::Failed;
            }
        }
        self.state.decisions.push(decision);
    }

    fn failed(&mut self, work: Work, class: ErrorClass, error: &str, then: Then, at: Timestamp) {
        if self.running(work).is_none() {
            return;
        }
        let quota = self.quota(work.task);
        let task = &mut self.state.tasks[work.task.get()];
        task.error = Some(error.to_owned());
        match (class, then) {
            (ErrorClass::Quota { until }, Then::Again { not_before }) => {
                task.refusals += 1;
                let held = &mut self.state.held[quota];
                *held = until.unwrap_or(not_before).max(not_before).max(*held);
            }
            (ErrorClass::Auth, Then::Again { .. }) => {
                task.refusals += 1;
                self.state.closed[quota] = true;
            }
            (ErrorClass::Shortage | ErrorClass::Budget, _) => task.refusals += 1,
            (ErrorClass::Rejected, then) => {
                task.critique = Some(error.to_owned());
                // What a person is asked about has not been sent back.
                let again = u32::from(then != Then::Over);
                task.rounds += again;
                self.state.rounds += again;
            }
            _ => task.failures += 1,
        }
        self.state.tasks[work.task.get()].check_only &= class == ErrorClass::Shortage;
        self.after(work, then, at);
        if class == ErrorClass::Shortage {
            self.state.slots.lower();
        }
        if (class, then) == (ErrorClass::Rejected, Then::Over) {
            self.pause_after(work.task, Cause::OutOfRounds);
        }
    }

    fn interrupted(&mut self, work: Work, then: Then, at: Timestamp) {
        if self.running(work).is_none() {
            return;
        }
        let task = &self.state.tasks[work.task.get()];
        let counts = !self.ends_workers() && task.cancelled.is_none();
        let task = &mut self.state.tasks[work.task.get()];
        task.interruptions += u32::from(counts);
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
        let not_needed = matches!(reason, SkipReason::TooSimple(..) | SkipReason::SwitchedOff);
        if self.state.tasks.get(task.get()).is_none_or(|task| task.status != TaskStatus::Pending) {
            return;
        }
        self.state.tasks[task.get()].not_needed = not_needed;
        self.state.not_needed += usize::from(not_needed);
        let error = self.explain(reason);
        self.state.tasks[task.get()].cancelled = None;
        self.moved(task, &[TaskStatus::Skipped], at);
        let task = &mut self.state.tasks[task.get()];
        task.error = Some(error);
        task.skipped_by_rule = !matches!(reason, SkipReason::Person(_));
    }

    /// A task that is over begins anew; its attempts go on counting.
    fn reset(&mut self, task: TaskIndex, at: Timestamp) {
        let is_there = task.get() < self.state.tasks.len();
        if !is_there || self.is_behind(task) || !self.moved(task, &[TaskStatus::Pending], at) {
            return;
        }
        self.state.recalled.remove(&task);
        let is_after = |reason: &PauseReason| matches!(reason, PauseReason::Checkpoint { task: of, .. } if *of == task);
        self.state.later.retain(|reason| !is_after(reason));
        let state = &mut self.state.tasks[task.get()];
        self.state.not_needed -= usize::from(std::mem::take(&mut state.not_needed));
        (state.rounds, state.critique, state.check_only) = (0, None, false);
        (state.verdict, state.complexity, state.objection) = (None, None, None);
        (state.failures, state.interruptions, state.refusals, state.not_before) = (0, 0, 0, NEVER);
        (state.findings, state.error, state.skipped_by_rule) = (None, None, false);
        self.put_in_place(task);
        self.state.merged = self.state.merged.min(self.facts.tasks[task.get()].wave - 1);
        if self.state.stage == Stage::Finished {
            self.state.stage = Stage::Going;
        }
    }

    fn merged(&mut self, wave: u32, then: WaveThen, at: Timestamp) {
        if self.policy.cadence == Cadence::Beat || self.current_wave() != Some(wave) || self.wave_is_open(wave) {
            return;
        }
        (self.state.merged, self.pace.merged) = (wave, Some(at));
        match then {
            WaveThen::GoOn => {}
            WaveThen::Ask => self.turn_to(Stage::Paused(PauseReason::WaveFailed(wave))),
            WaveThen::Abort => self.turn_to(Stage::Stopping),
        }
    }

    fn halted(&mut self, why: &Halt) {
        self.turn_to(Stage::Draining);
        self.state.halt = (self.state.stage == Stage::Draining).then(|| why.clone());
    }

    fn turn_to(&mut self, stage: Stage) {
        if matches!(self.state.stage, Stage::NotBegun | Stage::Finished) {
            return;
        }
        let ends = matches!(stage, Stage::Draining | Stage::Stopping);
        let begins_a_pause = self.state.stage == Stage::Going && matches!(stage, Stage::Paused(_));
        let before = std::mem::replace(&mut self.state.stage, stage);
        self.state.halt = None;
        match before {
            _ if !ends => {
                self.state.pause = None;
                if !begins_a_pause {
                    self.state.closed.fill(false); // the user may have logged in
                }
            }
            Stage::Paused(reason) => self.state.pause = Some(reason),
            _ => {}
        }
    }
}
