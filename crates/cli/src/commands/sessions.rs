//! `sessions`: what there is below `.workflow/`.

use std::io::Write;
use std::path::Path;

use team_executor_app::sessions::{SessionRow, workflow};
use team_executor_app::{App, count};
use unicode_width::UnicodeWidthStr;

use crate::args::{Format, Sessions};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Finds, reads and lists.
pub(crate) fn run(app: &App, options: &Sessions, printer: &mut Printer) -> Result<Exit, Failure> {
    let listing = app.sessions(&options.dir)?;
    match options.format {
        Format::Json => printer.json(&listing)?,
        Format::Text => table(&listing.sessions, &workflow(&options.dir), printer)?,
    }
    Ok(Exit::Fine)
}

fn table(rows: &[SessionRow], workflow: &Path, printer: &mut Printer) -> Result<(), Failure> {
    let out = printer.out();
    if rows.is_empty() {
        writeln!(out, "No sessions below {}", workflow.display())?;
        return Ok(());
    }
    let widest = rows.iter().map(|row| row.path.width()).max().unwrap_or(0);
    writeln!(out, "{}  {:10}  {:9}  {:>9}  NOTES", escape::pad("PATH", widest), "DIALECT", "STATUS", "DONE")?;
    for row in rows {
        let notes = [(row.failed, "failed"), (row.errors, "error"), (row.warnings, "warning")];
        let twin = row.same_id_as.as_ref().map(|other| format!("same id as {}", escape::line(other)));
        let notes: Vec<_> = notes
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| if what == "failed" { format!("{n} failed") } else { count(n, what) })
            .chain(twin)
            .collect();
        let done = if matches!(row.status, "invalid" | "denied") {
            "-".to_owned()
        } else {
            format!("{}/{}", row.completed, row.tasks)
        };
        let path = escape::pad(&escape::line(&row.path), widest);
        let line = format!("{path}  {:10}  {:9}  {done:>9}  {}", row.dialect, row.status, notes.join(", "));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
