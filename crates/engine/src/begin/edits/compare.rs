//! How the plan of a session differs from that of its newest run. Nothing is locked, and nothing is changed.

use std::path::Path;

use team_executor_core::{Session, Task};
use team_executor_store::run_folder::project_root;

use super::replan::recorded;
use crate::begin::run_at;

/// How a plan differs from that of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanDiff {
    /// The run.
    pub run: String,
    /// Tasks that the run does not have.
    pub added: Vec<String>,
    /// Tasks that only the run has.
    pub removed: Vec<String>,
    /// Tasks that are planned in another way.
    pub changed: Vec<TaskDiff>,
}

/// How a task is planned in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDiff {
    /// Its id.
    pub task: String,
    /// The name of each field, what it says in the run, and what it says now.
    pub fields: Vec<(&'static str, String, String)>,
}

/// Compares the plan of a session with that of its newest run; nothing if there is none, and the name of the run if its plan
/// is not known any more.
pub fn plan_diff(session: &Session, folder: &Path, current: &Path) -> Option<Result<PlanDiff, String>> {
    let run = run_at::newest_of_all(&project_root(folder, current), folder)?;
    let name = run_at::name_of(&run);
    let then = run_at::amended_plan_of(&run).and_then(|plan| recorded(&run, &plan));
    Some(then.map(|then| compare(&then, session, name.clone())).ok_or(name))
}

fn compare(then: &Session, now: &Session, run: String) -> PlanDiff {
    let of = |session: &Session, id: &str| session.tasks.iter().position(|task| task.id.as_str() == id);
    let missing = |from: &Session, other: &Session| -> Vec<String> {
        let tasks = from.tasks.iter().filter(|task| of(other, task.id.as_str()).is_none());
        tasks.map(|task| task.id.to_string()).collect()
    };
    let changed = now.tasks.iter().filter_map(|task| {
        let fields = fields(&then.tasks[of(then, task.id.as_str())?], task);
        (!fields.is_empty()).then(|| TaskDiff { task: task.id.to_string(), fields })
    });
    PlanDiff { run, added: missing(now, then), removed: missing(then, now), changed: changed.collect() }
}

fn fields(then: &Task, now: &Task) -> Vec<(&'static str, String, String)> {
    let ids = |task: &Task| task.dependencies.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let all = |task: &Task| {
        [
            ("title", task.label().to_owned()),
            ("description", if task.description.is_empty() { task.label() } else { &task.description }.to_owned()),
            ("role", task.role.to_string()),
            ("priority", task.priority.to_string()),
            ("deps", ids(task)),
        ]
    };
    let pairs = all(then).into_iter().zip(all(now)).filter(|((_, then), (_, now))| then != now);
    pairs.map(|((name, then), (_, now))| (name, then, now)).collect()
}
