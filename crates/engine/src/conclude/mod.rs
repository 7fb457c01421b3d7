//! The end of an attempt, from the exit of its worker to the outcome that the rules are told.
//!
//! Reading order: `results` (the folder, and how one is read), `report` (what one says, or why it is none), `outcome`
//! (what the attempt ends as), `agent` (what a known coding agent says besides), `demands` (what a completed attempt must have),
//! `review` (what it says of others), `gaps` (what no role can do), `take_over` (what is kept of a report when the end is durable).

mod agent;
pub mod artifacts;
pub(crate) mod checking;
mod demands;
mod gaps;
mod outcome;
pub(crate) mod patience;
mod report;
mod results;
mod review;
mod take_over;
#[cfg(test)]
mod tests;
pub(crate) mod wisdom;

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use team_executor_agents::{Ended, Exit, plain};
use team_executor_beneath::open_regular;
use team_executor_core::Task;
use team_executor_core::run::{Outcome, Used, Work};
use team_executor_files::findings_text::cut_to;

pub(crate) use self::agent::from_usage;
pub(crate) use self::demands::{AttemptDemands, Discovery, Known, Reports};
pub(crate) use self::gaps::Gaps;
pub(crate) use self::outcome::Found;
pub(crate) use self::outcome::{Delivery, conclude};
pub(crate) use self::report::WorkerReport;
pub(crate) use self::report::{REPORTED_BY, RESULT_BYTES};
pub(crate) use self::results::{RESULT, Results};
pub(crate) use self::review::{is_supervised, only_reviews, with_checkpoints};
pub(crate) use self::take_over::TakeOver;
use crate::begin::run_at::{RunAt, logs};
use crate::options::{Failure, Options};
use crate::prepare::worker::Worker;

/// How much of what an agent complains about is looked at.
const COMPLAINT_BYTES: u64 = 4096;

/// How many characters of it the error of a command shows.
const SHOWN: usize = 200;

/// How many lines of it that are at most.
const LINES: usize = 3;

/// What an attempt ends as, before its dialect and its role demand more.
pub(crate) struct Concluded {
    pub(crate) outcome: Outcome,
    /// What counts as its report.
    pub(crate) report: Option<WorkerReport>,
    /// What it used, as far as that is known.
    pub(crate) used: Option<Box<Used>>,
    /// What could not be written down.
    pub(crate) problems: Vec<String>,
}

/// An attempt whose worker is gone.
#[derive(Clone, Copy)]
pub(crate) struct EndedAttempt<'a> {
    pub(crate) options: &'a Options,
    pub(crate) run: &'a RunAt,
    pub(crate) task: &'a Task,
    pub(crate) work: Work,
    pub(crate) worker: Option<&'a Worker>,
}

impl EndedAttempt<'_> {
    /// Concludes an attempt whose worker ended so and handed this in. To conclude it again after a crash changes nothing.
    pub(crate) fn by_exit(&self, exit: &Exit, result: Option<Found>) -> Result<Concluded, Failure> {
        if !matches!(exit.ended, Ended::Stopped | Ended::Interrupted) {
            return self.by_itself(exit, result);
        }
        if exit.well {
            // Without a result, code 0 may only mean that it heard the signal. The events of a known agent say whether it was done.
            let exit = Exit { ended: Ended::Exit(0), ..exit.clone() };
            let finished = self.by_itself(&exit, result.clone())?;
            let has_reported = finished.report.is_some() || self.worker.is_some_and(|worker| worker.setup.is_some());
            if has_reported && matches!(finished.outcome, Outcome::Completed { .. }) {
                return Ok(finished);
            }
        }
        Ok(self.by_report(result, Some(exit)))
    }

    /// Concludes an attempt whose worker was lost.
    pub(crate) fn lost(&self, exit: Option<&Exit>, result: Option<Found>) -> Concluded {
        self.by_report(result, exit)
    }

    /// Concludes an attempt that was ended from outside. It is interrupted, unless it had reported by a tool or a command of
    /// ours: a file that the worker wrote itself may only be on its way.
    fn by_report(&self, result: Option<Found>, exit: Option<&Exit>) -> Concluded {
        let key = || self.run.key(self.task.id.as_str(), self.work.attempt);
        let report = result.and_then(Result::ok).filter(|report| report.reported_by == Some(key()));
        let used = self.used_when_lost(exit, report.as_ref());
        let Some(report) = report else {
            return Concluded { outcome: Outcome::Interrupted, report: None, used, problems: Vec::new() };
        };
        let report = Ok(report);
        let outcome = conclude(&Ended::Exit(0), Some(&report), &Delivery::default());
        Concluded { outcome, report: report.ok(), used, problems: Vec::new() }
    }

    /// Concludes an attempt whose worker ended by itself, or took too long, or never ran.
    fn by_itself(&self, exit: &Exit, result: Option<Found>) -> Result<Concluded, Failure> {
        let (id, attempt) = (&self.task.id, self.work.attempt);
        let undurable = result.as_ref().and_then(|_| self.run.results.make_durable(id, attempt));
        if let Some((worker, setup)) = self.worker.and_then(|worker| Some((worker, worker.setup.as_ref()?))) {
            let mut concluded = self.by_events(exit, result, (worker, setup))?;
            concluded.problems.extend(undurable);
            return Ok(concluded);
        }
        let [_, errors] = logs(&self.run.path, id.as_str(), attempt);
        let complaint = if exit.ended == Ended::Exit(0) { String::new() } else { complaint(&errors) };
        let complaint = cut_to(&complaint, SHOWN);
        let delivery = Delivery {
            last_line: exit.last_line.as_deref(),
            complaint: Some(&*complaint).filter(|complaint| !complaint.is_empty()),
            artifacts: exit.artifacts,
            must_report: false,
        };
        let outcome = conclude(&exit.ended, result.as_ref(), &delivery);
        let report = result.and_then(Result::ok);
        let used =
            self.worker.and_then(|worker| agent::said_or_timed(self.options, worker, Some(exit), report.as_ref()));
        Ok(Concluded { outcome, report, used, problems: undurable.into_iter().collect() })
    }
}

/// The last lines that an agent printed as errors, as many as are shown.
fn complaint(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = open_regular(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(COMPLAINT_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(COMPLAINT_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    last_lines(&String::from_utf8_lossy(&read().unwrap_or_default()))
}

/// The last lines of a text, in their order. Where the last one is long it is the only one.
fn last_lines(text: &str) -> String {
    let lines = text.lines().rev().map(|line| plain(line).trim().to_owned()).filter(|line| !line.is_empty());
    let mut shown = String::new();
    for line in lines.take(LINES) {
        if shown.is_empty() {
            shown = line;
        } else if shown.chars().count() + line.chars().count() + 2 <= SHOWN {
            shown = format!("{line}; {shown}");
        } else {
            break;
        }
    }
    shown
}
