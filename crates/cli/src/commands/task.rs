//! `task`: a worker reports its own task, a person adds, resets or skips tasks; both may list them.

mod proposals;

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_app::bus::{self, NewTask, OwnReport, ShownTask, TaskEdit, propose};
use team_executor_app::caller::Caller;
use team_executor_app::{App, Request, ToRetry};
use team_executor_core::moves::Moves as _;
use team_executor_core::{Graph, Session, Task, TaskStatus};
use team_executor_files::{Code, Finding};

use super::control;
use crate::args::{Format, TaskChange, TaskCreate, TaskGet, TaskList, TaskOf, TaskUpdate, TaskVerb};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Carries out one verb.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &TaskOf, printer: &mut Printer) -> Result<Exit, Failure> {
    let caller = app.caller(session)?;
    match &options.verb {
        TaskVerb::Create(wanted) => create(&caller, options, wanted, printer),
        TaskVerb::Edit(wanted) => change(&caller, options, &edit(wanted), printer),
        TaskVerb::Remove(wanted) => {
            let edit = TaskEdit { task: wanted.id.clone(), remove: true, ..TaskEdit::default() };
            change(&caller, options, &edit, printer)
        }
        TaskVerb::Update(wanted) if caller.attempt.is_some() => report_own(&caller, options, wanted, printer),
        TaskVerb::Update(wanted) => update(&caller, options, wanted, printer),
        TaskVerb::Proposals => proposals::list(&caller, options.format, printer),
        TaskVerb::Accept(wanted) => proposals::accept(&caller, options, wanted, printer),
        TaskVerb::Decline(wanted) => proposals::decline(&caller, options, wanted, printer),
        TaskVerb::List(wanted) => list(&caller, options, wanted, printer),
        TaskVerb::Get(wanted) => get(&caller, options, wanted, printer),
    }
}

#[derive(Serialize)]
struct JsonTasks<'a> {
    version: u32,
    tasks: Vec<ShownTask<'a>>,
}

#[derive(Serialize)]
struct JsonOne<'a> {
    version: u32,
    task: ShownTask<'a>,
}

#[derive(Serialize)]
struct JsonReported<'a> {
    version: u32,
    task: &'a str,
    status: &'a str,
    result: String,
}

#[derive(Serialize)]
struct JsonRemoved<'a> {
    version: u32,
    removed: &'a str,
}

/// A worker reports its own task.
fn report_own(caller: &Caller, options: &TaskOf, wanted: &TaskUpdate, printer: &mut Printer) -> Result<Exit, Failure> {
    let Some(attempt) = &caller.attempt else { return Ok(Exit::Invalid) };
    if let Some(other) = wanted.id.as_ref().filter(|id| **id != attempt.task) {
        return Err(attempt.not_its_own(other).into());
    }
    let opened = caller.open(options.reading.into())?;
    let (session, graph) = opened.runnable()?;
    let task = attempt.verified(session, graph)?;
    if wanted.status != TaskStatus::InProgress {
        let TaskUpdate { findings, error, data, .. } = wanted;
        let (findings, error, data) = (findings.as_deref(), error.as_deref(), data.as_deref());
        let report = OwnReport { findings, error, verdict: wanted.verdict, data, ..OwnReport::new(wanted.status) };
        report.write(attempt, task)?;
    }
    let result = attempt.result().display().to_string();
    if options.format == Format::Json {
        let (task, status) = (attempt.task.as_str(), wanted.status.word());
        printer.json(&JsonReported { version: 1, task, status, result })?;
    } else {
        writeln!(printer.out(), "{}: {}", escape::line(&attempt.task), wanted.status)?;
    }
    Ok(Exit::Fine)
}

/// A person resets or skips a task.
fn update(caller: &Caller, options: &TaskOf, wanted: &TaskUpdate, printer: &mut Printer) -> Result<Exit, Failure> {
    caller.must_be_person()?;
    let usage = |what: String, help: String| Failure::from(Finding::error(Code::Usage, what).help(help));
    let named = escape::session(caller.path.display());
    let Some(id) = &wanted.id else {
        return Err(usage("no task was named".to_owned(), format!("team-executor task list {named}")));
    };
    let opened = caller.open(options.reading.into())?;
    let (session, graph, index) = opened.task(id)?;
    let from = caller.now(session, graph)?.tasks[index.get()].status;
    let request = match (from, wanted.status) {
        (TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Skipped, TaskStatus::Pending) => {
            // What was built on a result that goes away goes with it.
            let downstream = from == TaskStatus::Completed;
            Request::Retry { which: ToRetry::Tasks(vec![id.clone()]), downstream, feedback: String::new(), with: None }
        }
        (TaskStatus::Pending | TaskStatus::Ready, TaskStatus::Skipped) => {
            let reason = wanted.error.clone().unwrap_or_else(|| "skipped by hand".to_owned());
            Request::Skip { task: id.clone(), reason }
        }
        (from, to) => {
            let why = match from.moved(to) {
                Err(illegal) => illegal.to_string(),
                Ok(_) => format!("only its worker can make a task {to}"),
            };
            let help = format!("a person can set pending and skipped; see the run: team-executor status {named}");
            return Err(usage(format!("{id}: {why}"), help));
        }
    };
    control::anyway(caller.app(), Some(&caller.path), options.reading, &request, options.format, printer)
}

