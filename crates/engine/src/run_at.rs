//! The folder of a run: which one it is, its lock, its journal, and where everything in it stands.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_agents::adapters::RESULT_SCHEMA;
use team_executor_core::{Reconciliation, Session, TaskStatus, Timestamp};
use team_executor_store::lock::PATIENCE;
use team_executor_store::run_folder::{AGENTS, ARCHIVE, EXECUTOR, INTERACTIVE, JOURNAL, KEEPERS, LOCK, LOGS};
use team_executor_store::run_folder::{RESERVE, RUNS, WORKFLOW, component, project_root, run_id, run_path};
use team_executor_store::{
    Disk, Durability, History, Holder, Journal, Lock, LockError, RESERVE_BYTES, RealDisk, RealFile, ReplaceError,
    Reserve, file_system, records, recover, replace, sweep,
};

use crate::clock;
use crate::options::{Failure, Options};
use crate::plan::{Plan, digest};
use crate::stale::RESULT;

/// In the executor's folder: how long the journal was when everything that a finished run leaves had been written.
const RENDERED: &str = "rendered";
/// In the executor's folder: what an agent must report.
const SCHEMA: &str = "result.schema.json";
/// The folders that every run has.
const FOLDERS: [&str; 5] = [EXECUTOR, LOGS, INTERACTIVE, AGENTS, "artifacts"];

/// A run whose lock is held.
#[derive(Debug)]
pub struct RunAt {
    /// Its name.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    /// When it was made.
    pub begun: Timestamp,
    executor: RealDisk,
    /// It was made for a session at another path, with whose project it was moved here, or copied.
    pub(crate) is_moved: bool,
    /// Which file the journal is.
    inode: u64,
    /// The session's folder, locked. It is free before the run is: whoever gets that one must get this one.
    session: Option<File>,
    lock: Lock<RealFile>,
}

/// A run that was opened or made.
pub(crate) struct Opened {
    pub(crate) run: RunAt,
    pub(crate) journal: Journal<RealFile>,
    pub(crate) plan: Plan,
    /// What the journal held when it was opened.
    pub(crate) history: History,
    /// It was begun by an earlier incarnation.
    pub(crate) resumed: bool,
    /// What an earlier incarnation had not finished writing was cut off.
    pub(crate) torn: bool,
    /// What an earlier incarnation gave to the system may be lost.
    pub(crate) rebooted: bool,
}

/// A run that was finished and has left everything that it leaves. It is only looked at.
pub(crate) struct Done {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) plan: Plan,
    /// What its journal holds.
    pub(crate) history: History,
    /// Its tasks are not those that the session has now.
    pub(crate) is_other: bool,
}

impl RunAt {
    /// Where prompts and results are.
    pub(crate) fn agents(&self) -> PathBuf {
        self.path.join(AGENTS)
    }

    /// Where a worker may write its result.
    pub(crate) fn result(&self, task: &str, attempt: u32) -> PathBuf {
        self.path.join(AGENTS).join(result_name(task, attempt))
    }

