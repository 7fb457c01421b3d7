//! The plan of a session that was changed while nothing ran: what tasks wait for that no one has tried, who does them, and which
//! of them are there. The table of the run has the plan as it was, and the journal says whether that is so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use team_executor_core::run::{Input, PlanMark};
use team_executor_core::{Session, Task, TaskId, TaskIndex, Timestamp};
use team_executor_files::{Dialect, load_ignoring_results};
use team_executor_store::run_folder::folder_name;
use team_executor_store::{DiskFolder, records};

use crate::begin::plan::{Plan, digest};

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replan {
    changed: Vec<TaskIndex>,
    pub(crate) removed: Vec<TaskId>,
    plan: PlanMark,
}

impl Replan {
    /// Compares the plan that a run has with the one that its session has now; or why that cannot be taken.
    pub(crate) fn find<'r>(
        run: &Path,
        plan: &Plan,
        now: &Session,
        all: impl Iterator<Item = &'r str> + Clone,
    ) -> Result<Self, String> {
        let then = recorded(run, plan).ok_or("only new tasks behind the others can be taken over")?;
        let is_begun = |id: &str| records::was_begun(id, all.clone()) || plan.over.iter().any(|(over, _)| over == id);
        let begun = |id: &str| format!("'{id}' has begun, so its place in the plan stays as it is");
        let known: BTreeMap<&str, &Task> = then.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
        let ids: BTreeSet<&str> = now.tasks.iter().map(|task| task.id.as_str()).collect();
        let is_there = |id: &str| known.contains_key(id) || plan.amended.added.contains(id);
        if let Some(task) = now.tasks.iter().find(|task| plan.amended.removed.contains(task.id.as_str())) {
            return Err(format!("'{}' was removed from this run; give the new task another id", task.id));
        }
        let order = now.tasks.iter().skip_while(|task| is_there(task.id.as_str()));
        if let Some(late) = order.into_iter().find(|task| is_there(task.id.as_str())) {
            return Err(format!("'{}' stands behind new tasks, which belong behind all others", late.id));
        }
        let before = then.tasks.iter().filter(|task| ids.contains(task.id.as_str())).map(|task| &task.id);
        if !before.eq(now.tasks.iter().filter(|task| known.contains_key(task.id.as_str())).map(|task| &task.id)) {
            return Err("the order of the tasks was changed".to_owned());
        }
        let mut changed = Vec::new();
        for (index, task) in (0..).map(TaskIndex).zip(&now.tasks) {
            let Some(then) = known.get(task.id.as_str()) else { continue };
            if (&then.role, &then.dependencies) != (&task.role, &task.dependencies) {
                if is_begun(task.id.as_str()) {
                    return Err(begun(task.id.as_str()));
                }
                changed.push(index);
            }
        }
        let had = then.tasks.iter().map(|task| task.id.as_str()).chain(plan.amended.added.iter().map(String::as_str));
        let is_gone = |id: &&str| !ids.contains(id) && !plan.amended.removed.contains(*id);
        let gone: BTreeSet<&str> = had.filter(is_gone).collect();
        if let Some(id) = gone.iter().find(|id| is_begun(id)) {
            return Err(begun(id));
        }
        let removed = gone.into_iter().filter_map(|id| TaskId::parse(id).ok()).collect();
        let tasks = u32::try_from(now.tasks.len()).unwrap_or(u32::MAX);
        let plan = PlanMark { digest: digest(now, now.tasks.len()), tasks };
        Ok(Self { changed, removed, plan })
    }

    /// What the rules are told.
    pub(crate) fn input(self, now: Timestamp) -> Input {
        let Self { changed, removed, plan } = self;
        Input::Replan { now, changed, removed, plan }
    }
}

/// The plan that the run has, by its table, if the journal says so too.
pub(crate) fn recorded(run: &Path, plan: &Plan) -> Option<Session> {
    let folder = DiskFolder::open(run).ok()?;
    let loaded = load_ignoring_results(&folder, &folder_name(&plan.session), Some(Dialect::TasksCsv));
    loaded.session.map(|(session, _)| session).filter(|session| plan.is_of(session))
}
