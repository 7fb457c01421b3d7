//! How a worker starts: with its prompt, its contract and the conversation that it takes up.

use std::path::PathBuf;

use team_executor_agents::{Assignment, Leftover};
use team_executor_core::run::{Run, Used, Work};

use super::desk::RealDesk;
use super::tell_problems;
use crate::crew::Job;
use crate::inbox::Message;
use crate::options::Failure;
use crate::workspace::Workspace as _;
use crate::{assign, prompt, resident, talk};

impl RealDesk<'_> {
    /// What the worker of an attempt in a slot is given; nothing if it cannot start now.
    pub(super) fn prepared(&mut self, rules: &Run, work: Work, slot: usize) -> Result<Option<Job>, Failure> {
        let problems = self.views.starts(&mut self.session, rules, work.task);
        tell_problems(problems, self.tell);
        let before = self.residents.take(&self.session, rules, work.task);
        let options = self.options;
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
            rules,
            work.task,
            (&self.options.folder, &mut self.knowledge),
            Some(&self.at.path),
            &before,
            keeps,
        );
        let prompt = aside.and_then(|_| {
            self.prompts.write(slot, &text).map_err(Failure::disk("write a prompt in", self.at.agents()))
        });
        let prompt = match prompt {
            // Nothing runs yet: it is as if the worker had not started, and is tried again later.
            Err(failure @ (Failure::Shortage(_) | Failure::NoRoom(_))) => {
                if matches!(failure, Failure::NoRoom(_)) {
                    self.is_full = true;
                }
                let error = failure.to_string();
                self.outbox.send(Message::NotStarted { slot, error }).ok();
                return Ok(None);
            }
            prompt => prompt?,
        };
        let task = &self.session.tasks[work.task.get()];
        let cwd = self.workspace.enter(work)?;
        let worker = options.workers.chosen(rules, work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
        let assignment = assign::of(self.options, &self.at, cwd, task, worker, work.attempt, prompt)?;
        let assignment = assign::bounded(assignment, worker, rules, work.task, &self.live);
        let resume = taken_up.map(|taken_up| taken_up.session);
        let assignment = talk::driven(assignment, options, &self.at, task, work.attempt, worker, resume)?;
        let is_known = worker.setup.is_some();
        self.follow(rules, slot, work);
        if is_known {
            self.live.insert(work, Used::default());
        }
        Ok(Some(Job { work, assignment: Assignment { leftover, ..assignment } }))
    }

    /// Gives what stands where an attempt is to write its result another name, and says which.
    fn put_result_aside(&self, work: Work) -> Result<Option<PathBuf>, Failure> {
        let id = &self.session.tasks[work.task.get()].id;
        let failed = |error| Failure::disk("put aside", self.at.result(id.as_str(), work.attempt))(error);
        let name = self.at.results.put_aside(id, work.attempt).map_err(failed)?;
        Ok(name.map(|name| self.at.agents().join(name)))
    }
}
