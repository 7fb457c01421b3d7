//! `tasks.json`: the `tasks-json` dialect, and the state of tasks beside other dialects.

pub(crate) mod list;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{
    ActiveWorker, Complexity, Detail, ExecMode, Phase, Position, Priority, Role, RoleName, RunOn, Session,
    SessionStatus, Task, TaskId, TaskIndex, TaskStatus, Verdict,
};

pub(crate) use self::rules::incomplete;
pub(crate) use self::rules::{NO_FINDINGS, NO_REASON, complete};
pub(crate) use self::shape::{ABOUT, SHAPE};
pub(crate) use self::shape::{OBJECT, TASK};
use crate::code::Code;
use crate::context;
use crate::details;
use crate::draft::{self, Draft, Drafts};
use crate::fields::{self, Named, field, filled, text, whole};
use crate::finding::{Finding, Findings, Severity};
use crate::json::{Kind, Value};
use crate::reading::Reading;
use crate::roles;
use crate::shape::Type;
use crate::span::{Source, Span};
use crate::words::{self, in_words};

/// Fields that the model holds, and those that are no instruction.
const TOLD: [&str; 16] = [
    "delivers",
    "id",
    "title",
    "description",
    "role",
    "deps",
    "context_from",
    "wave",
    "status",
    "findings",
    "findings_full",
    "planner_notes",
    "quality_score",
    "supervision_verdict",
    "error",
    "exec_mode",
];

/// Reads and judges a session of this dialect.
pub(crate) fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let file: Arc<str> = "tasks.json".into();
    let text = reading.required_text(&file, &ABOUT)?;
    let mut draft = None;
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Error, &text) {
        let root = document.root();
        reading.check(&file, &ABOUT, Severity::Error, &document, shape_of(root));
        let mut tasks = tasks(root, &file, Severity::Error, &mut reading.findings);
        let session = session(root, &file, reading).map(|mut session| {
            session.roles = roles::of_tasks(reading, &mut tasks);
            words::check(&tasks, &session.roles, "write it into its \"description\"", &mut reading.findings);
            session.specialists = roles::specialists(reading, &session.roles);
            let has_dependencies = entries(root).any(|entry| fields::has(entry.value, &TASK, "deps"));
            session.waves_are_barriers =
                !has_dependencies && tasks.tasks.iter().any(|task| task.declared_wave.is_some());
            session
        });
        context::give(reading.folder, &mut tasks);
        rules::check(root, &tasks, &mut reading.findings);
        tasks.tasks.iter_mut().for_each(complete);
        draft = Some(Draft { session, tasks });
    }
    reading.sources.insert(file, Source::new(text));
    draft
}

/// The state of tasks that another dialect has planned, where a `tasks.json` stands beside its files.
/// Tasks that only stand there were added at run time: they are tasks too.
pub(crate) fn overlay(reading: &mut Reading<'_>, planned: &mut Drafts, roles: &[Role]) {
    let file: Arc<str> = "tasks.json".into();
    let Some(text) = reading.optional_text(&file, &ABOUT, Severity::Warning) else { return };
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Warning, &text) {
        reading.check(&file, &ABOUT, Severity::Warning, &document, shape_of(document.root()));
        let state = tasks(document.root(), &file, Severity::Warning, &mut reading.findings);
        let mut by_id: HashMap<TaskId, Task> = state.tasks.iter().map(|task| (task.id.clone(), task.clone())).collect();
        for task in &mut planned.tasks {
            let Some(state) = by_id.remove(&task.id) else { continue };
            task.status = state.status;
            task.findings = state.findings;
            (task.planner_notes, task.notes_in_findings) = (state.planner_notes, state.notes_in_findings);
            let known = |detail: &Detail| task.details.iter().any(|own| own == detail);
            let more: Vec<_> = state.details.into_iter().filter(|detail| !known(detail)).collect();
            task.details.extend(more);
            task.error = state.error;
            task.quality_score = state.quality_score;
            task.verdict = state.verdict;
            if task.title.is_empty() {
                task.title = state.title;
            }
            if task.description.is_empty() {
                task.description = state.description;
            }
        }
        let is_added = |task: &Task| by_id.contains_key(&task.id);
        add(document.root(), &state, is_added, planned, roles, &mut reading.findings);
    }
    reading.sources.insert(file, Source::new(text));
}

