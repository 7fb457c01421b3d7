//! `msg`: the message bus of a session, for people and for workers.

mod get_state;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_app::Book;
use team_executor_app::bus::{self, Draft, Filter, Heard, ShownMessage, ShownRole, log};
use team_executor_app::caller::Caller;
use team_executor_app::{App, count};
use team_executor_core::Message;
use team_executor_files::{Code, Finding};

use super::run::warn;
use crate::args::{Format, Msg, MsgBroadcast, MsgFilter, MsgLog, MsgRead, MsgVerb, Wisdom};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use team_executor_app::config::nearest;

/// How many messages are listed unless a number is given.
const LISTED: usize = 20;

/// Carries out one verb.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Msg, printer: &mut Printer) -> Result<Exit, Failure> {
    let caller = app.caller(session)?;
    match &options.verb {
        MsgVerb::Log(said) => say(&caller, options, said, printer),
        MsgVerb::Broadcast(said) => broadcast(&caller, options, said, printer),
        MsgVerb::List(filter) => list(&caller, filter, options.format, printer),
        MsgVerb::Read(wanted) => read(&caller, wanted, options.format, printer),
        MsgVerb::Status => status(&caller, options, printer),
        MsgVerb::GetState(wanted) => get_state::run(&caller, options, wanted, printer),
    }
}

#[derive(Serialize)]
struct JsonSaid<'a> {
    version: u32,
    message: ShownMessage<'a>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct JsonHeard<'a> {
    version: u32,
    messages: Vec<ShownMessage<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct JsonStatus<'a> {
    version: u32,
    roles: Vec<ShownRole<'a>>,
    warnings: &'a [String],
}

fn say(caller: &Caller, options: &Msg, said: &MsgLog, printer: &mut Printer) -> Result<Exit, Failure> {
    something_is_said(&said.summary)?;
    let from = caller.name(said.from.as_deref(), options.reading.into())?;
    let warnings: Vec<String> = unknown_receiver(caller, options, &said.to)?.into_iter().collect();
    let draft = Draft {
        from: &from,
        to: &said.to,
        kind: &said.kind,
        summary: &said.summary,
        data: said.data.as_deref(),
        attempt: caller.attempt.as_ref(),
    };
    let message = bus::log(caller.folder(), &draft)?;
    show_one(&message, &warnings, options.format, printer)
}

/// Refuses a message that says nothing.
fn something_is_said(summary: &str) -> Result<(), Failure> {
    if summary.trim().is_empty() {
        let finding = Finding::error(Code::Usage, "the message is empty, so nothing was said");
        return Err(finding.help("say it in a line: team-executor msg log 'TEXT'").into());
    }
    Ok(())
}

