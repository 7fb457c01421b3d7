//! `export`: copies what a run delivered to a folder of the user's.

use std::io::Write;
use std::path::Path;

use team_executor_app::putting_away::{Exported, json_export};
use team_executor_app::{App, count};

use crate::args::{Export, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Copies, and says what.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Export, printer: &mut Printer) -> Result<Exit, Failure> {
    let exported = app.export(session, options.of.run.as_deref(), &options.to)?;
    match options.format {
        Format::Text => tell(&exported, printer.out())?,
        Format::Json => printer.json(&json_export(&exported))?,
    }
    Ok(if exported.faults.is_empty() { Exit::Fine } else { Exit::Unfinished })
}

/// What was exported, for people.
pub(super) fn tell(exported: &Exported, out: &mut impl Write) -> std::io::Result<()> {
    let there =
        if exported.were_there > 0 { format!(", {} there already", exported.were_there) } else { String::new() };
    let to = escape::line(&exported.to.display().to_string());
    writeln!(out, "Exported {} of {} to {to}{there}", count(exported.copied, "file"), escape::line(&exported.run))?;
    for (path, why) in &exported.left_out {
        writeln!(out, "left out: {} ({why})", escape::line(path))?;
    }
    for (path, fault) in &exported.faults {
        writeln!(out, "{}", escape::line(&format!("not right: {path} {}", fault.describe())))?;
    }
    Ok(())
}
