//! What an attempt came to, from how it ended, what it reported and what it left. Of a known coding agent its own events are
//! heard first: its exit status alone says too little.

use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rustix::fs::fsync;
use rustix::io::{Errno, retry_on_intr};
use serde_json::Value;
use team_executor_agents::adapters::{Class, Setup, Stream, Trouble, Usage};
use team_executor_agents::outcome::Produced;
use team_executor_agents::{Ended, Exit, json, plain};
use team_executor_beneath::{How, io_error, is_system_failure, open_regular, ours, words};
use team_executor_core::run::{ErrorClass, Outcome, Used, Work};
use team_executor_core::{Task, Timestamp};
use team_executor_files::findings_text::cut_to;
use team_executor_store::{Durability, RealDisk, replace};

use crate::bus::own::REPORTED_BY;
use crate::options::{Failure, Options};
use crate::outcome;
use crate::patience::{Patient, patiently};
use crate::run_at::{RunAt, logs, result_name};
use crate::worker::Worker;

/// How much of what an agent complains about is looked at.
const COMPLAINT_BYTES: u64 = 4096;

/// How many characters of it the error of a command shows.
const SHOWN: usize = 200;

/// What an attempt came to.
pub(crate) struct End {
    /// What counts as its result.
    pub(crate) result: Option<String>,
    /// What the rules are told.
    pub(crate) outcome: Outcome,
    /// What it used, as far as that is known.
    pub(crate) used: Option<Box<Used>>,
    /// What could not be written down.
    pub(crate) problems: Vec<String>,
}

/// What an attempt came to. To look again after a crash changes nothing.
pub(crate) fn of(
    options: &Options,
    run: &RunAt,
    task: &Task,
    work: Work,
    worker: Option<&Worker>,
    exit: &Exit,
) -> Result<End, Failure> {
    if matches!(exit.ended, Ended::Stopped | Ended::Interrupted) {
        if let Some(end) = finished(options, run, task, work, worker, exit)? {
            return Ok(end);
        }
        let used = worker.and_then(|worker| used_by_lost(options, run, task, work, worker, Some(exit)));
        // Whatever it said last, or did not say, it was not let to its end.
        let unreported = || End { result: None, outcome: Outcome::Interrupted, used: None, problems: Vec::new() };
        return Ok(End { used, ..reported(run, task, work)?.unwrap_or_else(unreported) });
    }
    let id = task.id.as_str();
    let has_result = run.has_result(id, work.attempt);
    let written = if has_result { outcome::explained(&run.result(id, work.attempt))? } else { None };
    let unsettled = written.as_ref().and_then(|_| settle(run, task, work.attempt));
    if let Some((worker, setup)) = worker.and_then(|worker| Some((worker, worker.setup.as_ref()?))) {
        let mut end = of_agent(run, task, work.attempt, exit, written, (worker, setup))?;
        end.problems.extend(unsettled);
        return Ok(end);
    }
    let [_, errors] = logs(&run.path, id, work.attempt);
    let complaint = if exit.ended == Ended::Exit(0) { String::new() } else { complaint(&errors) };
    let complaint = cut_to(&complaint, SHOWN);
    let produced = Produced {
        result: written.as_deref(),
        last_line: exit.last_line.as_deref(),
        complaint: Some(&*complaint).filter(|complaint| !complaint.is_empty()),
        artifacts: exit.artifacts,
        ..Produced::default()
    };
    let outcome = outcome::of(exit, &produced);
    let used = worker.and_then(|worker| time_of(options, worker, Some(exit)));
    Ok(End { result: written, outcome, used, problems: unsettled.into_iter().collect() })
}

/// The outcome of a worker that was told to end, ended with code 0 and handed in a result that says completed. Without a result,
/// code 0 may only mean that it heard the signal.
fn finished(
    options: &Options,
    run: &RunAt,
    task: &Task,
    work: Work,
    worker: Option<&Worker>,
    exit: &Exit,
) -> Result<Option<End>, Failure> {
    if !exit.well {
        return Ok(None);
    }
    let exit = Exit { ended: Ended::Exit(0), ..exit.clone() };
    let end = of(options, run, task, work, worker, &exit)?;
    // The events of a known agent say themselves whether it was done.
    let has_said = end.result.is_some() || worker.is_some_and(|worker| worker.setup.is_some());
    Ok((has_said && matches!(end.outcome, Outcome::Completed { .. })).then_some(end))
}

