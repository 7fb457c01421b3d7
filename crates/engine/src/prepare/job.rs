//! A session that is the job of a table (`csv-job.json`): every worker must report the result of its row, which follows the
//! job's schema if it has one, and any of them can end the job.

mod rows;

use std::fmt::Write as _;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use team_executor_agents::json;
use team_executor_files::csv_job::{self, FILE};
use team_executor_files::fence::fenced;
use team_executor_files::{Folder as _, ReadError};
use team_executor_store::DiskFolder;

pub use self::rows::rows;
use crate::conclude::WorkerReport;
use crate::conclude::artifacts::{compiled, departures};
use crate::options::Failure;

/// The most that is read of what a session says about its job.
const FILE_BYTES: u64 = 64 << 20;
/// How often a worker is asked again for a result that is none.
pub(crate) const ASKED_AGAIN: u32 = 1;

/// What the results of a job must be.
#[derive(Debug)]
pub(crate) struct ResultSchema {
    schema: Option<Validator>,
}

impl ResultSchema {
    /// The job of a session, if it is one of a job.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let unusable = |why: String| Failure::Changed(format!("{} cannot be used: {why}", folder.join(FILE).display()));
        let Ok(open) = DiskFolder::open(folder) else { return Ok(None) };
        let job = read(&open);
        if let Some((file, reason)) = open.failure() {
            let path = folder.join(file);
            return Err(Failure::Disk { action: "read", path, reason: reason.to_owned() });
        }
        let Some(job) = job else { return Ok(None) };
        let job = job.map_err(unusable)?;
        let schema = job.output_schema.map(|schema| compiled(schema.as_bytes())).transpose();
        Ok(Some(Self {
            schema: schema.map_err(|why| unusable(format!("its schema is not a valid JSON Schema: {why}")))?,
        }))
    }

    /// The result of a row, as JSON, if it is what it must be.
    pub(crate) fn accept(&self, report: Option<&WorkerReport>) -> Result<String, String> {
        let row = row(report.ok_or("it ended without reporting a result")?)?;
        let wrong = self.schema.as_ref().map(|schema| departures(schema, &row)).unwrap_or_default();
        if wrong.is_empty() {
            Ok(row.to_string())
        } else {
            Err(format!("the result does not follow its schema: {}", wrong.join("; ")))
        }
    }
}

/// Whether a text is a JSON Schema that can be used here; why not otherwise.
pub fn usable(schema: &str) -> Result<(), String> {
    compiled(schema.as_bytes()).map(drop)
}

/// The section of a prompt that says how to report; nothing if the session is of no job.
pub(crate) fn how_to_report(session: &DiskFolder) -> Option<String> {
    let job = read(session)?.ok()?;
    let mut text = String::from(
        "\n## How to report\n\
         Report the result of this row, which is a JSON object: write {\"status\": \"completed\", \"result\": that object} to\n\
         the path in TEAM_EXECUTOR_RESULT, or {\"status\": \"failed\", \"error\": why} if it cannot be done. With a tool\n\
         report_result, call that with the same. Where you are asked for a result of which \"result\" is a text, it is the\n\
         object as JSON text. A row without a result has failed.\n\
         With \"stop\": true beside the status no more rows are begun: only if all that is left would be in vain.\n",
    );
    if let Some(schema) = job.output_schema {
        write!(text, "The object must follow this JSON Schema:\n{}", fenced(&schema)).ok();
    }
    Some(text)
}

/// The result of a row.
fn row(report: &WorkerReport) -> Result<Value, String> {
    let text = report.row.as_ref().ok_or("the report has no `result`")?;
    match json::value(text).map_err(|error| format!("`result` of the report is not JSON: {error}"))? {
        row @ Value::Object(_) => Ok(row),
        _ => Err("`result` of the report is not an object".to_owned()),
    }
}

fn read(session: &DiskFolder) -> Option<Result<csv_job::Job, String>> {
    let bytes = match session.read(FILE, FILE_BYTES) {
        Err(ReadError::Missing) => return None,
        read => read.map_err(|error| error.to_string()),
    };
    let job = |bytes: Vec<u8>| String::from_utf8(bytes).ok().and_then(|text| csv_job::Job::from_text(&text));
    Some(bytes.and_then(|bytes| job(bytes).ok_or_else(|| "it does not describe a job".to_owned())))
}

#[cfg(test)]
mod tests {
    use team_executor_core::TaskId;

    use super::*;

    const SCHEMA: &str = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#;

    fn accepted(reported: Option<&str>) -> Result<String, String> {
        let job = ResultSchema { schema: Some(compiled(SCHEMA.as_bytes()).unwrap()) };
        let report = reported.map(|text| WorkerReport::parse(text, &TaskId::parse("A").unwrap()).unwrap());
        job.accept(report.as_ref())
    }

    #[test]
    fn a_result_is_an_object_or_its_text_and_follows_the_schema() {
        for fine in [
            r#"{"result":{"n":1}}"#,
            r#"{"result":"{\"n\":1}","data":{"key_findings":[]}}"#,
            r#"{"data":{"n":1}}"#,
            r#"{"result":null,"data":{"n":1}}"#,
        ] {
            assert_eq!(accepted(Some(fine)).as_deref(), Ok(r#"{"n":1}"#), "{fine}");
        }
        for (wrong, why) in [
            (None, "it ended without reporting a result"),
            (Some("{}"), "the report has no `result`"),
            (Some(r#"{"result":null,"data":{"key_findings":[],"verdict":null}}"#), "the report has no `result`"),
            (Some(r#"{"result":[1]}"#), "is not an object"),
            (Some(r#"{"result":"{"}"#), "is not JSON"),
            (Some(r#"{"result":{"n":"1"}}"#), "does not follow its schema: /n: "),
            (Some(r#"{"result":{}}"#), "\"n\" is a required property"),
        ] {
            let error = accepted(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn a_job_that_cannot_be_used_is_said_to_be_so() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(ResultSchema::read(dir.path()), Ok(None)));
        let job = |schema: Option<&str>| csv_job::Job {
            input: "/i".into(),
            input_sha256: "00".into(),
            instruction: "do".into(),
            id_column: None,
            output_schema: schema.map(str::to_owned),
        };
        for text in ["{".to_owned(), job(Some("{\"type\": 1}")).to_text()] {
            std::fs::write(dir.path().join(FILE), text).unwrap();
            assert!(matches!(ResultSchema::read(dir.path()), Err(Failure::Changed(_))));
        }
        std::fs::write(dir.path().join(FILE), job(Some(SCHEMA)).to_text()).unwrap();
        assert!(matches!(ResultSchema::read(dir.path()), Ok(Some(ResultSchema { schema: Some(_) }))));
        let told = how_to_report(&DiskFolder::open(dir.path()).unwrap()).unwrap();
        assert!(told.contains("JSON Schema:\n```text\n{\"type\":\"object\""), "{told}");
    }
}
