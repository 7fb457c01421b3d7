//! `run --detach`: starts the run in the background and gives the prompt back.

use std::ffi::OsString;
use std::io::{self, Write};

use team_executor_app::App;
use team_executor_app::apart::{Background, Begun, Console};
use team_executor_app::run::Prepared;

use crate::args::{Format, Run};
use crate::escape;
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

/// Starts a run that was confirmed, and says how to reach it once it has begun.
pub(super) fn start(
    app: &App,
    prepared: &Prepared,
    options: &Run,
    path: &str,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    printer.flush()?;
    let console = prepared.console();
    let Background { printed, run } = app.start_in_background(&words(prepared, options, path), &console)?;
    // The report of a run that was finished before is the answer; all else is told beside it.
    if options.start.format == Format::Json || matches!(run, Err(0 | 1)) {
        write!(printer.out(), "{printed}")?;
    } else {
        write!(printer.err(), "{printed}")?;
    }
    match run {
        Ok(begun) => {
            tell(app, &begun, &console, options.start.format, path, printer)?;
            Ok(Exit::Fine)
        }
        Err(code) => Ok(Exit::from_code(code)),
    }
}

/// The same command as it was given, confirmed, and with the session that was found.
fn words(prepared: &Prepared, options: &Run, path: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    words.extend(["--background", "--no-progress"].map(OsString::from));
    if !options.start.yes {
        words.push("--yes".into());
        // A person has seen the programs and agreed.
        if prepared.programs().iter().any(|program| program.by_project.is_some()) && !options.start.trust_project {
            words.push("--trust-project".into());
        }
    }
    let names_session = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("--session"));
    if options.continued.is_none() && !words.iter().any(names_session) {
        words.push(format!("--session={path}").into());
    }
    words
}

fn tell(
    app: &App,
    begun: &Begun,
    console: &Console,
    format: Format,
    path: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let Begun { name, process } = begun;
    let console = console.path(name).display().to_string();
    if format == Format::Json {
        return Ok(print_event(&Event::Detached { run: name, process: *process, console }, printer.out())?);
    }
    let (typed, session) = (app.typed(), escape::session(path));
    let out = printer.out();
    writeln!(out, "Run {} goes on in the background (process {process})", escape::line(name))?;
    writeln!(out, "help: see it: {typed} attach {session}")?;
    writeln!(out, "help: end it: {typed} stop {session}")?;
    writeln!(out, "Its output is in {}", escape::line(&console))?;
    Ok(())
}

/// Tells the starter that the run has begun, and prints into the run's own file from now on.
pub(super) fn take_over(console: &Console, run: &str, printer: &mut Printer) -> io::Result<()> {
    printer.out().flush()?;
    console.take_over(run)
}
