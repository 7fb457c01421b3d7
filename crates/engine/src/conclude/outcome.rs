//! Decides the outcome of an attempt from three things that are examined apart: how its worker ended, what it
//! reported, and what it delivered. Nothing is read here.

use team_executor_agents::{Ended, Limit};
use team_executor_core::run::{ErrorClass, Outcome};

use super::report::{Refused, WorkerReport};

/// A result that was found, or why it is none.
pub(crate) type Found = Result<WorkerReport, Refused>;

/// The facts about an attempt besides its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Delivery<'a> {
    /// The last line of its output that is not empty.
    pub(crate) last_line: Option<&'a str>,
    /// The last line of its errors that is not empty. It says why where the exit status decides.
    pub(crate) complaint: Option<&'a str>,
    /// How many artifacts there are.
    pub(crate) artifacts: usize,
    /// To end well without a result, an output or an artifact is not to have done the task.
    pub(crate) must_report: bool,
}

/// What an attempt ends as. A result is believed when it says failed, and doubted when the exit status does.
pub(crate) fn conclude(ended: &Ended, result: Option<&Found>, delivery: &Delivery<'_>) -> Outcome {
    if matches!(ended, Ended::Interrupted | Ended::Stopped) {
        return Outcome::Interrupted;
    }
    let reported = result.map(|result| match result {
        Ok(report) => report.completed().map(|()| &report.findings),
        Err(refused) => Err(refused.sentence()),
    });
    let did_nothing = delivery.must_report && delivery.last_line.is_none() && delivery.artifacts == 0;
    let error = match (exit_error(ended, delivery.complaint), reported) {
        (Some(exit), Some(Err(reported))) => format!("{reported} ({exit})"),
        (Some(exit), Some(Ok(_))) => format!("{exit}, though it reported completed"),
        (Some(exit), None) => exit,
        (None, Some(Err(reported))) => reported,
        (None, None) if did_nothing => "did nothing: no result, no output and no artifact".to_owned(),
        (None, None) => return Outcome::completed(Some(delivery.last_line.unwrap_or_default().to_owned())),
        (None, Some(Ok(findings))) => return Outcome::completed(Some(findings.clone())),
    };
    match ended {
        Ended::Limit(_) => Outcome::TimedOut { error },
        Ended::CouldNotStart(_) => Outcome::CouldNotStart { error },
        _ => Outcome::Failed { class: ErrorClass::Transient, error },
    }
}

/// Why a worker did not end well; nothing if it did.
fn exit_error(ended: &Ended, complaint: Option<&str>) -> Option<String> {
    let why = complaint.map(|why| format!(": {why}")).unwrap_or_default();
    Some(match ended {
        Ended::Exit(0) | Ended::Interrupted | Ended::Stopped => return None,
        Ended::Exit(code) => format!("exit code {code}{why}"),
        Ended::Signal(signal) => format!("ended by signal {signal}{why}"),
        Ended::Limit(Limit::FirstOutput) => "timed out: no output at all".to_owned(),
        Ended::Limit(Limit::Idle) => "timed out: no more output".to_owned(),
        Ended::Limit(Limit::Total) => "timed out".to_owned(),
        Ended::CouldNotStart(obstacle) => format!("could not start: {}", obstacle.reason),
    })
}
