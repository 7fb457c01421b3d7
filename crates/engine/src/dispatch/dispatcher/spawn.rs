//! How a worker starts: with its prompt, its contract and the conversation that it takes up.

use team_executor_agents::{Assignment, Leftover};
use team_executor_core::TaskIndex;
use team_executor_core::run::{Run, Used, Work};

use super::desk::RealDesk;
use super::tell_problems;
use crate::conclude::artifacts::quarantine;
use crate::dispatch::crew::{Job, Travel};
use crate::options::Failure;
use crate::prepare::worker::Worker;
use crate::prepare::{assign, prompt, resident, slot_prompts, talk};

impl RealDesk<'_> {
    /// What the worker of an attempt in a slot is given.
    pub(super) fn prepared(&mut self, rules: &Run, work: Work, slot: usize) -> Result<Job, Failure> {
        let problems = self.views.starts(&mut self.session, rules, work.task);
        tell_problems(problems, self.tell);
        let before = self.residents.take(&self.session, rules, work.task);
        let options = self.options;
        let taken_up = resident::conversation(&self.workers, &self.at, &self.session, rules, work, &before);
        let leftover = taken_up.as_ref().map(|taken_up| taken_up.leftover).unwrap_or_default();
        let keeps = leftover != Leftover::Moves;
        let moved = self.checking.attempt_begins(&self.session, work, &before, keeps);
        tell_problems(moved, self.tell);
        let cwd = self.workspace.folder(&self.session, work);
        let paths = self.at.paths(&self.options.folder, &cwd);
        let known = (paths, &mut self.knowledge);
        let mut prompt = prompt::render(&self.session, rules, work.task, known, &before, keeps);
        prompt.push_str(&self.about_tree(work));
        let task = &self.session.tasks[work.task.get()];
        let worker = self.workers.chosen(rules, work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
        let assignment = assign::for_worker(
            self.options,
            &self.at,
            &cwd,
            task,
            worker,
            work.attempt,
            slot_prompts::path(&self.at.agents(), slot),
        )?;
        let assignment = assign::bounded(assignment, worker, rules, work.task, &self.live);
        let after = taken_up.as_ref().map(|taken_up| taken_up.last);
        let resume = taken_up.map(|taken_up| taken_up.session);
        let travel = self.workspace.isolation(work.task).is_none().then(|| self.travel(rules, work, worker, after));
        let assignment = talk::driven(assignment, options, &self.at, task, work.attempt, worker, resume)?;
        let (task, is_known) = (task.id.clone(), worker.setup.is_some());
        self.follow(rules, slot, work);
        if is_known {
            self.live.insert(work, Used::default());
        }
        let assignment = Assignment { leftover, ..assignment };
        Ok(Job { work, task, prompt: Some(prompt), assignment, travel })
    }

    /// What another machine must know to do it.
    fn travel(&self, rules: &Run, work: Work, worker: &Worker, after: Option<Work>) -> Travel {
        let task = &self.session.tasks[work.task.get()];
        let id = |task: TaskIndex| self.session.tasks[task.get()].id.as_str();
        let is_recorded = |name: &String| !worker.unrecorded.contains(name);
        let sources = prompt::sources(&self.session, rules, work.task);
        let delivered = sources.into_iter().filter_map(|source| self.at.delivered(id(source)));
        let left = (1..work.attempt).filter_map(|attempt| quarantine::find(&self.at.path, task.id.as_str(), attempt));
        let schema = worker.setup.as_ref().and_then(|_| self.at.schema().ok());
        let path = worker.command.first().cloned().unwrap_or_default();
        Travel {
            agent: worker.agent.clone(),
            role: task.role.as_str().to_owned(),
            program: [path, if worker.setup.is_some() { worker.typed.clone() } else { String::new() }],
            env: worker.env.iter().filter(|(name, _)| is_recorded(name)).cloned().collect(),
            pass_env: worker.pass_env.iter().chain(&worker.unrecorded).cloned().collect(),
            reads: std::iter::once(self.options.folder.clone()).chain(schema).chain(delivered).chain(left).collect(),
            after: after.map(|after| self.at.key(id(after.task), after.attempt)),
        }
    }
}
