//! What an attempt of a known coding agent ends as. Its own events are heard first: its exit status alone says too little.

use std::io::BufReader;
use std::path::Path;

use rustix::io::Errno;
use serde_json::{Map, Value};
use team_executor_agents::adapters::{Class, Setup, Stream, Trouble};
use team_executor_agents::{Ended, Exit};
use team_executor_beneath::{io_error, is_system_failure, open_regular};
use team_executor_core::Timestamp;
use team_executor_core::run::{ErrorClass, Outcome};

use super::outcome::{Delivery, Found, conclude};
use super::report::WorkerReport;
use super::used::from_usage;
use super::{Attempt, Concluded, complaint, logs};
use crate::options::Failure;
use crate::patience::{Patient, patiently};
use crate::worker::Worker;

impl Attempt<'_> {
    /// Concludes an attempt of an agent that ended, with the result that was found.
    pub(super) fn by_events(
        &self,
        exit: &Exit,
        result: Option<Found>,
        (worker, setup): (&Worker, &Setup),
    ) -> Result<Concluded, Failure> {
        let (id, attempt) = (&self.task.id, self.work.attempt);
        let [out, err] = logs(&self.run.path, id.as_str(), attempt);
        let stream = heard(&out, setup, exit.ended_at)?;
        let used = from_usage(&stream.usage, setup, worker, Some(exit));
        let of_code = setup.adapter.trouble_of_code(&exit.ended).filter(|_| !stream.finished);
        let of_code = of_code.or_else(|| stream.silence(&exit.ended));
        let trouble = of_code.or_else(|| stream.trouble(&exit.ended, &complaint(&err), exit.ended_at));
        let by_itself = matches!(exit.ended, Ended::Exit(_) | Ended::Signal(_));
        // Beside a result that was written, only a report that is nothing else counts.
        let said = if result.is_some() { stream.plain_report() } else { stream.report() }.filter(|_| by_itself);
        let owes = || stream.denied_or_owing(said.as_ref(), exit.ended_at).filter(|_| by_itself && result.is_none());
        if let Some(trouble) = trouble.or_else(owes) {
            let report = result.and_then(Result::ok);
            return Ok(Concluded { outcome: failed(trouble, setup), report, used, problems: Vec::new() });
        }
        // Its events say that it is done: how its process ended does not matter any more.
        let ended = if said.is_some() { &Ended::Exit(0) } else { &exit.ended };
        let mut problems = Vec::new();
        let result = match (result, said.map(without_nulls)) {
            (result, None) => result,
            (None, Some(said)) => {
                problems.extend(self.run.results.keep(id, attempt, &said));
                Some(WorkerReport::parse(&said, id))
            }
            (Some(written), Some(said)) => {
                let said = WorkerReport::parse(&said, id);
                Some(said.map(|said| if let Ok(written) = written { said.or(written) } else { said }))
            }
        };
        let delivery = Delivery {
            last_line: Some(stream.text.trim()).filter(|text| !text.is_empty()),
            complaint: None,
            artifacts: exit.artifacts,
            must_report: true,
        };
        let outcome = conclude(ended, result.as_ref(), &delivery);
        let report = result.and_then(Result::ok);
        let shows_work = exit.artifacts > 0 || report.as_ref().is_some_and(WorkerReport::shows_work);
        let outcome = with_denials(outcome, &stream, shows_work, setup);
        if let (Outcome::Completed { .. }, Some(denied)) = (&outcome, stream.denied()) {
            problems.push(format!("{id}: {}", denied.words));
        }
        Ok(Concluded { outcome, report, used, problems })
    }
}

/// What a known coding agent said: all of it, unless the disk or the system fails.
pub(super) fn heard(log: &Path, setup: &Setup, ended_at: u64) -> Result<Stream, Failure> {
    let failed = |errno| Failure::disk("read", log)(io_error(errno));
    let open = || open_regular(log).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOENT));
    let file = match patiently(open) {
        Err(errno) if is_system_failure(errno) => return Err(failed(errno)),
        Err(_) => return Ok(Stream::default()),
        Ok(file) => file,
    };
    let mut failure = None;
    let reader = BufReader::with_capacity(1 << 16, Patient::new(file, &mut failure));
    let stream = setup.adapter.read(reader, ended_at);
    failure.map_or(Ok(stream), |errno| Err(failed(errno)))
}

/// An attempt that was not allowed to use a tool has done its task only if it went on without it, and shows work.
fn with_denials(outcome: Outcome, stream: &Stream, shows_work: bool, setup: &Setup) -> Outcome {
    let Some(mut denied) = stream.denied() else { return outcome };
    match outcome {
        Outcome::Completed { .. } if !stream.unanswered && shows_work => outcome,
        Outcome::Completed { .. } => failed(denied, setup),
        Outcome::Failed { error, .. } => {
            denied.words = format!("{error}; {}", denied.words);
            failed(denied, setup)
        }
        outcome => outcome,
    }
}

/// What the rules are told of trouble.
fn failed(trouble: Trouble, setup: &Setup) -> Outcome {
    let Trouble { class, words } = trouble;
    let time = |millis: u64| Timestamp::from_micros(i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1000));
    let (class, error) = match class {
        Class::Transient => (ErrorClass::Transient, words),
        Class::Quota { until } => (ErrorClass::Quota { until: until.map(time) }, words),
        Class::Unreachable => (ErrorClass::Unreachable, words),
        Class::Overspent => (ErrorClass::Budget, words),
        Class::Auth => (ErrorClass::Auth, format!("{words} ({})", setup.adapter.login())),
        Class::Credit => (ErrorClass::Auth, format!("{words} (add credit to the account of {})", setup.adapter.name())),
        Class::Fatal => (ErrorClass::Fatal, words),
    };
    Outcome::Failed { class, error }
}

/// The text of a report. Null says nothing, except in the result of a row.
fn without_nulls(report: Value) -> String {
    let kept = |(key, value): (String, Value)| match value {
        Value::Null => None,
        Value::Object(mut inner) if key != "result" => {
            inner.retain(|_, value| !value.is_null());
            Some((key, Value::Object(inner)))
        }
        value => Some((key, value)),
    };
    let Value::Object(report) = report else { return String::new() };
    Value::Object(report.into_iter().filter_map(kept).collect::<Map<_, _>>()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use team_executor_core::TaskId;

    use super::*;

    #[test]
    fn agent_report_counts_before_the_file_which_says_the_rest() {
        let said = json!({"status": "failed", "error": "e", "quality_score": null, "data": {"critique": null, "verdict": "reject"}});
        let said = without_nulls(said);
        let expected = json!({"status": "failed", "error": "e", "data": {"verdict": "reject"}});
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), expected);
        let parse = |text: &str| WorkerReport::parse(text, &TaskId::parse("A").unwrap()).unwrap();
        let file =
            r#"{"status": "completed", "findings": "f", "quality_score": 7, "data": {"wisdom": {"issues": "i"}}}"#;
        let both = parse(&said).or(parse(file));
        assert_eq!((both.completed(), both.findings()), (Err("e".to_owned()), "f"));
        assert!(both.has_score && both.shows_work() && both.wisdom().len() == 1);
    }
}
