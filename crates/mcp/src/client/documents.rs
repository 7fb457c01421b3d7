//! The documents that tools answer with. `app` builds them, for the command line too.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use team_executor_app::asking::Asked;
use team_executor_app::findings::FindingsReport;
use team_executor_app::{App, Error, Opened, Reading};
use team_executor_files::{Code, Finding};

/// A document as a value.
pub(super) fn value(document: &impl Serialize) -> Result<Value, Error> {
    let failed = |error: serde_json::Error| Finding::error(Code::Usage, error.to_string()).help("report this");
    Ok(serde_json::to_value(document).map_err(failed)?)
}

/// Everything that is wrong or odd about a session.
pub(super) fn validate(app: &App, session: Option<&Path>) -> Result<Value, Error> {
    findings(app.open_unique(session, Reading::default()))
}

/// What was found in a session, or the one thing that kept it from being opened.
fn findings(opened: Result<Opened, Error>) -> Result<Value, Error> {
    match opened {
        Err(Error::Refused(finding, _)) => value(&FindingsReport::of_unopened(&finding)),
        opened => value(&FindingsReport::from_opened(&opened?)),
    }
}

/// What a run would do; without a plan, what was found.
pub(super) fn plan(app: &App, session: Option<&Path>) -> Result<Value, Error> {
    let mut opened = match app.open(session, Reading::default()) {
        Ok(opened) => opened,
        refused => return findings(refused),
    };
    match app.plan(&mut opened, &[])? {
        Some(planned) => value(&planned.json(&mut opened)),
        None => findings(Ok(opened)),
    }
}

/// The plan of a session as a picture; nothing if it has errors.
pub(super) fn picture(app: &App, session: Option<&Path>) -> Result<Option<String>, Error> {
    let mut opened = app.open(session, Reading::default())?;
    Ok(app.plan(&mut opened, &[])?.map(|planned| planned.picture().to_svg()))
}

/// How the newest run of a session stands.
pub(super) fn status(app: &App, session: Option<&Path>) -> Result<Value, Error> {
    let opened = app.open(session, Reading::default())?;
    value(&app.status_json(&opened, app.status(&opened)?.as_ref())?)
}

/// The same, with what the agents ask while the run goes on.
pub(super) fn status_with_talk(app: &App, session: Option<&Path>) -> Result<Value, Error> {
    let mut status = status(app, session)?;
    if status["executor"] == true {
        // It may have ended in between.
        status["talk"] = app.talks(session).and_then(|talks| value(&talks)).unwrap_or_default();
    }
    Ok(status)
}

/// What tasks changed in trees of their own, with the files, and with the difference where that is wanted.
pub(super) fn changes(app: &App, session: Option<&Path>, task: Option<&str>, with_patch: bool) -> Result<Value, Error> {
    let changes = app.changes(session, Reading::default(), None)?;
    let mut document = value(&changes.json(task, true)?)?;
    if with_patch {
        document["patch"] = String::from_utf8_lossy(&changes.patch(task)?).into();
    }
    Ok(document)
}

/// What came of a request.
pub(super) fn asked(asked: Asked) -> Result<Value, Error> {
    let answer = value(&asked)?;
    asked.outcome.map(|_| answer)
}
