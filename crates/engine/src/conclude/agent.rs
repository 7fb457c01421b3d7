//! What an attempt of a known coding agent ends as, and what it used. Its own events are heard first: its exit status alone
//! says too little.

use std::io::BufReader;
use std::path::Path;

use rustix::io::Errno;
use serde_json::{Map, Value};
use team_executor_agents::adapters::{Class, Setup, Stream, Trouble, Usage};
use team_executor_agents::{Ended, Exit};
use team_executor_beneath::{io_error, is_system_failure, open_regular};
use team_executor_core::Timestamp;
use team_executor_core::run::{ErrorClass, Outcome, Used};

use super::outcome::{Delivery, Found, conclude};
use super::report::{ReportedUsage, WorkerReport};
use super::{Concluded, EndedAttempt, complaint, logs};
use crate::conclude::patience::{Patient, patiently};
use crate::options::{Failure, Options};
use crate::prepare::worker::Worker;

impl EndedAttempt<'_> {
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
        let reported = if result.is_some() { stream.plain_report() } else { stream.report() }.filter(|_| by_itself);
        let owes =
            || stream.denied_or_owing(reported.as_ref(), exit.ended_at).filter(|_| by_itself && result.is_none());
        if let Some(trouble) = trouble.or_else(owes) {
            let report = result.and_then(Result::ok);
            return Ok(Concluded { outcome: failed(trouble, setup), report, used, problems: Vec::new() });
        }
        // Its events say that it is done: how its process ended does not matter any more.
        let ended = if reported.is_some() { &Ended::Exit(0) } else { &exit.ended };
        let mut problems = Vec::new();
        let result = match (result, reported.map(without_nulls)) {
            (result, None) => result,
            (None, Some(reported)) => {
                problems.extend(self.run.results.keep(id, attempt, &reported));
                Some(WorkerReport::parse(&reported, id))
            }
            (Some(Ok(written)), Some(reported)) => Some(written.with(&reported, id)),
            (Some(Err(_)), Some(reported)) => Some(WorkerReport::parse(&reported, id)),
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

    /// The use of an attempt whose worker was lost, as far as its agent had reported it.
    pub(super) fn used_when_lost(&self, exit: Option<&Exit>, report: Option<&WorkerReport>) -> Option<Box<Used>> {
        let worker = self.worker?;
        let Some(setup) = &worker.setup else { return said_or_timed(self.options, worker, exit, report) };
        let [out, _] = logs(&self.run.path, self.task.id.as_str(), self.work.attempt);
        // Unreadable parts count as unused.
        let heard = heard(&out, setup, exit.map_or(0, |exit| exit.ended_at)).unwrap_or_default();
        from_usage(&heard.usage, setup, worker, exit)
    }
}

/// The events of a known coding agent: all of them, unless the disk or the system fails.
fn heard(log: &Path, setup: &Setup, ended_at: u64) -> Result<Stream, Failure> {
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

/// What a worker used that is no known agent: what it reported, or only its time, if that counts.
pub(super) fn said_or_timed(
    options: &Options,
    worker: &Worker,
    exit: Option<&Exit>,
    report: Option<&WorkerReport>,
) -> Option<Box<Used>> {
    let (agent, wall_ms) = (worker.agent.clone(), exit.map(|exit| exit.ran_ms));
    let Some(said) = report.and_then(|report| report.usage.clone()) else {
        let wall_ms = wall_ms.filter(|_| options.budgets.count_time())?;
        return Some(Box::new(Used { agent, wall_ms, ..Used::default() }));
    };
    let ReportedUsage { model, input, cached, output, cost_micros, turns } = said;
    let wall_ms = wall_ms.unwrap_or(0);
    Some(Box::new(Used { agent, model, input, cached, output, cost_micros, turns, wall_ms, ..Used::default() }))
}

/// What an agent used, also while it works; the model is at least the one that was asked for. Nothing if it never spoke.
pub(crate) fn from_usage(usage: &Usage, setup: &Setup, worker: &Worker, exit: Option<&Exit>) -> Option<Box<Used>> {
    let Usage { input, cached, stored, output, cost_micros, turns, model, session_id, is_estimated, .. } =
        usage.clone();
    if session_id.is_none() && input == 0 {
        return None;
    }
    let (agent, model) = (worker.agent.clone(), model.or_else(|| setup.model.clone()));
    let attach = session_id.as_deref().and_then(|session| worker.attach(session));
    let wall_ms = exit.map_or(0, |exit| exit.ran_ms);
    Some(Box::new(Used {
        agent,
        model,
        session_id,
        attach,
        input,
        cached,
        stored,
        output,
        cost_micros,
        turns,
        wall_ms,
        is_estimated,
    }))
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

/// The input to the rules for a trouble.
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
        let reported = json!({"status": "failed", "error": "e", "quality_score": null, "data": {"critique": null, "verdict": "reject"}});
        let reported = without_nulls(reported);
        let expected = json!({"status": "failed", "error": "e", "data": {"verdict": "reject"}});
        assert_eq!(serde_json::from_str::<Value>(&reported).unwrap(), expected);
        let id = || TaskId::parse("A").unwrap();
        let parse = |text: &str| WorkerReport::parse(text, &id()).unwrap();
        let file =
            r#"{"status": "completed", "findings": "f", "quality_score": 7, "data": {"wisdom": {"issues": "i"}}}"#;
        let both = parse(file).with(&reported, &id()).unwrap();
        assert_eq!((both.completed(), both.findings.as_str()), (Err("e".to_owned()), "f"));
        assert!(both.has_score && both.shows_work() && both.wisdom().len() == 1);
    }
}
