//! The plan gets longer while the run goes on. Its place is in the session's own files: a task that a request adds is written
//! there first, and whatever the files have more than the run is taken into it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use team_executor_beneath::ours;
use team_executor_core::run::{NewTask, NextPlan, PlanMark, Run, Stage};
use team_executor_core::{Graph, Priority, Role, Session, Task, TaskId, TaskIndex};
use team_executor_files::{Dialect, load_ignoring_results};
use team_executor_store::DiskFolder;
use team_executor_store::run_folder::folder_name;

use super::desk::RealDesk;
use crate::begin::plan::digest;
use crate::bus::create::Draft;
use crate::conclude;
use crate::control::Request;
use crate::dispatch::inbox::Message;
use crate::event;
use crate::prepare::newcomer::{Choice, Growth, Replanned};
use crate::render::views::own_file;

/// How many things are named one by one.
const NAMED: usize = 5;

impl RealDesk<'_> {
    /// Adds the task of a request to the session's files, and says what these have more than the run then.
    pub(super) fn grown(&mut self, rules: &Run, request: &Request) -> Option<Result<Growth, String>> {
        match request {
            Request::Create(new) => {
                let draft = |desk: &Self| {
                    let (session, _) = desk.planned()?;
                    let (dialect, folder) = (desk.options.dialect, &desk.options.folder);
                    let draft = Draft::new(&session, dialect, folder, &new.as_new());
                    draft.map_err(|refusal| format!("{refusal}; {}", refusal.help))
                };
                Some(
                    draft(self).and_then(|draft| {
                        self.take_in(rules, (draft.session.clone(), draft.graph.clone()), Some(&draft))
                    }),
                )
            }
            Request::Edit(edit) => {
                let draft = |desk: &Self| {
                    let (session, graph) = desk.planned()?;
                    let (dialect, folder) = (desk.options.dialect, &desk.options.folder);
                    let draft = Draft::edited((&session, &graph), dialect, folder, edit);
                    draft.map_err(|refusal| format!("{refusal}; {}", refusal.help))
                };
                Some(
                    draft(self).and_then(|draft| {
                        self.take_in(rules, (draft.session.clone(), draft.graph.clone()), Some(&draft))
                    }),
                )
            }
            Request::Adopt => Some(self.planned().and_then(|planned| self.take_in(rules, planned, None))),
            _ => None,
        }
    }

    /// What others wrote into the session, if that is to be taken in. A refusal is told once.
    pub(super) fn noticed(&mut self, rules: &Run) -> Option<Growth> {
        let (bytes, now) = (self.views.own_bytes(), seen(self.options.dialect, &self.options.folder));
        if !self.views.is_own_edited(&bytes) && now == self.seen {
            return None;
        }
        self.edited_at = Some(Instant::now());
        let planned = self.planned();
        if self.views.own_bytes() != bytes {
            self.outbox.send(Message::Edited).ok(); // someone writes at this moment
            return None;
        }
        let is_readable = planned.is_ok();
        let growth = planned.and_then(|planned| self.take_in(rules, planned, None));
        self.seen = now;
        if is_readable {
            if growth.is_err() {
                self.keep_edited(&bytes);
            }
            self.views.accept_all(&bytes, self.at.journal_length());
        }
        let why = growth.as_ref().err().cloned();
        if why.is_some() && why != self.refused_edit {
            let words = why.clone().unwrap_or_default();
            self.tell_edit(&format!("the session was edited, and the run goes on without that: {words}"));
        }
        self.refused_edit = why;
        growth.ok()
    }

    /// Keeps what was edited and is not taken in: parts of it may be written over.
    fn keep_edited(&mut self, bytes: &[Option<Vec<u8>>]) {
        for kept in self.views.keep_edited(bytes) {
            let words =
                kept.map_or_else(|error| error, |name| format!("the session as it was edited is kept as {name}"));
            self.tell_edit(&words);
        }
    }

    fn tell_edit(&mut self, words: &str) {
        (self.tell)(event::warning(words.to_owned()));
    }

    /// The session as its files say it is now.
    fn planned(&self) -> Result<(Session, Graph), String> {
        let at = &self.options.folder;
        let folder = DiskFolder::open(at).map_err(|_| format!("{} cannot be opened", at.display()))?;
        let loaded = load_ignoring_results(&folder, &folder_name(at), Some(self.options.dialect));
        match loaded.session.filter(|_| !loaded.findings.has_errors()) {
            Some(planned) => Ok(planned),
            None => Err("the session has errors; `validate` shows them".to_owned()),
        }
    }

    /// What the session's files have more than the run, which is known to the desk from now on. A draft is written as soon as
    /// nothing can be refused any more.
    fn take_in(
        &mut self,
        rules: &Run,
        (planned, graph): (Session, Graph),
        draft: Option<&Draft>,
    ) -> Result<Growth, String> {
        if *rules.stage() == Stage::Finished {
            return Err("the run is finished".to_owned());
        }
        let PlanChanges { new, edited, changed, anew, removed } = self.plan_changes(rules, &planned)?;
        let plan = PlanMark { digest: digest(&planned, planned.tasks.len()), tasks: number_of(planned.tasks.len()) };
        let is_new = |role: &Role| self.session.role(role.name.as_str()).is_none();
        let roles: Vec<Role> = planned.roles.into_iter().filter(is_new).collect();
        let tasks = std::mem::take(&mut self.session.tasks);
        let mut only = self.session.clone();
        self.session.tasks = tasks;
        only.roles.extend(roles);
        let count = new.len();
        only.tasks = new.into_iter().chain(anew.iter().map(|(_, task)| task.clone())).collect();
        let mut chosen = if only.tasks.is_empty() { Vec::new() } else { self.choose(&only)? };
        let others = chosen.split_off(count);
        only.tasks.truncate(count);
        let is_replanned = !changed.is_empty() || !removed.is_empty();
        let next = is_replanned.then(|| self.next_tasks(&changed, &removed, &only.tasks));
        let next = next.map(|tasks| Graph::seal(&tasks).graph.ok_or("the dependencies have errors")).transpose()?;
        if let Some(draft) = draft {
            draft.write().map_err(|refusal| format!("{refusal}; {}", refusal.help))?;
            if draft.is_own() {
                self.views.accept_own(draft.name(), draft.text(), self.at.journal_length());
            }
        }
        let Session { roles, tasks, .. } = only;
        self.session.roles = roles;
        // Where waves are planned, each task is in the wave that the whole plan gives it.
        let sealed = (graph.is_planned() || rules.graph().is_planned()).then(|| self.sealed(&tasks)).transpose()?;
        let new = tasks.into_iter().zip(chosen).map(|(task, choice)| self.learn(task, choice)).collect();
        if self.options.dialect == Dialect::TaskFiles {
            self.views.look_for_files(&self.options.folder, self.at.journal_length());
        }
        let priorities = self.edit(edited);
        let replan = next.map(|graph| {
            let anew = anew.into_iter().zip(others).map(|((index, task), choice)| self.learn_anew(index, task, choice));
            let next = NextPlan { graph, anew: anew.collect() };
            let removed = self.replan(&changed, &removed);
            Replanned { next, changed: changed.into_iter().map(|(index, _)| index).collect(), removed, plan }
        });
        Ok(Growth { new, priorities, sealed, workers: self.workers.clone(), replan })
    }

    /// How the plan differs from that of the run; or why that cannot be taken in.
    fn plan_changes(&self, rules: &Run, planned: &Session) -> Result<PlanChanges, String> {
        let (mut next, mut late) = (0, Vec::new());
        let mut changes = PlanChanges::default();
        for task in &planned.tasks {
            if self.gone.contains(task.id.as_str()) {
                return Err(format!("'{}' was removed from this run; give the new task another id", task.id));
            }
            let Some(index) = rules.graph().index_of(task.id.as_str()) else {
                changes.new.push(task.clone());
                continue;
            };
            if !changes.new.is_empty() || index.get() < next {
                let first = changes.new.first().unwrap_or(task);
                return Err(format!("'{}' is not behind the tasks of the run, where new tasks belong", first.id));
            }
            changes.removed.extend((next..index.get()).map(at).filter(|task| rules.is_there(*task)));
            next = index.get() + 1;
            let own = &self.session.tasks[index.get()];
            let waits_for_others = own.dependencies != task.dependencies;
            if is_other(own, task) {
                changes.anew.push((index, task.clone()));
            }
            if waits_for_others || is_other(own, task) {
                changes.changed.push((index, task.clone()));
            }
            if says_else(own, task) {
                let is_fresh = rules.view(index).is_some_and(|view| view.attempt == 0 && !view.status.is_over());
                if is_fresh { changes.edited.push((index, task.clone())) } else { late.push(task.id.as_str()) }
            }
        }
        changes.removed.extend((next..self.session.tasks.len()).map(at).filter(|task| rules.is_there(*task)));
        self.must_be_untouched(rules, &changes)?;
        match late.as_slice() {
            [] => Ok(changes),
            late => Err(format!("{} was tried already, and keeps its text and priority", named(late))),
        }
    }

    /// Only the plan of tasks that no one has tried is changed.
    fn must_be_untouched(&self, rules: &Run, changes: &PlanChanges) -> Result<(), String> {
        let PlanChanges { changed, anew, removed, .. } = changes;
        let begun = |tasks: &mut dyn Iterator<Item = TaskIndex>| {
            let begun: Vec<&str> = tasks.filter(|task| !rules.is_untouched(*task)).map(|task| self.id(task)).collect();
            (!begun.is_empty()).then(|| named(&begun))
        };
        if let Some(begun) = begun(&mut removed.iter().copied()) {
            return Err(format!("{begun} has begun, and cannot be removed"));
        }
        if let Some(begun) = begun(&mut changed.iter().map(|(task, _)| *task)) {
            return Err(format!("{begun} has begun, and keeps its role, mode and dependencies"));
        }
        if rules.keeps_waves() && !(changed.is_empty() && removed.is_empty()) {
            return Err("the run keeps its waves, so tasks keep their roles, modes and dependencies".to_owned());
        }
        let given = anew.iter().find(|(task, _)| rules.assigned().any(|(given, _, _)| given == *task));
        given.map_or(Ok(()), |(task, _)| Err(format!("'{}' was given to an agent, and keeps its role", self.id(*task))))
    }

    /// All tasks as they are planned from now on, those that are removed without any dependency.
    fn next_tasks(&self, changed: &[(TaskIndex, Task)], removed: &[TaskIndex], new: &[Task]) -> Vec<Task> {
        let mut tasks: Vec<Task> = self.session.tasks.iter().chain(new).cloned().collect();
        for (index, task) in changed {
            tasks[index.get()].dependencies.clone_from(&task.dependencies);
        }
        removed.iter().for_each(|index| tasks[index.get()].dependencies.clear());
        tasks
    }

    /// The desk knows the changed plan from now on. Gives back the ids of what is removed.
    fn replan(&mut self, changed: &[(TaskIndex, Task)], removed: &[TaskIndex]) -> Vec<TaskId> {
        for (index, task) in changed {
            let own = &mut self.session.tasks[index.get()];
            own.dependencies.clone_from(&task.dependencies);
            (own.role, own.exec_mode, own.run_on) = (task.role.clone(), task.exec_mode, task.run_on);
        }
        let remove = |index: &TaskIndex| {
            let own = &mut self.session.tasks[index.get()];
            own.dependencies.clear();
            self.gone.insert(own.id.to_string());
            own.id.clone()
        };
        removed.iter().map(remove).collect()
    }

    /// A task that no one has tried is done by someone else, or in another way.
    fn learn_anew(&mut self, index: TaskIndex, task: Task, choice: Choice) -> (TaskIndex, NewTask) {
        let Choice { workers, policy, fallbacks, budget, role_budget, is_isolated, scope } = choice;
        let agents = workers.iter().map(|worker| worker.agent.clone()).collect();
        self.workers.reassign(index, workers);
        if let Some(trees) = &mut self.workspace.trees {
            trees.learn(index, is_isolated, scope);
        }
        (index, NewTask { task, policy, fallbacks, agents, budget, role_budget })
    }

    /// Tasks that were never tried have other texts or another priority from now on.
    fn edit(&mut self, edited: Vec<(TaskIndex, Task)>) -> Vec<(TaskIndex, Priority)> {
        let mut priorities = Vec::new();
        for (index, task) in edited {
            let own = &mut self.session.tasks[index.get()];
            let Task { title, description, context_from, given, brief, details, priority, .. } = task;
            let what = match own.priority == priority {
                true => "another text".to_owned(),
                false => format!("priority {priority}"),
            };
            (self.tell)(event::Event::live(event::Kind::Adopted { message: format!("{}: {what}", own.id) }));
            (own.title, own.description, own.context_from) = (title, description, context_from);
            (own.given, own.brief, own.details, own.priority) = (given, brief, details, priority);
            priorities.push((index, priority));
        }
        priorities
    }

    /// Who does the tasks of a session of new tasks.
    fn choose(&mut self, only: &Session) -> Result<Vec<Choice>, String> {
        let chooser = self.chooser.as_mut().ok_or("no task can be added to this run")?;
        let mut chosen = chooser.choose(only)?;
        let policies = (0..).map(TaskIndex).zip(&chosen).map(|(task, choice)| (task, choice.policy));
        let policies: BTreeMap<_, _> = conclude::with_checkpoints(policies.collect(), only);
        for (choice, policy) in chosen.iter_mut().zip(policies.into_values()) {
            choice.policy = policy;
        }
        if self.workspace.trees.is_none()
            && let Some((task, _)) = only.tasks.iter().zip(&chosen).find(|(_, choice)| choice.is_isolated)
        {
            return Err(format!("'{}' would have a tree of its own, and no task of this run has one", task.id));
        }
        Ok(chosen)
    }

    fn sealed(&self, new: &[Task]) -> Result<Graph, String> {
        let all: Vec<Task> = self.session.tasks.iter().chain(new).cloned().collect();
        Graph::seal(&all).graph.ok_or_else(|| "the dependencies have errors".to_owned())
    }

    /// The desk knows a task from now on.
    fn learn(&mut self, mut task: Task, choice: Choice) -> NewTask {
        let Choice { workers, policy, fallbacks, budget, role_budget, is_isolated, scope } = choice;
        let agents = workers.iter().map(|worker| worker.agent.clone()).collect();
        self.workers.assign_to(workers);
        if let Some(trees) = &mut self.workspace.trees {
            trees.learn(TaskIndex(u32::try_from(self.session.tasks.len()).unwrap_or(u32::MAX)), is_isolated, scope);
        }
        task.status = team_executor_core::TaskStatus::Pending;
        self.session.tasks.push(task.clone());
        NewTask { task, policy, fallbacks, agents, budget, role_budget }
    }
}

