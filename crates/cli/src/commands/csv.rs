//! `csv`: a worker for each row of a table. It is an ordinary session underneath, which the same command finds again.

mod input;
mod output;
mod sessions;

use std::path::Path;

use team_executor_files::{Code, Finding};

use self::input::Input;
pub(crate) use self::output::JsonJob;
use self::output::Output;
use super::run::{self as running, refused};
use crate::args::{Csv, OnComplete, Reading, Run, Settings};
use crate::config::Time;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Makes the session of a job or finds it, runs it, and writes the table that comes out.
pub(crate) fn run(session: Option<&Path>, options: &Csv, printer: &mut Printer) -> Result<Exit, Failure> {
    if session.is_some() {
        let finding = Finding::error(Code::Usage, "`csv` makes a session of its own, it takes none");
        return Err(finding.help("leave out --session: the same command goes on with the same job").into());
    }
    let text = input::text(&options.file)?;
    let input = Input::read(&text, options)?;
    input.tell_warnings(options.start.format, printer)?;
    let place = sessions::of(&input, options.new)?;
    let output = Output::of(&place, &input, options.output.as_deref())?;
    output.must_be_ours()?;
    sessions::make(&place, &input)?;
    let exit = running::run(Some(&place.folder), &of(options), false, printer)?;
    let opened = open::session(Some(&place.folder), &READING)?;
    let (session, graph) = open::runnable(&opened)?;
    let current = open::current()?;
    let folder = open::place(Some(&place.folder))?.folder;
    let rows = team_executor_engine::job::rows(session, graph, &folder, &current).map_err(refused)?;
    let Some(rows) = rows else { return Ok(exit) };
    output.write(&input.rows, &rows).map_err(|error| {
        let finding = Finding::error(Code::Usage, format!("the results were not written: {error}"));
        let command = escape::shell_word(&options.file.display().to_string());
        let again = format!("once the cause is gone, the same command writes them: team-executor csv {command} …");
        Failure::Refused(Box::new(finding.help(again)), Exit::Io)
    })?;
    output::tell(&output, &input.rows, &rows, exit, options.start.format, printer)?;
    Ok(exit)
}

/// How the session of a job is read.
const READING: Reading = Reading { dialect: Some(team_executor_files::Dialect::TasksCsv), strict: false };

/// The same as `run` is told.
fn of(options: &Csv) -> Run {
    let settings = &options.settings;
    let time_limit = options.max_runtime_seconds.map(Time::seconds).or(settings.time_limit);
    Run {
        reading: READING,
        settings: Settings { time_limit, ..settings.clone() },
        continued: None,
        role: Vec::new(),
        start: options.start.clone(),
        on_complete: Some(OnComplete::Leave),
    }
}
