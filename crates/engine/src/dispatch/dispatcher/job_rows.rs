//! The rows of a job: what their workers report is held against the job, and one of them can end it.

use team_executor_core::TaskIndex;
use team_executor_core::run::{Input, Outcome, Run, Stage, Work};

use super::Dispatcher;
use super::desk::RealDesk;
use crate::conclude::WorkerReport;
use crate::dispatch::crew::Crew;
use crate::dispatch::desk::Desk;
use crate::dispatch::inbox::Message;
use crate::options::Failure;
use crate::prepare::job::{ASKED_AGAIN, ResultSchema};

impl RealDesk<'_> {
    /// The job that a task is a row of, if it is, and whether its worker may be asked again.
    pub(super) fn row_demand(&self, rules: &Run, task: TaskIndex) -> Option<(&ResultSchema, bool)> {
        let job = self.job.as_ref()?;
        let rounds = rules.most_rounds(task);
        let asked = rules.view(task).map_or(0, |view| view.rounds);
        Some((job, asked < rounds.min(ASKED_AGAIN)))
    }

    /// Ends the job if the report of a row says so.
    pub(super) fn end_job(&self, work: Work, outcome: &Outcome, report: Option<&WorkerReport>) {
        if self.job.is_some() && *outcome != Outcome::Interrupted && report.is_some_and(WorkerReport::stops) {
            let reason = format!("{} ended the job", self.id(work.task));
            self.outbox.send(Message::Halt { reason }).ok();
        }
    }
}

impl<C: Crew, D: Desk> Dispatcher<'_, C, D> {
    /// Starts nothing more, and ends when those that run have. The next executor does the rest.
    pub(super) fn halt(&mut self, reason: String) -> Result<(), Failure> {
        if *self.rules().stage() != Stage::Going {
            return Ok(()); // another was faster
        }
        self.asked_to_stop = true;
        let now = self.desk.now();
        self.take(vec![Input::Pause { now, reason }, Input::Drain { now }])
    }
}
