//! One command, one file.

mod agents;
mod archive;
mod artifacts;
mod attach;
mod changes;
mod completion;
pub(crate) mod completions;
mod config;
mod continued;
mod control;
mod csv;
mod doctor;
mod events;
mod export;
mod init;
mod logs;
mod machines;
pub(crate) mod mcp;
mod msg;
mod plan;
mod prompt;
mod prune;
mod rehearse;
mod report;
mod resume;
mod run;
mod runs;
mod schema;
mod sessions;
mod status;
mod talk;
mod task;
mod timeline;
mod ui;
mod validate;

use std::io::Write as _;

use team_executor_app::{App, findings};

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::which;

pub(crate) use plan::mark;
pub(crate) use status::why;

/// Carries out what the user asked for.
pub(crate) fn run(app: &App, args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let session = match &args.session {
        Some(given) => Some(which::named(app, given, printer)?),
        None if args.is_bare() => match which::certain(app, printer)? {
            Some(session) => Some(session),
            None => return help(printer),
        },
        None if args.infers_session() => which::inferred(app, printer)?,
        None => None,
    };
    let session = session.as_deref();
    match &args.command {
        Some(Command::Init(options)) => init::run(app, options, printer),
        Some(Command::Csv(options)) => csv::run(app, options, printer),
        Some(Command::Validate(options)) => validate::run(app, session, options, printer),
        Some(Command::Plan(options)) => plan::run(app, session, options, printer),
        Some(Command::Rehearse(options)) => rehearse::run(app, session, options, printer),
        Some(Command::Config(options)) => config::run(app, session, options, printer),
        Some(Command::Agents(options)) => agents::run(app, session, options, printer),
        Some(Command::Attach(options)) => attach::run(app, session, options, printer),
        Some(Command::Ui(options)) => ui::run(app, session, options, printer),
        Some(Command::Report(options)) => report::run(app, session, options, printer),
        Some(Command::Timeline(options)) => timeline::run(app, session, options, printer),
        Some(Command::Runs(options)) => runs::run(app, options, printer),
        Some(Command::Status(options)) => status::run(app, session, options, printer),
        Some(Command::Resume(options)) => resume::run(app, session, options, printer),
        Some(Command::Pause(options)) => control::pause(app, session, options, printer),
        Some(Command::Stop(options)) => control::stop(app, session, options, printer),
        Some(Command::Retry(options)) => control::steer(app, session, options, printer),
        Some(Command::Cancel(options)) => control::steer(app, session, options, printer),
        Some(Command::Restart(options)) => control::steer(app, session, options, printer),
        Some(Command::Limit(options)) => control::steer(app, session, options, printer),
        Some(Command::Skip(options)) => control::steer(app, session, options, printer),
        Some(Command::Checkpoint(options)) => control::checkpoint(app, session, options, printer),
        Some(Command::Talk(options)) => talk::run(app, session, options, printer),
        Some(Command::Logs(options)) => logs::run(app, session, options, printer),
        Some(Command::Events(options)) => events::run(app, session, options, printer),
        Some(Command::Prompt(options)) => prompt::run(app, session, options, printer),
        Some(Command::Msg(options)) => msg::run(app, session, options, printer),
        Some(Command::Task(options)) => task::run(app, session, options, printer),
        Some(Command::Mcp(options)) => mcp::run(app, options),
        Some(Command::Doctor(options)) => doctor::run(app, session, options, printer),
        Some(Command::Artifacts(options)) => artifacts::run(app, session, options, printer),
        Some(Command::Changes(options)) => changes::run(app, session, options, printer),
        Some(Command::Merge(options)) => changes::merge(app, session, options, printer),
        Some(Command::Export(options)) => export::run(app, session, options, printer),
        Some(Command::Archive(options)) => archive::run(app, session, options, printer),
        Some(Command::Prune(options)) => prune::run(app, session, options, printer),
        Some(Command::Sessions(options)) => sessions::run(app, options, printer),
        Some(Command::Host(options)) => machines::host(app, options, printer),
        Some(Command::Hosts(options)) => machines::hosts(app, options, printer),
        Some(Command::Backend(options)) => machines::backend(app, options, printer),
        Some(Command::Schema(options)) => schema::run(options, printer),
        Some(Command::Completions(options)) => completions::run(options, printer),
        Some(Command::Man(options)) => completions::man(options, printer),
        Some(Command::Run(options)) => run::run(app, session, options, false, printer),
        None => run::run(app, session, &args.run, false, printer),
    }
}

/// Prints the help of the program.
fn help(printer: &mut Printer) -> Result<Exit, Failure> {
    write!(printer.out(), "{}", Args::for_people().render_help().ansi())?;
    Ok(Exit::Fine)
}

/// Reports a failure in the form that the result would have had.
pub(crate) fn refuse(failure: &Failure, is_json: bool, printer: &mut Printer) -> Exit {
    let printed = match failure {
        Failure::Refused(finding, exit) if is_json => {
            let event = Event::Refused { message: &finding.message, help: &finding.help, exit_code: exit.code() };
            print_event(&event, printer.out())
        }
        Failure::Files(wrong) if is_json => {
            let (findings, sources) = &**wrong;
            let mut events = findings::of_all(findings, sources, "").into_iter().map(Event::Finding);
            events.try_for_each(|event| print_event(&event, printer.out()))
        }
        _ => return printer.fail(failure),
    };
    printed.map_or(Exit::Io, |()| failure.exit())
}
