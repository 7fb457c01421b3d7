//! A person changes or removes a task of a session: in its own file, through the writer of its dialect. What has begun stays as
//! it is. While an executor has the run, it is asked to do that, so that it alone writes the file.

use std::path::Path;

use team_executor_core::run::Stage;
use team_executor_core::{Graph, Priority, RoleName, Session, Task, TaskId};
use team_executor_files::Dialect;
use team_executor_store::run_folder::{project_root, run_path};

use super::Refusal;
use super::create::{Draft, asked};
use crate::begin::run_at;
use crate::control::{self, Request};
use crate::{shell, status};

/// A change of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEdit {
    /// Its id.
    pub task: String,
    /// It is not there any more.
    pub remove: bool,
    /// For people.
    pub title: Option<String>,
    /// The work, in words.
    pub description: Option<String>,
    /// Who does it.
    pub role: Option<String>,
    /// Which of several ready tasks starts first.
    pub priority: Option<Priority>,
    /// What it waits for too, and what no longer.
    pub after: Vec<String>,
    /// See `after`.
    pub not_after: Vec<String>,
    /// What waits for it too, and what no longer.
    pub before: Vec<String>,
    /// See `before`.
    pub not_before: Vec<String>,
}

impl TaskEdit {
    /// Changes the task in a session.
    pub(super) fn apply(&self, session: &mut Session) -> Result<(), Refusal> {
        let id = session.tasks.iter().find(|task| task.id.as_str() == self.task).map(|task| task.id.clone());
        let id = id.ok_or_else(|| no_task(&self.task))?;
        if self.remove {
            if let Some(task) = session.tasks.iter().find(|task| task.dependencies.contains(&id)) {
                let what = format!("'{}' depends on '{id}'", task.id);
                return Err(Refusal::new(what, format!("team-executor task edit {} --not-after {id}", task.id)));
            }
            session.tasks.retain(|task| task.id != id);
            return Ok(());
        }
        for on in &self.after {
            wait(session, self.task.as_str(), on)?;
        }
        for on in &self.not_after {
            wait_no_more(session, self.task.as_str(), on)?;
        }
        come_before(session, &id, &self.before)?;
        for task in &self.not_before {
            wait_no_more(session, task, self.task.as_str())?;
        }
        let role = self.role.as_deref().map(RoleName::parse).transpose();
        let role = role.map_err(|error| Refusal::new(error.to_string(), "name the role: --assignee ROLE"))?;
        let Some(task) = session.tasks.iter_mut().find(|task| task.id == id) else { return Ok(()) };
        task.title = self.title.clone().unwrap_or_else(|| task.title.clone());
        task.description = self.description.clone().unwrap_or_else(|| task.description.clone());
        task.priority = self.priority.unwrap_or(task.priority);
        task.role = role.unwrap_or_else(|| task.role.clone());
        Ok(())
    }
}

/// These tasks wait for another one from then on.
pub(super) fn come_before(session: &mut Session, task: &TaskId, before: &[String]) -> Result<(), Refusal> {
    before.iter().try_for_each(|waiting| wait(session, waiting, task.as_str()))
}

fn wait(session: &mut Session, task: &str, on: &str) -> Result<(), Refusal> {
    let on = session
        .tasks
        .iter()
        .find(|task| task.id.as_str() == on)
        .map(|task| task.id.clone())
        .ok_or_else(|| no_task(on))?;
    let task = session.tasks.iter_mut().find(|other| other.id.as_str() == task).ok_or_else(|| no_task(task))?;
    if !task.dependencies.contains(&on) {
        task.dependencies.push(on);
    }
    Ok(())
}

fn wait_no_more(session: &mut Session, task: &str, on: &str) -> Result<(), Refusal> {
    let task = session.tasks.iter_mut().find(|other| other.id.as_str() == task).ok_or_else(|| no_task(task))?;
    if !task.dependencies.iter().any(|known| known.as_str() == on) {
        let what = format!("'{}' does not depend on '{on}'", task.id);
        return Err(Refusal::new(what, format!("team-executor task get {}", task.id)));
    }
    task.dependencies.retain(|known| known.as_str() != on);
    Ok(())
}

fn no_task(id: &str) -> Refusal {
    Refusal::new(format!("there is no task '{id}'"), "see the tasks: team-executor task list")
}

/// What is planned of a task.
pub(super) fn plan(task: &Task) -> (&TaskId, &RoleName, &[TaskId], Priority, &str, &str) {
    (&task.id, &task.role, &task.dependencies, task.priority, &task.title, &task.description)
}

/// Changes a task, and gives the session with that. Nothing is changed unless all of it is valid, and nothing of it has begun. If
/// an executor has the run of the session, it changes both.
pub fn change(
    (session, graph): (&Session, &Graph),
    dialect: Dialect,
    (folder, current): (&Path, &Path),
    edit: &TaskEdit,
) -> Result<Session, Refusal> {
    let project = project_root(folder, current);
    let run = run_at::newest(&run_at::runs(&project), folder).map(|run| run_path(&project, &run));
    let draft = Draft::edited((session, graph), dialect, folder, edit)?;
    match run {
        Some(run) if control::holder(&run).is_some() => asked(&run, folder, &Request::Edit(edit.clone()))?,
        Some(run) => {
            must_not_have_begun((session, graph), &draft.session, &run, folder)?;
            draft.write()?;
        }
        None => draft.write()?,
    }
    Ok(draft.session)
}

/// Refuses a change of what has begun in a run that is open.
fn must_not_have_begun(
    (session, graph): (&Session, &Graph),
    then: &Session,
    run: &Path,
    folder: &Path,
) -> Result<(), Refusal> {
    let Ok((_, rules)) = status::look(session, graph, &run_at::name_of(run), run) else { return Ok(()) };
    if *rules.stage() == Stage::Finished {
        return Ok(());
    }
    let same = |task: &&Task| then.tasks.iter().any(|other| plan(other) == plan(task));
    let is_begun = |task: &&Task| graph.index_of(task.id.as_str()).is_some_and(|index| !rules.is_untouched(index));
    match session.tasks.iter().filter(|task| !same(task)).find(is_begun) {
        None => Ok(()),
        Some(task) => {
            let help = format!(
                "what was done can be done again: team-executor retry {} {}",
                task.id,
                shell::session(folder.display())
            );
            Err(Refusal::new(format!("'{}' has begun, so its place in the plan stays as it is", task.id), help))
        }
    }
}
