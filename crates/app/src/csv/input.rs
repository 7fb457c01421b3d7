//! The table and the instruction of a job, read and checked before any file is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_beneath::{ours, words};
use team_executor_engine::job::usable;
use team_executor_files::csv_job::{Job, Rows, Template};
use team_executor_files::{Code, Finding, Findings, Source, Sources, limits};
use team_executor_store::sha256;

use crate::App;
use crate::error::Error;

/// What an instruction is called where it is pointed at.
const INSTRUCTION: &str = "--instruction";

/// The options for a table. Each field is the option of its name.
#[derive(Debug)]
#[expect(missing_docs, reason = "`--help` describes each option")]
pub struct TableOptions<'a> {
    pub file: &'a Path,
    pub instruction: &'a str,
    pub id_column: Option<&'a str>,
    pub output: Option<&'a Path>,
    pub output_schema: Option<&'a str>,
    pub is_new: bool,
}

/// A job that can be done.
#[derive(Debug)]
pub struct Input<'s> {
    /// The table.
    pub(super) path: PathBuf,
    /// What is in it.
    pub(super) rows: Rows<'s>,
    /// The instruction for each row.
    pub(super) template: Template,
    /// What makes it this job and no other.
    pub(super) job: Job,
    /// What is odd about it.
    pub findings: Findings,
    /// What findings point into.
    pub sources: Sources,
}

/// The text of a table, without its byte order mark.
pub(super) fn text(app: &App, path: &Path) -> Result<String, Error> {
    let cannot = |why: String| {
        let finding = Finding::error(Code::FileUnreadable, format!("{} cannot be read: {why}", path.display()));
        Error::from(finding.help("check the path: team-executor csv FILE"))
    };
    let text = String::from_utf8(read(&app.path(path)).map_err(cannot)?);
    let text =
        text.map_err(|error| cannot(format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to())))?;
    Ok(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

impl<'s> Input<'s> {
    /// Reads and judges all of it.
    pub(super) fn read(app: &App, text: &'s str, wanted: &TableOptions<'_>) -> Result<Self, Error> {
        let path = app.path(wanted.file).canonicalize().unwrap_or_else(|_| wanted.file.to_owned());
        let (file, instruction) = (Arc::from(wanted.file.display().to_string()), Arc::from(INSTRUCTION));
        let mut findings = Findings::default();
        let mut sources = Sources::default();
        let output_schema = wanted.output_schema.map(|given| schema(app, given)).transpose()?;
        let rows = Rows::read(text, &file, wanted.id_column, &mut findings);
        let columns = rows.as_ref().map(Rows::columns);
        let template =
            columns.map(|columns| Template::parse(wanted.instruction, &columns, &instruction, &mut findings));
        if wanted.instruction.trim().is_empty() {
            let finding = Finding::error(Code::Usage, "the instruction is empty, so there is nothing to do");
            findings.push(finding.help("say what to do with a row: --instruction 'Summarise {url}'"));
        }
        let job = Job {
            input: path.display().to_string(),
            input_sha256: sha256(text.as_bytes()),
            instruction: wanted.instruction.to_owned(),
            id_column: wanted.id_column.map(str::to_owned),
            output_schema,
        };
        if Job::from_text(&job.to_text()).as_ref() != Some(&job) {
            findings.push(
                Finding::error(Code::Usage, "the schema of --output-schema cannot be kept")
                    .help("nest it less deeply; team-executor reads JSON of at most 64 levels"),
            );
        }
        sources.insert(file, Source::new(text.to_owned()));
        sources.insert(instruction, Source::new(wanted.instruction.to_owned()));
        match (rows, template) {
            (Some(rows), Some(template)) if !findings.has_errors() => {
                Ok(Self { path, rows, template, job, findings, sources })
            }
            _ => Err(Error::files(findings, sources)),
        }
    }
}

/// The text of a schema that can be used: what was given, or what is in the file that was named.
fn schema(app: &App, given: &str) -> Result<String, Error> {
    let cannot = |why: String| {
        let shown = if is_schema(given) { "of --output-schema" } else { given };
        let finding = Finding::error(Code::Usage, format!("the schema {shown} cannot be used: {why}"));
        Error::from(finding.help("name a JSON Schema that refers to no other file: --output-schema FILE"))
    };
    let text = if is_schema(given) {
        given.to_owned()
    } else {
        let bytes = read(&app.path(Path::new(given))).map_err(cannot)?;
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