    /// The file that holds what an agent must report, made if it is not there as it should be.
    pub(crate) fn schema(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join(EXECUTOR).join(SCHEMA);
        if std::fs::read(&path).ok().as_deref() != Some(RESULT_SCHEMA.as_bytes()) {
            let put = replace(&self.executor, SCHEMA, RESULT_SCHEMA.as_bytes(), Durability::Rendered);
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
        self.path.join("artifacts").join(component(task))
    }

    /// Where the journal is.
    pub(crate) fn journal(&self) -> PathBuf {
        self.path.join(EXECUTOR).join(JOURNAL)
    }

    /// How long the journal is, with everything that the system was given.
    pub(crate) fn journal_length(&self) -> u64 {
        std::fs::metadata(self.journal()).map_or(0, |file| file.len())
    }

    /// Keeps room for the journal, if there is any.
    pub(crate) fn keep_room(&self, journal: &mut Journal<RealFile>) {
        if let Ok(reserve) = Reserve::keep(&self.executor, RESERVE, RESERVE_BYTES) {
            journal.set_reserve(reserve);
        }
    }

    /// Needs no room for the journal any more.
    pub(crate) fn give_up_room(&self) {
        self.executor.remove(RESERVE).ok(); // there may have been none
    }

    /// Says who has the lock, once everything that an earlier incarnation left is written down.
    pub(crate) fn sign(&mut self, epoch: u64) -> Result<(), Failure> {
        sign(&mut self.lock, &Holder::this_process(epoch), &self.path)
    }

    /// Remembers that everything which a finished run leaves was written.
    pub(crate) fn note_rendered(&self) -> Result<(), ReplaceError> {
        replace(&self.executor, RENDERED, self.journal_length().to_string().as_bytes(), Durability::Durable)
    }

    /// Fails if the journal was moved or removed, by itself or with the folder of the run, or if the session's folder was:
    /// what is committed would be lost with it.
    pub(crate) fn must_be_there(&self, session: &Path) -> Result<(), Failure> {
        let journal = self.journal();
        let gone = match std::fs::metadata(&journal).is_ok_and(|found| found.ino() == self.inode) {
            true if session.is_dir() => return Ok(()),
            true => session,
            false if self.path.is_dir() => &journal,
            false => &self.path,
        };
        Err(Failure::Gone(gone.to_owned()))
    }

    /// Names an attempt for ever, on this machine and on others: a run of the same name in another project began at another
    /// time. What is left of an attempt is found by this name, so no other may have it.
    pub(crate) fn key(&self, task: &str, attempt: u32) -> String {
        key(&self.id, self.begun, task, attempt)
    }

    /// Names a command that judges what an attempt delivered.
    pub(crate) fn check_key(&self, task: &str, attempt: u32, nth: usize) -> String {
        format!("{}/check/{nth}", self.key(task, attempt))
    }
}

/// Names an attempt of a run that began then.
pub(crate) fn key(run: &str, begun: Timestamp, task: &str, attempt: u32) -> String {
    format!("{run}~{:x}/{task}/{attempt}", begun.as_micros())
}

/// The name of the file that an attempt may write its result to.
pub(crate) fn result_name(task: &str, attempt: u32) -> String {
    format!("{}{RESULT}", attempt_name(task, attempt))
}

/// Where what an attempt prints is: standard output, then standard error.
pub(crate) fn logs(run: &Path, task: &str, attempt: u32) -> [PathBuf; 2] {
    let name = attempt_name(task, attempt);
    ["out", "err"].map(|stream| run.join(LOGS).join(format!("{name}.{stream}")))
}

/// Where what a command prints is that judges an attempt.
pub(crate) fn check_logs(run: &Path, task: &str, attempt: u32, nth: usize) -> [PathBuf; 2] {
    let name = attempt_name(task, attempt);
    ["out", "err"].map(|stream| run.join(LOGS).join(format!("{name}.check-{nth}.{stream}")))
}

/// What the names of the files of an attempt begin with.
fn attempt_name(task: &str, attempt: u32) -> String {
    format!("{}.{attempt}", component(task))
}

/// The newest run of the session, or the one that was named, if nothing is left to do for it. Without a lock: nothing is changed.
pub(crate) fn finished(session: &Session, (folder, current): (&Path, &Path), run: Option<&str>) -> Option<Done> {
    let project = project_root(folder, current);
    let named = run.map(|id| run_path(&project, id));
    let path = named.or_else(|| newest_of_all(&project, folder))?;
    let id = name_of(&path);
    let rendered = std::fs::read_to_string(path.join(EXECUTOR).join(RENDERED)).ok()?;
    let bytes = std::fs::read(path.join(EXECUTOR).join(JOURNAL)).ok()?;
    if rendered != bytes.len().to_string() {
        return None;
    }
    let history = History::read(bytes).ok()?;
    let plan = Plan::of_run(history.records().next()?.json, &path)?;
    let is_other = !plan.is_of(session);
    Some(Done { id, path, plan, history, is_other })
}

/// Continues the newest run of the session, or makes one: where there is none, or where it is to begin anew.
pub(crate) fn open(options: &Options, anew: bool) -> Result<Opened, Failure> {
    let project = project_root(&options.folder, &options.current);
    let runs = runs(&project);
    let found = file_system(&project).map_err(|error| Failure::disk("look at", &project)(error.errno.into()))?;
    if found.is_network && !options.allow_network {
        return Err(Failure::Network { path: project, name: found.name.unwrap_or_default() });
    }
    std::fs::create_dir_all(&runs).map_err(Failure::disk("make", &runs))?;
    // Until the run itself is locked nobody else may look for one: two that find none would each make their own.
    let mut turn = lock(&open_folder(&runs)?, ".lock", PATIENCE * 2, &runs)?;
    sign(&mut turn, &Holder::this_process(0), &runs)?;
    if let Some(id) = nameless(&runs, &options.folder) {
        return Err(Failure::Nameless(id));
    }
    let found = chosen(options, &runs).filter(|_| !anew);
    // Whoever has the run says more of itself than whoever has only the session; but nothing is made in vain.
    let held = if found.is_none() { hold_session(&options.folder)? } else { None };
    let mut opened = match found {
        Some(id) => reopen(&options.session, &project, id)?,
        None => create(options, &project)?,
    };
    opened.run.session = if held.is_some() { held } else { hold_session(&options.folder)? };
    let journal = opened.run.journal();
    opened.run.inode = std::fs::metadata(&journal).map_err(Failure::disk("look at", &journal))?.ino();
    Ok(opened)
}

/// Keeps executors away that would run the session from the folder of another project. Where a folder cannot be locked
/// there is only the lock of the run.
fn hold_session(folder: &Path) -> Result<Option<File>, Failure> {
    let Ok(held) = File::open(folder) else { return Ok(None) };
    match held.try_lock() {
        Ok(()) => Ok(Some(held)),
        Err(TryLockError::WouldBlock) => Err(Failure::Held("its run is in another folder".to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// The run that was named, else the newest of the session.
fn chosen(options: &Options, runs: &Path) -> Option<String> {
    options.run.clone().or_else(|| newest(runs, &options.folder))
}

/// Where the runs of a project are.
pub(crate) fn runs(project: &Path) -> PathBuf {
    project.join(WORKFLOW).join(RUNS)
}

/// Where the runs of a project are that were put away.
pub(crate) fn archive(project: &Path) -> PathBuf {
    project.join(WORKFLOW).join(ARCHIVE)
}

/// The newest run of a session that was not put away, by what the journals say.
pub(crate) fn newest(runs: &Path, session: &Path) -> Option<String> {
    let of_session = plans(runs).filter(|(plan, _)| plan.session == session);
    of_session.map(|(plan, name)| (plan.at, name)).max().map(|(_, name)| name)
}

/// The newest run of a session, put away or not.
pub(crate) fn newest_of_all(project: &Path, session: &Path) -> Option<PathBuf> {
    let folders = [runs(project), archive(project)];
    let all = folders.iter().flat_map(|folder| all(folder)).filter(|(plan, _)| plan.session == session);
    all.map(|(plan, path)| (plan.at, path)).max().map(|(_, path)| path)
}

/// Every run in a folder, with its plan.
pub(crate) fn all(runs: &Path) -> Vec<(Plan, PathBuf)> {
    plans(runs).map(|(plan, name)| (plan, runs.join(name))).collect()
}

/// What each run was made for, and its name.
pub(crate) fn plans(runs: &Path) -> impl Iterator<Item = (Plan, String)> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with("EX-"));
    names.filter_map(|name| {
        let mut bytes = Vec::new();
        let journal = File::open(runs.join(&name).join(EXECUTOR).join(JOURNAL)).ok()?;
        BufReader::new(journal).read_until(b'\n', &mut bytes).ok()?;
        let recovered = recover(&bytes).ok()?;
        let record = recovered.records.first()?;
        let json = std::str::from_utf8(&bytes[record.json.clone()]).ok()?;
        Some((Plan::of_run(json, &runs.join(&name))?, name))
    })
}

/// A run whose journal is damaged where it says of which session it is, if its name says that it may be of this one. To
/// begin anew beside it would do again what it had done.
pub(crate) fn nameless(runs: &Path, session: &Path) -> Option<String> {
    let of_session = format!("EX-{}-", component(session_name(&name_of(session))));
    let entries = std::fs::read_dir(runs).ok()?.filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_dated = |name: &String| {
        name.strip_prefix(&of_session).is_some_and(|date| date.starts_with(|first: char| first.is_ascii_digit()))
    };
    names.filter(is_dated).find(|name| is_nameless(&runs.join(name)))
}

/// Whether the journal of the run in a folder is damaged where it says of which session it is.
pub(crate) fn is_nameless(run: &Path) -> bool {
    let journal = run.join(EXECUTOR).join(JOURNAL);
    let mut first = Vec::new();
    let read = File::open(&journal).and_then(|file| BufReader::new(file).read_until(b'\n', &mut first));
    let is_whole = recover(&first).is_ok_and(|found| !found.records.is_empty());
    read.is_ok() && !is_whole && std::fs::read(&journal).is_ok_and(|bytes| recover(&bytes).is_err())
}

/// The name of a run or a session, from its folder.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Keeps every executor away from a run, and from making one, for as long as the locks live.
pub(crate) fn hold(project: &Path, run: &Path) -> Result<[Lock<RealFile>; 2], Failure> {
    let runs = runs(project);
    std::fs::create_dir_all(&runs).map_err(Failure::disk("make", &runs))?;
    let mut turn = lock(&open_folder(&runs)?, ".lock", PATIENCE * 2, &runs)?;
    sign(&mut turn, &Holder::this_process(0), &runs)?;
    let own = lock(&open_folder(&run.join(EXECUTOR))?, LOCK, PATIENCE, run)?;
    Ok([turn, own])
}

fn create(options: &Options, project: &Path) -> Result<Opened, Failure> {
    let id = run_id(session_name(&name_of(&options.folder)), &clock::today(), |id| {
        let path = run_path(project, id);
        path.exists() && !is_unborn(&path)
    });
    let mut run = enter(project, id)?;
    sign(&mut run.lock, &Holder::this_process(1), &run.path)?;
    match run.executor.remove(JOURNAL).map_err(std::io::Error::from) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::disk("begin", &run.path)(error));
        }
        _ => {}
    }
    let mut journal = Journal::create(&run.executor, JOURNAL)?;
    let plan = Plan {
        session: options.folder.clone(),
        digest: digest(&options.session),
        cadence: options.cadence,
        seed: clock::now().as_micros().unsigned_abs(),
        rounds: options.session.gc_rounds,
        over: over(&options.session),
        at: clock::now(),
    };
    journal.append(&plan.write())?;
    journal.commit()?;
    run.begun = plan.at;
    let history = History::default();
    Ok(Opened { run, journal, plan, history, resumed: false, torn: false, rebooted: false })
}

