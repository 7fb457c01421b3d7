//! `csv`: a worker for each row of a table. It is an ordinary session underneath, which the same command finds again.

mod input;
mod output;
mod sessions;

use std::path::Path;
use std::sync::Arc;

use team_executor_files::csv_job::{FILE, Job, Rows};
use team_executor_files::{Code, Finding, Findings};
use team_executor_store::sha256;

use self::input::Input;
pub(crate) use self::output::JsonJob;
use self::output::Output;
use super::run::{self as running, refused};
use crate::args::{Csv, Format, OnComplete, Reading, Run, Settings};
use crate::config::Time;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::place;
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
    output.is_wanted().map_err(|error| not_written(&error, &place.folder))?;
    let (exit, format) = (running::run(Some(&place.folder), &of(options), false, printer)?, options.start.format);
    write(&[output], &input.rows, &place.folder, exit, format, printer)?;
    Ok(exit)
}

/// Writes the tables of a job whose session was run by another command; nothing for any other session.
pub(super) fn conclude(session: &Path, exit: Exit, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    let job = sessions::text(session, FILE).and_then(|text| Job::from_text(&text));
    let Some(job) = job else { return Ok(()) };
    let text = input::text(Path::new(&job.input))?;
    let rows = Rows::read(&text, &Arc::from(job.input.as_str()), job.id_column.as_deref(), &mut Findings::default());
    let Some(rows) = rows.filter(|_| sha256(text.as_bytes()) == job.input_sha256) else {
        let error = format!("{} is not the table of this job any more", job.input);
        return Err(not_written(&std::io::Error::other(error), session));
    };
    write(&Output::all(session, &job)?, &rows, session, exit, format, printer)
}

/// Writes how the rows stand into each of these tables, and tells it.
fn write(
    outputs: &[Output],
    rows: &Rows<'_>,
    session: &Path,
    exit: Exit,
    format: Format,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let opened = open::session(Some(session), &READING)?;
    let (tasks, graph) = open::runnable(&opened)?;
    let open::Place { folder, current } = open::place(Some(session))?;
    let states = team_executor_engine::job::rows(tasks, graph, &folder, &current).map_err(refused)?;
    let Some(states) = states else { return Ok(()) };
    let mut failed = None;
    for output in outputs {
        match output.write(rows, &states) {
            Ok(()) => output::tell(output, rows, &states, exit, format, printer)?,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), |error| Err(not_written(&error, session)))
}

fn not_written(error: &std::io::Error, session: &Path) -> Failure {
    let finding = Finding::error(Code::Usage, format!("the results were not written: {error}"));
    let session = escape::session(session.display());
    let again = format!("once the cause is gone, this writes them: {} resume {session} …", place::typed());
    Failure::Refused(Box::new(finding.help(again)), Exit::Io)
}

/// How the session of a job is read.
const READING: Reading =
    Reading { dialect: Some(team_executor_files::Dialect::TasksCsv), strict: false, ignore_results: false };

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
        is_csv: true,
    }
}
