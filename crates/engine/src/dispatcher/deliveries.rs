//! What becomes of an attempt whose worker or check has ended: judged, started in its slot, or told to the rules.

use std::path::Path;

use rustix::io::Errno;
use team_executor_agents::{Ended, Exit, Lack, Obstacle};
use team_executor_core::TaskIndex;
use team_executor_core::run::{Ending, ErrorClass, Input, Outcome, Stage, Work, WorkEnded};

use super::{Dispatcher, tell_problems};
use crate::artifacts::Looked;
use crate::checking::{Checking, Next, Scene};
use crate::clock;
use crate::conclude::{Attempt, Concluded, Demands, Discovery, Reports, WorkerReport};
use crate::options::Failure;
use crate::worker::Worker;

impl Dispatcher<'_> {
    /// What runs in a slot has ended; without a word if its keeper died.
    pub(super) fn ended(&mut self, slot: usize, exit: Option<&Exit>) -> Result<Option<Input>, Failure> {
        if self.checking.has(slot) {
            if let Some(Ended::CouldNotStart(Obstacle { reason, lack: Some(lack) })) = exit.map(|exit| &exit.ended) {
                self.tell_check_waits(slot, reason, *lack);
            }
            let (checking, scene) = self.checks();
            let next = checking.ran(&scene, slot, exit);
            return self.judged(slot, next);
        }
        let Some(work) = self.slots.get(&slot).copied() else { return Ok(None) };
        if let Some(aside) = exit.and_then(|exit| exit.aside.as_deref()) {
            self.tell_aside(work, "folder", aside);
        }
        if let Some(copied) = exit.and_then(|exit| exit.copied.as_deref()) {
            let (task, to) = (self.id(work.task), copied.strip_prefix(&self.at.path).unwrap_or(copied).display());
            tell_problems(vec![format!("{task}: rejected files are copied to {to}")], self.tell);
        }
        let outcome = match exit {
            Some(exit) => self.outcome(work, exit)?,
            None => self.lost(work, None)?,
        };
        let (checking, scene) = self.checks();
        if checking.is_due(&scene, work, &outcome, exit.map_or(0, |exit| exit.artifacts)) {
            let is_durable = exit.is_some_and(|exit| exit.undurable.is_none());
            let next = checking.begin(&scene, slot, work, outcome, is_durable);
            return self.judged(slot, next);
        }
        self.judged(slot, Next::Over(outcome))
    }

    /// Something stood where an attempt was to deliver or to report, and was moved before it began.
    pub(super) fn tell_aside(&mut self, work: Work, what: &str, to: &Path) {
        let (task, to) = (self.id(work.task), to.strip_prefix(&self.at.path).unwrap_or(to).display());
        let told = format!("{task}: what stood in the place of its {what} before it began was moved to {to}");
        tell_problems(vec![told], self.tell);
    }

    /// The checker has looked at what the attempt in a slot delivered.
    pub(super) fn looked(&mut self, slot: usize, looked: Looked) -> Result<Option<Input>, Failure> {
        let (checking, scene) = self.checks();
        let mut problems = Vec::new();
        let next = checking.looked(&scene, slot, looked, &mut problems);
        tell_problems(problems, self.tell);
        self.judged(slot, next)
    }

    /// Tries commands again for which the system had no means; says which attempts are over.
    pub(super) fn try_checks_again(&mut self) -> Result<Vec<Input>, Failure> {
        let (checking, scene) = self.checks();
        let all = checking.try_again(&scene);
        all.into_iter().filter_map(|(slot, next)| self.judged(slot, next).transpose()).collect()
    }

    /// Goes on with an attempt; an input when it is over.
    fn judged(&mut self, slot: usize, next: Next) -> Result<Option<Input>, Failure> {
        match next {
            Next::Wait => {}
            Next::Run(assignment) => self.keepers.start(slot, *assignment),
            Next::Over(outcome) => {
                let outcome = self.unless_full(outcome);
                let work = self.slots.remove(&slot);
                return Ok(work.map(|work| Input::Ended { now: clock::now(), ended: WorkEnded { work, outcome } }));
            }
            Next::Leave => drop(self.slots.remove(&slot)),
            Next::Fail(reason) => {
                let path = self.at.path.clone();
                return Err(Failure::Disk { action: "check what was delivered in", path, reason });
            }
        }
        Ok(None)
    }

    /// Ends when nothing is left but attempts that were not judged to their end: the rules wait for them, and the next
    /// incarnation judges them. Or this one does, if it is to go on.
    pub(super) fn end_or_judge(&mut self) {
        if self.is_stopping() {
            self.checking.give_up();
        }
        if !self.checking.has_left() {
            return;
        }
        if !self.is_stopping() {
            let (checking, scene) = self.checks();
            let begun = checking.again(&scene);
            self.slots.extend(begun);
        } else if self.slots.is_empty() {
            self.ending = Some(Ending::Stopped);
        }
    }

    /// What an attempt came to, with what its dialect demands.
    pub(super) fn outcome(&mut self, work: Work, exit: &Exit) -> Result<Outcome, Failure> {
        if let Ended::CouldNotStart(Obstacle { reason, lack: Some(lack) }) = &exit.ended {
            if *lack == Lack::Room {
                self.conductor.disk_is_full();
            }
            let error = format!("could not start: {reason}");
            return Ok(Outcome::Failed { class: ErrorClass::Shortage, error });
        }
        if exit.undurable.as_ref().is_some_and(|obstacle| obstacle.lack == Some(Lack::Room)) {
            self.conductor.disk_is_full();
        }
        let concluded = self.attempt(work).by_exit(exit)?;
        let outcome = self.concluded(work, concluded)?;
        Ok(self.unless_overspent(work, outcome))
    }

    fn attempt(&self, work: Work) -> Attempt<'_> {
        let (task, worker) = (&self.session.tasks[work.task.get()], self.worker(work.task));
        Attempt { options: self.options, run: &self.at, task, work, worker }
    }

    /// The outcome of an attempt, with everything that is demanded of it. What it reported is kept until its end is told.
    fn concluded(&mut self, work: Work, concluded: Concluded) -> Result<Outcome, Failure> {
        let Concluded { outcome, report, used, problems } = concluded;
        self.count(work, used);
        tell_problems(problems, self.tell);
        let task = &self.session.tasks[work.task.get()];
        let gap = report.as_ref().and_then(WorkerReport::gap);
        tell_problems(self.gaps.news(task.id.as_str(), gap, &self.session), self.tell);
        let unread = |errno: Errno| Failure::disk("read the discoveries in", &self.options.folder)(errno.into());
        let discoveries = self.views.discoveries().filter(|_| outcome != Outcome::Interrupted);
        let discovery = Discovery::read(discoveries, &task.id).map_err(unread)?;
        let reports = Reports { result: report, discovery };
        let (index, graph, job) = (work.task, self.rules().graph(), self.row_demand(work.task));
        let mut problems = Vec::new();
        let outcome = reports.conclude(outcome, &Demands { task, index, graph, job }, &mut problems);
        tell_problems(problems, self.tell);
        self.end_job(work, &outcome, reports.first());
        self.reports.insert(work, reports.known());
        Ok(outcome)
    }

    /// Who does the last attempt at a task.
    pub(super) fn worker(&self, task: TaskIndex) -> Option<&Worker> {
        self.options.workers.chosen(self.rules(), task)
    }

    /// A worker was lost; what it used is not, nor what it had reported.
    pub(super) fn lost(&mut self, work: Work, exit: Option<&Exit>) -> Result<Outcome, Failure> {
        let concluded = self.attempt(work).lost(exit)?;
        self.concluded(work, concluded)
    }

    /// What attempts are about.
    pub(super) fn scene(&self) -> Scene<'_> {
        let Self { options, at, session, cwd, reports, .. } = self;
        Scene { options, run: at, session, cwd, reports, is_stopping: self.is_stopping() }
    }

    /// The same, and what judges attempts.
    pub(super) fn checks(&mut self) -> (&mut Checking, Scene<'_>) {
        let is_stopping = self.is_stopping();
        let Self { checking, options, at, session, cwd, reports, .. } = self;
        (checking, Scene { options, run: at, session, cwd, reports, is_stopping })
    }

    fn is_stopping(&self) -> bool {
        *self.rules().stage() == Stage::Stopping
    }
}
