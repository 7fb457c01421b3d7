//! One command, one file.

mod agents;
mod archive;
mod archived;
mod artifacts;
mod caller;
mod completion;
mod completions;
mod config;
mod continued;
mod control;
mod csv;
mod doctor;
mod export;
mod init;
mod logs;
pub(crate) mod mcp;
mod msg;
mod plan;
mod prompt;
mod rehearse;
mod report;
mod resume;
mod run;
mod schema;
pub(crate) mod sessions;
mod status;
mod talk;
mod task;
mod validate;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::which;

pub(crate) use csv::JsonJob;
pub(crate) use plan::mark;
pub(crate) use report::{JsonFinding, JsonHidden};
pub(crate) use status::why;
pub(crate) use validate::count;

/// Carries out what the user asked for.
pub(crate) fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let session = match &args.session {
        Some(given) => Some(which::named(given)?),
        None if args.is_about_session() => which::inferred(printer)?,
        None => None,
    };
    let session = session.as_deref();
    match &args.command {
        Some(Command::Init(options)) => init::run(session, options, printer),
        Some(Command::Csv(options)) => csv::run(session, options, printer),
        Some(Command::Validate(options)) => validate::run(session, options, printer),
        Some(Command::Plan(options)) => plan::run(session, options, printer),
        Some(Command::Rehearse(options)) => rehearse::run(session, options, printer),
        Some(Command::Config(options)) => config::run(session, options, printer),
        Some(Command::Agents(options)) => agents::run(session, options, printer),
        Some(Command::Status(options)) => status::run(session, options, printer),
        Some(Command::Resume(options)) => resume::run(session, options, printer),
        Some(Command::Pause(options)) => control::pause(session, options, printer),
        Some(Command::Stop(options)) => control::stop(session, options, printer),
        Some(Command::Retry(options)) => control::retry(session, options, printer),
        Some(Command::Skip(options)) => control::skip(session, options, printer),
        Some(Command::Checkpoint(options)) => control::checkpoint(session, options, printer),
        Some(Command::Talk(options)) => talk::run(session, options, printer),
        Some(Command::Logs(options)) => logs::run(session, options, printer),
        Some(Command::Prompt(options)) => prompt::run(session, options, printer),
        Some(Command::Msg(options)) => msg::run(session, options, printer),
        Some(Command::Task(options)) => task::run(session, options, printer),
        Some(Command::Mcp(options)) => mcp::run(session, options),
        Some(Command::Doctor(options)) => doctor::run(session, options, printer),
        Some(Command::Artifacts(options)) => artifacts::run(session, options, printer),
        Some(Command::Export(options)) => export::run(session, options, printer),
        Some(Command::Archive(options)) => archive::run(session, options, printer),
        Some(Command::Sessions(options)) => sessions::run(options, printer),
        Some(Command::Schema(options)) => schema::run(options, printer),
        Some(Command::Completions(options)) => completions::run(options, printer),
        Some(Command::Man) => completions::man(printer),
        Some(Command::Run(options)) => run::run(session, options, false, printer),
        None => run::run(session, &args.run, false, printer),
    }
}

/// Says why nothing was done, or not all, in the form in which the result would have been.
pub(crate) fn refuse(failure: &Failure, is_json: bool, printer: &mut Printer) -> Exit {
    let printed = match failure {
        Failure::Refused(finding, exit) if is_json => {
            let event = Event::Refused { message: &finding.message, help: &finding.help, exit_code: exit.code() };
            print_event(&event, printer.out())
        }
        Failure::Config(wrong) if is_json => {
            let (findings, sources) = &**wrong;
            let mut events = report::of_all(findings, sources, "").into_iter().map(Event::Finding);
            events.try_for_each(|event| print_event(&event, printer.out()))
        }
        _ => return printer.fail(failure),
    };
    printed.map_or(Exit::Io, |()| failure.exit())
}
