//! What comes from outside while an executor lives: requests of people, a second executor, a clock that is set.

use team_executor_core::run::{Assignment, Cancel, Group};
use team_executor_core::{CheckpointAction, RoleName};
use team_executor_engine::control::{Request, ToRetry};

use crate::chance::Chance;
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
    pub(crate) fn request(&mut self) -> Request {
        let tasks = u32::try_from(self.scenario.tasks().len()).unwrap_or(1);
        let chance = &mut self.chance;
        let task = format!("T{}", chance.count(tasks + 1));
        match chance.below(15) {
            0 => Request::Pause { reason: "lunch".to_owned() },
            1 => Request::Resume,
            2 => Request::Drain,
            3 => Request::Stop,
            4 | 5 => Request::Skip { task, reason: "no".to_owned() },
            6 | 7 => {
                let action = chance.pick(CheckpointAction::ALL);
                let tasks = if chance.once_in(2) { vec![task] } else { Vec::new() };
                Request::Decide { action, tasks, text: "better".to_owned() }
            }
            12..=14 => {
                let (then, reason) = (chance.pick(Cancel::ALL), "too slow".to_owned());
                let feedback = if chance.once_in(2) { "faster".to_owned() } else { String::new() };
                Request::Cancel { task, then, reason, feedback, with: given(chance) }
            }
            10 | 11 => {
                let most = if chance.once_in(4) { None } else { Some(chance.count(5)) };
                let group = match chance.below(4) {
                    0 => RoleName::parse(&format!("role{}", chance.count(5))).map_or(Group::All, Group::Role),
                    1 => Group::Agent(format!("agent{}", chance.count(4))),
                    _ => Group::All,
                };
                Request::Limit { group, most }
            }
            8 => Request::Retry {
                which: ToRetry::Failed,
                downstream: chance.once_in(2),
                feedback: String::new(),
                with: given(chance),
            },
            _ => Request::Retry {
                which: ToRetry::Tasks(vec![task]),
                downstream: chance.once_in(2),
                feedback: String::new(),
                with: given(chance),
            },
        }
    }
}

/// To whom a person gives a task, sometimes.
fn given(chance: &mut Chance) -> Option<Assignment> {
    let model = chance.once_in(3).then(|| "best".to_owned());
    chance.once_in(3).then(|| Assignment { agent: format!("agent{}", chance.below(4)), model })
}
