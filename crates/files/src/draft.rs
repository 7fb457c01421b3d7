//! Tasks as they are read, with the places that findings about them point to.

use std::sync::Arc;

use team_executor_core::{
    ArtifactId, Graph, InvalidId, Problem, RoleName, Session, SessionId, Task, TaskId, TaskIndex,
};

use crate::code::Code;
use crate::finding::{Finding, Findings};
use crate::json::{Entry, Value};
use crate::limits;
use crate::shape::Object;
use crate::span::Span;

/// A session as it is read, before its tasks are checked together and sealed.
#[derive(Debug)]
pub struct Draft {
    /// The session without its tasks, unless it cannot even be named.
    pub session: Option<Session>,
    /// Its tasks.
    pub tasks: Drafts,
}

/// Tasks in file order, and where they and their dependencies stand.
#[derive(Debug)]
pub struct Drafts {
    /// The file that they stand in, unless another one is known for a task.
    pub file: Arc<str>,
    /// The file of each task up to the last one that does not stand in `file`.
    files: Vec<Arc<str>>,
    /// The tasks.
    pub tasks: Vec<Task>,
    ids: Vec<Span>,
    /// For each task, where its dependencies begin in `dependencies`.
    starts: Vec<u32>,
    dependencies: Vec<Span>,
}

impl Drafts {
    /// None yet.
    pub fn new(file: Arc<str>) -> Self {
        Self {
            file,
            files: Vec::new(),
            tasks: Vec::new(),
            ids: Vec::new(),
            starts: Vec::new(),
            dependencies: Vec::new(),
        }
    }

    /// None yet, with room for so many.
    pub fn with_capacity(file: Arc<str>, tasks: usize) -> Self {
        let mut drafts = Self::new(file);
        drafts.tasks.reserve_exact(tasks);
        drafts.ids.reserve_exact(tasks);
        drafts.starts.reserve_exact(tasks);
        drafts
    }

    /// Adds a task whose dependencies stand at these places, in the order of its list.
    pub fn push(&mut self, mut task: Task, id: Span, dependencies: impl IntoIterator<Item = Span>) {
        share_names(&mut task, self.tasks.last());
        self.starts.push(u32::try_from(self.dependencies.len()).unwrap_or(u32::MAX));
        self.dependencies.extend(dependencies);
        self.ids.push(id);
        self.tasks.push(task);
    }

    /// Adds a task that stands in another file.
    pub fn push_in(&mut self, file: Arc<str>, task: Task, id: Span, dependencies: impl IntoIterator<Item = Span>) {
        self.files.resize(self.tasks.len(), self.file.clone());
        self.files.push(file);
        self.push(task, id, dependencies);
    }

    /// The file that a task stands in.
    pub fn file_of(&self, task: TaskIndex) -> &Arc<str> {
        self.files.get(task.get()).unwrap_or(&self.file)
    }

    /// Where a task's id stands.
    pub fn place(&self, task: TaskIndex) -> Span {
        self.ids[task.get()]
    }

    /// Where the nth dependency of a task stands.
    pub fn dependency_place(&self, task: TaskIndex, nth: u32) -> Span {
        self.dependencies.get((self.starts[task.get()] + nth) as usize).copied().unwrap_or(self.ids[task.get()])
    }

    /// Checks how the tasks hang together, and seals them if they do.
    pub fn seal(&self, findings: &mut Findings) -> Option<Graph> {
        if self.tasks.len() > limits::TASKS {
            let message = format!("{} tasks are too many; the limit is {}", self.tasks.len(), limits::TASKS);
            findings.push(Finding::error(Code::TooManyTasks, message).file(&self.file).help("split the session"));
            return None;
        }
        let sealed = Graph::seal(&self.tasks);
        for problem in &sealed.problems {
            let finding = self.finding(problem);
            // Two tasks with one key of a JSON object have been told as a key that stands twice.
            let place = |finding: &Finding| finding.place.as_ref().map(|place| (place.file.clone(), place.span));
            let told = |other: &Finding| other.code == Code::DuplicateKey && place(other) == place(&finding);
            if finding.code != Code::DuplicateId || !findings.iter().any(told) {
                findings.push(finding);
            }
        }
        sealed.graph
    }