fn create(caller: &Caller, options: &TaskOf, wanted: &TaskCreate, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = caller.open(options.reading.into())?;
    let (session, graph) = opened.runnable()?;
    let new = NewTask {
        id: &wanted.id,
        title: &wanted.title,
        description: &wanted.description,
        role: &wanted.assignee,
        dependencies: &wanted.deps,
        before: &wanted.before,
        wave: wanted.wave,
    };
    if let Some(attempt) = &caller.attempt {
        attempt.verified(session, graph)?;
        let most = propose::most(|name| caller.app().variable(name).map(str::to_owned));
        let is_new = bus::propose(attempt, session, &new, most)?;
        return proposals::tell(&wanted.id, is_new, options.format, printer);
    }
    caller.must_be_person()?;
    let created = bus::create(session, opened.dialect, caller.folder(), caller.current(), &new);
    let created = created?;
    let opened = caller.open(options.reading.into())?;
    let (_, graph) = opened.runnable()?;
    show(&created, graph, &wanted.id, options.format, printer)
}

/// The edit of the options.
fn edit(wanted: &TaskChange) -> TaskEdit {
    let TaskChange { id, title, description, assignee, priority, after, not_after, before, not_before } = wanted;
    TaskEdit {
        task: id.clone(),
        remove: false,
        title: title.clone(),
        description: description.clone(),
        role: assignee.clone(),
        priority: *priority,
        after: after.clone(),
        not_after: not_after.clone(),
        before: before.clone(),
        not_before: not_before.clone(),
    }
}

/// A person changes or removes a task.
fn change(caller: &Caller, options: &TaskOf, edit: &TaskEdit, printer: &mut Printer) -> Result<Exit, Failure> {
    caller.must_not_steer()?;
    caller.must_be_person()?;
    let opened = caller.open(options.reading.into())?;
    let (session, graph) = opened.runnable()?;
    bus::change((session, graph), opened.dialect, (caller.folder(), caller.current()), edit)?;
    if edit.remove {
        match options.format {
            Format::Json => printer.json(&JsonRemoved { version: 1, removed: &edit.task })?,
            Format::Text => writeln!(printer.out(), "{} is removed", escape::line(&edit.task))?,
        }
        return Ok(Exit::Fine);
    }
    let opened = caller.open(options.reading.into())?;
    let (session, graph, _) = opened.task(&edit.task)?;
    show(session, graph, &edit.task, options.format, printer)
}

fn list(caller: &Caller, options: &TaskOf, wanted: &TaskList, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = caller.open(options.reading.into())?;
    let (session, graph) = opened.runnable()?;
    let now = caller.now(session, graph)?;
    let is_wanted = |task: &&Task| {
        wanted.status.is_none_or(|status| task.status == status)
            && wanted.assignee.as_ref().is_none_or(|role| task.role.as_str() == role)
    };
    let tasks: Vec<&Task> = now.tasks.iter().filter(is_wanted).collect();
    if options.format == Format::Json {
        let tasks = tasks.iter().map(|task| ShownTask::from_task(task, graph)).collect();
        printer.json(&JsonTasks { version: 1, tasks })?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    for task in &tasks {
        let line = format!("{} {} ({}) {}", task.id, task.status, task.role, task.title);
        writeln!(printer.out(), "{}", escape::cut(line.trim_end(), width))?;
    }
    if tasks.is_empty() {
        writeln!(printer.out(), "No tasks")?;
    }
    Ok(Exit::Fine)
}

fn get(caller: &Caller, options: &TaskOf, wanted: &TaskGet, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = caller.open(options.reading.into())?;
    let (session, graph, _) = opened.task(&wanted.id)?;
    show(&caller.now(session, graph)?, graph, &wanted.id, options.format, printer)
}

fn show(session: &Session, graph: &Graph, id: &str, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let Some(task) = session.tasks.iter().find(|task| task.id.as_str() == id) else { return Ok(Exit::Invalid) };
    let task = ShownTask::from_task(task, graph);
    if format == Format::Json {
        printer.json(&JsonOne { version: 1, task })?;
        return Ok(Exit::Fine);
    }
    let (deps, wave) = (task.metadata.deps.join(", "), task.metadata.wave.to_string());
    for (name, value) in [
        ("id", task.id),
        ("title", task.title),
        ("description", task.description),
        ("assignee", task.assignee),
        ("status", task.status),
        ("deps", &deps),
        ("wave", &wave),
        ("findings", task.findings.unwrap_or_default()),
        ("error", task.error.unwrap_or_default()),
    ] {
        if !value.is_empty() {
            writeln!(printer.out(), "{name}: {}", escape::line(value))?;
        }
    }
    Ok(Exit::Fine)
}
