//! The answer of a run to each input: the one place that distinguishes inputs.

use super::assign::Wish;
use super::effect::{Effect, Step};
use super::event::{Event, PauseReason, SkipReason};
use super::input::{ErrorClass, Input, Outcome, Refused, Work};
use super::review::{ReviewThen, Reviewed};
use super::state::{Run, Stage};
use super::view::Standing;
use crate::bus::CheckpointAction;
use crate::moves::Moves;
use crate::task::TaskStatus;
use crate::time::Timestamp;

impl Run {
    /// Decides what follows from an input, applies it, and says it. The events must be durable before any of the
    /// effects is carried out.
    pub fn step(&mut self, input: Input) -> Step {
        let now = match input {
            Input::Recovered { now, .. } => now,
            _ => {
                self.advance(input.now());
                self.state.clock // time never goes back within an incarnation
            }
        };
        let at_rest =
            matches!(input, Input::Edited { .. } | Input::Add { .. } | Input::Replan { .. } | Input::Used { .. });
        let mut turn = Turn { run: self, now, events: Vec::new(), standings: Vec::new(), effects: Vec::new() };
        match turn.decide(input) {
            Ok(()) => {
                if !at_rest {
                    turn.settle();
                }
                let Turn { events, standings, effects, .. } = turn;
                Step { events, standings, effects, refused: None }
            }
            Err(refused) => Step { refused: Some(refused), ..Step::default() },
        }
    }
}

/// One step while it is being decided.
pub(super) struct Turn<'a> {
    pub(super) run: &'a mut Run,
    pub(super) now: Timestamp,
    events: Vec<Event>,
    standings: Vec<Standing>,
    pub(super) effects: Vec<Effect>,
}

impl Turn<'_> {
    /// Something happens.
    pub(super) fn emit(&mut self, event: Event) {
        self.run.apply(&event);
        self.standings.push(self.run.standing());
        self.events.push(event);
    }

    /// A worker ended; the attempt is running.
    pub(super) fn ended(&mut self, work: Work, outcome: Outcome) {
        if self.cancelled_ended(work) {
            return;
        }
        let at = self.now;
        let (class, error) = match outcome {
            Outcome::Completed { findings, review } => {
                let reviewed = self.run.after_review(work, review);
                let sends_back =
                    matches!(reviewed.as_deref(), Some(Reviewed { then: ReviewThen::SendBack { .. }, .. }));
                self.emit(Event::Completed { work, findings, reviewed, at });
                if sends_back {
                    self.end_what_is_void();
                }
                return;
            }
            Outcome::Interrupted => {
                let then = self.run.after_interruption(work, at);
                return self.emit(Event::Interrupted { work, then, at });
            }
            Outcome::Failed { class, error } => (class, error),
            Outcome::TimedOut { error } | Outcome::CouldNotStart { error } => (ErrorClass::Transient, error),
        };
        let (class, then) = self.run.after_failure(work, class, at);
        self.emit(Event::Failed { work, class, error, then, at });
        if class == ErrorClass::Auth {
            self.stop_without_login(work.task);
        }
    }

    /// What follows directly from an input. Refuses before anything happened, or not at all.
    fn decide(&mut self, input: Input) -> Result<(), Refused> {
        let at = self.now;
        let begun = self.run.state.stage != Stage::NotBegun;
        match input {
            Input::Recovered { alive, harvested, rebooted, .. } => self.recover(alive, harvested, rebooted),
            Input::Start { .. } if !begun => self.emit(Event::Began { at }),
            Input::Add { tasks, .. } => self.person_adds(tasks)?,
            Input::Replan { changed, removed, plan, .. } => self.person_replans(changed, removed, plan)?,
            _ if !begun => return Err(Refused::NotBegun),
            Input::Start { .. } => return Err(self.wrong_stage()),
            Input::Woke { .. } => {}
            Input::NoRoom { .. } => self.stop_without_room(),
            Input::Used { work, used } => {
                if self.run.running(work).is_some() && !self.run.is_counted(work) {
                    self.emit(Event::Used { work, used, at });
                }
            }
            Input::Ended { ended, .. } => {
                let slot = self.run.running(ended.work).ok_or(Refused::NotRunning(ended.work))?.slot;
                let work = ended.work;
                let before = self.run.checkpoint();
                self.ended(ended.work, ended.outcome);
                if self.run.state.tasks[work.task.get()].status == TaskStatus::Completed {
                    self.fast_advance(work.task, slot);
                }
                if self.run.checkpoint() != before {
                    self.ask();
                }
            }
            Input::Pause { reason, .. } => match self.run.state.stage {
                Stage::Going => self.emit(Event::Paused { reason: PauseReason::Told(reason), at }),
                _ => return Err(self.wrong_stage()),
            },
            Input::Decide { action, tasks, text, .. } => self.person_decides(action, tasks, text)?,
            Input::Resume { .. } if self.run.checkpoint().is_some() => {
                self.person_decides(CheckpointAction::Resume, Vec::new(), String::new())?;
                if matches!(self.run.state.stage, Stage::Paused(PauseReason::Told(_))) {
                    self.emit(Event::Resumed { at });
                }
            }
            Input::Resume { .. } => match self.run.state.stage {
                Stage::Paused(_) | Stage::Draining | Stage::Stopping => self.emit(Event::Resumed { at }),
                _ => return Err(self.wrong_stage()),
            },
            Input::Drain { .. } => match self.run.state.stage {
                Stage::Going | Stage::Paused(_) => self.emit(Event::Draining { at }),
                _ => return Err(self.wrong_stage()),
            },
            Input::Stop { .. } => match self.run.state.stage {
                Stage::Going | Stage::Paused(_) | Stage::Draining => {
                    self.emit(Event::Stopping { at });
                    self.effects.extend(self.run.at_work().map(|work| Effect::EndWorker { work }));
                }
                _ => return Err(self.wrong_stage()),
            },
            Input::Retry { which, downstream, feedback, with, .. } => {
                self.retry(which, downstream, Wish { feedback, with })?;
            }
            Input::Cancel { task, then, reason, feedback, with, .. } => {
                self.person_cancels(task, then, reason, Wish { feedback, with })?;
            }
            Input::Edited { again, skip, reason, .. } => self.edited(&again, &skip, &reason)?,
            Input::Limit { group, most, .. } => self.limit(group, most)?,
            Input::Skip { task, reason, .. } => {
                let state = self.run.state.tasks.get(task.get()).filter(|task| !task.is_absent);
                state.ok_or(Refused::NoSuchTask(task))?.status.moved(TaskStatus::Skipped)?;
                self.emit(Event::Skipped { task, reason: SkipReason::Person(reason), at });
            }
        }
        Ok(())
    }

    /// What follows from the state alone, whatever the input was.
    fn settle(&mut self) {
        self.return_all();
        self.skip_all();
        self.merge_waves();
        self.start_all();
        self.stop_if_stuck();
        self.stop_after_part();
        self.finish();
    }

    pub(super) fn wrong_stage(&self) -> Refused {
        Refused::Stage { stage: self.run.state.stage.word() }
    }
}