/// Makes a result that a worker wrote durable: once its end is, nobody asks it again.
fn settle(run: &RunAt, task: &Task, attempt: u32) -> Option<String> {
    let name = result_name(task.id.as_str(), attempt);
    let settled = ours::open(&run.agents()).and_then(|agents| {
        retry_on_intr(|| fsync(agents.file(&name, How::Read)?))?;
        agents.sync()
    });
    let error = settled.err().filter(|errno| *errno != Errno::NOENT).map(io_error);
    error.map(|error| format!("{}: a power cut may take its result: {error}", task.id))
}

/// What an attempt used whose worker was lost, as far as its agent had said it.
pub(crate) fn used_by_lost(
    options: &Options,
    run: &RunAt,
    task: &Task,
    work: Work,
    worker: &Worker,
    exit: Option<&Exit>,
) -> Option<Box<Used>> {
    let Some(setup) = &worker.setup else { return time_of(options, worker, exit) };
    let [out, _] = logs(&run.path, task.id.as_str(), work.attempt);
    // What cannot be read of it is not known to be used.
    let heard = heard(&out, setup, exit.map_or(0, |exit| exit.ended_at)).unwrap_or_default();
    used(&heard, setup, worker, exit)
}

/// What any worker uses, if that counts: time.
fn time_of(options: &Options, worker: &Worker, exit: Option<&Exit>) -> Option<Box<Used>> {
    let wall_ms = exit.map(|exit| exit.ran_ms).filter(|_| options.budgets.count_time())?;
    Some(Box::new(Used { agent: worker.agent.clone(), wall_ms, ..Used::default() }))
}

/// What a known coding agent said: all of it, unless the disk or the system fails.
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

/// What an attempt came to that was ended from outside after it had reported by a tool or a command of ours: what it reported.
/// Nothing if it had not. A file that the worker wrote itself may only be on its way.
pub(crate) fn reported(run: &RunAt, task: &Task, work: Work) -> Result<Option<End>, Failure> {
    let id = task.id.as_str();
    let Some(result) = outcome::explained(&run.result(id, work.attempt))? else { return Ok(None) };
    let by = json::object(&result).ok();
    let is_reported = by.is_some_and(|by| by.get(REPORTED_BY).is_some_and(|by| *by == run.key(id, work.attempt)));
    if !is_reported {
        return Ok(None);
    }
    let produced = Produced { result: Some(&result), ..Produced::default() };
    let outcome = outcome::of_ended(&Ended::Exit(0), &produced);
    Ok(Some(End { result: Some(result), outcome, used: None, problems: Vec::new() }))
}

/// The same of a known coding agent.
fn of_agent(
    run: &RunAt,
    task: &Task,
    attempt: u32,
    exit: &Exit,
    written: Option<String>,
    (worker, setup): (&Worker, &Setup),
) -> Result<End, Failure> {
    let id = task.id.as_str();
    let [out, err] = logs(&run.path, id, attempt);
    let stream = heard(&out, setup, exit.ended_at)?;
    let used = used(&stream, setup, worker, Some(exit));
    let mut problems = Vec::new();
    let of_code = setup.adapter.trouble_of_code(&exit.ended).filter(|_| !stream.finished);
    let of_code = of_code.or_else(|| stream.silence(&exit.ended));
    if let Some(trouble) = of_code.or_else(|| stream.trouble(&exit.ended, &complaint(&err), exit.ended_at)) {
        return Ok(End { result: written, outcome: failed(trouble, setup), used, problems });
    }
    let by_itself = matches!(exit.ended, Ended::Exit(_) | Ended::Signal(_));
    // Beside a result that was written, only a report that is nothing else counts.
    let reported = if written.is_some() { stream.plain_report() } else { stream.report() }.filter(|_| by_itself);
    if by_itself
        && written.is_none()
        && let Some(trouble) = stream.denied_or_owing(reported.as_ref(), exit.ended_at)
    {
        return Ok(End { result: None, outcome: failed(trouble, setup), used, problems });
    }
    let has_report = reported.is_some();
    let result = match (&written, reported) {
        (None, Some(reported)) => {
            let text = joined(None, reported);
            problems.extend(keep(run, id, attempt, &text));
            Some(text)
        }
        (Some(written), Some(reported)) => Some(joined(Some(written), reported)),
        (_, None) => written,
    };
    let produced = Produced {
        result: result.as_deref(),
        last_line: Some(stream.text.trim()).filter(|text| !text.is_empty()),
        complaint: None,
        artifacts: exit.artifacts,
        missing: &[],
        must_report: true,
    };
    // Its events say that it is done: how its process ended does not matter any more.
    let ended = if by_itself && has_report { &Ended::Exit(0) } else { &exit.ended };
    let outcome = outcome::of_ended(ended, &produced);
    let outcome = with_denials(outcome, &stream, &produced, setup);
    if let (Outcome::Completed { .. }, Some(denied)) = (&outcome, stream.denied()) {
        problems.push(format!("{id}: {}", denied.words));
    }
    Ok(End { result, outcome, used, problems })
}

