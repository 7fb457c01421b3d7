//! One command, one file.

mod completions;
mod plan;
mod report;
mod schema;
mod sessions;
mod validate;

use team_executor_files::{Code, Finding};

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Carries out what the user asked for.
pub(crate) fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let session = args.session.as_deref();
    match &args.command {
        Some(Command::Validate(options)) => validate::run(session, options, printer),
        Some(Command::Plan(options)) => plan::run(session, options, printer),
        Some(Command::Sessions(options)) => sessions::run(options, printer),
        Some(Command::Schema(options)) => schema::run(options, printer),
        Some(Command::Completions(options)) => completions::run(options, printer),
        Some(Command::Man) => completions::man(printer),
        None => Err(no_command(args).into()),
    }
}

fn no_command(args: &Args) -> Finding {
    let Some(session) = &args.session else { return open::session_required() };
    let session = session.display();
    Finding::error(Code::Usage, "no command was given, so nothing was done")
        .help(format!("team-executor validate --session={session}"))
        .help(format!("team-executor plan --session={session}"))
}