/// Adds tasks that the plan lacks. Each has a role of the session.
fn add(
    root: Value<'_, '_>,
    state: &Drafts,
    is_added: impl Fn(&Task) -> bool,
    planned: &mut Drafts,
    roles: &[Role],
    findings: &mut Findings,
) {
    let named: HashSet<String> = entries(root)
        .filter(|entry| field(entry.value, &TASK, "role").is_some())
        .map(|entry| entry.name.into_owned())
        .collect();
    for (index, task) in (0..).map(TaskIndex).zip(&state.tasks).filter(|(_, task)| is_added(task)) {
        let place = state.place(index);
        let is_named = named.contains(task.id.as_str());
        if let Some(role) = role_of(task, is_named, roles, &state.file, place, findings) {
            let mut task = Task { role: role.name.clone(), exec_mode: role.exec_mode(), ..task.clone() };
            complete(&mut task);
            let places = (0..).map(|nth| state.dependency_place(index, nth)).take(task.dependencies.len());
            planned.push_in(state.file.clone(), task, place, places.collect::<Vec<_>>());
        }
    }
}

/// The role of the session that an added task names, or whose prefix is the longest that fits.
fn role_of<'r>(
    task: &Task,
    is_named: bool,
    roles: &'r [Role],
    file: &Arc<str>,
    place: Span,
    findings: &mut Findings,
) -> Option<&'r Role> {
    let by_prefix = || {
        let fitting = roles.iter().filter(|role| task.id.has_prefix(&role.prefix));
        fitting.max_by_key(|role| role.prefix.len())
    };
    let role = if is_named { roles.iter().find(|role| role.name == task.role) } else { by_prefix() };
    if role.is_none() {
        let known = roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>().join(", ");
        let finding = Finding::error(Code::UnknownRole, format!("task '{}' of tasks.json has no known role", task.id));
        let finding = finding.at(file, place, "neither its role nor its prefix is one of the session's");
        findings.push(finding.help(format!("give it a role: one of {known}")));
    }
    role
}

/// The shape of a file that is an object or an array.
fn shape_of(root: Value<'_, '_>) -> &'static Type {
    if root.kind() == Kind::Array { &list::SHAPE } else { &SHAPE }
}

/// What holds the tasks: a field, or the whole file.
pub(crate) fn container<'d, 's>(root: Value<'d, 's>) -> Option<Value<'d, 's>> {
    if root.kind() == Kind::Array { Some(root) } else { field(root, &OBJECT, "tasks") }
}

/// Every task with its id, whatever the form of the file.
fn entries<'d, 's>(root: Value<'d, 's>) -> impl Iterator<Item = Named<'d, 's>> {
    fields::named(container(root), &TASK, "id")
}

fn tasks(root: Value<'_, '_>, file: &Arc<str>, severity: Severity, findings: &mut Findings) -> Drafts {
    let mut drafts = Drafts::with_capacity(file.clone(), entries(root).count());
    let is_list = container(root).is_some_and(|tasks| tasks.kind() == Kind::Array);
    for Named { name, span, value } in entries(root) {
        if name.is_empty() && is_list {
            let finding =
                Finding::error(Code::MissingField, format!("{} missing required field 'tasks[].id'", ABOUT.subject));
            let finding = finding.at(file, span, "this task has no id").help("add \"id\": a unique name");
            findings.push(Finding { severity, ..finding });
            continue;
        }
        let task = draft::task_id(&name, file, span, findings).and_then(|id| task(id, value, file, findings));
        if let Some((mut task, places)) = task {
            let is_named = field(value, &TASK, "role").and_then(filled).is_some();
            if let (Kind::Array, false, Ok(role)) = (root.kind(), is_named, RoleName::parse(list::ROLE)) {
                task.role = role;
            }
            drafts.push(task, span, places);
        }
    }
    drafts
}

/// What a file says about one task, whatever is wrong with it.
pub(crate) fn task_of(id: TaskId, value: Value<'_, '_>) -> Option<Task> {
    let (mut task, _) = task(id, value, &"tasks.json".into(), &mut Findings::default())?;
    complete(&mut task);
    Some(task)
}

