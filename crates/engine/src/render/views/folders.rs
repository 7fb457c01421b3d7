//! The folders that views are written to.

use std::path::Path;

use team_executor_beneath::io_error;
use team_executor_core::run::{Cadence, Ending, Run};
use team_executor_core::{Session, SessionStatus};
use team_executor_files::Dialect;
use team_executor_files::discovery::FOLDER;
use team_executor_store::run_folder::{AGENTS, EXECUTOR, INTERACTIVE};
use team_executor_store::{Holder, RealDisk, sweep};

use super::{About, Views, not_written, own_file};
use crate::begin::replay;
use crate::begin::run_at::RunAt;
use crate::conclude::artifacts::Shelf;
use crate::options::Failure;
use crate::render::run_report::Report;

/// The views of a run whose lock is held, on the machine's disk.
pub(crate) fn open(
    run: &RunAt,
    session: &Path,
    dialect: Dialect,
    cadence: Cadence,
) -> Result<Views<RealDisk>, Failure> {
    let own = own_file::all(dialect, session);
    let about = About { run: run.id.clone(), dialect, own, cadence, boot: Holder::this_process(0).boot };
    Ok(Views::new(Folders::open(&run.path, session, dialect)?, about))
}

/// Renders everything that a run leaves when it ends or stops, and remembers that if it is finished. Says how it came out, and
/// what was not written.
pub(crate) fn leave(
    views: &mut Views<RealDisk>,
    run: &RunAt,
    folder: &Path,
    session: &mut Session,
    rules: &Run,
    at_end: SessionStatus,
) -> (Report, Vec<String>) {
    let ending = replay::ending(rules).unwrap_or(Ending::Paused);
    let report = Report::from_rules(rules, session, ending).at(&run.id, &run.path, folder);
    let (report, unread) = match Shelf::at(&session.artifacts, &run.path, folder) {
        Ok(shelf) => (report.with_deliverables(session, rules, &shelf), None),
        Err(failure) => (report, Some(failure.to_string())),
    };
    let told = views.put_right(session, rules);
    let mut problems = views.finish(session, rules, run.journal_length(), at_end, &report.markdown());
    if problems.is_empty() && replay::ending(rules).is_some() {
        problems.extend(run.note_rendered().err().map(not_written));
    }
    problems.extend(told.into_iter().chain(unread));
    (report, problems)
}

/// The folders of a run and of its session.
#[derive(Debug)]
pub(crate) struct Folders<D> {
    /// The run's.
    pub run: D,
    /// What is the executor's alone.
    pub executor: D,
    /// That of the results of interactive tasks.
    pub interactive: D,
    /// That of the agents.
    pub agents: D,
    /// The session's, if it can be opened.
    pub session: Option<D>,
    /// That of the discoveries, if the dialect has one.
    pub discoveries: Option<D>,
    /// That of the tasks' own files, if the dialect has one.
    pub tasks: Option<D>,
}

impl Folders<RealDisk> {
    /// Opens them. A session that cannot be opened or written to can still be run.
    pub(crate) fn open(run: &Path, session: &Path, dialect: Dialect) -> Result<Self, Failure> {
        let open =
            |path: &Path| RealDisk::open_folder(path).map_err(|errno| Failure::disk("open", path)(io_error(errno)));
        let of_session = RealDisk::open_folder(session).ok();
        let demands = dialect == Dialect::TasksJson;
        let discoveries = of_session.as_ref().filter(|_| demands).and_then(|disk| disk.subfolder(FOLDER).ok());
        let is_filed = dialect == Dialect::TaskFiles;
        let tasks = own_file::tasks_folder(session).filter(|_| is_filed);
        let tasks = tasks.and_then(|path| RealDisk::open_folder(&path).ok());
        let (interactive, agents) = (open(&run.join(INTERACTIVE))?, open(&run.join(AGENTS))?);
        for disk in of_session.iter().chain(&discoveries).chain(&tasks).chain([&interactive, &agents]) {
            sweep(disk).ok(); // what is left of a killed run goes later
        }
        Ok(Self {
            run: open(run)?,
            executor: open(&run.join(EXECUTOR))?,
            interactive,
            agents,
            session: of_session,
            discoveries,
            tasks,
        })
    }
}
