//! `schema`: the published JSON Schemas.

use std::io::Write;

use team_executor_files::{Code, Finding, schemas};

use crate::args::Schema;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints one schema, or the names of all.
pub(crate) fn run(options: &Schema, printer: &mut Printer) -> Result<Exit, Failure> {
    let out = printer.out();
    match &options.name {
        None => {
            for schema in schemas::ALL {
                writeln!(out, "{:18}  {}", schema.name, schema.title)?;
            }
        }
        Some(name) => match schemas::ALL.iter().find(|schema| schema.name == name) {
            Some(schema) => write!(out, "{}", schema.text())?,
            None => {
                let names: Vec<_> = schemas::ALL.iter().map(|schema| schema.name).collect();
                let finding = Finding::error(Code::Usage, format!("there is no schema '{name}'"));
                return Err(finding.help(format!("the schemas are: {}", names.join(", "))).into());
            }
        },
    }
    Ok(Exit::Fine)
}