/// An attempt that was not allowed to use a tool has done its task only if it went on without it: it delivered something, named
/// what it changed, or judged the work of others.
fn with_denials(outcome: Outcome, stream: &Stream, produced: &Produced<'_>, setup: &Setup) -> Outcome {
    let Some(mut denied) = stream.denied() else { return outcome };
    match outcome {
        Outcome::Completed { .. } if !stream.unanswered && shows_work(produced) => outcome,
        Outcome::Completed { .. } => failed(denied, setup),
        Outcome::Failed { error, .. } => {
            denied.words = format!("{error}; {}", denied.words);
            failed(denied, setup)
        }
        outcome => outcome,
    }
}

fn shows_work(produced: &Produced<'_>) -> bool {
    let result = produced.result.and_then(|text| json::object(text).ok()).map(Value::Object).unwrap_or_default();
    let (data, is_full) = (&result["data"], |list: &Value| list.as_array().is_some_and(|list| !list.is_empty()));
    produced.artifacts > 0
        || [&result["artifacts_produced"], &data["files_modified"]].into_iter().any(is_full)
        || [&result["supervision_verdict"], &data["verdict"]].into_iter().any(Value::is_string)
}

/// What it used; the model is at least the one that was asked for. Nothing if it never spoke.
fn used(stream: &Stream, setup: &Setup, worker: &Worker, exit: Option<&Exit>) -> Option<Box<Used>> {
    from_usage(&stream.usage, setup, worker, exit)
}

/// The same while the agent works.
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

/// What was reported, and what the result file says besides. Null says nothing.
fn joined(written: Option<&str>, reported: Value) -> String {
    let written = written.and_then(|text| json::object(text).ok()).unwrap_or_default();
    let Value::Object(reported) = reported else { return String::new() };
    let mut all = written;
    for (key, value) in reported.into_iter().filter(|(_, value)| !value.is_null()) {
        match (all.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key != "result" => {
                known.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
            }
            (_, Value::Object(mut more)) if key != "result" => {
                more.retain(|_, value| !value.is_null());
                all.insert(key, Value::Object(more));
            }
            (_, value) => drop(all.insert(key, value)),
        }
    }
    Value::Object(all).to_string()
}

/// Keeps what was reported where a worker would have written it, for all who look there.
fn keep(run: &RunAt, task: &str, attempt: u32, text: &str) -> Option<String> {
    let name = result_name(task, attempt);
    let disk = RealDisk::open_folder(&run.agents()).map_err(words);
    let put = |disk| replace(&disk, &name, text.as_bytes(), Durability::Durable).map_err(|error| error.to_string());
    disk.and_then(put).err().map(|error| format!("{task}: its result was not kept: {error}"))
}

/// The last line that an agent printed as an error.
fn complaint(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = open_regular(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(COMPLAINT_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(COMPLAINT_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().rev().map(|line| plain(line).trim().to_owned());
    { lines }.find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_counts_before_the_file_and_the_file_says_the_rest() {
        let reported = json!({"status": "failed", "error": "e", "quality_score": null, "data": {"critique": null, "verdict": "reject"}});
        let alone: Value = serde_json::from_str(&joined(None, reported.clone())).unwrap();
        assert_eq!(alone, json!({"status": "failed", "error": "e", "data": {"verdict": "reject"}}));
        let file = r#"{"status": "completed", "findings": "f", "quality_score": 7, "data": {"wisdom": {}}}"#;
        let both: Value = serde_json::from_str(&joined(Some(file), reported.clone())).unwrap();
        let data = json!({"wisdom": {}, "verdict": "reject"});
        let expected = json!({"status": "failed", "error": "e", "findings": "f", "quality_score": 7, "data": data});
        assert_eq!(both, expected);
        assert_eq!(joined(Some("no json"), reported.clone()), joined(None, reported));
    }
}
