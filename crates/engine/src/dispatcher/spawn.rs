//! How a worker starts: with its prompt, its contract and the conversation that it takes up.

use std::path::PathBuf;

use team_executor_agents::{Assignment, Leftover};
use team_executor_core::run::{Used, Work};

use super::{Dispatcher, tell_problems};
use crate::inbox::Message;
use crate::options::Failure;
use crate::{assign, prompt, resident, talk};

impl Dispatcher<'_> {
    /// Starts the worker of an attempt in a slot.
    pub(super) fn spawn(&mut self, work: Work, slot: usize) -> Result<(), Failure> {
        let problems = self.views.starts(&mut self.session, self.conductor.rules(), work.task);
        tell_problems(problems, self.tell);
        let before = self.residents.take(&self.session, self.conductor.rules(), work.task);
        let (rules, options) = (self.conductor.rules(), self.options);
        let taken_up = resident::conversation(options, &self.at, &self.session, rules, work, &before);
        let leftover = taken_up.as_ref().map(|taken_up| taken_up.leftover).unwrap_or_default();
        let keeps = leftover != Leftover::Moves;
        let moved = self.checking.attempt_begins(&self.session, work, &before, keeps);
        tell_problems(moved, self.tell);
        let aside = self.put_result_aside(work);
        if let Ok(Some(to)) = &aside {
            self.tell_aside(work, "result", to);
        }
        let text = prompt::of(
            &self.session,
            self.conductor.rules(),
            work.task,
            (&self.options.folder, &mut self.knowledge),
            Some(&self.at.path),
            &before,
            keeps,
        );
        let prompt = aside.and_then(|_| {
            self.prompts.write(slot, &text).map_err(Failure::disk("write a prompt in", self.at.agents()))
        });
        self.slots.insert(slot, work);
        let prompt = match prompt {
            // Nothing runs yet: it is as if the worker had not started, and is tried again later.
            Err(failure @ (Failure::Shortage(_) | Failure::NoRoom(_))) => {
                if matches!(failure, Failure::NoRoom(_)) {
                    self.conductor.disk_is_full();
                }
                let error = failure.to_string();
                self.outbox.send(Message::NotStarted { slot, error }).ok();
                return Ok(());
            }
            prompt => prompt?,
        };
        let task = &self.session.tasks[work.task.get()];
        let worker = self.worker(work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
        let assignment = assign::of(self.options, &self.at, &self.cwd, task, worker, work.attempt, prompt)?;
        let assignment = assign::bounded(assignment, worker, self.conductor.rules(), work.task, &self.live);
        let resume = taken_up.map(|taken_up| taken_up.session);
        let assignment = talk::driven(assignment, options, &self.at, task, work.attempt, worker, resume)?;
        let is_known = worker.setup.is_some();
        self.follow(slot, work);
        self.keepers.start(slot, Assignment { leftover, ..assignment });
        if is_known {
            self.live.insert(work, Used::default());
        }
        Ok(())
    }

    /// Gives what stands where an attempt is to write its result another name, and says which.
    fn put_result_aside(&self, work: Work) -> Result<Option<PathBuf>, Failure> {
        let id = &self.session.tasks[work.task.get()].id;
        let failed = |error| Failure::disk("put aside", self.at.result(id.as_str(), work.attempt))(error);
        let name = self.at.results.put_aside(id, work.attempt).map_err(failed)?;
        Ok(name.map(|name| self.at.agents().join(name)))
    }
}
