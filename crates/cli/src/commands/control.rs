//! `pause`, `stop`, `retry`, `skip` and `checkpoint`: asks the executor of a session's newest run. Without one, all but the
//! first two are noted in the run itself.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_core::CheckpointAction;
use team_executor_engine::control::{self, Answer, Request, Target, Wanted};
use team_executor_engine::runs;
use team_executor_files::{Code, Finding};

use super::run::{refused_to, warn};
use super::status::stage;
use super::{archived, caller, report};
use crate::args::{Checkpoint, CheckpointDecision, Format, Pause, Reading, Retry, Skip, Stop};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open::{self, Opened, Place};
use crate::place;
use crate::printer::Printer;

/// No new workers until `resume`.
pub(crate) fn pause(session: Option<&Path>, options: &Pause, printer: &mut Printer) -> Result<Exit, Failure> {
    live(session, &Request::Pause { reason: options.reason.clone() }, options.format, printer)
}

/// The executor ends.
pub(crate) fn stop(session: Option<&Path>, options: &Stop, printer: &mut Printer) -> Result<Exit, Failure> {
    live(session, if options.now { &Request::Stop } else { &Request::Drain }, options.format, printer)
}

/// Tasks run again.
pub(crate) fn retry(session: Option<&Path>, options: &Retry, printer: &mut Printer) -> Result<Exit, Failure> {
    let which = if options.failed { Wanted::Failed } else { Wanted::Tasks(options.tasks.clone()) };
    let request = Request::Retry { which, downstream: options.downstream };
    anyway(session, &options.reading, &request, options.format, printer)
}

/// A task does not run.
pub(crate) fn skip(session: Option<&Path>, options: &Skip, printer: &mut Printer) -> Result<Exit, Failure> {
    let request = Request::Skip { task: options.task.clone(), reason: options.reason.clone() };
    anyway(session, &options.reading, &request, options.format, printer)
}

/// A person has judged; without a decision, what there is to judge is shown.
pub(crate) fn checkpoint(session: Option<&Path>, options: &Checkpoint, printer: &mut Printer) -> Result<Exit, Failure> {
    let Some(decision) = &options.decision else {
        return super::status::show(session, &options.reading, options.format, false, printer);
    };
    let (action, tasks, text) = match decision {
        CheckpointDecision::Resume { text } => (CheckpointAction::Resume, Vec::new(), text),
        CheckpointDecision::Improve { text } => (CheckpointAction::Improve, Vec::new(), text),
        CheckpointDecision::Revise { task, text } => (CheckpointAction::Revise, vec![task.clone()], text),
        CheckpointDecision::Recheck { text } => (CheckpointAction::Recheck, Vec::new(), text),
        CheckpointDecision::Feedback { text } => (CheckpointAction::Feedback, Vec::new(), text),
    };
    let request = Request::Decide { action, tasks, text: text.join(" ") };
    anyway(session, &options.reading, &request, options.format, printer)
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    version: u32,
    run: &'a str,
    stage: &'a str,
    did: &'a [String],
}

/// The newest run of the session that the user named.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) run: String,
    pub(super) folder: PathBuf,
}

/// Finds the newest run of a session; nothing if it was never run.
pub(super) fn find(session: Option<&Path>) -> Result<Option<Found>, Failure> {
    let place = open::place(session)?;
    caller::must_not_be_its_own(&place)?;
    let newest = runs::newest(&place.folder, &place.current);
    Ok(newest.map(|(run, folder)| Found { place, run, folder }))
}

/// Shows what came of a request. The session is as commands name it.
pub(super) fn show(
    run: &str,
    answer: &Answer,
    session: &str,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    match &answer.outcome {
        Ok(did) if format == Format::Json => {
            report::print(&JsonAnswer { version: 1, run, stage: &answer.stage, did }, printer.out())?;
            Ok(Exit::Fine)
        }
        Ok(did) => {
            let out = printer.out();
            writeln!(out, "Run {} is {}", escape::line(run), escape::line(&answer.stage))?;
            did.iter().try_for_each(|line| writeln!(out, "  {}", escape::line(line)))?;
            Ok(Exit::Fine)
        }
        Err(why) => {
            let finding = Finding::error(Code::Usage, format!("nothing was done: {why}"));
            Err(finding.help(format!("team-executor status {session} shows how the run stands")).into())
        }
    }
}

