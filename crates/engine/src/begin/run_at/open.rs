//! Opening: a run is found or made, locked, and its journal is opened.

use std::io::Write as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error, make_ours, make_shared, ours, read_regular};
use team_executor_core::run::KeptWaves;
use team_executor_core::{Reconciliation, Session, TaskStatus};
use team_executor_store::lock::PATIENCE;
use team_executor_store::run_folder::{
    AGENTS, EXECUTOR, INTERACTIVE, JOURNAL, KEEPERS, LOCK, LOGS, named_by, project_root, run_id, run_path,
};
use team_executor_store::{History, Holder, Journal, Lock, RealDisk, RealFile, file_system, records, recover};

use super::{RunAt, must_be_whole, nameless, newest, open_folder, runs, session_name, sign};
use crate::begin::edits::Replan;
use crate::begin::hold::{Hold, Reopened, lock};
use crate::begin::plan::{Plan, digest, planned_waves};
use crate::begin::replay::events;
use crate::clock;
use crate::conclude::Results;
use crate::conclude::artifacts::FOLDER;
use crate::options::{Failure, Options};

/// Keeps runs out of the user's commits, unless the user deletes it.
const IGNORED: &[u8] = b"# Runs of team-executor: logs, state, results. Delete this file to commit them.\n*\n";

/// The folders that every run has.
const FOLDERS: [&str; 5] = [EXECUTOR, LOGS, INTERACTIVE, AGENTS, FOLDER];

/// A run that was opened or made.
pub(crate) struct Opened {
    pub(crate) run: RunAt,
    pub(crate) journal: Journal<RealFile>,
    pub(crate) plan: Plan,
    /// The content of the journal when it was opened.
    pub(crate) history: History,
    /// It was begun by an earlier incarnation.
    pub(crate) resumed: bool,
    /// An unfinished write of an earlier incarnation was cut off.
    pub(crate) torn: bool,
    /// Data that an earlier incarnation gave to the system may be lost.
    pub(crate) rebooted: bool,
    /// What of the plan was changed meanwhile.
    pub(crate) replan: Option<Replan>,
}

/// Continues the newest run of the session, or makes one: where there is none, or where it is to begin anew.
pub(crate) fn open(options: &Options, anew: bool) -> Result<Opened, Failure> {
    let project = project_root(&options.folder, &options.current);
    let runs = runs(&project);
    let found = file_system(&project).map_err(|error| Failure::disk("look at", &project)(error.errno.into()))?;
    if found.is_network && !options.allow_network {
        return Err(Failure::Network { path: project, name: found.name.unwrap_or_default() });
    }
    make_runs(&runs)?;
    // Until the run itself is locked no other executor may look for one: two that find none would each make
    // their own.
    let mut turn = lock(&open_folder(&runs)?, ".lock", PATIENCE * 2, &runs)?;
    sign(&mut turn, &runs)?;
    if let Some(id) = nameless(&runs, &options.folder) {
        return Err(Failure::Nameless(id));
    }
    let found = chosen(options, &runs).filter(|_| !anew);
    // The lock of the run names its holder better than the lock of the session; but do not create a run in
    // vain.
    let held = if found.is_none() { hold_session(&options.folder)? } else { None };
    let mut opened = match found {
        Some(id) => {
            let opened = reopen_with(&options.session, &project, id, true)?;
            remember(options, &opened.run)?;
            opened
        }
        None => create(options, &project)?,
    };
    opened.run.session = if held.is_some() { held } else { hold_session(&options.folder)? };
    let journal = opened.run.journal();
    opened.run.inode = ours::look_at(&journal).map_err(Failure::disk("look at", &journal))?.st_ino;
    Ok(opened)
}

