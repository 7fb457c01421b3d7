//! `pause`, `stop`, `retry`, `skip`, `cancel`, `restart`, `limit` and `checkpoint`: asks the executor of a session's newest run. Without one, all but the
//! first two are noted in the run itself.

use std::io::Write;
use std::path::Path;

use team_executor_app::asking::{Asked, named};
use team_executor_app::{App, Request, ToRetry};
use team_executor_core::{CheckpointAction, run};

use super::run::warn;
use super::status::stage;
use crate::args::{
    Asking, Cancel, Checkpoint, CheckpointDecision, Format, Limit, Pause, Reading, Restart, Retry, Skip, Stop, Wish,
};
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

/// A command that asks the executor, and is noted in the run where there is none.
pub(crate) trait Steers {
    /// What is asked.
    fn request(&self) -> Result<Request, Failure>;

    /// How the session is read, and how the answer is shown.
    fn asking(&self) -> Asking;
}

/// Tasks run again.
impl Steers for Retry {
    fn request(&self) -> Result<Request, Failure> {
        let which = if self.failed { ToRetry::Failed } else { ToRetry::Tasks(self.tasks.clone()) };
        let Wish { feedback, with } = self.wish.clone();
        Ok(Request::Retry { which, downstream: self.downstream, feedback, with })
    }

    fn asking(&self) -> Asking {
        self.asking
    }
}

/// A task does not run.
impl Steers for Skip {
    fn request(&self) -> Result<Request, Failure> {
        Ok(Request::Skip { task: self.task.clone(), reason: self.reason.clone() })
    }

    fn asking(&self) -> Asking {
        self.asking
    }
}

/// The worker of a task is ended.
impl Steers for Cancel {
    fn request(&self) -> Result<Request, Failure> {
        let then = match self {
            Self { skip: true, .. } => run::Cancel::Skip,
            Self { retry: true, .. } => run::Cancel::Retry,
            Self { .. } => run::Cancel::Fail,
        };
        let (task, reason) = (self.task.clone(), self.reason.clone());
        Ok(Request::Cancel { task, then, reason, feedback: String::new(), with: None })
    }

    fn asking(&self) -> Asking {
        self.asking
    }
}

/// The worker of a task is ended, and the task begins a new attempt.
impl Steers for Restart {
    fn request(&self) -> Result<Request, Failure> {
        let Wish { feedback, with } = self.wish.clone();
        let (task, reason) = (self.task.clone(), "restarted by hand".to_owned());
        Ok(Request::Cancel { task, then: run::Cancel::Retry, reason, feedback, with })
    }

    fn asking(&self) -> Asking {
        self.asking
    }
}

/// More or fewer workers at a time.
impl Steers for Limit {
    fn request(&self) -> Result<Request, Failure> {
        let group = team_executor_app::group(self.role.as_deref(), self.agent.as_deref())?;
        Ok(Request::Limit { group, most: self.most.0 })
    }

    fn asking(&self) -> Asking {
        self.asking
    }
}

/// Does what a command says about a run.
pub(crate) fn steer(
    app: &App,
    session: Option<&Path>,
    command: &impl Steers,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let Asking { reading, format } = command.asking();
    anyway(app, session, reading, &command.request()?, format, printer)
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
    let stage = stage(&asked.stage, !asked.is_noted);
    let out = printer.out();
    writeln!(out, "Run {} is {}", escape::line(&asked.run), escape::line(stage))?;
    did.iter().try_for_each(|line| writeln!(out, "  {}", escape::line(line)))?;
    Ok(Exit::Fine)
}
