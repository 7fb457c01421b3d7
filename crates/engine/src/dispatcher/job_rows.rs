//! The rows of a job: what their workers report is held against the job, and one of them can end it.

use team_executor_core::TaskIndex;
use team_executor_core::run::{Input, Outcome, Stage, Work};

use super::Dispatcher;
use crate::clock;
use crate::conclude::WorkerReport;
use crate::inbox::Message;
use crate::job::{ASKED_AGAIN, Job};
use crate::notice::Notice;
use crate::options::Failure;

impl Dispatcher<'_> {
    /// The job that a task is a row of, if it is, and whether its worker may be asked again.
    pub(super) fn row_demand(&self, task: TaskIndex) -> Option<(&Job, bool)> {
        let job = self.job.as_ref()?;
        let rounds = self.options.tasks.get(&task).and_then(|own| own.rounds).unwrap_or(self.options.rounds);
        let asked = self.rules().view(task).map_or(0, |view| view.rounds);
        Some((job, asked < rounds.min(ASKED_AGAIN)))
    }

    /// Ends the job if the report of a row says so.
    pub(super) fn end_job(&self, work: Work, outcome: &Outcome, report: Option<&WorkerReport>) {
        if self.job.is_some() && *outcome != Outcome::Interrupted && report.is_some_and(WorkerReport::stops) {
            let reason = format!("{} ended the job", self.id(work.task));
            self.outbox.send(Message::Halt { reason }).ok();
        }
    }

    /// Starts nothing more, and ends when those that run have. What is left stays to be done by whoever goes on.
    pub(super) fn halt(&mut self, reason: String) -> Result<(), Failure> {
        if *self.rules().stage() != Stage::Going {
            return Ok(()); // somebody was faster
        }
        self.asked_to_stop = true;
        (self.tell)(Notice::Paused { reason: reason.clone() });
        let now = clock::now();
        self.take(vec![Input::Pause { now, reason }, Input::Drain { now }])
    }
}
