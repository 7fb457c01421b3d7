//! Puts finished runs away: the run's folder moves to `.workflow/.archive/` as it is, and nothing in it changes. A crash
//! leaves it at one place or the other, and the same call goes on from there.

use std::path::{Path, PathBuf};

use team_executor_beneath::{io_error, read_regular};
use team_executor_core::{SessionStatus, Timestamp};
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, project_root};
use team_executor_store::{History, records, sweep};

use crate::begin::plan::Plan;
use crate::begin::run_at::{self, name_of, open_folder};
use crate::clock;
use crate::conclude::wisdom;
use crate::options::Failure;
use crate::render::session_status;

/// Which runs are put away.
#[derive(Debug, Clone)]
pub enum Which {
    /// Every finished run of this session; its folder, absolute.
    Session(PathBuf),
    /// The run of this name.
    Run(String),
    /// Every finished run of the project.
    All,
}

/// A run that was put away.
#[derive(Debug, PartialEq, Eq)]
pub struct Archived {
    /// Its name.
    pub run: String,
    /// Where it is now.
    pub to: PathBuf,
    /// It was there before.
    pub already: bool,
    /// The session's status now, where it has a place for that.
    pub session: Option<SessionStatus>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Archiving {
    /// The runs that were put away.
    pub archived: Vec<Archived>,
    /// The runs that may or may not be finished, and why that is unknown.
    pub unknown: Vec<(String, Failure)>,
}

/// Puts runs away that ended at least so many seconds ago; their sessions become `becomes`. Runs that are not finished are
/// passed over where those of the project or of an age are meant, and else refused; unless they are given up, for this
/// reason: then their sessions have failed. A journal that cannot be read keeps no other run from being put away.
pub fn archive(
    which: &Which,
    current: &Path,
    older_than: u64,
    becomes: SessionStatus,
    given_up: Option<&str>,
) -> Result<Archiving, Failure> {
    let project = match which {
        Which::Session(folder) => project_root(folder, current),
        Which::Run(_) | Which::All => current.to_owned(),
    };
    let is_meant = |plan: &Plan, path: &Path| match which {
        Which::Session(folder) => plan.session == *folder,
        Which::Run(name) => name_of(path) == *name,
        Which::All => true,
    };
    let (here, away) = (run_at::all(&run_at::runs(&project)), run_at::all(&run_at::archive(&project)));
    let meant = |runs: Vec<(Plan, PathBuf)>| -> Vec<(Plan, PathBuf)> {
        let mut meant: Vec<_> = runs.into_iter().filter(|(plan, path)| is_meant(plan, path)).collect();
        meant.sort_by_key(|(plan, path)| (plan.at, path.clone()));
        meant
    };
    let (here, away) = (meant(here), meant(away));
    let mut done = Archiving::default();
    let mut unfinished = None;
    for (plan, path) in &here {
        match ended_at(path) {
            Ok(Some(at)) if !is_older(at, older_than) => continue,
            Ok(Some(_)) => {}
            _ if given_up.is_some() => {}
            Ok(None) => {
                unfinished = Some(name_of(path));
                continue;
            }
            Err(failure) => {
                done.unknown.push((name_of(path), failure));
                continue;
            }
        }
        done.archived.push(put_away(&project, Some(&plan.session), path, becomes, given_up)?);
    }
    if let Some((run, session)) = damaged(which, &project).filter(|_| here.is_empty()) {
        match given_up {
            Some(_) => done.archived.push(put_away(&project, session.as_deref(), &run, becomes, given_up)?),
            None => done.unknown.push((name_of(&run), Failure::Nameless(name_of(&run)))),
        }
        return Ok(done);
    }
    if let Some(run) = unfinished.filter(|_| done.archived.is_empty() && is_named(which, older_than)) {
        return Err(Failure::Unfinished(run));
    }
    if here.is_empty() && !matches!(which, Which::All) {
        // An earlier call may have moved the run without updating the session.
        let (plan, path) = away.last().ok_or_else(|| no_run(which))?;
        tidy(path, Some(&plan.session));
        let session = session_status::set(&plan.session, path, becomes)?;
        done.archived.push(Archived { run: name_of(path), to: path.clone(), already: true, session });
    }
    Ok(done)
}

/// The run that is meant, if its journal is damaged where it says of which session it is; with the session, if that is known.
fn damaged(which: &Which, project: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let runs = run_at::runs(project);
    match which {
        Which::Session(folder) => run_at::nameless(&runs, folder).map(|run| (runs.join(run), Some(folder.clone()))),
        Which::Run(name) => run_at::is_nameless(&runs.join(name)).then(|| (runs.join(name), None)),
        Which::All => None,
    }
}

/// Whether the user named this run or session, whatever its age.
const fn is_named(which: &Which, older_than: u64) -> bool {
    match which {
        Which::Run(_) => true,
        Which::Session(_) => older_than == 0,
        Which::All => false,
    }
}

fn put_away(
    project: &Path,
    session: Option<&Path>,
    path: &Path,
    becomes: SessionStatus,
    given_up: Option<&str>,
) -> Result<Archived, Failure> {
    let _held = run_at::hold(project, path)?;
    tidy(path, session);
    let run = name_of(path);
    // A run that does not say of which session it is may be the newest one.
    let is_newest = |session: &&Path| {
        run_at::is_nameless(path) || run_at::newest_of_all(project, session).is_some_and(|run| run == path)
    };
    let session = session.filter(is_newest);
    if let Some((session, reason)) = session.zip(given_up) {
        session_status::set(session, path, SessionStatus::Failed)?;
        wisdom::note_issue(session, "session", &run, &format!("given up: {reason}"))
            .map_or(Ok(()), |problem| Err(Failure::InTheWay(problem)))?;
    }
    if let Some(session) = session {
        session_status::check(session, becomes)?;
    }
    let (from, to) = (run_at::runs(project), run_at::archive(project));
    run_at::make_runs(&to)?;
    let (source, target) = (open_folder(&from)?, open_folder(&to)?);
    let name = source.move_free(&run, &target, &run);
    let name = name.map_err(|errno| Failure::disk("move", path)(io_error(errno)))?;
    let to = to.join(name);
    let session = session.map(|session| session_status::set(session, &to, becomes)).transpose()?.flatten();
    Ok(Archived { run, to, already: false, session })
}

/// Removes what an earlier call that was killed has left unfinished.
fn tidy(run: &Path, session: Option<&Path>) {
    let executor = run.join(EXECUTOR);
    for folder in [Some(run), Some(&executor), session].into_iter().flatten() {
        open_folder(folder).ok().and_then(|folder| sweep(&folder).ok()); // leftovers do no harm
    }
}

/// When a run was finished; nothing if it is not.
pub(super) fn ended_at(path: &Path) -> Result<Option<Timestamp>, Failure> {
    let journal = path.join(EXECUTOR).join(JOURNAL);
    let bytes = read_regular(&journal).map_err(Failure::disk("read", &journal))?;
    let history = History::read(bytes).map_err(|damage| Failure::Journal(damage.into()))?;
    Ok(records::finished_at(history.records().map(|record| record.json)))
}

pub(super) fn is_older(at: Timestamp, seconds: u64) -> bool {
    let age = clock::now().as_micros().saturating_sub(at.as_micros());
    age >= i64::try_from(seconds.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
}

fn no_run(which: &Which) -> Failure {
    Failure::NoRun(match which {
        Which::Session(folder) => format!("the session {} was never run", folder.display()),
        Which::Run(name) => format!("there is no run {name}"),
        Which::All => "there is no run".to_owned(),
    })
}
