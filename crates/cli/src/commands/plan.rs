//! `plan`: what a run would do. Nothing is started and nothing on disk changes.

mod diff;
mod text;

use std::io::Write;
use std::path::Path;

use team_executor_app::findings::FindingsReport;
use team_executor_app::run::waves_move;
use team_executor_app::{App, Error, Remark, count};

use super::run::{tell_remark, warn};
use crate::args::{self, Format, PlanFormat};
use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) use text::mark;
pub(super) use text::{converses, joined, list, mode, states};

/// Reads, plans and prints. Findings go to standard error, unless the format holds them; where there is no plan, JSON is
/// the report of `validate`.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &args::Plan,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let is_json = options.format == PlanFormat::Json;
    let mut opened = match app.open(session, options.reading.into()) {
        Err(Error::Refused(finding, _)) if is_json => {
            printer.json(&FindingsReport::of_unopened(&finding))?;
            return Ok(Exit::Invalid);
        }
        result => result?,
    };
    if !is_json {
        let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
        write!(printer.err(), "{findings}")?;
    }
    if options.diff && opened.session.is_some() {
        return diff::write(app, &opened, is_json, printer);
    }
    let Some(planned) = app.plan(&mut opened, &options.role)? else {
        if is_json {
            printer.json(&FindingsReport::from_opened(&opened))?;
        } else {
            let errors = count(opened.findings.error_count(), "error");
            writeln!(printer.err(), "No plan: the session has {errors}")?;
        }
        return Ok(Exit::Invalid);
    };
    if !is_json {
        planned.unused.iter().try_for_each(|message| warn(message, Format::Text, printer))?;
        for held_back in &planned.held_back {
            tell_remark(&Remark::Note(held_back.words()), Format::Text, printer)?;
        }
        let moves = waves_move(&planned.session, &planned.plan.graph);
        moves.iter().try_for_each(|note| tell_remark(note, Format::Text, printer))?;
    }
    match options.format {
        PlanFormat::Text => text::write(&opened, &planned, printer)?,
        PlanFormat::Json => printer.json(&planned.json(&mut opened))?,
        PlanFormat::Mermaid => write!(printer.out(), "{}", planned.picture().to_mermaid())?,
        PlanFormat::Dot => write!(printer.out(), "{}", planned.picture().to_dot())?,
        PlanFormat::Svg => write!(printer.out(), "{}", planned.picture().to_svg())?,
    }
    Ok(Exit::Fine)
}
