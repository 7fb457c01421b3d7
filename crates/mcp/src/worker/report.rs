//! `report_result`: how the worker's own task ended. The first valid report wins.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use team_executor_app::bus::{OwnReport, Refusal};
use team_executor_core::{TaskStatus, Verdict};

use super::Worker;
use crate::tool::{Effect, tool};

/// The name of the tool.
pub(super) const REPORT_RESULT: &str = "report_result";

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[|| {
    let about = "Report how your task ended: completed with findings, or failed with an error. Call it once, as \
         your last action; the first valid report wins.";
    tool::<ReportResult>(REPORT_RESULT, about, Effect::Adds)
}];

/// How a task ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportResult {
    /// Your own task; may be left out
    task_id: Option<String>,
    /// How it ended
    status: Ended,
    /// What came out, in at most 500 characters; a completed task needs findings
    findings: Option<String>,
    /// Why it failed; a failed task needs an error
    error: Option<String>,
    /// 0 to 100, from reviewers and evaluators only
    #[schemars(range(min = 0, max = 100))]
    quality_score: Option<f64>,
    /// From the worker of a CHECKPOINT: whether the team may go on
    supervision_verdict: Option<Supervision>,
    /// Details: key_findings, decisions and files_modified are lists of texts; verification is self-validated,
    /// peer-reviewed or tested; wisdom has lists of texts in learnings, decisions and issues
    #[serde(default)]
    data: Map<String, Value>,
    /// If your task is a row of a table: the object that is its result
    result: Option<Map<String, Value>>,
    /// If your task is a row of a table: true if no more rows are to be begun
    #[serde(default)]
    stop: bool,
    /// Paths of what you deliver, if it is not in your folder for artifacts
    #[serde(default)]
    artifacts_produced: Vec<String>,
}

/// How a task can end.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Ended {
    Completed,
    Failed,
}

/// Whether the team may go on.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Supervision {
    Pass,
    Warn,
    Block,
}

impl From<Supervision> for Verdict {
    fn from(verdict: Supervision) -> Self {
        match verdict {
            Supervision::Pass => Self::Pass,
            Supervision::Warn => Self::Warn,
            Supervision::Block => Self::Block,
        }
    }
}

/// Writes the result of the worker's attempt.
pub(super) fn report_result(worker: &Worker, wanted: ReportResult) -> Result<Value, Refusal> {
    let (_, task) = worker.verified()?;
    worker.must_be_own(wanted.task_id.as_deref())?;
    let status = match wanted.status {
        Ended::Completed => TaskStatus::Completed,
        Ended::Failed => TaskStatus::Failed,
    };
    let data = (!wanted.data.is_empty()).then(|| Value::Object(wanted.data).to_string());
    let result = wanted.result.map(|result| Value::Object(result).to_string());
    let report = OwnReport {
        status,
        findings: wanted.findings.as_deref(),
        error: wanted.error.as_deref(),
        verdict: wanted.supervision_verdict.map(Into::into),
        quality_score: wanted.quality_score,
        data: data.as_deref(),
        result: result.as_deref(),
        stop: wanted.stop,
        artifacts: &wanted.artifacts_produced,
    };
    report.write_first(&worker.attempt, task)?;
    Ok(json!({"task_id": worker.attempt.task, "status": status.word()}))
}
