//! `talk`: what people say to agents that converse, and what these ask.

use std::io::Write as _;
use std::path::Path;

use team_executor_app::App;
use team_executor_app::talk::Said;

use crate::args::{Answer, Format, Talk, TalkWhat};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Tells a conversation something, or lists them.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Talk, printer: &mut Printer) -> Result<Exit, Failure> {
    let answer = |answer: &Answer, allow| (answer.task.clone(), Said::Answer { question: answer.question, allow });
    let (task, said) = match &options.what {
        None | Some(TalkWhat::List) => return list(app, session, options.format, printer),
        Some(TalkWhat::Send { task, text }) => (task.clone(), Said::Text(text.join(" "))),
        Some(TalkWhat::Interrupt { task }) => (task.clone(), Said::Interrupt),
        Some(TalkWhat::Close { task }) => (task.clone(), Said::Close),
        Some(TalkWhat::Allow(one)) => answer(one, true),
        Some(TalkWhat::Deny(one)) => answer(one, false),
    };
    let told = app.say(session, &task, said)?;
    match options.format {
        Format::Json => printer.json(&told)?,
        Format::Text => writeln!(printer.out(), "{}: {}", escape::line(&told.task), escape::line(&told.did))?,
    }
    Ok(Exit::Fine)
}

fn list(app: &App, session: Option<&Path>, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let talks = app.talks(session)?;
    if format == Format::Json {
        printer.json(&talks)?;
        return Ok(Exit::Fine);
    }
    let out = printer.out();
    if talks.conversations.is_empty() {
        writeln!(out, "No open conversations in {}", escape::line(&talks.run))?;
    }
    for talk in &talks.conversations {
        writeln!(out, "{} (attempt {}): {}", escape::line(&talk.task), talk.attempt, talk.state)?;
        for open in &talk.questions {
            let (tool, what) = (escape::line(&open.tool), escape::line(&open.what));
            writeln!(out, "  asks to use {tool}: {what} (question {})", open.question)?;
        }
    }
    Ok(Exit::Fine)
}
