//! A person ends the worker of one task. What its attempt came to counts no more: it fails, is skipped, or begins anew.

use super::assign::Wish;
use super::decide::Turn;
use super::effect::Effect;
use super::event::{Event, SkipReason, Then};
use super::input::{ErrorClass, Refused, Work};
use super::state::{Run, Stage};
use crate::graph::TaskIndex;
use crate::task::{TaskStatus, words};

words! {
    /// What becomes of a task whose worker a person ends.
    Cancel {
        /// It fails.
        Fail = "fail",
        /// It is skipped.
        Skip = "skip",
        /// It is tried again.
        Retry = "retry",
    }
}

/// What becomes of a task when its worker has ended, whatever that came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cancelled {
    pub(super) then: Cancel,
    /// In the person's words.
    pub(super) reason: String,
}

impl Run {
    /// What a person wants to become of an attempt that runs.
    fn cancelled(&self, work: Work) -> Option<&Cancelled> {
        self.running(work)?.cancelled.as_deref()
    }

    /// Why a person wants a task not to run, when its worker has ended.
    pub(super) fn skipped_at_end(&self, task: TaskIndex) -> Option<SkipReason> {
        let cancelled = self.state.tasks[task.get()].cancelled.as_ref()?;
        (cancelled.then == Cancel::Skip).then(|| SkipReason::Person(cancelled.reason.clone()))
    }

    /// Notes what becomes of an attempt that runs.
    pub(super) fn cancel(&mut self, work: Work, then: Cancel, reason: &str) {
        if self.running(work).is_some() {
            let cancelled = Cancelled { then, reason: reason.to_owned() };
            self.state.tasks[work.task.get()].cancelled = Some(Box::new(cancelled));
        }
    }

    /// Words of a person about tasks, for their next attempts.
    pub(super) fn advise(&mut self, tasks: &[TaskIndex], text: &str) {
        for task in tasks {
            if let Some(task) = self.state.tasks.get_mut(task.get()) {
                task.advice = Some(text.to_owned());
            }
        }
    }
}

impl Turn<'_> {
    /// A person ends the worker of a task.
    pub(super) fn person_cancels(
        &mut self,
        task: TaskIndex,
        then: Cancel,
        reason: String,
        wish: Wish,
    ) -> Result<(), Refused> {
        let state = self.run.state.tasks.get(task.get()).ok_or(Refused::NoSuchTask(task))?;
        if state.status != TaskStatus::InProgress {
            return Err(Refused::NotAtWork(task));
        }
        let work = Work { task, attempt: state.attempt };
        let is_ending = state.cancelled.is_some() || self.run.state.stage == Stage::Stopping;
        let at = self.now;
        self.wish_for(&[task], wish);
        self.emit(Event::Cancelled { work, then, reason, at });
        if !is_ending {
            self.effects.push(Effect::EndWorker { work });
        }
        Ok(())
    }

    /// The worker of a cancelled attempt has ended. Says whether that was one.
    pub(super) fn cancelled_ended(&mut self, work: Work) -> bool {
        let Some(Cancelled { then, reason }) = self.run.cancelled(work).cloned() else { return false };
        let at = self.now;
        self.emit(match then {
            Cancel::Fail => Event::Failed { work, class: ErrorClass::Fatal, error: reason, then: Then::Over, at },
            Cancel::Skip | Cancel::Retry => Event::Interrupted { work, then: Then::Again { not_before: at }, at },
        });
        true
    }

    /// Workers that live on although a person ended them are ended again.
    pub(super) fn end_what_is_cancelled(&mut self) {
        let cancelled = self.run.at_work().filter(|work| self.run.cancelled(*work).is_some());
        let effects: Vec<_> = cancelled.map(|work| Effect::EndWorker { work }).collect();
        self.effects.extend(effects);
    }
}