    fn finding(&self, problem: &Problem) -> Finding {
        let id = |task: TaskIndex| &self.tasks[task.get()].id;
        let dependency = |task: TaskIndex, nth: u32| &self.tasks[task.get()].dependencies[nth as usize];
        match problem {
            Problem::DuplicateTask { first, again } => {
                Finding::error(Code::DuplicateId, format!("task id '{}' is not unique", id(*first)))
                    .at(self.file_of(*again), self.place(*again), "defined again")
                    .and(self.file_of(*first), self.place(*first), "first defined here")
                    .help("rename or remove one of the two; every task id must be unique")
            }
            Problem::UnknownDependency { edge, near } => {
                let missing = dependency(edge.task, edge.nth);
                let finding = Finding::error(
                    Code::UnknownDependency,
                    format!("task '{}' depends on '{missing}', which does not exist", id(edge.task)),
                );
                let place = self.dependency_place(edge.task, edge.nth);
                let finding = finding.at(self.file_of(edge.task), place, "no task has this id");
                match near {
                    Some(near) => finding
                        .and(self.file_of(*near), self.place(*near), "a task with a similar id")
                        .help(format!("did you mean '{}'?", id(*near))),
                    None => finding.help(format!("add the task '{missing}', or remove it from the dependencies")),
                }
            }
            Problem::SelfDependency { edge } => {
                let name = id(edge.task);
                Finding::error(Code::SelfDependency, format!("task '{name}' depends on itself"))
                    .at(self.file_of(edge.task), self.dependency_place(edge.task, edge.nth), "the task itself")
                    .help(format!("remove '{name}' from its own dependencies"))
            }
            Problem::RepeatedDependency { edge, .. } => {
                let message = "a dependency that is listed twice was read once";
                Finding::warning(Code::RepeatedDependency, message).at(
                    self.file_of(edge.task),
                    self.dependency_place(edge.task, edge.nth),
                    "",
                )
            }
            Problem::Cycle(cycle) => {
                const SHOWN: usize = 8;
                let edges = &cycle.path;
                let names: Vec<&str> = edges.iter().map(|edge| id(edge.task).as_str()).collect();
                let first = names.first().copied().unwrap_or_default();
                let path = if names.len() > 2 * SHOWN {
                    let left_out = names.len() - 2 * SHOWN;
                    let (head, tail) = (&names[..SHOWN], &names[names.len() - SHOWN..]);
                    format!("{} -> … {left_out} more … -> {}", head.join(" -> "), tail.join(" -> "))
                } else {
                    names.join(" -> ")
                };
                let mut finding = Finding::error(Code::Cycle, format!("circular dependency: {path} -> {first}"));
                for (nth, edge) in edges.iter().enumerate().take(SHOWN) {
                    let place = self.dependency_place(edge.task, edge.nth);
                    let label = format!("'{}' waits for '{}'", id(edge.task), dependency(edge.task, edge.nth));
                    finding = if nth == 0 {
                        finding.at(self.file_of(edge.task), place, label)
                    } else {
                        finding.and(self.file_of(edge.task), place, label)
                    };
                }
                let how = match (cycle.cut.len(), cycle.cut_is_smallest) {
                    (1, _) => "this breaks the cycle",
                    (_, true) => "this is the smallest change this breaks the cycle",
                    (_, false) => "this breaks the cycle",
                };
                let cut: Vec<String> = cycle
                    .cut
                    .iter()
                    .take(SHOWN)
                    .map(|edge| {
                        format!("'{}' from the dependencies of '{}'", dependency(edge.task, edge.nth), id(edge.task))
                    })
                    .collect();
                let more = cycle.cut.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let finding = finding.help(format!("remove {}{more}: {how}", cut.join(", ")));
                if cycle.tasks > edges.len() {
                    finding.help(format!("{} tasks wait for each other, on this path and others", cycle.tasks))
                } else {
                    finding
                }
            }
        }
    }
}

/// Shares equal names of neighbouring tasks: of 100,000 tasks, most name the role of the task before, and
/// take context from their dependencies.
fn share_names(task: &mut Task, before: Option<&Task>) {
    const FEW: usize = 16;
    if let Some(before) = before.filter(|before| before.role == task.role) {
        task.role = before.role.clone();
    }
    if task.dependencies.len() <= FEW {
        for context in &mut task.context_from {
            if let Some(dependency) = task.dependencies.iter().find(|dependency| *dependency == context) {
                *context = dependency.clone();
            }
        }
    }
}

/// An id, or a finding that says why not.
pub(crate) fn task_id(text: &str, file: &Arc<str>, span: Span, findings: &mut Findings) -> Option<TaskId> {
    checked(TaskId::parse(text), "a task id", text, file, span, findings)
}

/// A role's name, or a finding that says why not.
pub(crate) fn role_name(text: &str, file: &Arc<str>, span: Span, findings: &mut Findings) -> Option<RoleName> {
    checked(RoleName::parse(text), "a role name", text, file, span, findings)
}

/// The role that a task names; under another name of that field it may have an `@` before it. Without one the session is
/// refused by its shape; the task stays under a stand-in, because others may depend on it.
pub(crate) fn role_or_stand_in(
    task: Value<'_, '_>,
    shape: &Object,
    id: &TaskId,
    file: &Arc<str>,
    findings: &mut Findings,
) -> Option<RoleName> {
    let spelled = |entry: &Entry<'_, '_>| shape.field(&entry.name()).filter(|(_, field, _)| field.name == "role");
    // An empty owner means that the task has none yet.
    let is_blank = |value: Value<'_, '_>| value.is_null() || value.as_text().is_some_and(|text| text.is_empty());
    let mut roles = task.entries().filter(|entry| !is_blank(entry.value));
    let role = roles.find_map(|entry| spelled(&entry).map(|(_, _, is_exact)| (entry.value, is_exact)));
    let named = role.and_then(|(role, is_exact)| {
        let name = role.as_text()?;
        let name = if is_exact { &*name } else { name.strip_prefix('@').unwrap_or(&name) };
        role_name(name, file, role.span(), findings)
    });
    named.or_else(|| RoleName::parse(id.as_str()).ok())
}

/// A session's id, or a finding that says why not.
pub(crate) fn session_id(text: &str, file: &Arc<str>, span: Span, findings: &mut Findings) -> Option<SessionId> {
    checked(SessionId::parse(text), "a session id", text, file, span, findings)
}

/// An artifact's id, or a finding that says why not.
pub(crate) fn artifact_id(text: &str, file: &Arc<str>, span: Span, findings: &mut Findings) -> Option<ArtifactId> {
    checked(ArtifactId::parse(text), "an artifact id", text, file, span, findings)
}

fn checked<T>(
    result: Result<T, InvalidId>,
    what: &str,
    text: &str,
    file: &Arc<str>,
    span: Span,
    findings: &mut Findings,
) -> Option<T> {
    result
        .map_err(|error| {
            let shown: String = text.chars().take(40).collect();
            let finding = Finding::error(Code::InvalidId, format!("'{shown}' cannot be {what}"));
            findings.push(finding.at(file, span, error.to_string()).help("use letters, digits, `-`, `_` and `.`"));
        })
        .ok()
}
