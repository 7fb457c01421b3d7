//! The folder of a run: which one it is, its lock, its journal, and where everything in it stands.

mod find;
mod open;

pub(crate) use self::find::{
    Done, all, amended_plan_of, closed, durable, finished, is_nameless, is_of, must_be_whole, nameless, newest,
    newest_of_all, plans,
};
pub(crate) use self::open::{Opened, hold, make_runs, open, reopen};

use std::path::{Path, PathBuf};

use team_executor_agents::adapters::RESULT_SCHEMA;
use team_executor_beneath::{Dir, io_error, ours, read_regular};
use team_executor_core::Timestamp;
use team_executor_store::run_folder::{
    AGENTS, ARCHIVE, DERIVED, EXECUTOR, JOURNAL, KEEPERS, LOGS, RUNS, WORKFLOW, below_folder, component,
};
use team_executor_store::{
    Derived, Disk as _, DiskFile as _, Durability, Holder, Lock, RealDisk, RealFile, ReplaceError, remove, replace,
};

use crate::begin::hold::Hold;
use crate::conclude::artifacts::FOLDER;
use crate::conclude::{RESULT, Results};
use crate::options::Failure;
use crate::prepare::paths::Paths;

/// In the executor's folder: how long the journal was when everything that a finished run leaves had been written.
const RENDERED: &str = "rendered";
/// In the executor's folder: what an agent must report.
const SCHEMA: &str = "result.schema.json";
/// A run whose lock is held.
#[derive(Debug)]
pub(crate) struct RunAt {
    /// Its name.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// When it was made.
    pub begun: Timestamp,
    /// Its lock, held.
    pub(crate) hold: Hold<RealDisk>,
    /// Where prompts and results are.
    pub(crate) results: Results,
    /// It was made for a session at another path, with whose project it was moved here, or copied.
    pub(crate) is_moved: bool,
    /// Where links to this folder and to the session's are, for workers that are to know no path of the user's checkout.
    pub(crate) links: Option<PathBuf>,
    /// Which file the journal is.
    inode: u64,
    /// The session's folder, locked. It is freed before the run is: an executor that gets the run's lock must
    /// get this one.
    session: Option<Dir>,
}

impl RunAt {
    /// Where prompts and results are.
    pub(crate) fn agents(&self) -> PathBuf {
        self.path.join(AGENTS)
    }

    /// Where a worker may write its result.
    pub(crate) fn result(&self, task: &str, attempt: u32) -> PathBuf {
        below_folder(&self.path, &[AGENTS, &result_name(task, attempt)])
    }

    /// The file that holds what an agent must report, made if it is not there as it should be.
    pub(crate) fn schema(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join(EXECUTOR).join(SCHEMA);
        if read_regular(&path).ok().as_deref() != Some(RESULT_SCHEMA.as_bytes()) {
            let put = replace(self.hold.folder(), SCHEMA, RESULT_SCHEMA.as_bytes(), Durability::Rendered);
            put.map_err(|error| Failure::disk("write", &path)(std::io::Error::other(error)))?;
        }
        Ok(path)
    }

    /// Where the ledgers of keepers are.
    pub(crate) fn ledgers(&self) -> PathBuf {
        self.path.join(EXECUTOR).join(KEEPERS)
    }

    /// Where a worker writes what it delivers.
    pub(crate) fn artifacts(&self, task: &str) -> PathBuf {
        below_folder(&self.path, &[FOLDER, &component(task)])
    }

    /// Where the files are that a task delivered, if there are any.
    pub(crate) fn delivered(&self, task: &str) -> Option<PathBuf> {
        delivered(&self.path, task)
    }

    /// What a worker that works in a folder is told of where this run and its session are.
    pub(crate) fn paths<'p>(&'p self, session: &'p Path, cwd: &Path) -> Paths<'p> {
        let links = self.links.as_deref().filter(|links| cwd.starts_with(links));
        Paths { session, run: Some(&self.path), links }
    }

    /// Where the journal is.
    pub(crate) fn journal(&self) -> PathBuf {
        self.path.join(EXECUTOR).join(JOURNAL)
    }

    /// How long the journal is, with everything that the system was given.
    pub(crate) fn journal_length(&self) -> u64 {
        self.hold.folder().dir().length(JOURNAL).unwrap_or(0)
    }

    /// Remembers that everything which a finished run leaves was written.
    pub(crate) fn note_rendered(&self) -> Result<(), ReplaceError> {
        replace(self.hold.folder(), RENDERED, self.journal_length().to_string().as_bytes(), Durability::Durable)
    }

    /// Fails if the journal was moved or removed, by itself or with the folder of the run, or if the session's folder was:
    /// what is committed would be lost with it.
    pub(crate) fn must_be_there(&self, session: &Path) -> Result<(), Failure> {
        let journal = self.journal();
        let is_folder = |path: &Path| Dir::open(path).is_ok();
        let gone = match ours::look_at(&journal).is_ok_and(|found| found.st_ino == self.inode) {
            true if is_folder(session) => return Ok(()),
            true => session,
            false if is_folder(&self.path) => &journal,
            false => &self.path,
        };
        Err(Failure::Gone(gone.to_owned()))
    }

