//! Demands on a completed attempt besides a good end: in one dialect a discovery, of a row its result, of a
//! supervisor a verdict. Both places where a worker may report are read here once.

use std::collections::BTreeMap;

use rustix::io::Errno;
use team_executor_beneath::is_system_failure;
use team_executor_core::run::{ErrorClass, Outcome, Work};
use team_executor_core::{Graph, Task, TaskId, TaskIndex, TaskStatus};
use team_executor_files::discovery::FOLDER;
use team_executor_files::findings_text::cut;
use team_executor_store::run_folder::component;
use team_executor_store::{Disk, Kind};

use super::WorkerReport;
use super::review::{review, unknown_verdict};
use crate::conclude::patience::patiently;
use crate::prepare::job::ResultSchema;

/// The reports of attempts until their ends are told; they are not read again.
pub(crate) type Known = BTreeMap<Work, Option<Box<Reports>>>;

/// Everything that an attempt reported.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Its result.
    pub(crate) result: Option<WorkerReport>,
    /// Its discovery.
    pub(crate) discovery: Discovery,
}

/// The discovery of an attempt.
#[derive(Debug, Default)]
pub(crate) enum Discovery {
    /// The dialect has none.
    #[default]
    NotDemanded,
    Missing,
    Refused,
    Report(Box<WorkerReport>),
}

/// What is demanded of an attempt.
pub(crate) struct AttemptDemands<'a> {
    pub(crate) task: &'a Task,
    pub(crate) index: TaskIndex,
    pub(crate) graph: &'a Graph,
    /// Whether its worker is a plain command: without a result its exit decides.
    pub(crate) is_command: bool,
    /// The job that the task is a row of, and whether its worker may be asked again.
    pub(crate) job: Option<(&'a ResultSchema, bool)>,
}

impl Discovery {
    /// Reads that of a task; fails only if the disk or the system does.
    pub(crate) fn read<D: Disk>(disk: Option<&D>, task: &TaskId) -> Result<Self, Errno> {
        let Some(disk) = disk else { return Ok(Self::NotDemanded) };
        let name = file_name(task);
        match patiently(|| disk.read(&name)) {
            Err(errno) if is_system_failure(errno) => Err(errno),
            Err(_) if disk.kind(&name) == Ok(Kind::Missing) => Ok(Self::Missing),
            Err(_) => Ok(Self::Refused),
            Ok(bytes) => {
                let report = WorkerReport::from_bytes(bytes, task).ok().filter(|report| report.discovery.is_some());
                Ok(report.map_or(Self::Refused, |report| Self::Report(Box::new(report))))
            }
        }
    }

    /// What it says, if it can be read.
    pub(crate) fn report(&self) -> Option<&WorkerReport> {
        if let Self::Report(report) = self { Some(report) } else { None }
    }

    /// The findings of a completed attempt, or why it has failed: to say nothing at all is to have failed.
    fn demanded(&self, task: &TaskId, findings: Option<String>) -> Result<Option<String>, String> {
        if matches!(self, Self::NotDemanded) {
            return Ok(findings);
        }
        let findings = findings.filter(|findings| !findings.trim().is_empty());
        let file = || format!("{FOLDER}/{}", file_name(task));
        match self {
            Self::Missing if findings.is_none() => Err("No discovery file produced".to_owned()),
            Self::NotDemanded | Self::Missing => Ok(findings),
            Self::Refused => Err(format!("its discovery {} cannot be read", file())),
            Self::Report(report) => {
                let Some(found) = &report.discovery else { return Ok(findings) };
                if found.status == Some(TaskStatus::Failed) {
                    let error = found.error.clone();
                    return Err(error.unwrap_or_else(|| format!("its discovery {} says that it failed", file())));
                }
                let theirs = [found.findings.clone(), found.key_findings.join("; ")];
                Ok(findings.or_else(|| theirs.into_iter().find(|text| !text.is_empty())))
            }
        }
    }
}

impl Reports {
    /// The report that counts.
    pub(crate) fn first(&self) -> Option<&WorkerReport> {
        self.result.as_ref().or_else(|| self.discovery.report())
    }

    /// Paths of what was delivered.
    pub(crate) fn artifacts(&self) -> Vec<String> {
        self.result.iter().chain(self.discovery.report()).flat_map(WorkerReport::artifacts).cloned().collect()
    }

    /// As it is kept until the end of the attempt is told: nothing where nothing was reported.
    pub(crate) fn known(self) -> Option<Box<Self>> {
        let is_empty = self.result.is_none() && matches!(self.discovery, Discovery::NotDemanded | Discovery::Missing);
        (!is_empty).then(|| Box::new(self))
    }

    /// What an attempt ends as when everything is there that is demanded, or else fails with. Also tells about unknown
    /// words.
    pub(crate) fn conclude(&self, outcome: Outcome, demands: &AttemptDemands<'_>, told: &mut Vec<String>) -> Outcome {
        let Outcome::Completed { findings, .. } = outcome else { return outcome };
        let failed = |class: ErrorClass, error: String| Outcome::Failed { class, error };
        let id = &demands.task.id;
        let findings = match self.discovery.demanded(id, findings) {
            Ok(findings) => findings,
            Err(error) => return failed(ErrorClass::Transient, error),
        };
        let report = self.first();
        told.extend(report.and_then(unknown_verdict).map(|unknown| format!("{id}: {unknown}")));
        let findings = match demands.job.map(|(job, may_ask_again)| (job.accept(report), may_ask_again)) {
            None => findings,
            // People see the result of a row whose worker has no other words for it.
            Some((Ok(row), _)) => {
                findings.filter(|findings| !findings.is_empty()).or_else(|| Some(cut(&row).into_owned()))
            }
            Some((Err(error), true)) => return failed(ErrorClass::Rejected, error),
            Some((Err(error), false)) => return failed(ErrorClass::Fatal, error),
        };
        match review(report, demands) {
            Ok(review) => Outcome::Completed { findings, review: review.map(Box::new) },
            // A command does the same again; an agent is told the reason.
            Err(error) if demands.is_command => failed(ErrorClass::Fatal, error),
            Err(error) => failed(ErrorClass::Transient, error),
        }
    }
}

pub(super) fn file_name(task: &TaskId) -> String {
    format!("{}.json", component(task.as_str()))
}
