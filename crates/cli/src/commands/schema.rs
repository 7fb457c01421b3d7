//! `schema`: the published JSON Schemas.

use std::io::Write;

use serde::Serialize;
use team_executor_files::{Code, Finding, schemas};

use crate::args::{Format, Schema};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct Listing {
    version: u32,
    schemas: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
}

/// Prints one schema, or the names of all.
pub(crate) fn run(options: &Schema, printer: &mut Printer) -> Result<Exit, Failure> {
    match &options.name {
        None if options.format == Format::Json => {
            let schemas = schemas::ALL.iter().map(|schema| Row { name: schema.name, title: schema.title }).collect();
            printer.json(&Listing { version: 1, schemas })?;
        }
        None => {
            for schema in schemas::ALL {
                writeln!(printer.out(), "{:18}  {}", schema.name, schema.title)?;
            }
        }
        Some(name) => match schemas::Schema::named(name) {
            Some(schema) => write!(printer.out(), "{}", schema.text())?,
            None => {
                let names: Vec<_> = schemas::ALL.iter().map(|schema| schema.name).collect();
                let finding = Finding::error(Code::Usage, format!("there is no schema '{name}'"));
                return Err(finding.help(format!("the schemas are: {}", names.join(", "))).into());
            }
        },
    }
    Ok(Exit::Fine)
}