/// How a plan differs from that of its run.
#[derive(Debug, Default)]
struct PlanChanges {
    new: Vec<Task>,
    /// Other texts or priorities of tasks that were never tried.
    edited: Vec<(TaskIndex, Task)>,
    /// Tasks that were never tried, and wait for others, are done by others or in another way.
    changed: Vec<(TaskIndex, Task)>,
    /// Those of them that are done by others or in another way.
    anew: Vec<(TaskIndex, Task)>,
    /// Tasks that are not there any more.
    removed: Vec<TaskIndex>,
}

fn at(nth: usize) -> TaskIndex {
    TaskIndex(number_of(nth))
}

fn number_of(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether a task is described in another way, or has another priority.
fn says_else(own: &Task, planned: &Task) -> bool {
    own.priority != planned.priority
        || (&own.title, &own.description, &own.context_from)
            != (&planned.title, &planned.description, &planned.context_from)
}

/// Whether a task is done by others, or in another way.
fn is_other(own: &Task, planned: &Task) -> bool {
    (own.exec_mode, own.run_on) != (planned.exec_mode, planned.run_on) || own.role != planned.role
}

/// Which file a name leads to, and how that stood.
pub(super) type Seen = Option<(u64, i64, i64, i64)>;

/// How the files of a plan stand that only others write.
pub(super) fn seen(dialect: Dialect, session: &Path) -> Vec<Seen> {
    let tasks = own_file::tasks_folder(session);
    let files = match dialect {
        Dialect::Tc => vec![session.join("task-analysis.json"), session.join("role-specs")],
        Dialect::TaskFiles => tasks.into_iter().collect(),
        _ => Vec::new(),
    };
    let stand = |path: &PathBuf| {
        let found = ours::look_at(path).ok()?;
        Some((found.st_ino, found.st_size, found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or(0)))
    };
    files.iter().map(stand).collect()
}

/// Some ids, in words.
fn named(ids: &[&str]) -> String {
    let shown: Vec<String> = ids.iter().take(NAMED).map(|id| format!("'{id}'")).collect();
    match ids.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