fn task(id: TaskId, value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<(Task, Vec<Span>)> {
    let role = draft::role_or_stand_in(value, &TASK, &id, file, findings)?;
    let mut task = Task::new(id, role);
    let mut places = Vec::new();
    let mut description = None;
    let mut whole_findings = None;
    for (name, value) in fields::known(value, &TASK) {
        let word = || value.as_text().unwrap_or_default();
        match name {
            "title" => task.title = word().into_owned(),
            "description" => description = Some(word().into_owned()),
            "pipeline_phase" => task.phase = Phase::from_word(&word()),
            "deps" => (task.dependencies, places) = fields::ids(value, file, findings).into_iter().unzip(),
            "context_from" => {
                task.context_from = fields::ids(value, file, findings).into_iter().map(|(id, _)| id).collect();
            }
            "wave" => task.declared_wave = whole(value),
            "status" => {
                task.status = TaskStatus::from_word(fields::status_word(&word())).unwrap_or(TaskStatus::Pending);
            }
            "findings" => task.findings = filled(value),
            "findings_full" => whole_findings = filled(value),
            "quality_score" => task.quality_score = value.as_f64(),
            "supervision_verdict" => task.verdict = Verdict::from_word(&word()),
            "error" => task.error = filled(value),
            "planner_notes" => task.planner_notes = filled(value),
            "priority" => task.priority = Priority::from_word(&word()).unwrap_or(task.priority),
            "exec_mode" => task.exec_mode = ExecMode::from_word(&word()).unwrap_or(task.exec_mode),
            "position" => task.position = Position::from_word(&word()).unwrap_or(task.position),
            "run_on" => task.run_on = RunOn::from_word(&word()).unwrap_or(task.run_on),
            "min_complexity" => task.min_complexity = Complexity::from_word(&word()),
            "delivers" => task.delivers = fields::files(value),
            _ => {}
        }
    }
    task.description = description.unwrap_or_else(|| task.title.clone());
    task.findings = whole_findings.or(task.findings);
    task.take_planner_notes();
    task.details = details::collect(value, &TASK, &TOLD);
    in_words(&mut task);
    Some((task, places))
}

fn session(root: Value<'_, '_>, file: &Arc<str>, reading: &mut Reading<'_>) -> Option<Session> {
    let id = field(root, &OBJECT, "session_id").filter(|id| id.as_text().is_some());
    let id = match id {
        Some(id) => draft::session_id(&id.as_text()?, file, id.span(), &mut reading.findings)?,
        None => draft::session_id(&reading.name.clone(), file, Span::new(0, 0), &mut reading.findings)?,
    };
    let mut session = Session::new(id);
    state(root, &mut session);
    Some(session)
}

/// What a file says about its session.
pub(crate) fn state(root: Value<'_, '_>, session: &mut Session) {
    session.pipeline = field(root, &OBJECT, "pipeline").and_then(filled);
    session.name = text(root, &OBJECT, "skill").unwrap_or_default();
    session.requirement = text(root, &OBJECT, "requirement").unwrap_or_default();
    session.created_at = fields::timestamp(root, &OBJECT, "created_at");
    session.updated_at = fields::timestamp(root, &OBJECT, "updated_at");
    session.supervision = field(root, &OBJECT, "supervision").and_then(Value::as_bool).unwrap_or(true);
    let status = text(root, &OBJECT, "status").unwrap_or_default();
    session.status = match status.as_str() {
        "done" => SessionStatus::Completed,
        word => SessionStatus::from_word(word).unwrap_or(SessionStatus::Active),
    };
    if let Some(waves) = field(root, &OBJECT, "completed_waves") {
        session.completed_waves = waves.items().filter_map(whole).collect();
    }
    session.gc_rounds = field(root, &OBJECT, "gc_rounds").and_then(whole).unwrap_or(0);
    if let Some(agents) = field(root, &OBJECT, "active_agents") {
        session.active_workers = agents
            .entries()
            .map(|entry| ActiveWorker {
                task: TaskId::parse(&entry.name()).ok(),
                agent: entry.value.as_text().unwrap_or_default().into_owned(),
            })
            .collect();
    }
}
