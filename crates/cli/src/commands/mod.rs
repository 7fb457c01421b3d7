//! One command, one file.

mod completions;
mod logs;
mod plan;
mod prompt;
mod report;
mod run;
mod schema;
mod sessions;
mod status;
mod validate;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) use plan::mark;
pub(crate) use report::{JsonFinding, JsonHidden};
pub(crate) use validate::count;

/// Carries out what the user asked for.
pub(crate) fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let session = args.session.as_deref();
    match &args.command {
        Some(Command::Validate(options)) => validate::run(session, options, printer),
        Some(Command::Plan(options)) => plan::run(session, options, printer),
        Some(Command::Status(options)) => status::run(session, options, printer),
        Some(Command::Logs(options)) => logs::run(session, options, printer),
        Some(Command::Prompt(options)) => prompt::run(session, options, printer),
        Some(Command::Sessions(options)) => sessions::run(options, printer),
        Some(Command::Schema(options)) => schema::run(options, printer),
        Some(Command::Completions(options)) => completions::run(options, printer),
        Some(Command::Man) => completions::man(printer),
        Some(Command::Run(options)) => run::run(session, options, printer),
        None => run::run(session, &args.run, printer),
    }
}

/// Says why nothing was done, or not all, in the form in which the result would have been.
pub(crate) fn refuse(failure: &Failure, is_json: bool, printer: &mut Printer) -> Exit {
    let Failure::Refused(finding, exit) = failure else { return printer.fail(failure) };
    if !is_json {
        return printer.fail(failure);
    }
    let event = Event::Refused { message: &finding.message, help: &finding.help, exit_code: exit.code() };
    print_event(&event, printer.out()).map_or(Exit::Io, |()| *exit)
}