/// Whether the making of a run was cut off: there are only the folders that every run has, and nothing is recorded.
fn is_unborn(path: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(path) else { return false };
    let is_ours = |name: &OsStr| FOLDERS.iter().any(|folder| name == *folder);
    if !entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.file_name()))) {
        return false;
    }
    match std::fs::read(path.join(EXECUTOR).join(JOURNAL)) {
        Ok(bytes) => recover(&bytes).is_ok_and(|recovered| recovered.records.is_empty()),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// What a session is about: its folder's name without the dialect's prefix and without its date.
fn session_name(folder: &str) -> &str {
    let name = ["TC-", "TLS-"].iter().find_map(|prefix| folder.strip_prefix(prefix)).unwrap_or(folder);
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && matches!(text.len(), 8 | 10) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let ends = name.match_indices('-').map(|(at, _)| at).filter(|at| *at > 0);
    ends.into_iter().find(|at| is_date(&name[at + 1..])).map_or(name, |at| &name[..at])
}

/// Continues a run: takes its lock and opens its journal.
pub(crate) fn reopen(session: &Session, project: &Path, id: String) -> Result<Opened, Failure> {
    let mut run = enter(project, id)?;
    let rebooted = !run.lock.was_held_since_boot();
    let (journal, history) = Journal::open(&run.executor, JOURNAL)?;
    let torn = history.torn().is_some();
    let first = history.records().next().map(|record| record.json).unwrap_or_default();
    let plan = Plan::read(first).zip(Plan::of_run(first, &run.path));
    let Some((made, plan)) = plan else {
        return Err(records::Unreadable::Unknown("plan".to_owned()).into());
    };
    run.is_moved = made.session != plan.session;
    if !plan.is_of(session) {
        let path = run.path.display();
        return Err(Failure::Changed(format!(
            "the tasks or dependencies of the session have changed since the run {} began; its state is in {path}",
            run.id
        )));
    }
    run.begun = plan.at;
    let mut holder = Holder::this_process(journal.epoch());
    if rebooted {
        // Whoever comes next must know it too, until this incarnation has written down what follows from it.
        holder.boot.clear();
    }
    sign(&mut run.lock, &holder, &run.path)?;
    Ok(Opened { run, journal, plan, history, resumed: true, torn, rebooted })
}

/// Makes the folders of a run where they are missing, and takes its lock.
fn enter(project: &Path, id: String) -> Result<RunAt, Failure> {
    let path = run_path(project, &id);
    for folder in FOLDERS {
        let folder = path.join(folder);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(Failure::disk("make", &folder))?;
    }
    let disk = open_folder(&path)?;
    let executor = open_folder(&path.join(EXECUTOR))?;
    let ledgers = path.join(EXECUTOR).join(KEEPERS);
    std::fs::create_dir_all(&ledgers).map_err(Failure::disk("make", &ledgers))?;
    let lock = lock(&executor, LOCK, PATIENCE, &path)?;
    let swept = sweep(&disk).and_then(|_| sweep(&executor));
    swept.map_err(|error| Failure::Disk { action: "prepare", path: path.clone(), reason: error.to_string() })?;
    executor.sync_folder().map_err(|error| Failure::disk("sync", &path)(std::io::Error::from(error)))?;
    Ok(RunAt { id, path, begun: clock::now(), executor, is_moved: false, inode: 0, session: None, lock })
}

pub(crate) fn open_folder(path: &Path) -> Result<RealDisk, Failure> {
    RealDisk::open_folder(path).map_err(|error| Failure::disk("open", path)(std::io::Error::from(error)))
}

fn lock(disk: &RealDisk, name: &str, patience: Duration, path: &Path) -> Result<Lock<RealFile>, Failure> {
    Lock::take(disk, name, patience).map_err(|error| match error {
        LockError::Held { by } => Failure::Held(by),
        LockError::Disk(error) => Failure::Disk { action: "lock", path: path.to_owned(), reason: error.to_string() },
    })
}

/// Says who has a lock.
fn sign(lock: &mut Lock<RealFile>, holder: &Holder, path: &Path) -> Result<(), Failure> {
    let signed = lock.sign(holder);
    signed.map_err(|error| Failure::Disk {
        action: "sign the lock of",
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// What is over before a run begins, by everything that the session says.
fn over(session: &Session) -> Vec<(String, TaskStatus)> {
    let statuses = Reconciliation::of(session).statuses(session);
    let tasks = session.tasks.iter().zip(statuses).filter(|(_, status)| status.is_over());
    tasks.map(|(task, status)| (task.id.to_string(), status)).collect()
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

    #[test]
    fn a_run_whose_making_was_cut_off_is_told_from_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        assert!(is_unborn(path));
        for folder in FOLDERS {
            std::fs::create_dir(path.join(folder)).unwrap();
        }
        assert!(is_unborn(path));
        let disk = RealDisk::open_folder(&path.join(EXECUTOR)).unwrap();
        let mut journal = Journal::create(&disk, JOURNAL).unwrap();
        assert!(is_unborn(path));
        journal.append("{}").unwrap();
        journal.commit().unwrap();
        assert!(!is_unborn(path));
        let whole = disk.read(JOURNAL).unwrap();
        std::fs::write(path.join(EXECUTOR).join(JOURNAL), &whole[..whole.len() - 1]).unwrap();
        assert!(is_unborn(path));
        // What is not ours is never taken.
        std::fs::write(path.join("notes.md"), "").unwrap();
        assert!(!is_unborn(path));
        assert!(!is_unborn(&path.join("none")));
    }
}
