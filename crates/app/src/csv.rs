//! A worker for each row of a table. It is an ordinary session underneath, which the same wish finds again.

mod input;
mod output;
mod sessions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_engine::job;
use team_executor_files::csv_job::{FILE, Job, Rows};
use team_executor_files::{Code, Dialect, Finding, Findings};
use team_executor_store::sha256;

pub use self::input::{Input, TableOptions};
use self::output::Output;
pub use self::output::{JobReport, RowReport};
use crate::error::Error;
use crate::open::Reading;
use crate::{App, escape};

/// How the session of a job is read.
pub const READING: Reading = Reading { dialect: Some(Dialect::TasksCsv), strict: false, ignore_results: false };

/// A job whose session is there.
#[derive(Debug)]
pub struct Begun<'s> {
    /// The session's folder, as the user sees it.
    pub session: PathBuf,
    output: Output,
    rows: Rows<'s>,
}

/// The tables that were written, and why one was not.
#[derive(Debug, Default)]
pub struct Written {
    /// How the job came out, once for each table.
    pub reports: Vec<JobReport>,
    /// Why a table was not written.
    pub failed: Option<Error>,
}

impl App {
    /// The text of a table, without its byte order mark.
    pub fn csv_text(&self, file: &Path) -> Result<String, Error> {
        input::text(self, file)
    }

    /// Reads and judges a job before anything is made.
    pub fn csv_input<'s>(&self, text: &'s str, wanted: &TableOptions<'_>) -> Result<Input<'s>, Error> {
        Input::read(self, text, wanted)
    }

    /// Makes the session of a job or finds it.
    pub fn csv_begin<'s>(&self, input: Input<'s>, wanted: &TableOptions<'_>) -> Result<Begun<'s>, Error> {
        let place = sessions::find_or_name(self, &input, wanted.is_new)?;
        let output = Output::locate(self, &place, &input, wanted.output)?;
        output.must_be_ours()?;
        sessions::make(self, &place, &input)?;
        output.is_wanted().map_err(|error| self.not_written(&error, &place.folder))?;
        Ok(Begun { session: place.folder, output, rows: input.rows })
    }

    /// Writes the table of a job whose session was run. Whether it `is_over` tells a completed job from one that was stopped.
    pub fn csv_end(&self, begun: &Begun<'_>, is_over: bool) -> Result<Written, Error> {
        self.write(std::slice::from_ref(&begun.output), &begun.rows, &begun.session, is_over)
    }

    /// Writes the tables of a job whose session was run in another way; none for any other session.
    pub fn csv_conclude(&self, session: &Path, is_over: bool) -> Result<Written, Error> {
        let job = sessions::text(&self.path(session), FILE).and_then(|text| Job::from_text(&text));
        let Some(job) = job else { return Ok(Written::default()) };
        let text = input::text(self, Path::new(&job.input))?;
        let (name, id_column) = (Arc::from(job.input.as_str()), job.id_column.as_deref());
        let rows = Rows::read(&text, &name, id_column, &mut Findings::default());
        let Some(rows) = rows.filter(|_| sha256(text.as_bytes()) == job.input_sha256) else {
            let error = format!("{} is not the table of this job any more", job.input);
            return Err(self.not_written(&std::io::Error::other(error), session));
        };
        self.write(&Output::all(self, session, &job)?, &rows, session, is_over)
    }

    /// Writes how the rows stand into each of these tables.
    fn write(&self, outputs: &[Output], rows: &Rows<'_>, session: &Path, is_over: bool) -> Result<Written, Error> {
        let opened = self.open(Some(session), READING)?;
        let (tasks, graph) = opened.runnable()?;
        let place = self.place(Some(session))?;
        let mut written = Written::default();
        let Some(states) = job::rows(tasks, graph, &place.folder, &place.current)? else { return Ok(written) };
        for output in outputs {
            match output.write(rows, &states) {
                Ok(()) => written.reports.push(output.report(rows, &states, is_over)),
                Err(error) if written.failed.is_none() => written.failed = Some(self.not_written(&error, session)),
                Err(_) => {}
            }
        }
        Ok(written)
    }

    fn not_written(&self, error: &std::io::Error, session: &Path) -> Error {
        let finding = Finding::error(Code::Usage, format!("the results were not written: {error}"));
        let session = escape::session(session.display());
        let again = format!("once the cause is gone, this writes them: {} resume {session} …", self.typed());
        Error::io(finding.help(again))
    }
}
