//! What comes from outside while an executor lives: requests of people, a second executor, a clock that is set.

use team_executor_core::run::{Input, Which};
use team_executor_core::{CheckpointAction, TaskIndex};

use crate::world::{Happening, Message, World};

impl World<'_> {
    /// Plans what comes while the current executor lives.
    pub(crate) fn plan_trouble(&mut self) {
        let weather = self.scenario.weather;
        let calm = self.incarnation > 8;
        let incarnation = self.incarnation;
        for _ in 0..3 {
            if weather.requests && !calm && self.chance.once_in(2) {
                self.soon(4_000_000, Happening::Message(incarnation, Message::Request));
            }
            if weather.intruders && self.chance.once_in(3) {
                self.soon(2_000_000, Happening::Intruder);
            }
        }
        if weather.clock && !calm && self.chance.once_in(2) {
            self.soon(4_000_000, Happening::Clock);
        }
    }

    /// Something that a person may ask for.
    pub(crate) fn request(&mut self) -> Input {
        let now = self.time();
        let tasks = u32::try_from(self.scenario.tasks().len()).unwrap_or(1);
        let chance = &mut self.chance;
        let task = TaskIndex(chance.count(tasks + 1));
        match chance.below(10) {
            0 => Input::Pause { now, reason: "lunch".to_owned() },
            1 => Input::Resume { now },
            2 => Input::Drain { now },
            3 => Input::Stop { now },
            4 | 5 => Input::Skip { now, task, reason: "no".to_owned() },
            6 | 7 => {
                let action = chance.pick(CheckpointAction::ALL);
                let tasks = if chance.once_in(2) { vec![task] } else { Vec::new() };
                Input::Decide { now, action, tasks, text: "better".to_owned() }
            }
            8 => Input::Retry { now, which: Which::AllFailed, downstream: chance.once_in(2) },
            _ => Input::Retry { now, which: Which::Tasks(vec![task]), downstream: chance.once_in(2) },
        }
    }
}
