//! `tasks.json`: the `tasks-json` dialect, and the state of tasks beside other dialects.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use team_executor_core::{
    ActiveWorker, ExecMode, Position, Priority, RoleName, RunOn, Session, SessionStatus, Task, TaskId, TaskIndex,
    TaskStatus, Verdict,
};

use crate::code::Code;
use crate::draft::{self, Draft, Drafts};
use crate::fields::{self, ID, IDS, STATUS_SYNONYMS, field, text};
use crate::finding::{Finding, Findings, Severity};
use crate::json::{Kind, Value};
use crate::limits;
use crate::reading::{About, Reading};
use crate::roles;
use crate::shape::{Field, Object, Other, Type};
use crate::span::{Source, Span};

/// What is said about it.
pub static ABOUT: About = About {
    subject: "Invalid session: tasks.json",
    schema: "tasks",
    limit: limits::TASKS_BYTES,
    if_missing: "check the path, or let the planner write the file again",
    if_wrong: "or let the planner write the file again",
};

/// Its shape.
pub static SHAPE: Type = Type::Or(
    &Type::Object(&OBJECT),
    &[Other {
        ty: &Type::List(&Type::Object(&TASK)),
        understood: "a file that is a bare array was read as its `tasks`",
    }],
);

pub(crate) static OBJECT: Object = Object {
    about: "The tasks of a session and their state",
    fields: &[
        Field::expected("session_id", &Type::Name, "the folder's name is used", "Unique name of the session"),
        Field::expected("skill", &Type::Text, "it is not needed to run", "The skill that planned it"),
        Field::expected("pipeline", &Type::Text, "it is not needed to run", "The pipeline that was chosen")
            .or(&["pipeline_mode", "mode"]),
        Field::expected("requirement", &Type::Text, "it is empty", "What the user asked for").or(&[
            "topic",
            "task_description",
            "raw_input",
        ]),
        Field::expected("created_at", &Type::Time, "it is unknown", "When the session was planned"),
        Field::optional("supervision", &Type::Bool, "Whether CHECKPOINT tasks are active"),
        Field::optional("completed_waves", &Type::List(&Type::Whole(1)), "Waves that are complete"),
        Field::optional("active_agents", &Type::Map(&Type::Text), "Which agent has which task"),
        Field::optional("gc_rounds", &Type::Whole(0), "Rounds of fixing so far"),
        Field::required(
            "tasks",
            &Type::Or(
                &Type::Map(&Type::Object(&TASK)),
                &[Other {
                    ty: &Type::List(&Type::Object(&TASK)),
                    understood: "`tasks` that is an array was read with the ids inside its elements",
                }],
            ),
            "Every task by its id",
        ),
        Field::known(
            "status",
            &Type::Word(
                SessionStatus::WORDS,
                &[("in_progress", "active"), ("running", "active"), ("done", "completed")],
            ),
            "`status` was read as that of the session",
            "Where the session stands",
        ),
        Field::optional("updated_at", &Type::Time, "When it last changed"),
    ],
};

pub(crate) static TASK: Object = Object {
    about: "One task and its state",
    fields: &[
        Field::expected("title", &Type::Text, "the id is shown instead", "For people"),
        Field::expected("description", &Type::Text, "the title is used", "What is to be done"),
        Field::required("role", &Type::Name, "Name of the role that does it"),
        Field::optional("pipeline_phase", &Type::Text, "The part of the pipeline").or(&["phase"]),
        Field::expected("deps", &IDS, "the task waits for nothing", "Ids of the tasks that must be done before").or(&[
            "depends_on",
            "dependencies",
            "blockedBy",
            "blocked_by",
            "dependsOn",
        ]),
        Field::optional("context_from", &IDS, "Ids of the tasks whose findings it is given"),
        Field::expected("wave", &Type::Whole(1), "it was computed from the dependencies", "Which wave it runs in"),
        Field::expected(
            "status",
            &Type::Word(&["pending", "in_progress", "completed", "failed", "skipped"], STATUS_SYNONYMS),
            "`pending` is used",
            "Where it stands",
        ),
        Field::optional("findings", &Type::Nullable(&Type::Text), "What came out, at most 500 characters"),
        Field::optional("quality_score", &Type::Nullable(&Type::Number(0.0, 100.0)), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Nullable(&Type::Word(Verdict::WORDS, &[])), "From supervisors"),
        Field::optional(
            "error",
            &Type::Nullable(&Type::Or(
                &Type::Name,
                &[Other { ty: &Type::Text, understood: "an empty `error` was read as none" }],
            )),
            "Why it failed or was skipped",
        ),
        Field::optional("id", &ID, "Its id, where `tasks` is an array").or(&["task_id"]),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "Which goes first"),
        Field::optional("exec_mode", &Type::Word(ExecMode::WORDS, &[]), "One shot or conversation"),
        Field::optional("position", &Type::Word(Position::WORDS, &[]), "Before or after the wave's one-shot tasks"),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("findings_full", &Type::Text, "What came out, where `findings` had to be cut"),
    ],
};

