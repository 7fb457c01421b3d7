//! Where the session of a job is: the same job is found again, and another one that has its name gets a number.

use std::path::{Path, PathBuf};

use team_executor_beneath::{Dir, free, ours};
use team_executor_core::SessionId;
use team_executor_files::csv_job::FILE;
use team_executor_files::pipeline::naming;
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{MakeError, make_folder, sha256};

use super::input::Input;
use crate::App;
use crate::error::Error;
use crate::init::SESSIONS;

/// How many digits of its digest a job is called by.
const DIGITS: usize = 8;

/// The session of a job.
pub(super) struct JobPlace {
    /// Its name, which is that of the job too.
    pub(super) id: SessionId,
    /// What is special about the name.
    pub(super) suffix: String,
    /// Its folder.
    pub(super) folder: PathBuf,
}

/// Where the newest session of a job is, or where there will be one.
pub(super) fn find_or_name(app: &App, input: &Input<'_>, is_new: bool) -> Result<JobPlace, Error> {
    let text = input.job.to_text();
    let prefix = prefix(&input.path);
    let digest = sha256(text.as_bytes());
    let mut last = None;
    let (_, free) = free::plain_or_numbered(&digest[..DIGITS], |suffix| {
        let name = format!("{prefix}{suffix}");
        let id = SessionId::parse(&name).map_err(|error| {
            let finding = Finding::error(Code::InvalidId, format!("'{name}' cannot be a session id: {error}"));
            finding.help("give the table a shorter name")
        })?;
        let folder = PathBuf::from(WORKFLOW).join(SESSIONS).join(&name);
        let place = JobPlace { id, suffix: suffix.to_owned(), folder };
        if ours::look_at(&app.path(&place.folder)).is_err() {
            return Ok::<_, Error>(Some(place));
        }
        if self::text(&app.path(&place.folder), FILE).is_some_and(|known| known == text) {
            last = Some(place);
        }
        Ok(None)
    })?;
    Ok(last.filter(|_| !is_new).unwrap_or(free))
}

/// The text of a file of a session.
pub(super) fn text(session: &Path, name: &str) -> Option<String> {
    let bytes =
        Dir::open(session).and_then(|session| session.read(name, team_executor_files::limits::CSV_BYTES)).ok()?;
    String::from_utf8(bytes).ok()
}

/// How the names of all jobs of a table begin.
pub(super) fn prefix(table: &Path) -> String {
    let stem = table.file_stem().map(|stem| naming::slug(&stem.to_string_lossy())).unwrap_or_default();
    format!("CSV-{stem}-")
}

/// Makes the session, unless it is there.
pub(super) fn make(app: &App, place: &JobPlace, input: &Input<'_>) -> Result<(), Error> {
    if ours::open(&app.path(&place.folder)).is_ok() {
        return Ok(());
    }
    let tasks = input.rows.tasks(&input.template, place.id.clone()).ok_or_else(|| {
        let finding = Finding::error(Code::Cycle, "the rows do not make a session, so nothing was made");
        finding.help("give the rows other ids with --id-column COLUMN")
    })?;
    let job = input.job.to_text();
    match make_folder(&app.path(&place.folder), [("tasks.csv", tasks.as_str()), (FILE, job.as_str())]) {
        // Another process was faster, with the same job.
        Ok(()) | Err(MakeError::Exists(_)) => Ok(()),
        Err(error @ MakeError::Disk { .. }) => {
            let finding = Finding::error(Code::Usage, format!("no session was made: {error}"));
            let finding = finding.help("once the cause is gone, the same command makes it");
            Err(Error::io(finding))
        }
    }
}