/// Keeps executors away that would run the session from the folder of another project. Where a folder cannot be locked
/// there is only the lock of the run.
fn hold_session(folder: &Path) -> Result<Option<Dir>, Failure> {
    let Ok(held) = Dir::open(folder) else { return Ok(None) };
    match flock(&held, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(held)),
        Err(Errno::WOULDBLOCK) => Err(Failure::Held("its run is in another folder".to_owned())),
        Err(_) => Ok(None),
    }
}

/// The run that was named, else the newest of the session.
fn chosen(options: &Options, runs: &Path) -> Option<String> {
    options.run.clone().or_else(|| newest(runs, &options.folder))
}

/// Keeps every executor away from a run, and from making one, for as long as the locks live.
pub(crate) fn hold(project: &Path, run: &Path) -> Result<[Lock<RealFile>; 2], Failure> {
    let runs = runs(project);
    make_runs(&runs)?;
    let mut turn = lock(&open_folder(&runs)?, ".lock", PATIENCE * 2, &runs)?;
    sign(&mut turn, &runs)?;
    let executor = run.join(EXECUTOR);
    // Another program may have removed it.
    make_ours(&executor).map_err(Failure::disk("make", &executor))?;
    let own = lock(&open_folder(&executor)?, LOCK, PATIENCE, run)?;
    Ok([turn, own])
}

fn create(options: &Options, project: &Path) -> Result<Opened, Failure> {
    let id = run_id(session_name(&named_by(&options.folder)), &clock::today(), |id| {
        let path = run_path(project, id);
        ours::look_at(&path).is_ok() && !is_unborn(&path)
    });
    let mut run = enter(project, id)?;
    let waves = KeptWaves::plan(&options.session, &options.graph, options.cadence);
    let plan = Plan {
        waves,
        planned: (waves != KeptWaves::Computed).then(|| planned_waves(&options.session, options.session.tasks.len())),
        session: options.folder.clone(),
        digest: digest(&options.session, options.session.tasks.len()),
        tasks: u32::try_from(options.session.tasks.len()).ok(),
        cadence: options.cadence,
        seed: clock::now().as_micros().unsigned_abs(),
        rounds: options.session.gc_rounds,
        over: over(&options.session),
        at: clock::now(),
        amended: records::Amended::default(),
    };
    // Before the first record: a run that there is knows how it was started.
    remember(options, &run)?;
    let journal = run.hold.begin(&plan.write())?;
    run.begun = plan.at;
    let history = History::default();
    Ok(Opened { run, journal, plan, history, resumed: false, torn: false, rebooted: false, replan: None })
}

/// Leaves the options of this start in the run.
fn remember(options: &Options, run: &RunAt) -> Result<(), Failure> {
    options.remembered.as_ref().map_or(Ok(()), |remembered| remembered.put(run.hold.folder(), &run.path))
}

