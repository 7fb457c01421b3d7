//! Edits of a session while its executor is paused. Those that it can take in it takes in a moment later; the others are refused
//! aloud.

use team_executor_core::run::Run;
use team_executor_core::{Task, TaskIndex, TaskStatus};
use team_executor_files::load_ignoring_results;
use team_executor_store::DiskFolder;
use team_executor_store::run_folder::folder_name;

use crate::options::Options;

/// How many tasks are named.
const NAMED: usize = 5;

/// Why a run cannot go on with the tasks that the session's files have now, if it cannot; `known` are those that the run has.
pub(crate) fn unheard(options: &Options, known: &[Task], rules: &Run) -> Option<String> {
    let folder = DiskFolder::open(&options.folder).ok()?;
    let loaded = load_ignoring_results(&folder, &folder_name(&options.folder), Some(options.dialect));
    let Some((now, _)) = loaded.session.filter(|_| !loaded.findings.has_errors()) else {
        return Some("the session was edited and has errors; `validate` shows them".to_owned());
    };
    let index = |task: &Task| rules.graph().index_of(task.id.as_str());
    let then: Vec<&Task> = known.iter().filter(|task| index(task).is_some_and(|task| rules.is_there(task))).collect();
    let is_same = |(a, b): (&Task, &Task)| a.id == b.id && a.role == b.role && a.dependencies == b.dependencies;
    if then.len() != now.tasks.len() || !then.iter().copied().zip(&now.tasks).all(is_same) {
        return Some("tasks, roles or dependencies were edited, and the executor has not taken that in".to_owned());
    }
    let is_open = |index: TaskIndex| rules.status(index).is_some_and(|status| !status.is_over());
    let edited = |(then, now): &(&Task, &Task)| {
        let says_else =
            (&then.title, &then.description, &then.context_from) != (&now.title, &now.description, &now.context_from);
        index(then).is_some_and(is_open) && (says_else || now.status == TaskStatus::Skipped)
    };
    let all = then.iter().copied().zip(&now.tasks).filter(edited);
    let names: Vec<&str> = all.map(|(task, _)| task.id.as_str()).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let help = "undo the edit, or `stop` the executor and edit then";
    (!names.is_empty()).then(|| {
        format!("{shown}{more} changed a moment ago, and the executor has not taken that in: resume again, or {help}")
    })
}
