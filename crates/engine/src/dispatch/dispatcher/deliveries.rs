//! The next step after a worker or check has ended: start a check in its slot, or give the outcome to the
//! rules.

use std::path::Path;

use rustix::io::Errno;
use team_executor_agents::{Ended, Exit, Lack, Obstacle};
use team_executor_core::TaskIndex;
use team_executor_core::run::{ErrorClass, Outcome, Run, Stage, Work};

use super::desk::RealDesk;
use super::tell_problems;
use crate::conclude::checking::{CheckScene, Checking};
use crate::conclude::{AttemptDemands, Concluded, Discovery, EndedAttempt, Reports, WorkerReport};
use crate::dispatch::crew::{Found, WorkerEnd};
use crate::dispatch::desk::Next;
use crate::options::Failure;
use crate::prepare::worker::Worker;
use crate::trees::Completed;

impl RealDesk<'_> {
    /// The worker of an attempt has ended, or the command that checks it; without a word if its keeper died.
    pub(super) fn goes_on(
        &mut self,
        rules: &Run,
        slot: usize,
        work: Work,
        WorkerEnd { exit, result }: WorkerEnd,
    ) -> Result<Next, Failure> {
        let exit = exit.as_ref();
        if self.tried(rules, slot, exit) {
            return Ok(Next::Wait);
        }
        if let Some(next) = self.has_set_up(rules, slot, exit)? {
            return Ok(next);
        }
        if self.checking.has(slot) {
            if let Some(Ended::CouldNotStart(Obstacle { reason, lack: Some(lack) })) = exit.map(|exit| &exit.ended) {
                self.tell_check_waits(rules, slot, reason, *lack);
            }
            let (checking, scene) = self.checks(rules);
            return Ok(checking.ran(&scene, slot, exit));
        }
        if let Some(aside) = exit.and_then(|exit| exit.aside.as_deref()) {
            self.tell_aside(work, "folder", aside);
        }
        if let Some(copied) = exit.and_then(|exit| exit.copied.as_deref()) {
            let (task, to) = (self.id(work.task), copied.strip_prefix(&self.at.path).unwrap_or(copied).display());
            tell_problems(vec![format!("{task}: rejected files are copied to {to}")], self.tell);
        }
        let outcome = match exit {
            Some(exit) => self.outcome(rules, work, exit, result)?,
            None => self.lost(rules, work, None, result)?,
        };
        let artifacts = exit.map_or(0, |exit| exit.artifacts);
        let is_durable = exit.is_some_and(|exit| exit.undurable.is_none());
        if matches!(outcome, Outcome::Completed { .. }) && self.workspace.isolation(work.task).is_some() {
            self.deliver(rules, slot, work, Completed::Worked { outcome, artifacts, is_durable });
            return Ok(Next::Wait);
        }
        let (checking, scene) = self.checks(rules);
        if checking.is_due(&scene, work, &outcome, artifacts) {
            return Ok(checking.begin(&scene, slot, work, outcome, is_durable));
        }
        Ok(Next::Over(outcome))
    }

    /// Something stood where an attempt was to deliver or to report, and was moved before it began.
    pub(super) fn tell_aside(&mut self, work: Work, what: &str, to: &Path) {
        let (task, to) = (self.id(work.task), to.strip_prefix(&self.at.path).unwrap_or(to).display());
        let told = format!("{task}: existing {what} moved to {to}");
        tell_problems(vec![told], self.tell);
    }

    /// What follows for an attempt, after the last word about it. What it did in a tree of its own joins the trunk first.
    pub(super) fn over(&mut self, rules: &Run, slot: usize, work: Option<Work>, next: Next) -> Next {
        let Next::Over(outcome) = next else { return next };
        if let (Some(work), Outcome::Completed { .. }) = (work, &outcome)
            && self.workspace.isolation(work.task).is_some_and(|trees| trees.result(work).is_some())
        {
            return self.queue(rules, slot, work, outcome);
        }
        Next::Over(self.unless_full(outcome))
    }

    /// What an attempt came to, with what its dialect demands.
    pub(super) fn outcome(
        &mut self,
        rules: &Run,
        work: Work,
        exit: &Exit,
        result: Option<Found>,
    ) -> Result<Outcome, Failure> {
        if let Ended::CouldNotStart(Obstacle { reason, lack: Some(lack) }) = &exit.ended {
            if *lack == Lack::Room {
                self.is_full = true;
            }
            self.live.remove(&work);
            let error = format!("could not start: {reason}");
            return Ok(Outcome::Failed { class: ErrorClass::Shortage, error });
        }
        if exit.undurable.as_ref().is_some_and(|obstacle| obstacle.lack == Some(Lack::Room)) {
            self.is_full = true;
        }
        let concluded = self.attempt(rules, work).by_exit(exit, result)?;
        let outcome = self.concluded(rules, work, concluded)?;
        Ok(self.unless_overspent(rules, work, outcome))
    }

    fn attempt(&self, rules: &Run, work: Work) -> EndedAttempt<'_> {
        let (task, worker) = (&self.session.tasks[work.task.get()], self.worker(rules, work.task));
        EndedAttempt { options: self.options, run: &self.at, task, work, worker }
    }

    /// The outcome of an attempt, with everything that is demanded of it. Its report is kept until its end is
    /// recorded.
    fn concluded(&mut self, rules: &Run, work: Work, concluded: Concluded) -> Result<Outcome, Failure> {
        let Concluded { outcome, report, used, problems } = concluded;
        self.count(rules, work, used);
        tell_problems(problems, self.tell);
        let task = &self.session.tasks[work.task.get()];
        let gap = report.as_ref().and_then(WorkerReport::gap);
        tell_problems(self.gaps.news(task.id.as_str(), gap, &self.session), self.tell);
        let unread = |errno: Errno| Failure::disk("read the discoveries in", &self.options.folder)(errno.into());
        let discoveries = self.views.discoveries().filter(|_| outcome != Outcome::Interrupted);
        let discovery = Discovery::read(discoveries, &task.id).map_err(unread)?;
        let reports = Reports { result: report, discovery };
        let (index, graph, job) = (work.task, rules.graph(), self.row_demand(rules, work.task));
        let mut problems = Vec::new();
        let is_command = self.worker(rules, work.task).is_some_and(|worker| worker.setup.is_none());
        let outcome = reports.conclude(outcome, &AttemptDemands { task, index, graph, is_command, job }, &mut problems);
        tell_problems(problems, self.tell);
        self.end_job(work, &outcome, reports.first());
        self.reports.insert(work, reports.known());
        Ok(outcome)
    }

    /// Who does the last attempt at a task.
    pub(super) fn worker(&self, rules: &Run, task: TaskIndex) -> Option<&Worker> {
        self.workers.chosen(rules, task)
    }

    /// A worker was lost, but not its usage and its report.
    pub(super) fn lost(
        &mut self,
        rules: &Run,
        work: Work,
        exit: Option<&Exit>,
        result: Option<Found>,
    ) -> Result<Outcome, Failure> {
        let concluded = self.attempt(rules, work).lost(exit, result);
        self.concluded(rules, work, concluded)
    }

    /// What attempts are about.
    pub(super) fn scene(&self, rules: &Run) -> CheckScene<'_> {
        let Self { options, workers, at, session, workspace, reports, .. } = self;
        CheckScene { options, workers, run: at, session, workspace, reports, is_stopping: self.is_stopping(rules) }
    }

    /// The same, and what judges attempts.
    pub(super) fn checks(&mut self, rules: &Run) -> (&mut Checking, CheckScene<'_>) {
        let is_stopping = self.is_stopping(rules);
        let Self { checking, options, workers, at, session, workspace, reports, .. } = self;
        (checking, CheckScene { options, workers, run: at, session, workspace, reports, is_stopping })
    }

    pub(super) fn is_stopping(&self, rules: &Run) -> bool {
        *rules.stage() == Stage::Stopping
    }
}
