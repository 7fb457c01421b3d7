//! `talk`: what people say to agents that converse, and what these ask.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use team_executor_agents::driver::door::{Open, State, Word};
use team_executor_engine::talk;
use team_executor_files::{Code, Finding};

use super::run::refused;
use super::{control, report};
use crate::args::{Answer, Format, Talk, TalkWhat};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct Listing<'a> {
    version: u32,
    run: &'a str,
    conversations: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    attempt: u32,
    state: &'static str,
    session_id: Option<&'a str>,
    questions: &'a [Open],
}

#[derive(Serialize)]
struct Done<'a> {
    version: u32,
    task: &'a str,
    did: &'a str,
}

/// Tells a conversation something, or lists them.
pub(crate) fn run(session: Option<&Path>, options: &Talk, printer: &mut Printer) -> Result<Exit, Failure> {
    let found = control::found(session)?;
    let answer = |answer: &Answer, allow| (answer.task.clone(), Word::Answer { question: answer.question, allow });
    let (task, word) = match &options.what {
        None | Some(TalkWhat::List) => return list(&found.run, &found.folder, options.format, printer),
        Some(TalkWhat::Send { task, text }) => (task.clone(), Word::Send(text.join(" "))),
        Some(TalkWhat::Interrupt { task }) => (task.clone(), Word::Interrupt {}),
        Some(TalkWhat::Close { task }) => (task.clone(), Word::Close {}),
        Some(TalkWhat::Allow(one)) => answer(one, true),
        Some(TalkWhat::Deny(one)) => answer(one, false),
    };
    let named = control::named(session);
    let help = format!("team-executor talk {named} lists the conversations that go on");
    let refusal = |why: String| Failure::from(Finding::error(Code::Usage, why).help(help));
    let state = match talk::tell(&found.folder, &task, &word).map_err(refused)? {
        Some(Ok(state)) => state,
        Some(Err(why)) => return Err(refusal(format!("nothing was done: {why}"))),
        None => return Err(refusal(format!("no agent converses about task '{task}' now"))),
    };
    match options.format {
        Format::Json => report::print(&Done { version: 1, task: &task, did: &state.did }, printer.out())?,
        Format::Text => writeln!(printer.out(), "{}: {}", escape::line(&task), escape::line(&state.did))?,
    }
    Ok(Exit::Fine)
}

fn list(run: &str, folder: &Path, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let all = talk::all(folder);
    if format == Format::Json {
        let conversations = all.iter().map(row).collect();
        report::print(&Listing { version: 1, run, conversations }, printer.out())?;
        return Ok(Exit::Fine);
    }
    let out = printer.out();
    if all.is_empty() {
        writeln!(out, "Nobody converses in {}", escape::line(run))?;
    }
    for talk in &all {
        writeln!(out, "{} (attempt {}): {}", escape::line(&talk.task), talk.attempt, word(&talk.state))?;
        for Open { question, tool, what } in &talk.state.questions {
            writeln!(out, "  asks to use {}: {} (question {question})", escape::line(tool), escape::line(what))?;
        }
    }
    Ok(Exit::Fine)
}

fn row(talk: &talk::Talk) -> Row<'_> {
    let talk::Talk { task, attempt, state } = talk;
    let session_id = state.session_id.as_deref();
    Row { task, attempt: *attempt, state: word(state), session_id, questions: &state.questions }
}

fn word(state: &State) -> &'static str {
    match (state.questions.is_empty(), state.busy, state.urged) {
        (false, ..) => "waits for an answer",
        (true, true, false) => "at work",
        (true, true, true) => "at work, urged to come to an end",
        (true, false, _) => "waits to be told something",
    }
}
