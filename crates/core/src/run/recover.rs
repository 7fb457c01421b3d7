//! What a new incarnation does first: it finds out what became of the workers of the one before.

use std::collections::BTreeMap;

use super::decide::Turn;
use super::effect::Effect;
use super::event::Event;
use super::input::{Outcome, Work, WorkEnded};
use super::state::Stage;

impl Turn<'_> {
    /// Workers that ended are harvested, workers that live go on, all others are lost.
    pub(super) fn recover(&mut self, alive: Vec<Work>, harvested: Vec<WorkEnded>, rebooted: bool) {
        match self.run.state.stage {
            Stage::Finished if self.now >= self.run.state.clock => self.run.advance(self.now),
            Stage::NotBegun => self.emit(Event::Began { at: self.now }),
            _ => self.emit(Event::Recovered { at: self.now }),
        }
        if rebooted && self.run.state.tasks.iter().any(|task| task.intended > task.attempt) {
            self.emit(Event::Doubted { at: self.now });
        }
        // Events that the last step left unsaid come first, as if it had not been interrupted.
        if let Some(task) = self.run.refused_to_all() {
            self.stop_without_login(task);
        }
        self.skip_all();
        let mut outcomes: BTreeMap<Work, Outcome> = harvested.into_iter().rev().map(|e| (e.work, e.outcome)).collect();
        let at_work: Vec<_> = self.run.at_work().collect();
        for &work in &at_work {
            match outcomes.remove(&work) {
                Some(outcome) => self.ended(work, outcome),
                None if alive.contains(&work) => {}
                None => self.ended(work, Outcome::Interrupted),
            }
        }
        self.end_what_is_cancelled();
        let strangers = alive.into_iter().filter(|work| !at_work.contains(work));
        self.effects.extend(strangers.map(|work| Effect::EndWorker { work }));
        if matches!(self.run.state.stage, Stage::Draining | Stage::Stopping) {
            let at = self.now;
            let pause = self.run.state.pause.clone();
            self.emit(pause.map_or(Event::Resumed { at }, |reason| Event::Paused { reason, at }));
        }
        self.end_what_is_void();
        self.ask();
    }
}
