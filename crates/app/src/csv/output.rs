//! The table that comes out of a job. It is written beside the input and replaces nothing that the job has not written.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_beneath::{Dir, io_error, read_regular};
use team_executor_core::TaskStatus;
use team_executor_files::csv_job::{self, Job, RowState, Rows};
use team_executor_files::{Code, Finding};
use team_executor_store::{Derived, Durability, RealDisk, Rendered, replace};

use super::input::Input;
use super::sessions::{JobPlace, prefix};
use crate::App;
use crate::error::Error;

/// In the session's folder: what was written, to tell it from the changes of others.
const WRITTEN: &str = "csv-output.json";
/// How many failed rows are told.
const TOLD: usize = 5;

/// Where the table goes.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    job_id: String,
    /// The session, as the user sees it, and as it is reached.
    session: PathBuf,
    folder: PathBuf,
}

impl Output {
    /// Where the user wants it, or beside the input.
    pub(super) fn locate(app: &App, place: &JobPlace, input: &Input<'_>, wanted: Option<&Path>) -> Result<Self, Error> {
        let path = wanted.map_or_else(|| beside(&input.path, &place.suffix), Path::to_owned);
        let path = std::path::absolute(app.path(&path)).map_err(|error| {
            let finding = Finding::error(Code::Usage, format!("{} cannot be written: {error}", path.display()));
            finding.help("name a file: --output FILE")
        })?;
        Ok(Self { path, job_id: place.id.to_string(), session: place.folder.clone(), folder: app.path(&place.folder) })
    }

    /// Where a job has written it before or was to write it: in each place, or beside the input if there is none.
    pub(super) fn all(app: &App, session: &Path, job: &Job) -> Result<Vec<Self>, Error> {
        let folder = app.place(Some(session))?.folder;
        let job_id = app.name_of(&folder);
        let one = |path: PathBuf| {
            let (job_id, session, folder) = (job_id.clone(), session.to_owned(), folder.clone());
            Self { path, job_id, session, folder }
        };
        let noted: Vec<_> = one(PathBuf::new()).written().files.into_keys().map(|path| one(path.into())).collect();
        if !noted.is_empty() {
            return Ok(noted);
        }
        let input = Path::new(&job.input);
        let suffix = job_id.strip_prefix(&prefix(input)).unwrap_or(&job_id);
        Ok(vec![one(beside(input, suffix))])
    }

    /// Notes that the table is still to be written, for the next start of the job.
    pub(super) fn is_wanted(&self) -> io::Result<()> {
        let mut written = self.written();
        written.files.entry(self.name()).or_default();
        self.note(&written)
    }

    /// Refuses what is there and was not written by this job.
    pub(super) fn must_be_ours(&self) -> Result<(), Error> {
        self.check().map_err(|error| {
            let finding = Finding::error(Code::Usage, error.to_string());
            finding.help("move it away, or choose another one with --output FILE").into()
        })
    }

    /// Writes how the rows stand.
    pub(super) fn write(&self, rows: &Rows<'_>, states: &[RowState]) -> io::Result<()> {
        let text = csv_job::write(rows, &self.job_id, states);
        self.check()?;
        let rendered = Rendered::hash(text.as_bytes(), 0);
        let mut written = self.written();
        let there = self.there().ok().map(|bytes| Rendered::hash(&bytes, rendered.journal));
        written.next(&self.name(), rendered, there);
        self.note(&written)?;
        let name = self.path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::other(format!("{} has no name", self.path.display())))?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        put(folder, name, text.as_bytes())?;
        written.is(&self.name(), rendered);
        self.note(&written)
    }

    fn check(&self) -> io::Result<()> {
        let is_ours = |bytes: &[u8]| {
            let sha256 = Rendered::hash(bytes, 0).sha256;
            self.written().versions(&self.name()).iter().any(|version| version.sha256 == sha256)
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        if Dir::open(folder).is_err() {
            return Err(io::Error::other(format!("{} is no folder to write the results to", folder.display())));
        }
        match self.there() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(bytes) if is_ours(&bytes) => Ok(()),
            Ok(_) => {
                Err(io::Error::other(format!("{} is there, and this job has not written it", self.path.display())))
            }
            Err(error) => Err(io::Error::other(format!("{} cannot be replaced: {error}", self.path.display()))),
        }
    }

    fn there(&self) -> io::Result<Vec<u8>> {
        read_regular(&self.path)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn written(&self) -> Derived {
        let text = super::sessions::text(&self.folder, WRITTEN);
        text.and_then(|text| Derived::from_text(&text)).unwrap_or_default()
    }

    fn note(&self, written: &Derived) -> io::Result<()> {
        put(&self.folder, WRITTEN, written.to_text().as_bytes())
    }
}

/// The table that comes out of another one, unless the user wants it elsewhere.
fn beside(input: &Path, suffix: &str) -> PathBuf {
    input.with_extension(format!("agent-job-{suffix}.csv"))
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let disk = RealDisk::open_folder(folder).map_err(io_error)?;
    replace(&disk, name, bytes, Durability::Durable).map_err(io::Error::other)
}

/// How a job came out.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/csv.md describes each field")]
pub struct JobReport {
    pub job_id: String,
    pub session: String,
    pub status: &'static str,
    pub output_csv_path: String,
    pub total_items: usize,
    pub completed_items: usize,
    pub failed_items: usize,
    pub failed_item_errors: Vec<RowReport>,
}

/// A row that failed.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "docs/reference/csv.md describes each field")]
pub struct RowReport {
    pub item_id: String,
    pub source_id: Option<String>,
    pub last_error: String,
}

impl Output {
    /// How the job came out that this table is of.
    pub(super) fn report(&self, rows: &Rows<'_>, states: &[RowState], is_over: bool) -> JobReport {
        let of = |status| states.iter().filter(|state| state.status == status).count();
        let failed = rows.items.iter().zip(states).filter(|(_, state)| state.status == TaskStatus::Failed);
        let told = failed.take(TOLD).map(|(item, state)| RowReport {
            item_id: item.id.to_string(),
            source_id: item.source_id.as_deref().map(str::to_owned),
            last_error: state.error.clone().unwrap_or_default(),
        });
        JobReport {
            job_id: self.job_id.clone(),
            session: self.session.display().to_string(),
            status: if is_over { "completed" } else { "cancelled" },
            output_csv_path: self.name(),
            total_items: states.len(),
            completed_items: of(TaskStatus::Completed),
            failed_items: of(TaskStatus::Failed),
            failed_item_errors: told.collect(),
        }
    }
}