/// Reads and judges a session of this dialect.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let file: Arc<str> = "tasks.json".into();
    let text = reading.required_text(&file, &ABOUT)?;
    let mut draft = None;
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Error, &text) {
        reading.check(&file, &ABOUT, Severity::Error, &document, &SHAPE);
        let mut tasks = tasks(document.root(), &file, Severity::Error, &mut reading.findings);
        let session = session(document.root(), &file, reading).map(|mut session| {
            session.roles = roles::of_tasks(reading, &mut tasks);
            session
        });
        rules(document.root(), &tasks, reading);
        draft = Some(Draft { session, tasks });
    }
    reading.sources.insert(file, Source::new(text));
    draft
}

/// The state of tasks that another dialect has planned, where a `tasks.json` stands beside its files.
pub fn overlay(reading: &mut Reading<'_>, planned: &mut Drafts) {
    let file: Arc<str> = "tasks.json".into();
    let Some(text) = reading.optional_text(&file, &ABOUT, Severity::Warning) else { return };
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Warning, &text) {
        reading.check(&file, &ABOUT, Severity::Warning, &document, &SHAPE);
        let state = tasks(document.root(), &file, Severity::Warning, &mut reading.findings);
        let mut by_id: HashMap<TaskId, Task> = state.tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
        for task in &mut planned.tasks {
            let Some(state) = by_id.remove(&task.id) else { continue };
            task.status = state.status;
            task.findings = state.findings;
            task.error = state.error;
            if task.title.is_empty() {
                task.title = state.title;
            }
            if task.description.is_empty() {
                task.description = state.description;
            }
        }
        for id in by_id.keys() {
            let message = "a task of tasks.json that task-analysis.json does not plan was ignored";
            let place = state_place(document.root(), id);
            reading.findings.push(Finding::warning(Code::Disagreement, message).at(&file, place, ""));
        }
    }
    reading.sources.insert(file, Source::new(text));
}

fn state_place(root: Value<'_, '_>, id: &TaskId) -> Span {
    entries(root).find(|(name, _, _)| name == id.as_str()).map_or(Span::new(0, 0), |(_, span, _)| span)
}

/// Every task with its id and the id's place, whatever the form of the file. Without an id the name is empty.
fn entries<'d, 's>(root: Value<'d, 's>) -> impl Iterator<Item = (Cow<'s, str>, Span, Value<'d, 's>)> {
    let tasks = if root.kind() == Kind::Array { Some(root) } else { field(root, &OBJECT, "tasks") };
    let named = tasks.into_iter().flat_map(Value::entries).map(|entry| (entry.name(), entry.key.span(), entry.value));
    let listed = tasks.into_iter().flat_map(Value::items).map(|task| {
        let id = field(task, &TASK, "id");
        let name = id.and_then(fields::text_of).unwrap_or_default();
        let head = Span { start: task.span().start, end: task.span().start + 1 };
        (name, id.map_or(head, Value::span), task)
    });
    named.chain(listed)
}

fn tasks(root: Value<'_, '_>, file: &Arc<str>, severity: Severity, findings: &mut Findings) -> Drafts {
    let mut drafts = Drafts::new(file.clone());
    for (name, span, value) in entries(root) {
        if name.is_empty()
            && value.kind() == Kind::Object
            && field(root, &OBJECT, "tasks").is_none_or(|t| t.kind() == Kind::Array)
        {
            let finding =
                Finding::error(Code::MissingField, format!("{} missing required field 'tasks[].id'", ABOUT.subject));
            let finding = finding.at(file, span, "this task has no id").help("add \"id\": a unique name");
            findings.push(Finding { severity, ..finding });
            continue;
        }
        let task = draft::task_id(&name, file, span, findings).and_then(|id| task(id, value, file, findings));
        if let Some((task, places)) = task {
            drafts.push(task, span, places);
        }
    }
    drafts
}

