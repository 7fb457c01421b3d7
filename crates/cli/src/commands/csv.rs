//! `csv`: a worker for each row of a table.

use std::io::Write;
use std::path::Path;

use team_executor_app::csv::{Input, JobReport, TableOptions, Written};
use team_executor_app::{App, findings};
use team_executor_files::Dialect;

use super::run as running;
use crate::args::{Csv, Format, OnComplete, Part, Reading, Run, Settings};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;
use team_executor_app::config::Time;

/// Makes the session of a job or finds it, runs it, and writes the table that comes out.
pub(crate) fn run(app: &App, options: &Csv, printer: &mut Printer) -> Result<Exit, Failure> {
    let wanted = TableOptions {
        file: &options.file,
        instruction: &options.instruction,
        id_column: options.id_column.as_deref(),
        output: options.output.as_deref(),
        output_schema: options.output_schema.as_deref(),
        is_new: options.new,
    };
    let (text, format) = (app.csv_text(wanted.file)?, options.start.format);
    let input = app.csv_input(&text, &wanted)?;
    tell_warnings(&input, format, printer)?;
    let begun = app.csv_begin(input, &wanted)?;
    let exit = running::run(app, Some(&begun.session), &run_options(options), false, printer)?;
    tell(app.csv_end(&begun, is_over(exit))?, format, printer)?;
    Ok(exit)
}

/// Writes the tables of a job whose session was run by another command; nothing for any other session.
pub(super) fn conclude(
    app: &App,
    session: &Path,
    exit: Exit,
    format: Format,
    printer: &mut Printer,
) -> Result<(), Failure> {
    tell(app.csv_conclude(session, is_over(exit))?, format, printer)
}

/// Whether a run with this exit code is at its end.
fn is_over(exit: Exit) -> bool {
    matches!(exit, Exit::Fine | Exit::Unfinished)
}

/// Says what is odd about a job.
fn tell_warnings(input: &Input<'_>, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match format {
        Format::Text => {
            let text = diagnostics::all(&input.findings, &input.sources, "", printer.width());
            write!(printer.err(), "{text}")?;
        }
        Format::Json => {
            for finding in findings::of_all(&input.findings, &input.sources, "") {
                print_event(&Event::Finding(finding), printer.out())?;
            }
        }
    }
    Ok(())
}

/// Says how a job came out.
fn tell(written: Written, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    for job in written.reports {
        match format {
            Format::Json => print_event(&Event::CsvJob(job), printer.out())?,
            Format::Text => text(&job, printer.out())?,
        }
    }
    written.failed.map_or(Ok(()), |failed| Err(failed.into()))
}

fn text(job: &JobReport, out: &mut impl Write) -> std::io::Result<()> {
    for row in &job.failed_item_errors {
        writeln!(out, "✗ {}", escape::line(&format!("{}: {}", row.item_id, row.last_error)))?;
    }
    let path = escape::line(&job.output_csv_path);
    let (done, all, failed) = (job.completed_items, job.total_items, job.failed_items);
    writeln!(out, "Rows: {done} of {all} completed, {failed} failed; all of them are in {path}")
}

/// The same as `run` is told.
fn run_options(options: &Csv) -> Run {
    let settings = &options.settings;
    let time_limit = options.max_runtime_seconds.map(Time::seconds).or(settings.time_limit);
    Run {
        part: Part::default(),
        reading: Reading { dialect: Some(Dialect::TasksCsv), strict: false, ignore_results: false },
        settings: Settings { time_limit, ..settings.clone() },
        continued: None,
        role: Vec::new(),
        start: options.start.clone(),
        on_complete: Some(OnComplete::Leave),
        on_event: Vec::new(),
        report: Vec::new(),
        detach: false,
        ui: false,
        background: false,
        is_csv: true,
    }
}
