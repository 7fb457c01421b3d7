//! `prompt`: what a worker is told about a task. Only looks; on a terminal nothing in it can steer the terminal.

use std::io::{IsTerminal, Write};
use std::path::Path;

use serde::Serialize;
use team_executor_engine as engine;
use team_executor_files::{Code, Finding};

use super::{report, status};
use crate::args::{Format, Prompt};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonPrompt<'a> {
    version: u32,
    task: &'a str,
    prompt: &'a str,
}

/// Reads the session and its newest run, if there is one, and prints the prompt.
pub(crate) fn run(session: Option<&Path>, options: &Prompt, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (session, graph, task) = open::task(&opened, &options.task)?;
    let cannot = |what: String, help: &str| Failure::from(Finding::error(Code::Usage, what).help(help));
    let folder = Path::new(&opened.path).canonicalize();
    let folder = folder.map_err(|error| cannot(error.to_string(), "check the path of the session"))?;
    let current = std::env::current_dir();
    let current = current.map_err(|error| cannot(error.to_string(), "change to a folder that is there"))?;
    let prompt = engine::prompt(session, graph, &folder, &current, task)
        .map_err(|failure| status::unknown(&failure, &folder, &current, &opened.path))?;
    // Nothing is taken out of it: it is what a worker is told.
    if options.format == Format::Json {
        report::print(&JsonPrompt { version: 1, task: &options.task, prompt: &prompt }, &mut printer.raw_out()?)?;
    } else if std::io::stdout().is_terminal() {
        prompt.lines().try_for_each(|line| writeln!(printer.out(), "{}", escape::line(line)))?;
    } else {
        printer.raw_out()?.write_all(prompt.as_bytes())?;
    }
    Ok(Exit::Fine)
}
