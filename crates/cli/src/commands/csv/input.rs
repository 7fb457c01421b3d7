//! The table of a job and what is to be done with it, read and judged before anything is made.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_beneath::{ours, words};
use team_executor_engine::job::usable;
use team_executor_files::csv_job::{Job, Rows, Template};
use team_executor_files::{Code, Finding, Findings, Source, Sources, limits};
use team_executor_store::sha256;

use crate::args::{Csv, Format};
use crate::commands::report;
use crate::diagnostics;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

/// What an instruction is called where it is pointed at.
const INSTRUCTION: &str = "--instruction";

/// A job that can be done.
pub(super) struct Input<'s> {
    /// The table.
    pub(super) path: PathBuf,
    /// What is in it.
    pub(super) rows: Rows<'s>,
    /// What is to be done with each row.
    pub(super) template: Template,
    /// What makes it this job and no other.
    pub(super) job: Job,
    findings: Findings,
    sources: Sources,
}

/// The text of a table, without its byte order mark.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let cannot = |why: String| {
        let finding = Finding::error(Code::FileUnreadable, format!("{} cannot be read: {why}", path.display()));
        Failure::from(finding.help("check the path: team-executor csv FILE"))
    };
    let text = String::from_utf8(read(path).map_err(cannot)?);
    let text =
        text.map_err(|error| cannot(format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to())))?;
    Ok(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

impl<'s> Input<'s> {
    /// Reads and judges all of it.
    pub(super) fn read(text: &'s str, options: &Csv) -> Result<Self, Failure> {
        let path = options.file.canonicalize().unwrap_or_else(|_| options.file.clone());
        let (file, instruction) = (Arc::from(options.file.display().to_string()), Arc::from(INSTRUCTION));
        let mut findings = Findings::default();
        let mut sources = Sources::default();
        let output_schema = options.output_schema.as_deref().map(schema).transpose()?;
        let rows = Rows::read(text, &file, options.id_column.as_deref(), &mut findings);
        let columns = rows.as_ref().map(Rows::columns);
        let template =
            columns.map(|columns| Template::parse(&options.instruction, &columns, &instruction, &mut findings));
        if options.instruction.trim().is_empty() {
            let finding = Finding::error(Code::Usage, "the instruction is empty, so there is nothing to do");
            findings.push(finding.help("say what to do with a row: --instruction 'Summarise {url}'"));
        }
        let job = Job {
            input: path.display().to_string(),
            input_sha256: sha256(text.as_bytes()),
            instruction: options.instruction.clone(),
            id_column: options.id_column.clone(),
            output_schema,
        };
        if Job::from_text(&job.to_text()).as_ref() != Some(&job) {
            findings.push(
                Finding::error(Code::Usage, "the schema of --output-schema cannot be kept")
                    .help("nest it less deeply; team-executor reads JSON of at most 64 levels"),
            );
        }
        sources.insert(file, Source::new(text.to_owned()));
        sources.insert(instruction, Source::new(options.instruction.clone()));
        match (rows, template) {
            (Some(rows), Some(template)) if !findings.has_errors() => {
                Ok(Self { path, rows, template, job, findings, sources })
            }
            _ => Err(Failure::Config(Box::new((findings, sources)))),
        }
    }

    /// Says what is odd about it.
    pub(super) fn tell_warnings(&self, format: Format, printer: &mut Printer) -> Result<(), Failure> {
        match format {
            Format::Text => {
                let text = diagnostics::all(&self.findings, &self.sources, "", printer.width());
                write!(printer.err(), "{text}")?;
            }
            Format::Json => {
                for finding in report::of_all(&self.findings, &self.sources, "") {
                    print_event(&Event::Finding(finding), printer.out())?;
                }
            }
        }
        Ok(())
    }
}

/// The text of a schema that can be used: what was given, or what is in the file that was named.
fn schema(given: &str) -> Result<String, Failure> {
    let cannot = |why: String| {
        let shown = if is_schema(given) { "of --output-schema" } else { given };
        let finding = Finding::error(Code::Usage, format!("the schema {shown} cannot be used: {why}"));
        Failure::from(finding.help("name a JSON Schema that refers to no other file: --output-schema FILE"))
    };
    let text = if is_schema(given) {
        given.to_owned()
    } else {
        let bytes = read(Path::new(given)).map_err(cannot)?;
        String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8".to_owned()))?
    };
    let text = text.trim_start_matches('\u{FEFF}').trim();
    usable(text).map_err(cannot)?;
    Ok(text.to_owned())
}

/// Whether this is a schema itself. No file is called so.
fn is_schema(given: &str) -> bool {
    given.trim_start().starts_with('{')
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    ours::read_chosen(path, limits::CSV_BYTES).map_err(words)
}
