//! At rest the files of a run are the user's. What a person changed in the run's `tasks.csv` or in the session's own files
//! while nothing ran is taken over where it is a legal move: a task that is over back to `pending`, a task that waits to
//! `skipped`, another text for a task that was never tried. An edit with anything else in it is refused as a whole, and
//! a copy of it is kept.

mod compare;
mod replan;
mod table;
mod unheard;
mod wanted;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use team_executor_beneath::read_regular;
use team_executor_core::run::{Input, Run};
use team_executor_core::{Reconciliation, Session, TaskStatus, Timestamp};
use team_executor_files::Dialect;
use team_executor_store::run_folder::{DERIVED, EXECUTOR};
use team_executor_store::{Derived, Disk, Durability, Rendered, Standing};

pub use self::compare::{PlanDiff, plan_diff};
pub(crate) use self::replan::Replan;
pub(crate) use self::unheard::unheard;
use self::wanted::WantedEdits;
use crate::options::Failure;
use crate::render::views::{OwnFile, PagePlace, TASKS, Views, state};

/// What was taken over.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// The inputs to the rules before anything else.
    pub(crate) input: Option<Input>,
    /// For people, one line each.
    pub(crate) told: Vec<String>,
    /// What was kept and not taken over, and why.
    pub(crate) warnings: Vec<String>,
    /// Files were found changed, which is to be [remembered](remember).
    pub(crate) is_accepted: bool,
}

/// The state of a reopened run.
pub(crate) struct Resumed<'a> {
    /// The session as its own file says it is now.
    pub(crate) stated: &'a Session,
    /// The rules as the journal left them.
    pub(crate) rules: &'a Run,
    /// How the rules were when the journal had this length.
    pub(crate) before: &'a dyn Fn(u64) -> Result<Run, Failure>,
    /// How long the journal is.
    pub(crate) journal: u64,
    pub(crate) now: Timestamp,
}

