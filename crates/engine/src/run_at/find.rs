//! Which runs a session has, by what their journals say. Nothing is locked, and nothing is changed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use team_executor_core::Session;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, component, project_root, run_path};
use team_executor_store::{History, open_regular, read_regular, recover};

use super::{RENDERED, archive, name_of, runs, session_name};
use crate::plan::Plan;

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
    let plan = Plan::of_run(history.records().next()?.json, &path)?;
    let is_other = !plan.is_of(session);
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

/// What each run was made for, and its name.
pub(crate) fn plans(runs: &Path) -> impl Iterator<Item = (Plan, String)> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with("EX-"));
    names.filter_map(|name| {
        let mut bytes = Vec::new();
        let journal = open_regular(&runs.join(&name).join(EXECUTOR).join(JOURNAL)).ok()?;
        BufReader::new(journal).read_until(b'\n', &mut bytes).ok()?;
        let recovered = recover(&bytes).ok()?;
        let record = recovered.records.first()?;
        let json = std::str::from_utf8(&bytes[record.json.clone()]).ok()?;
        Some((Plan::of_run(json, &runs.join(&name))?, name))
    })
}

/// What may hold the newest run of a session and cannot be looked into for want of permission: the folder of all runs, or
/// a run of which only the name says whose it may be. Nothing if a run of the session can be read.
pub(crate) fn closed(runs: &Path, session: &Path) -> Option<PathBuf> {
    let is_denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    if std::fs::read_dir(runs).is_err_and(|error| is_denied(&error)) {
        return Some(runs.to_owned());
    }
    let journal = |name: &String| File::open(runs.join(name).join(EXECUTOR).join(JOURNAL));
    let closed = named_after(runs, session).filter(|name| journal(name).is_err_and(|error| is_denied(&error))).max()?;
    newest(runs, session).is_none().then(|| runs.join(closed))
}

/// A run whose journal is damaged where it says of which session it is, if its name says that it may be of this one. To
/// begin anew beside it would do again what it had done.
pub(crate) fn nameless(runs: &Path, session: &Path) -> Option<String> {
    named_after(runs, session).find(|name| is_nameless(&runs.join(name)))
}

/// The runs whose names say that they may be of this session.
fn named_after(runs: &Path, session: &Path) -> impl Iterator<Item = String> {
    let of_session = format!("EX-{}-", component(session_name(&name_of(session))));
    let entries = std::fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(move |name| {
        name.strip_prefix(&of_session).is_some_and(|date| date.starts_with(|first: char| first.is_ascii_digit()))
    })
}

/// Whether the journal of the run in a folder is damaged where it says of which session it is.
pub(crate) fn is_nameless(run: &Path) -> bool {
    let journal = run.join(EXECUTOR).join(JOURNAL);
    let mut first = Vec::new();
    let read = open_regular(&journal).and_then(|file| BufReader::new(file).read_until(b'\n', &mut first));
    let is_whole = recover(&first).is_ok_and(|found| !found.records.is_empty());
    read.is_ok() && !is_whole && read_regular(&journal).is_ok_and(|bytes| recover(&bytes).is_err())
}