/// Asks the executor. Where there is none, nothing can be done.
fn live(session: Option<&Path>, request: &Request, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let found = found(session)?;
    let session = named(session);
    match control::send(&found.folder, request) {
        Err(failure) => Err(refused_to(failure, &session, None)),
        Ok(Some(answer)) => show(&found.run, &answer, &session, format, printer),
        Ok(None) => match control::holder(&found.folder) {
            Some(by) => {
                let failure = format!("the executor of the run does not listen: {by}");
                Err(refused_to(team_executor_engine::Failure::Control(failure), &session, None))
            }
            None if runs::is_finished(&found.folder) => {
                let finding = Finding::error(Code::Usage, format!("nothing runs: {} is finished", found.run));
                Err(finding.help(format!("team-executor status {session} shows how it came out")).into())
            }
            None => {
                let finding = Finding::error(Code::Usage, format!("nothing runs: no executor has {}", found.run));
                Err(finding.help(format!("continue it with: {} resume {session}", place::typed())).into())
            }
        },
    }
}

/// Asks the executor. Where there is none, the request is noted in the run.
pub(super) fn anyway(
    session: Option<&Path>,
    reading: &Reading,
    request: &Request,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let found = found(session)?;
    let named = named(session);
    match control::send(&found.folder, request) {
        Err(failure) => return Err(refused_to(failure, &named, None)),
        Ok(Some(answer)) => {
            if answer.outcome.is_err()
                && let Ok(opened) = open::tasks(session, reading)
            {
                tasks_exist(&opened, request)?;
            }
            return show(&found.run, &answer, &named, format, printer);
        }
        Ok(None) => {}
    }
    let opened = open::session(session, reading)?;
    let (session, graph) = open::runnable(&opened)?;
    let Place { folder, current } = &found.place;
    let target = Target { session, graph, dialect: opened.dialect, folder, current, run: &found.run };
    let mut applied = control::apply(target, request).map_err(|failure| refused_to(failure, &named, None))?;
    for warning in &applied.warnings {
        warn(&format!("a file was not written: {warning}"), format, printer)?;
    }
    if format == Format::Text {
        applied.answer.stage = stage(&applied.answer.stage, false).to_owned();
    }
    if applied.answer.outcome.is_err() {
        tasks_exist(&opened, request)?;
    }
    let exit = show(&found.run, &applied.answer, &named, format, printer)?;
    if format == Format::Text && applied.answer.stage != "finished" {
        writeln!(printer.out(), "Go on, with the options of the run: {} resume {named}", place::typed())?;
    }
    Ok(exit)
}

/// Names a task that there is not, and the one that was probably meant, where the session can be read.
fn tasks_exist(opened: &Opened, request: &Request) -> Result<(), Failure> {
    let named = match request {
        Request::Retry { which: Wanted::Tasks(tasks), .. } | Request::Decide { tasks, .. } => tasks.as_slice(),
        Request::Skip { task, .. } => std::slice::from_ref(task),
        _ => return Ok(()),
    };
    if opened.session.is_none() {
        return Ok(());
    }
    named.iter().try_for_each(|id| open::task(opened, id).map(drop))
}

/// Finds the newest run of a session, or says that there is none.
pub(super) fn found(session: Option<&Path>) -> Result<Found, Failure> {
    find(session)?.ok_or_else(|| {
        if let Some(finding) = archived::finding(session) {
            return finding.into();
        }
        let finding = Finding::error(Code::Usage, "the session was never run");
        finding.help(format!("run it with: team-executor run {}", named(session))).into()
    })
}

/// The flag that names the session as the user did, for a command to type.
pub(super) fn named(session: Option<&Path>) -> String {
    session.map(|session| escape::session(session.display())).unwrap_or_default()
}

/// The session as the user named it, safe to print.
pub(super) fn shown(session: Option<&Path>) -> String {
    session.map(|session| escape::line(&session.display().to_string())).unwrap_or_default()
}
