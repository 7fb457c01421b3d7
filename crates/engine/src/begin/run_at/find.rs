//! Which runs a session has, by what their journals say. Nothing is locked, and nothing is changed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use team_executor_beneath::{open_regular, ours, read_regular};
use team_executor_core::Session;
use team_executor_store::run_folder::{
    DERIVED, EXECUTOR, JOURNAL, KEEPERS, LOGS, component, named_by, project_root, run_path,
};
use team_executor_store::{Derived, History, Holder, examine, recover};

use super::{RENDERED, archive, name_of, runs, session_name};
use crate::begin::plan::Plan;
use crate::begin::replay::events;
use crate::options::Failure;
use crate::render::views::TASKS;

/// Most first records of journals are shorter; more of the file is not read.
const FIRST_RECORD: usize = 1024;

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

/// The newest run of the session, or the one that was named, if nothing is left to do for it. Without a lock: nothing is changed.
pub(crate) fn finished(session: &Session, (folder, current): (&Path, &Path), run: Option<&str>) -> Option<Done> {
    let project = project_root(folder, current);
    let named = run.map(|id| run_path(&project, id));
    let path = named.or_else(|| newest_of_all(&project, folder))?;
    let id = name_of(&path);
    let rendered = String::from_utf8(read_regular(&path.join(EXECUTOR).join(RENDERED)).ok()?).ok()?;
    let bytes = read_regular(&path.join(EXECUTOR).join(JOURNAL)).ok()?;
    if rendered != bytes.len().to_string() {
        return None;
    }
    let history = History::read(bytes).ok()?;
    let plan = Plan::of_run(history.records().next()?.json, &path)?.amend(events(&history));
    let is_other = !plan.is_all_of(session);
    Some(Done { id, path, plan, history, is_other })
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

/// The session of each run, and the run's name.
pub(crate) fn plans(runs: &Path) -> impl Iterator<Item = (Plan, String)> {
    let names = ours::list(runs).unwrap_or_default().into_iter().filter(|name| name.starts_with("EX-"));
    names.filter_map(|name| Some((plan_of(&runs.join(&name))?, name)))
}

/// The session of the run in a folder.
pub(crate) fn plan_of(run: &Path) -> Option<Plan> {
    let mut bytes = Vec::new();
    let journal = open_regular(&run.join(EXECUTOR).join(JOURNAL)).ok()?;
    BufReader::with_capacity(FIRST_RECORD, journal).read_until(b'\n', &mut bytes).ok()?;
    let recovered = recover(&bytes).ok()?;
    let record = recovered.records.first()?;
    let json = std::str::from_utf8(&bytes[record.json.clone()]).ok()?;
    Plan::of_run(json, run)
}

/// The same, as the run has changed it since.
pub(crate) fn amended_plan_of(run: &Path) -> Option<Plan> {
    let history = History::read(read_regular(&run.join(EXECUTOR).join(JOURNAL)).ok()?).ok()?;
    Some(Plan::of_run(history.records().next()?.json, run)?.amend(events(&history)))
}

/// Whether the run in a folder has the tasks that a session has now. Most plans are never changed: all of the journal is read
/// only where it matters.
pub(crate) fn is_of(run: &Path, session: &Session) -> bool {
    plan_of(run).is_some_and(|plan| plan.is_of(session)) || amended_plan_of(run).is_some_and(|plan| plan.is_of(session))
}

/// What may hold the newest run of a session and cannot be looked into for want of permission: the folder of all runs, or
/// a run of which only the name says whose it may be. Nothing if a run of the session can be read.
pub(crate) fn closed(runs: &Path, session: &Path) -> Option<PathBuf> {
    let is_denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    if ours::list(runs).is_err_and(|error| is_denied(&error)) {
        return Some(runs.to_owned());
    }
    let journal = |name: &String| open_regular(&runs.join(name).join(EXECUTOR).join(JOURNAL));
    let closed = named_after(runs, session).filter(|name| journal(name).is_err_and(|error| is_denied(&error))).max()?;
    newest(runs, session).is_none().then(|| runs.join(closed))
}

/// A run whose journal is lost, or damaged where it says of which session it is, if its name says that it may be of this
/// one. To begin anew beside it would do again what it had done.
pub(crate) fn nameless(runs: &Path, session: &Path) -> Option<String> {
    named_after(runs, session).find(|name| is_nameless(&runs.join(name)))
}

/// The runs whose names say that they may be of this session.
fn named_after(runs: &Path, session: &Path) -> impl Iterator<Item = String> {
    let of_session = format!("EX-{}-", component(session_name(&named_by(session))));
    ours::list(runs).unwrap_or_default().into_iter().filter(move |name| {
        name.strip_prefix(&of_session).is_some_and(|date| date.starts_with(|first: char| first.is_ascii_digit()))
    })
}

/// Whether the journal of the run in a folder is lost, or damaged where it says of which session it is.
pub(crate) fn is_nameless(run: &Path) -> bool {
    let journal = run.join(EXECUTOR).join(JOURNAL);
    let mut first = Vec::new();
    let read = open_regular(&journal).and_then(|file| BufReader::new(file).read_until(b'\n', &mut first));
    if read.is_ok() && recover(&first).is_ok_and(|found| !found.records.is_empty()) {
        return false;
    }
    match read_regular(&journal) {
        Ok(bytes) => match recover(&bytes) {
            Ok(found) => found.records.is_empty() && has_lived(run) && !was_given_up(run),
            Err(_) => true,
        },
        Err(_) => has_lived(run),
    }
}

/// Whether there is anything that a run leaves only after its first record.
fn has_lived(run: &Path) -> bool {
    let executor = run.join(EXECUTOR);
    let is_file = |path: PathBuf| open_regular(&path).is_ok();
    let has_any = |path: PathBuf| ours::open(&path).and_then(|folder| folder.count()).is_ok_and(|count| count > 0);
    [run.join(TASKS), executor.join(DERIVED), executor.join(RENDERED)].into_iter().any(is_file)
        || [run.join(LOGS), executor.join(KEEPERS)].into_iter().any(has_any)
}

/// Whether a repair has found nothing that could be kept.
fn was_given_up(run: &Path) -> bool {
    let copy = format!("{JOURNAL}.damaged-");
    ours::list(&run.join(EXECUTOR)).unwrap_or_default().iter().any(|name| name.starts_with(&copy))
}

/// How long the journal of a run must be at least: what was rendered from it says so.
pub(crate) fn durable(run: &Path) -> u64 {
    let text = |name: &str| String::from_utf8(read_regular(&run.join(EXECUTOR).join(name)).ok()?).ok();
    let rendered = text(RENDERED).and_then(|length| length.parse().ok()).unwrap_or(0);
    let derived = text(DERIVED).and_then(|text| Derived::from_text(&text));
    let derived = derived.map_or(0, |derived| derived.journal(&Holder::this_process(0).boot));
    let first = u64::from(is_nameless(run));
    first.max(rendered).max(derived)
}

/// Fails if a run has lost a part of its journal that was durable: no crash does that, and what it had done would be done
/// again.
pub(crate) fn must_be_whole(run: &Path) -> Result<(), Failure> {
    let (journal, durable) = (run.join(EXECUTOR).join(JOURNAL), durable(run));
    let length = ours::look_at(&journal).map_err(Failure::disk("look at", &journal))?.st_size;
    if u64::try_from(length).unwrap_or(0) >= durable {
        return Ok(());
    }
    let bytes = read_regular(&journal).map_err(Failure::disk("read", &journal))?;
    examine(&bytes, durable).damage.map_or(Ok(()), |damage| Err(Failure::Journal(damage.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_journal_differs_from_a_run_never_begun() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path();
        let executor = run.join(EXECUTOR);
        for folder in [LOGS, ".executor/keepers"] {
            std::fs::create_dir_all(run.join(folder)).unwrap();
        }
        let journal = executor.join(JOURNAL);
        for unborn in [None, Some(""), Some("torn")] {
            if let Some(text) = unborn {
                std::fs::write(&journal, text).unwrap();
            }
            assert!(!is_nameless(run), "{unborn:?}");
        }
        for left in [run.join(TASKS), executor.join(DERIVED), executor.join(RENDERED), run.join("logs/A.1.out")] {
            for lost in [Some("torn"), Some(""), None] {
                std::fs::write(&left, "").unwrap();
                match lost {
                    Some(text) => std::fs::write(&journal, text).unwrap(),
                    None => std::fs::remove_file(&journal).unwrap(),
                }
                assert!(is_nameless(run), "{lost:?} {}", left.display());
                std::fs::remove_file(&left).unwrap();
            }
        }
        std::fs::write(run.join(TASKS), "").unwrap();
        std::fs::write(executor.join("journal.damaged-1"), "").unwrap();
        assert!(is_nameless(run));
        std::fs::write(&journal, "").unwrap();
        assert!(!is_nameless(run), "that was given up");
    }
}