/// A warning about a receiver that is no role of the session and has sent no message.
fn unknown_receiver(caller: &Caller, options: &Msg, to: &str) -> Result<Option<String>, Failure> {
    if caller.attempt.is_some() || [log::ALL, "user", "coordinator", "executor"].contains(&to) {
        return Ok(None);
    }
    let opened = caller.open(options.reading.into())?;
    let Some((session, _)) = &opened.session else { return Ok(None) };
    let heard = Heard::read(caller.folder())?;
    let roles = ShownRole::all(&heard, Some(session));
    let of_tasks = session.tasks.iter().map(|task| task.role.as_str());
    let names: BTreeSet<&str> = roles.iter().map(|known| known.role).chain(of_tasks).collect();
    if names.contains(to) {
        return Ok(None);
    }
    let near = nearest(to, names.into_iter()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Ok(Some(format!("the session has no role '{to}'{near}")))
}

fn broadcast(caller: &Caller, options: &Msg, said: &MsgBroadcast, printer: &mut Printer) -> Result<Exit, Failure> {
    something_is_said(&said.summary)?;
    let from = caller.name(said.from.as_deref(), options.reading.into())?;
    let draft = Draft {
        from: &from,
        to: log::ALL,
        kind: "broadcast",
        summary: &said.summary,
        data: said.data.as_deref(),
        attempt: caller.attempt.as_ref(),
    };
    let book = match said.wisdom {
        Wisdom::Learnings => Book::Learnings,
        Wisdom::Decisions => Book::Decisions,
        Wisdom::Issues => Book::Issues,
    };
    let message = bus::broadcast(caller.folder(), &draft, book)?;
    show_one(&message, &[], options.format, printer)
}

fn list(caller: &Caller, wanted: &MsgFilter, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let heard = heard(caller, format, printer)?;
    let last = wanted.last.or((format == Format::Text).then_some(LISTED));
    let messages = Filter { last, ..filter(wanted) }.select(&heard);
    if format == Format::Json {
        let messages = messages.iter().map(|said| ShownMessage::from_message(&said.value)).collect();
        printer.json(&JsonHeard { version: 1, messages, warnings: &heard.warnings })?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    for said in &messages {
        writeln!(printer.out(), "{}", escape::cut(&line(&ShownMessage::from_message(&said.value)), width))?;
    }
    if messages.is_empty() {
        writeln!(printer.out(), "No messages")?;
    }
    Ok(Exit::Fine)
}

fn read(caller: &Caller, wanted: &MsgRead, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let heard = heard(caller, format, printer)?;
    let mut messages = filter(&wanted.filter).select(&heard);
    if let Some(id) = &wanted.id {
        messages.retain(|said| said.value.id == *id);
        if messages.is_empty() {
            let finding = Finding::error(Code::Usage, format!("there is no message '{id}'"));
            let named = escape::session(caller.path.display());
            return Err(finding.help(format!("see the last ones: team-executor msg list {named}")).into());
        }
    }
    if format == Format::Json {
        let messages = messages.iter().map(|said| ShownMessage::from_message(&said.value)).collect();
        printer.json(&JsonHeard { version: 1, messages, warnings: &heard.warnings })?;
        return Ok(Exit::Fine);
    }
    for said in messages {
        writeln!(printer.out(), "{}", escape::line(&line(&ShownMessage::from_message(&said.value))))?;
        if let Some(data) = &said.value.data {
            writeln!(printer.out(), "  {}", escape::line(data))?;
        }
    }
    Ok(Exit::Fine)
}

fn status(caller: &Caller, options: &Msg, printer: &mut Printer) -> Result<Exit, Failure> {
    let heard = heard(caller, options.format, printer)?;
    let opened = caller.open(options.reading.into())?;
    let roles = ShownRole::all(&heard, opened.session.as_ref().map(|(session, _)| session));
    if options.format == Format::Json {
        printer.json(&JsonStatus { version: 1, roles, warnings: &heard.warnings })?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    for ShownRole { role, messages, last, .. } in &roles {
        let last = last.as_ref().map(|last| format!("; last: {}", line(last))).unwrap_or_default();
        let shown = format!("{role}: {}{last}", count(*messages, "message"));
        writeln!(printer.out(), "{}", escape::cut(&shown, width))?;
        if let Some(state) = heard.state.get(role) {
            writeln!(printer.out(), "  {}", escape::cut(state, width.saturating_sub(2)))?;
        }
    }
    if roles.is_empty() {
        writeln!(printer.out(), "No messages")?;
    }
    Ok(Exit::Fine)
}

/// Everything that was said. What could not be read is told on standard error, or with the rest as data.
fn heard(caller: &Caller, format: Format, printer: &mut Printer) -> Result<Heard, Failure> {
    let heard = Heard::read(caller.folder())?;
    if format == Format::Text {
        tell(&heard.warnings, printer)?;
    }
    Ok(heard)
}

fn tell(warnings: &[String], printer: &mut Printer) -> Result<(), Failure> {
    warnings.iter().try_for_each(|warning| warn(warning, Format::Text, printer))
}

fn filter(wanted: &MsgFilter) -> Filter {
    let MsgFilter { from, to, kind, last } = wanted;
    Filter { from: from.clone(), to: to.clone(), kind: kind.clone(), last: *last }
}

fn show_one(message: &Message, warnings: &[String], format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let message = ShownMessage::from_message(message);
    match format {
        Format::Json => printer.json(&JsonSaid { version: 1, message, warnings })?,
        Format::Text => {
            writeln!(printer.out(), "{}", escape::line(&line(&message)))?;
            tell(warnings, printer)?;
        }
    }
    Ok(Exit::Fine)
}

fn line(message: &ShownMessage<'_>) -> String {
    let ShownMessage { id, from, to, kind, summary, .. } = message;
    format!("{id} {from} -> {to} [{kind}] {summary}")
}
