//! The rows of a job: what their workers report is held against the job, and one of them can end it.

use team_executor_core::run::{Input, Outcome, Stage, Work};

use super::Dispatcher;
use crate::clock;
use crate::inbox::Message;
use crate::job::{self, ASKED_AGAIN};
use crate::notice::Notice;
use crate::options::Failure;

impl Dispatcher<'_> {
    /// What an attempt at a row came to; of other tasks nothing is demanded here.
    pub(super) fn of_row(&self, work: Work, outcome: Outcome, reported: Option<&str>) -> Outcome {
        let Some(job) = &self.job else { return outcome };
        if reported.is_some_and(job::stops) && outcome != Outcome::Interrupted {
            let reason = format!("{} ended the job", self.id(work.task));
            self.outbox.send(Message::Halt { reason }).ok();
        }
        let rounds = self.options.tasks.get(&work.task).and_then(|own| own.rounds).unwrap_or(self.options.rounds);
        let asked = self.rules().view(work.task).map_or(0, |view| view.rounds);
        job.judged(outcome, reported, asked < rounds.min(ASKED_AGAIN))
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
