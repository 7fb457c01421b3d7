//! `validate`: everything that is wrong or odd about a session. Nothing on disk changes.

use std::io::Write;
use std::path::Path;

use team_executor_app::findings::FindingsReport;
use team_executor_app::{App, Error, Opened, count};

use crate::args::{Format, Validate};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Reads, judges and reports.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Validate,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = match app.open_unique(session, options.reading.into()) {
        Err(Error::Refused(finding, _)) if options.format == Format::Json => {
            printer.json(&FindingsReport::of_unopened(&finding))?;
            return Ok(Exit::Invalid);
        }
        result => result?,
    };
    match options.format {
        Format::Text => text(&opened, printer)?,
        Format::Json => printer.json(&FindingsReport::from_opened(&opened))?,
    }
    Ok(if opened.findings.has_errors() { Exit::Invalid } else { Exit::Fine })
}

fn text(opened: &Opened, printer: &mut Printer) -> Result<(), Failure> {
    let width = printer.width();
    let out = printer.out();
    write!(out, "{}", diagnostics::all(&opened.findings, &opened.sources, &opened.path, width))?;
    let (errors, warnings) = (opened.findings.error_count(), opened.findings.warning_count());
    let found = [(errors, "error"), (warnings, "warning")];
    let found: Vec<_> = found.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(n, what)).collect();
    let with = if found.is_empty() { String::new() } else { format!(", {}", found.join(", ")) };
    let summary = match &opened.session {
        Some((session, graph)) => format!(
            "Session {} is valid ({}): {}, {}, {}{with}",
            session.id,
            opened.dialect,
            count(session.tasks.len(), "task"),
            count(graph.edge_count(), "edge"),
            count(graph.wave_count() as usize, "wave"),
        ),
        None => format!("Session {} cannot be run ({}){with}", opened.path, opened.dialect),
    };
    writeln!(out, "{}", escape::wrap(&summary, width).join("\n"))?;
    Ok(())
}
