//! `pause`, `stop`, `retry`, `skip`, `cancel`, `restart`, `limit` and `checkpoint`: asks the executor of a session's newest run. Without one, all but the
//! first two are noted in the run itself.

use std::io::Write;
use std::path::Path;

use team_executor_app::asking::{Asked, named};
use team_executor_app::{App, Request, ToRetry};
use team_executor_core::{CheckpointAction, run};

use super::run::warn;
use super::status::stage;
use crate::args::{Cancel, Checkpoint, CheckpointDecision, Format, Limit, Pause, Reading, Restart, Retry, Skip, Stop};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// No new workers until `resume`.
pub(crate) fn pause(
    app: &App,
    session: Option<&Path>,
    options: &Pause,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    live(app, session, &Request::Pause { reason: options.reason.clone() }, options.format, printer)
}

/// The executor ends.
pub(crate) fn stop(app: &App, session: Option<&Path>, options: &Stop, printer: &mut Printer) -> Result<Exit, Failure> {
    live(app, session, if options.now { &Request::Stop } else { &Request::Drain }, options.format, printer)
}

/// Tasks run again.
pub(crate) fn retry(
    app: &App,
    session: Option<&Path>,
    options: &Retry,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let which = if options.failed { ToRetry::Failed } else { ToRetry::Tasks(options.tasks.clone()) };
    let request = Request::Retry { which, downstream: options.downstream, feedback: options.feedback.clone() };
    anyway(app, session, options.reading, &request, options.format, printer)
}

/// A task does not run.
pub(crate) fn skip(app: &App, session: Option<&Path>, options: &Skip, printer: &mut Printer) -> Result<Exit, Failure> {
    let request = Request::Skip { task: options.task.clone(), reason: options.reason.clone() };
    anyway(app, session, options.reading, &request, options.format, printer)
}

/// The worker of a task is ended.
pub(crate) fn cancel(
    app: &App,
    session: Option<&Path>,
    options: &Cancel,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let then = match options {
        Cancel { skip: true, .. } => run::Cancel::Skip,
        Cancel { retry: true, .. } => run::Cancel::Retry,
        Cancel { .. } => run::Cancel::Fail,
    };
    let (task, reason, feedback) = (options.task.clone(), options.reason.clone(), String::new());
    anyway(app, session, options.reading, &Request::Cancel { task, then, reason, feedback }, options.format, printer)
}

/// The worker of a task is ended, and the task begins a new attempt.
pub(crate) fn restart(
    app: &App,
    session: Option<&Path>,
    options: &Restart,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let (task, reason, feedback) = (options.task.clone(), "restarted by hand".to_owned(), options.feedback.clone());
    let request = Request::Cancel { task, then: run::Cancel::Retry, reason, feedback };
    anyway(app, session, options.reading, &request, options.format, printer)
}

/// More or fewer workers at a time.
pub(crate) fn limit(
    app: &App,
    session: Option<&Path>,
    options: &Limit,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let Limit { most, role, agent, .. } = options;
    let group = team_executor_app::group(role.as_deref(), agent.as_deref())?;
    let request = Request::Limit { group, most: most.0 };
    anyway(app, session, options.reading, &request, options.format, printer)
}

/// A person has judged; without a decision, what there is to judge is shown.
pub(crate) fn checkpoint(
    app: &App,
    session: Option<&Path>,
    options: &Checkpoint,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let Some(decision) = &options.decision else {
        return super::status::show(app, session, options.reading, options.format, printer);
    };
    let (action, tasks, text) = match decision {
        CheckpointDecision::Resume { text } => (CheckpointAction::Resume, Vec::new(), text),
        CheckpointDecision::Improve { text } | CheckpointDecision::Reject { text } => {
            (CheckpointAction::Improve, Vec::new(), text)
        }
        CheckpointDecision::Revise { task, text } => (CheckpointAction::Revise, vec![task.clone()], text),
        CheckpointDecision::Recheck { text } => (CheckpointAction::Recheck, Vec::new(), text),
        CheckpointDecision::Feedback { text } => (CheckpointAction::Feedback, Vec::new(), text),
    };
    let request = Request::Decide { action, tasks, text: text.join(" ") };
    anyway(app, session, options.reading, &request, options.format, printer)
}

/// Asks the executor. Where there is none, nothing can be done.
fn live(
    app: &App,
    session: Option<&Path>,
    request: &Request,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    show(app.ask(session, request)?, format, printer)
}

/// Asks the executor. Where there is none, the request is noted in the run.
pub(super) fn anyway(
    app: &App,
    session: Option<&Path>,
    reading: Reading,
    request: &Request,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let asked = app.ask_or_note(session, reading.into(), request)?;
    show_noted(app, session, asked, format, printer)
}

/// Shows what came of a request, and how the run goes on if no executor was there.
pub(super) fn show_noted(
    app: &App,
    session: Option<&Path>,
    asked: Asked,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let goes_on = asked.is_noted && format == Format::Text && asked.stage != "finished";
    let exit = show(asked, format, printer)?;
    if goes_on {
        writeln!(printer.out(), "Go on, with the options of the run: {} resume {}", app.typed(), named(session))?;
    }
    Ok(exit)
}

/// Shows what came of a request.
pub(super) fn show(asked: Asked, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    for warning in &asked.warnings {
        warn(&format!("a file was not written: {warning}"), format, printer)?;
    }
    if format == Format::Json && asked.outcome.is_ok() {
        printer.json(&asked)?;
        return Ok(Exit::Fine);
    }
    let did = asked.outcome?;
    let stage = if asked.is_noted { stage(&asked.stage, false) } else { &asked.stage };
    let out = printer.out();
    writeln!(out, "Run {} is {}", escape::line(&asked.run), escape::line(stage))?;
    did.iter().try_for_each(|line| writeln!(out, "  {}", escape::line(line)))?;
    Ok(Exit::Fine)
}
