//! Wave by wave: no wave starts before the one before is merged, and inside a wave each turn comes after the other.

use super::decide::Turn;
use super::effect::Effect;
use super::event::{Event, PauseReason, WaveThen};
use super::facts::WaveTurn;
use super::policy::{Cadence, KeptWaves, WaveFailed};
use super::state::{Run, Stage};
use super::view::Asks;
use crate::graph::TaskIndex;
use crate::task::TaskStatus;

/// What became of the tasks of one wave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WaveState {
    /// How many are not over, by turn.
    pub(super) open: [u32; 3],
    pub(super) completed: u32,
    /// How many failed in this run.
    pub(super) failed: u32,
}

impl WaveState {
    /// A task of the wave changed its status.
    pub(super) fn count(&mut self, turn: WaveTurn, from: TaskStatus, to: TaskStatus, ran: bool) {
        let counts = |status: TaskStatus| {
            let failed = status == TaskStatus::Failed && ran;
            (u32::from(!status.is_over()), u32::from(status == TaskStatus::Completed), u32::from(failed))
        };
        let (old, new) = (counts(from), counts(to));
        let open = &mut self.open[turn as usize];
        *open = *open + new.0 - old.0;
        self.completed = self.completed + new.1 - old.1;
        self.failed = self.failed + new.2 - old.2;
    }

    /// Whether there were workers, and all failed.
    const fn all_failed(&self) -> bool {
        self.failed > 0 && self.completed == 0
    }

    /// Whose turn it is.
    fn turn(&self) -> Option<WaveTurn> {
        let turns = [WaveTurn::Before, WaveTurn::Together, WaveTurn::After];
        turns.into_iter().find(|turn| self.open[*turn as usize] > 0)
    }
}

impl Run {
    /// The first wave that is not merged.
    pub(super) fn current_wave(&self) -> Option<u32> {
        Some(self.state.merged + 1).filter(|wave| *wave <= self.facts.wave_count())
    }

    /// Whether a task of this wave is not over.
    pub(super) fn wave_is_open(&self, wave: u32) -> bool {
        self.state.waves.get(wave as usize - 1).is_some_and(|wave| wave.turn().is_some())
    }

    /// Whether a wave that the run keeps has not begun: a task before it is not over.
    pub(super) fn is_ahead(&self, wave: u32) -> bool {
        self.policy.waves != KeptWaves::Computed && wave > self.state.front
    }

    /// A task of this wave changed its status: keeps the first wave that is open, and what may start by it.
    pub(super) fn move_front(&mut self, wave: u32) {
        let before = self.state.front;
        if self.wave_is_open(wave) {
            self.state.front = before.min(wave);
        }
        while self.state.front < self.facts.wave_count() && !self.wave_is_open(self.state.front) {
            self.state.front += 1;
        }
        if self.policy.waves == KeptWaves::Computed {
            return;
        }
        let now = self.state.front;
        for wave in before.min(now) + 1..=before.max(now) {
            for nth in 0..self.facts.of_wave(wave).len() {
                self.put_in_place(self.facts.of_wave(wave)[nth]);
            }
        }
    }

    /// Whether the wave and its turn let the task run now.
    pub(super) fn has_its_turn(&self, task: TaskIndex) -> bool {
        let facts = &self.facts.tasks[task.get()];
        let turn = self.state.waves[facts.wave as usize - 1].turn();
        let side_by_side = |running: TaskIndex| {
            facts.turn == WaveTurn::Together && self.facts.tasks[running.get()].turn == WaveTurn::Together
        };
        self.current_wave() == Some(facts.wave)
            && turn == Some(facts.turn)
            && self.state.slots.tasks().next().is_none_or(side_by_side)
    }

    /// The current wave, if it must be merged, and how the run goes on.
    fn next_merge(&self) -> Option<(u32, WaveThen)> {
        let wave = self.current_wave().filter(|wave| !self.wave_is_open(*wave))?;
        let failed = self.state.waves[wave as usize - 1].all_failed();
        let nothing_left = self.everything_is_over();
        let then = match self.policy.wave_failed {
            _ if !failed => WaveThen::GoOn,
            WaveFailed::GoOn => WaveThen::GoOn,
            WaveFailed::Abort if nothing_left => WaveThen::GoOn,
            WaveFailed::Abort => WaveThen::Abort,
            WaveFailed::Ask => WaveThen::Ask,
        };
        let may = match (&self.state.stage, self.pause()) {
            (Stage::NotBegun | Stage::Finished, _) => false,
            (_, Some(PauseReason::Told(_))) => nothing_left && then == WaveThen::GoOn, // so that it can finish
            (_, Some(_)) => false,
            (stage, None) => *stage == Stage::Going || then == WaveThen::GoOn, // who would be asked?
        };
        may.then_some((wave, then))
    }
}

impl Turn<'_> {
    /// Merges every wave that is over.
    pub(super) fn merge_waves(&mut self) {
        while self.run.policy.cadence == Cadence::Wave
            && let Some((wave, then)) = self.run.next_merge()
        {
            self.emit(Event::WaveMerged { wave, then, at: self.now });
            self.ask();
        }
    }

    /// Asks a person, if the run waits for an answer.
    pub(super) fn ask(&mut self) {
        self.effects.extend(self.run.standing().asks.map(|asks| match asks {
            Asks::Wave(wave) => Effect::AskWaveFailed { wave },
            Asks::Checkpoint(task, cause) => Effect::AskCheckpoint { task, cause },
        }));
    }
}
