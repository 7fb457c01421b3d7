//! `export`: copies what a run delivered to a folder of the user's.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_engine::{self as engine, Exported};

use super::control::named;
use super::report;
use super::run::refused_to;
use super::validate::count;
use crate::args::{Export, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonExport<'a> {
    version: u32,
    run: &'a str,
    to: String,
    copied: usize,
    were_there: usize,
    left_out: Vec<JsonLeft<'a>>,
    faults: Vec<JsonFault<'a>>,
}

#[derive(Serialize)]
struct JsonFault<'a> {
    path: &'a str,
    fault: &'static str,
}

#[derive(Serialize)]
struct JsonLeft<'a> {
    path: &'a str,
    reason: &'static str,
}

/// Copies, and says what.
pub(crate) fn run(session: Option<&Path>, options: &Export, printer: &mut Printer) -> Result<Exit, Failure> {
    let open::Place { folder, current } = open::place(session)?;
    match engine::export(&folder, &current, &options.to) {
        Err(failure) => Err(refused_to(failure, &named(session), None)),
        Ok(exported) => {
            match options.format {
                Format::Text => tell(&exported, printer.out())?,
                Format::Json => json(&exported, printer.out())?,
            }
            Ok(if exported.faults.is_empty() { Exit::Fine } else { Exit::Unfinished })
        }
    }
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

fn json(exported: &Exported, out: &mut impl Write) -> Result<(), Failure> {
    let value = JsonExport {
        version: 1,
        run: &exported.run,
        to: exported.to.display().to_string(),
        copied: exported.copied,
        were_there: exported.were_there,
        left_out: exported.left_out.iter().map(|(path, reason)| JsonLeft { path, reason }).collect(),
        faults: exported.faults.iter().map(|(path, fault)| JsonFault { path, fault: fault.word() }).collect(),
    };
    report::print(&value, out)
}