/// Whether a person has changed a file of a run that is at rest. Without a lock: nothing is changed.
pub(crate) fn is_edited(run: &Path, session: &Path, own: &[OwnFile]) -> bool {
    let derived = read_regular(&run.join(EXECUTOR).join(DERIVED)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(derived) = derived.and_then(|text| Derived::from_text(&text)) else { return false };
    let own = own.iter().map(|file| (file.place.key(&file.name), file.path(session)));
    let mut files = std::iter::once((PagePlace::Run.key(TASKS), run.join(TASKS))).chain(own);
    files.any(|(key, path)| derived.standing_at(&key, &path) == Standing::Edited)
}

/// Takes over what a person changed. New texts are in the session then, and in its own file.
pub(crate) fn take_over<D: Disk>(
    views: &mut Views<D>,
    session: &mut Session,
    resumed: &Resumed<'_>,
) -> Result<Adopted, Failure> {
    let about = views.about();
    let (dialect, all) = (about.dialect, about.own.clone());
    let rebooted = views.derived().boot.as_ref().is_some_and(|boot| *boot != about.boot);
    let table = edited(views, PagePlace::Run, TASKS);
    let own: Vec<(&OwnFile, Vec<u8>)> =
        all.iter().filter_map(|file| Some((file, edited(views, file.place, &file.name)?))).collect();
    let of_run = table.iter().map(|bytes| (PagePlace::Run, TASKS, bytes));
    let files: Vec<_> = of_run.chain(own.iter().map(|(file, bytes)| (file.place, file.name.as_str(), bytes))).collect();
    let mut adopted = Adopted::default();
    if files.is_empty() {
        return Ok(adopted);
    }
    let keep = |views: &Views<D>| -> Result<Vec<String>, Failure> {
        let copies = files.iter().map(|(place, name, bytes)| views.copy(*place, name, bytes));
        let copies: Result<Vec<_>, _> = copies.collect();
        copies.map(|copies| copies.into_iter().flatten().collect()).map_err(|error| cannot_write(error.to_string()))
    };
    if rebooted {
        for copy in keep(views)? {
            adopted.warnings.push(format!(
                "the machine stopped while the run went on: a copy of the file as it was is kept as {copy}"
            ));
        }
    } else {
        let mut wanted = WantedEdits::new(session, resumed.rules, dialect, !own.is_empty());
        let stated = stated(resumed.stated, dialect);
        for (file, _) in &own {
            let bases = bases(views, file.place, &file.name, resumed)?;
            wanted.of_session(&stated, &bases, file.only_task());
        }
        if let Some(bytes) = &table {
            let bases = bases(views, PagePlace::Run, TASKS, resumed)?;
            let texts: Vec<String> = bases.iter().map(|base| text(views, session, base)).collect();
            match table::changes(&String::from_utf8_lossy(bytes), &texts) {
                Ok(changes) => wanted.of_table(&changes),
                Err(refused) => wanted.refuse(refused),
            }
        }
        let taken = wanted.taken(resumed.now);
        let taken = match taken {
            Ok(taken) => taken,
            Err(mut refused) => {
                let kept = keep(views)?;
                // Where nothing can be written, the edit is known for what it is all the same.
                refused.extend(put_back(views, session, resumed, &files).err().map(|failure| failure.to_string()));
                return Err(Failure::Edited { refused, kept });
            }
        };
        for (file, bytes) in &own {
            if says_more(views, session, resumed, file, bytes)? {
                let (name, copy) = (&file.name, views.copy(file.place, &file.name, bytes));
                let copy = copy.map_err(|error| cannot_write(error.to_string()))?;
                adopted.warnings.extend(
                    copy.map(|copy| format!("{name} has edits that cannot be applied; your version is kept as {copy}")),
                );
            }
        }
        let has_texts = !taken.texts.is_empty();
        for (task, text) in taken.texts {
            text.put_into(&mut session.tasks[task.get()]);
        }
        (adopted.input, adopted.told) = (taken.input, taken.told);
        if has_texts {
            let mut shown = session.clone();
            state::refresh(&mut shown, resumed.rules, &views.about().run);
            let problems = views.write_own(&mut shown, resumed.rules, resumed.journal);
            problems.into_iter().next().map_or(Ok(()), |problem| Err(cannot_write(problem)))?;
        }
    }
    if let Some(bytes) = &table {
        views.accept(PagePlace::Run, TASKS, bytes, resumed.journal);
    }
    let found: HashMap<&str, &Vec<u8>> = own.iter().map(|(file, bytes)| (file.name.as_str(), bytes)).collect();
    for file in &all {
        let bytes = found.get(file.name.as_str()).map(|bytes| (*bytes).clone());
        if let Some(bytes) = bytes.or_else(|| views.bytes(file.place, &file.name)) {
            views.accept(file.place, &file.name, &bytes, resumed.journal);
        }
    }
    adopted.is_accepted = true;
    Ok(adopted)
}

/// Remembers what was taken over, once the journal has it: before, a kill would lose the edit. Without it the same edit would
/// be taken over again some time, and what came of it be done again.
pub(crate) fn remember<D: Disk>(views: &Views<D>) -> Result<(), Failure> {
    views.save(Durability::Durable).map_err(|error| cannot_write(error.to_string()))
}

/// The content of a file, if a person has changed it.
fn edited<D: Disk>(views: &Views<D>, place: PagePlace, name: &str) -> Option<Vec<u8>> {
    let bytes = views.bytes(place, name)?;
    (views.derived().standing(&place.key(name), Some(&bytes)) == Standing::Edited).then_some(bytes)
}

/// The states that the file may have shown before it was changed, the newest first.
fn bases<D: Disk>(views: &Views<D>, place: PagePlace, name: &str, resumed: &Resumed<'_>) -> Result<Vec<Run>, Failure> {
    let versions: &[Rendered] = views.derived().versions(&place.key(name));
    versions.iter().map(|version| (resumed.before)(version.journal)).collect()
}

/// Whether something that a person wrote into the session's own file would be written over, besides where tasks stand.
fn says_more<D: Disk>(
    views: &Views<D>,
    session: &Session,
    resumed: &Resumed<'_>,
    file: &OwnFile,
    edited: &[u8],
) -> Result<bool, Failure> {
    let about = views.about();
    let stated = stated(resumed.stated, about.dialect);
    let bases = bases(views, file.place, &file.name, resumed)?;
    let edited = String::from_utf8_lossy(edited);
    let is_all = |base: &Run| {
        let mut shown = session.clone();
        state::refresh(&mut shown, base, &about.run);
        shown.status = resumed.stated.status;
        let before = views.own_text(file, &mut shown, base).unwrap_or_default();
        // Values derived from the tasks' states are those from before or from after.
        for (task, status) in shown.tasks.iter_mut().zip(&stated) {
            task.status = *status;
        }
        let after = views.own_text(file, &mut shown, base).unwrap_or_default();
        let lines: HashSet<&str> = before.lines().chain(after.lines()).collect();
        edited.lines().all(|line| lines.contains(line))
    };
    Ok(!bases.iter().any(is_all))
}

fn text<D: Disk>(views: &Views<D>, session: &Session, rules: &Run) -> String {
    let mut session = session.clone();
    state::refresh(&mut session, rules, &views.about().run);
    views.tasks_text(&mut session, rules)
}

/// Where each task stands by the session's own file. A `tc` session only says what is completed.
fn stated(session: &Session, dialect: Dialect) -> Vec<TaskStatus> {
    match dialect {
        Dialect::Tc => {
            let is_done = |status| if status == TaskStatus::Completed { status } else { TaskStatus::Pending };
            Reconciliation::compare(session).statuses(session).into_iter().map(is_done).collect()
        }
        _ => session.tasks.iter().map(|task| task.status).collect(),
    }
}

/// Writes what is true over what was refused.
fn put_back<D: Disk>(
    views: &mut Views<D>,
    session: &Session,
    resumed: &Resumed<'_>,
    files: &[(PagePlace, &str, &Vec<u8>)],
) -> Result<(), Failure> {
    for (place, name, bytes) in files {
        views.accept(*place, name, bytes, resumed.journal);
    }
    let mut shown = session.clone();
    state::refresh(&mut shown, resumed.rules, &views.about().run);
    let problems = views.write_both(&mut shown, resumed.rules, resumed.journal);
    problems.into_iter().next().map_or(Ok(()), |problem| Err(cannot_write(problem)))
}

fn cannot_write(reason: String) -> Failure {
    Failure::Disk { action: "write", path: "the files of the run".into(), reason }
}