/// Whether the making of a run was cut off: there are only the folders that every run has, and nothing is recorded.
fn is_unborn(path: &Path) -> bool {
    let Ok(names) = ours::open(path).and_then(|folder| folder.list()) else { return false };
    if !names.iter().all(|name| FOLDERS.contains(&name.as_str())) {
        return false;
    }
    match read_regular(&path.join(EXECUTOR).join(JOURNAL)) {
        Ok(bytes) => recover(&bytes).is_ok_and(|recovered| recovered.records.is_empty()),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Continues a run of the tasks that its session has: takes its lock and opens its journal.
pub(crate) fn reopen(session: &Session, project: &Path, id: String) -> Result<Opened, Failure> {
    reopen_with(session, project, id, false)
}

/// The same; the plan of tasks that no one has tried may have changed, where that is to be taken.
fn reopen_with(session: &Session, project: &Path, id: String, takes_plan: bool) -> Result<Opened, Failure> {
    let mut run = enter(project, id)?;
    must_be_whole(&run.path)?;
    let (path, name) = (run.path.clone(), run.id.clone());
    let Reopened { journal, history, plan: (plan, is_moved, replan), rebooted } = run.hold.reopen(|history, _| {
        let first = history.records().next().map(|record| record.json).unwrap_or_default();
        let plan = Plan::read(first).zip(Plan::of_run(first, &path));
        let (made, plan) = plan.ok_or_else(|| records::Unreadable::Unknown("plan".to_owned()))?;
        let (is_moved, mut plan) = (made.session != plan.session, plan.amend(events(history)));
        if plan.is_of(session) {
            return Ok((plan, is_moved, None));
        }
        let why = match takes_plan.then(|| Replan::find(&path, &plan, session, events(history))) {
            Some(Ok(replan)) => {
                plan.amended.removed.extend(replan.removed.iter().map(ToString::to_string));
                return Ok((plan, is_moved, Some(replan)));
            }
            Some(Err(why)) => why,
            None => "`resume` takes over what is possible".to_owned(),
        };
        let path = path.display();
        Err(Failure::Changed(format!(
            "the tasks or dependencies of the session have changed since the run {name} began; its state is in {path}. \
             {why}"
        )))
    })?;
    (run.begun, run.is_moved) = (plan.at, is_moved);
    let torn = history.torn().is_some();
    Ok(Opened { run, journal, plan, history, resumed: true, torn, rebooted, replan })
}

/// Makes the folder of all runs if it is missing, for good: what is in it would be lost with its name.
pub(crate) fn make_runs(runs: &Path) -> Result<(), Failure> {
    let is_new = ours::open(runs).is_err();
    let folder = make_shared(runs).map_err(Failure::disk("make", runs))?;
    if is_new {
        // Without it a run only shows up in `git status`.
        let made = folder.file(".gitignore", How::CreateShared).map_err(io_error);
        let _not_needed = made.and_then(|mut file| file.write_all(IGNORED));
    }
    Ok(())
}

/// Makes the folders of a run where they are missing, for good, and takes its lock.
fn enter(project: &Path, id: String) -> Result<RunAt, Failure> {
    let path = run_path(project, &id);
    let dir = private(make_ours(&path), &path)?;
    for folder in FOLDERS {
        private(dir.make_dir(folder).map_err(io_error), &path.join(folder))?;
    }
    let disk = RealDisk::from(dir);
    let executor = open_folder(&path.join(EXECUTOR))?;
    let agents = path.join(AGENTS);
    let results = Results::open(&agents).map_err(Failure::disk("open", agents))?;
    let ledgers = path.join(EXECUTOR).join(KEEPERS);
    private(make_ours(&ledgers), &ledgers)?;
    let hold =
        Hold::take(executor, (&disk, &[&open_folder(&runs(project))?]), Holder::this_process(0), &path, PATIENCE)?;
    Ok(RunAt { id, path, begun: clock::now(), hold, results, is_moved: false, links: None, inode: 0, session: None })
}

/// A folder of a run, for its owner only: one that was cloned or copied may be open to others.
fn private(dir: std::io::Result<Dir>, path: &Path) -> Result<Dir, Failure> {
    let dir = dir.map_err(Failure::disk("make", path))?;
    dir.keep_private().map_err(|errno| Failure::disk("keep others out of", path)(io_error(errno)))?;
    Ok(dir)
}

/// What is over before a run begins, by everything that the session says.
fn over(session: &Session) -> Vec<(String, TaskStatus)> {
    let statuses = Reconciliation::compare(session).statuses(session);
    let tasks = session.tasks.iter().zip(statuses).filter(|(_, status)| status.is_over());
    tasks.map(|(task, status)| (task.id.to_string(), status)).collect()
}

#[cfg(test)]
mod tests {
    use team_executor_store::Disk as _;

    use super::*;

    #[test]
    fn half_made_run_is_recognised() {
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
        // Files of others are never taken.
        std::fs::write(path.join("notes.md"), "").unwrap();
        assert!(!is_unborn(path));
        assert!(!is_unborn(&path.join("none")));
    }
}