fn task(id: TaskId, value: Value<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<(Task, Vec<Span>)> {
    // Without a role the session is refused by its shape; the task stays, because others may depend on it.
    let role =
        field(value, &TASK, "role").and_then(|role| draft::role_name(&role.as_text()?, file, role.span(), findings));
    let role = role.or_else(|| RoleName::parse(id.as_str()).ok())?;
    let mut task = Task::new(id, role);
    let mut places = Vec::new();
    let mut whole = None;
    for entry in value.entries().filter(|entry| !entry.value.is_null()) {
        let Some((_, field, _)) = TASK.field(&entry.name()) else { continue };
        let value = entry.value;
        let owned = || value.as_text().unwrap_or_default().into_owned();
        let filled = || value.as_text().filter(|text| !text.is_empty()).map(Cow::into_owned);
        match field.name {
            "title" => task.title = owned(),
            "description" => task.description = owned(),
            "pipeline_phase" => task.phase = team_executor_core::Phase::from_word(&owned()),
            "deps" if task.dependencies.is_empty() => {
                (task.dependencies, places) = fields::ids(value, file, findings).into_iter().unzip();
            }
            "context_from" => {
                task.context_from = fields::ids(value, file, findings).into_iter().map(|(id, _)| id).collect();
            }
            "wave" => task.declared_wave = value.as_i64().and_then(|wave| u32::try_from(wave).ok()),
            "status" => {
                task.status = TaskStatus::from_word(fields::status_word(&owned())).unwrap_or(TaskStatus::Pending)
            }
            "findings" => task.findings = filled(),
            "findings_full" => whole = filled(),
            "quality_score" => task.quality_score = value.as_f64(),
            "supervision_verdict" => task.verdict = Verdict::from_word(&owned()),
            "error" => task.error = filled(),
            "priority" => task.priority = Priority::from_word(&owned()).unwrap_or(task.priority),
            "exec_mode" => task.exec_mode = ExecMode::from_word(&owned()).unwrap_or(task.exec_mode),
            "position" => task.position = Position::from_word(&owned()).unwrap_or(task.position),
            "run_on" => task.run_on = RunOn::from_word(&owned()).unwrap_or(task.run_on),
            _ => {}
        }
    }
    if whole.is_some() {
        task.findings = whole;
    }
    Some((task, places))
}

fn session(root: Value<'_, '_>, file: &Arc<str>, reading: &mut Reading<'_>) -> Option<Session> {
    let id = field(root, &OBJECT, "session_id").filter(|id| id.as_text().is_some());
    let id = match id {
        Some(id) => draft::session_id(&id.as_text()?, file, id.span(), &mut reading.findings)?,
        None => draft::session_id(&reading.name.clone(), file, Span::new(0, 0), &mut reading.findings)?,
    };
    let mut session = Session::new(id);
    session.pipeline = text(root, &OBJECT, "pipeline");
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
    let whole = |value: Value<'_, '_>| value.as_i64().and_then(|number| u32::try_from(number).ok());
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
    Some(session)
}

/// The rules of the format that a shape cannot express: references, waves, and what must go with a status.
fn rules(root: Value<'_, '_>, drafts: &Drafts, reading: &mut Reading<'_>) {
    let file = &drafts.file;
    let by_id: HashMap<&str, (u32, &Task)> =
        (0..).zip(&drafts.tasks).map(|(index, task)| (task.id.as_str(), (index, task))).collect();
    let findings = &mut reading.findings;
    for (name, span, value) in entries(root) {
        let Some((index, task)) = by_id.get(&*name).copied() else { continue };
        if let Some(context) = field(value, &TASK, "context_from") {
            for item in context.items() {
                let unknown = fields::text_of(item).filter(|id| !by_id.contains_key(&**id));
                if let Some(unknown) = unknown {
                    let message = format!("task '{name}' takes context from '{unknown}', which does not exist");
                    let finding = Finding::error(Code::UnknownContext, message);
                    let finding = finding.at(file, item.span(), "no task has this id");
                    findings.push(finding.help(format!("remove '{unknown}' from `context_from`, or add the task")));
                }
            }
        }
        if let Some(wave) = task.declared_wave {
            for (nth, dependency) in task.dependencies.iter().enumerate() {
                let Some(before) = by_id.get(dependency.as_str()).and_then(|(_, task)| task.declared_wave) else {
                    continue;
                };
                if before >= wave && *dependency != task.id {
                    let message = format!("task '{name}' of wave {wave} depends on '{dependency}' of wave {before}");
                    let finding = Finding::error(Code::WaveOrder, message);
                    let place = drafts.dependency_place(TaskIndex(index), u32::try_from(nth).unwrap_or(0));
                    let finding = finding.at(file, place, format!("wave {before} is not before wave {wave}"));
                    let help = format!("give '{name}' a wave of at least {}", before.saturating_add(1));
                    findings.push(finding.help(help).help("or remove `wave`: it is computed from the dependencies"));
                }
            }
        }
        for what in incomplete(task) {
            findings.push(Finding::warning(Code::IncompleteState, what).at(file, span, ""));
        }
    }
}

/// What must go with a status and does not.
pub(crate) fn incomplete(task: &Task) -> impl Iterator<Item = &'static str> {
    let status = task.status;
    let checkpoint = task.id.has_prefix("CHECKPOINT") && status == TaskStatus::Completed && task.verdict.is_none();
    [
        (status == TaskStatus::Completed && task.findings.is_none(), "a completed task has no findings"),
        (status == TaskStatus::Failed && task.error.is_none(), "a failed task has no error"),
        (status == TaskStatus::Skipped && task.error.is_none(), "a skipped task has no error that says why"),
        (checkpoint, "a completed CHECKPOINT has no supervision_verdict"),
    ]
    .into_iter()
    .filter_map(|(is, what)| is.then_some(what))
}
