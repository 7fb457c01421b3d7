//! `prompt`: what a worker is told about a task. Only looks; on a terminal nothing in it can steer the terminal.

use std::io::{IsTerminal, Write};
use std::path::Path;

use serde::Serialize;
use team_executor_app::App;
use team_executor_app::variables::Variable;

use crate::args::{Format, Prompt};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The names of the variables that a worker is given, with where each comes from.
fn variables(variables: &[Variable], options: &Prompt, printer: &mut Printer) -> Result<Exit, Failure> {
    if options.format == Format::Json {
        printer.json(&JsonVariables { version: 1, task: &options.task, variables })?;
        return Ok(Exit::Fine);
    }
    let width = variables.iter().map(|one| one.name.len()).max().unwrap_or_default();
    for Variable { name, from } in variables {
        writeln!(printer.out(), "{}  {}", escape::pad(&escape::line(name), width), from.words())?;
    }
    Ok(Exit::Fine)
}

#[derive(Serialize)]
struct JsonVariables<'a> {
    version: u32,
    task: &'a str,
    variables: &'a [Variable],
}

#[derive(Serialize)]
struct JsonPrompt<'a> {
    version: u32,
    task: &'a str,
    prompt: &'a str,
}

/// Reads the session and its newest run, if there is one, and prints the prompt.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Prompt, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = app.open_run(session, options.reading.into(), options.of.run.as_deref())?;
    if options.env {
        return variables(&app.variables_of(&opened, &options.task)?, options, printer);
    }
    let prompt = app.prompt(&opened, &options.task)?;
    // Nothing is taken out of it: it is what a worker is told.
    if options.format == Format::Json {
        let mut out = printer.raw_out()?;
        let value = JsonPrompt { version: 1, task: &options.task, prompt: &prompt };
        serde_json::to_writer_pretty(&mut out, &value).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else if std::io::stdout().is_terminal() {
        prompt.lines().try_for_each(|line| writeln!(printer.out(), "{}", escape::line(line)))?;
    } else {
        printer.raw_out()?.write_all(prompt.as_bytes())?;
    }
    Ok(Exit::Fine)
}
