//! What the page asks of a run: the same requests as the commands, read by the same parser, and nothing besides.

use serde::Deserialize;
use serde_json::{Value, json};
use team_executor_app::bus::propose;
use team_executor_app::talk::Said;
use team_executor_app::{Error, Request};
use team_executor_core::Session;
use team_executor_files::{Code, Finding};

use crate::watched::Watched;

/// A request, and to whom it goes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Act {
    to: To,
    request: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum To {
    /// The executor of the run, or the run itself while there is none.
    Control,
    /// The agent of a task.
    Talk,
    /// Those who proposed tasks.
    Proposals,
}

/// What is said to an agent; one of these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
struct Talk {
    task: String,
    #[serde(flatten)]
    word: Word,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Answer { question: u64, allow: bool },
    Text(String),
    Interrupt {},
    Close {},
}

/// What becomes of proposed tasks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Proposals {
    Accept(Vec<String>),
    Decline(Vec<String>),
}

/// Carries out a request; what was done, in words.
pub(crate) fn carry_out(watched: &Watched, body: &[u8]) -> Result<Value, Error> {
    let act: Act = serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
    if !watched.known.is_newest {
        let finding =
            Finding::error(Code::Usage, format!("{} is not the newest run of its session", watched.known.run));
        return Err(finding.help("open the newest run; only that one can be asked for something").into());
    }
    let done = match act.to {
        To::Control => control(watched, &act.request)?,
        To::Talk => talk(watched, act.request)?,
        To::Proposals => proposals(watched, act.request)?,
    };
    watched.forget();
    Ok(done)
}

fn unreadable(why: &str) -> Error {
    Finding::error(Code::Usage, format!("the request cannot be read: {why}")).help("reload the page").into()
}

/// Whether a person may send it. Executors, workers and those who follow send others.
const fn is_of_people(request: &Request) -> bool {
    matches!(
        request,
        Request::Pause { .. }
            | Request::Resume
            | Request::Drain
            | Request::Stop
            | Request::Retry { .. }
            | Request::Skip { .. }
            | Request::Cancel { .. }
            | Request::Limit { .. }
            | Request::Decide { .. }
    )
}

fn control(watched: &Watched, request: &Value) -> Result<Value, Error> {
    let request = Request::read(&request.to_string()).map_err(|why| unreadable(&why))?;
    if !is_of_people(&request) {
        return Err(unreadable("it is none of a person"));
    }
    let (app, session) = (&watched.app, Some(watched.known.session.as_path()));
    let asked = match request {
        // What only an executor can do is not noted for the next one.
        Request::Pause { .. } | Request::Resume | Request::Drain | Request::Stop => app.ask(session, &request)?,
        _ => app.ask_or_note(session, app.reading_of(session), &request)?,
    };
    let (stage, noted, warnings) = (asked.stage, asked.is_noted, asked.warnings);
    Ok(json!({"version": 1, "stage": stage, "noted": noted, "warnings": warnings, "did": asked.outcome?}))
}

fn talk(watched: &Watched, request: Value) -> Result<Value, Error> {
    let talk: Talk = serde_json::from_value(request).map_err(|error| unreadable(&error.to_string()))?;
    let said = match talk.word {
        Word::Answer { question, allow } => Said::Answer { question: Some(question), allow },
        Word::Text(text) => Said::Text(text),
        Word::Interrupt {} => Said::Interrupt,
        Word::Close {} => Said::Close,
    };
    let told = watched.app.say(Some(&watched.known.session), &talk.task, said)?;
    Ok(json!({"version": 1, "did": [told.did]}))
}

fn proposals(watched: &Watched, request: Value) -> Result<Value, Error> {
    let wanted: Proposals = serde_json::from_value(request).map_err(|error| unreadable(&error.to_string()))?;
    let caller = watched.app.caller(Some(&watched.known.session))?;
    caller.must_not_steer()?;
    let (run, waiting) = propose::waiting(caller.folder(), caller.current());
    let (ids, accepts) = match &wanted {
        Proposals::Accept(ids) => (ids, true),
        Proposals::Decline(ids) => (ids, false),
    };
    if let Some(unknown) = ids.iter().find(|id| !waiting.iter().any(|one| one.id == **id)) {
        let finding = Finding::error(Code::Usage, format!("no task '{unknown}' waits to be decided on"));
        return Err(finding.help("reload the page; it lists what does").into());
    }
    let opened = caller.open(watched.app.reading_of(Some(&watched.known.session)))?;
    let mut session: Session = opened.runnable()?.0.clone();
    let mut did = Vec::new();
    for proposal in waiting.iter().filter(|one| ids.contains(&one.id)) {
        if accepts {
            session = propose::accept(proposal, &run, &session, opened.dialect, (caller.folder(), caller.current()))?;
            did.push(format!("{} is a task now", proposal.id));
        } else {
            propose::decline(proposal, &run, caller.folder())?;
            did.push(format!("{} is declined", proposal.id));
        }
    }
    Ok(json!({"version": 1, "did": did}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_of_known_shapes_only() {
        let read = |text: &str| serde_json::from_str::<Act>(text).map(|_| ());
        assert!(read(r#"{"to":"control","request":{"version":1,"request":"pause","reason":""}}"#).is_ok());
        for wrong in
            ["", "[]", r#"{"to":"shell","request":{}}"#, r#"{"to":"control"}"#, r#"{"to":"talk","request":1,"x":1}"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let talk = |text: &str| serde_json::from_str::<Talk>(text).is_ok();
        assert!(talk(r#"{"task":"A","text":"hello"}"#) && talk(r#"{"task":"A","answer":{"question":1,"allow":true}}"#));
        assert!(!talk(r#"{"task":"A"}"#) && !talk(r#"{"task":"A","run":"rm"}"#));
    }

    #[test]
    fn requests_of_executors_and_workers_are_not_of_people() {
        let of_people = |line: &str| is_of_people(&Request::read(line).unwrap());
        assert!(of_people(r#"{"version":1,"request":"stop"}"#));
        assert!(!of_people(r#"{"version":1,"request":"whose"}"#));
        assert!(!of_people(r#"{"version":1,"request":"subscribe","from":1}"#));
        assert!(!of_people(r#"{"version":1,"request":"progress","attempt":"r/A/1","words":"x"}"#));
    }
}
