//! `report`, and `--report` of a run: what became of a run, for other programs.

use std::io::Write;
use std::path::Path;

use team_executor_app::App;
use team_executor_app::report::Shape;

use crate::args::{Format, ReportFormat, ReportOf, Run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints a report of the newest run.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &ReportOf,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = app.open(session, options.reading.into())?;
    let shape = match options.format {
        ReportFormat::Json => Shape::Json,
        ReportFormat::Junit => Shape::Junit,
        ReportFormat::Github => Shape::Github,
        ReportFormat::Markdown => Shape::Summary,
        ReportFormat::Html => {
            write!(printer.out(), "{}", app.html_report(&opened)?)?;
            return Ok(Exit::Fine);
        }
    };
    write!(printer.out(), "{}", app.report(&opened, shape)?)?;
    Ok(Exit::Fine)
}

/// Writes the reports that were asked for when the run has ended, however it did.
pub(super) fn write(app: &App, path: &str, options: &Run, printer: &mut Printer) -> Result<(), Failure> {
    if options.report.is_empty() {
        return Ok(());
    }
    let opened = app.open(Some(Path::new(path)), options.reading.into())?;
    let printed = app.write_reports(&opened, &options.report)?;
    match options.start.format {
        Format::Json => write!(printer.err(), "{printed}")?,
        Format::Text => write!(printer.out(), "{printed}")?,
    }
    Ok(())
}