    /// Names the run for ever, on this machine and on others.
    pub(crate) fn name(&self) -> String {
        run_name(&self.id, self.begun)
    }

    /// Names an attempt for ever, on this machine and on others: a run of the same name in another project
    /// began at another time. Leftovers of an attempt are found by this name, so no other may have it.
    pub(crate) fn key(&self, task: &str, attempt: u32) -> String {
        key(&self.id, self.begun, task, attempt)
    }

    /// Names a command that judges what an attempt delivered.
    pub(crate) fn check_key(&self, task: &str, attempt: u32, nth: usize) -> String {
        format!("{}/check/{nth}", self.key(task, attempt))
    }
}

/// A part of the journal of a run was given up: nothing that was rendered says any more how long it had been.
pub(crate) fn forget_length(executor: &RealDisk) -> Result<(), ReplaceError> {
    remove(executor, RENDERED)?;
    let text = executor.read(DERIVED).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(mut derived) = text.and_then(|text| Derived::from_text(&text)) else { return Ok(()) };
    derived.cut(executor.open(JOURNAL).and_then(|journal| journal.length()).unwrap_or(0));
    replace(executor, DERIVED, derived.to_text().as_bytes(), Durability::Durable)
}

/// Names an attempt of a run that began then.
pub(crate) fn key(run: &str, begun: Timestamp, task: &str, attempt: u32) -> String {
    format!("{}/{task}/{attempt}", run_name(run, begun))
}

fn run_name(run: &str, begun: Timestamp) -> String {
    format!("{run}~{:x}", begun.as_micros())
}

/// The name of the file that an attempt may write its result to.
pub(crate) fn result_name(task: &str, attempt: u32) -> String {
    attempt_name(task, attempt) + RESULT
}

/// Where what an attempt prints is: standard output, then standard error.
pub(crate) fn logs(run: &Path, task: &str, attempt: u32) -> [PathBuf; 2] {
    streams(run, &attempt_name(task, attempt))
}

/// Where what a command prints is that judges an attempt.
pub(crate) fn check_logs(run: &Path, task: &str, attempt: u32, nth: usize) -> [PathBuf; 2] {
    streams(run, &format!("{}.check-{nth}", attempt_name(task, attempt)))
}

/// Where both streams of something are.
fn streams(run: &Path, name: &str) -> [PathBuf; 2] {
    [".out", ".err"].map(|stream| below_folder(run, &[LOGS, &[name, stream].concat()]))
}

/// What the names of the files of an attempt begin with.
fn attempt_name(task: &str, attempt: u32) -> String {
    format!("{}.{attempt}", component(task))
}

/// The folder of what a task of the run in a folder delivered, if there is one.
pub(crate) fn delivered(run: &Path, task: &str) -> Option<PathBuf> {
    let folder = below_folder(run, &[FOLDER, &component(task)]);
    ours::open(&folder).is_ok().then_some(folder)
}

/// Where the runs of a project are.
pub(crate) fn runs(project: &Path) -> PathBuf {
    project.join(WORKFLOW).join(RUNS)
}

/// Where the runs of a project are that were put away.
pub(crate) fn archive(project: &Path) -> PathBuf {
    project.join(WORKFLOW).join(ARCHIVE)
}

/// The name of a run or a session, from its folder.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(crate) fn open_folder(path: &Path) -> Result<RealDisk, Failure> {
    RealDisk::open_folder(path).map_err(|error| Failure::disk("open", path)(io_error(error)))
}

/// Says who has a lock that is not a run's.
fn sign(lock: &mut Lock<RealFile>, path: &Path) -> Result<(), Failure> {
    let signed = lock.sign(&Holder::this_process(0));
    signed.map_err(|error| Failure::Disk {
        action: "sign the lock of",
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// The topic of a session: its folder's name without the dialect's prefix and its date.
fn session_name(folder: &str) -> &str {
    let name = ["TC-", "TLS-"].iter().find_map(|prefix| folder.strip_prefix(prefix)).unwrap_or(folder);
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && matches!(text.len(), 8 | 10) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let ends = name.match_indices('-').map(|(at, _)| at).filter(|at| *at > 0);
    ends.into_iter().find(|at| is_date(&name[at + 1..])).map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_what_its_session_is_about() {
        assert_eq!(session_name("TC-auth-2026-02-27"), "auth");
        assert_eq!(session_name("TC-golden-data-batch-20260324"), "golden-data-batch");
        assert_eq!(session_name("TLS-auth-impl-20260305"), "auth-impl");
        assert_eq!(session_name("project"), "project");
        assert_eq!(session_name("TC-2026-02-27"), "2026-02-27");
        assert_eq!(session_name("a-1"), "a-1");
    }
}
