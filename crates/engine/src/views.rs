//! The files that people and agents read, rendered from the state of a run. They can always be rendered again.

use std::fmt::Write as _;
use std::path::Path;

use team_executor_core::run::{Ending, Run};
use team_executor_core::{Graph, Session, SessionStatus, Task, TaskIndex, TaskStatus};
use team_executor_files::{Dialect, tasks_csv, time, write};
use team_executor_store::{Disk as _, DiskError, Durability, RealDisk, ReplaceError, replace, sweep};

use crate::discovery;
use crate::replay;
use crate::report::Report;
use crate::run_at::RunAt;

/// Puts the state of the run into the session.
pub(crate) fn refresh(session: &mut Session, run: &Run) {
    for (index, task) in (0..).map(TaskIndex).zip(&mut session.tasks) {
        refresh_task(task, index, run);
    }
    let done = session.tasks.iter().filter(|task| task.status == TaskStatus::Completed);
    session.completed_tasks = done.map(|task| task.id.clone()).collect();
    session.active_workers.clear();
    session.updated_at = session.tasks.iter().filter_map(|task| task.updated_at).max().max(session.updated_at);
}

/// Puts the state of one task into it. What the run does not know stays.
pub(crate) fn refresh_task(task: &mut Task, index: TaskIndex, run: &Run) {
    let Some(view) = run.view(index) else { return };
    task.status = view.status;
    task.attempt_count = task.attempt_count.max(view.attempt.saturating_sub(1));
    if view.since.is_some() {
        task.findings = view.findings.map(str::to_owned);
        task.error = view.error.map(str::to_owned).filter(|_| view.status != TaskStatus::Completed);
    }
    task.updated_at = view.since.or(task.updated_at);
}

/// Puts the state of a run that ends or stops into the session and into everything that is read. Says how it came out, and
/// what was not written.
pub(crate) fn leave(
    run: &RunAt,
    session: &mut Session,
    graph: &Graph,
    rules: &Run,
    dialect: Dialect,
    folder: &Path,
) -> (Report, Vec<String>) {
    refresh(session, rules);
    session.status = session_status(session);
    let ending = replay::ending(rules).unwrap_or(Ending::Paused);
    let report =
        Report::of(rules, session, run.begun, ending).at(&run.id, &run.path, folder).with_deliverables(session);
    let mut failures = all(run, session, graph, dialect, folder, &report);
    if failures.is_empty() && replay::ending(rules).is_some() {
        failures.extend(run.note_rendered().err().map(|error| error.to_string()));
    }
    (report, failures)
}

/// `tasks.csv` of the run: the master state for people.
pub(crate) fn tasks(run: &RunAt, session: &Session, graph: &Graph, durability: Durability) -> Result<(), ReplaceError> {
    put(&run.disk, "tasks.csv", &tasks_csv::write(None, session, graph), durability)
}

/// What a finished or stopped run leaves: results, a report, and the session's own files. Says what was not written.
fn all(run: &RunAt, session: &Session, graph: &Graph, dialect: Dialect, folder: &Path, report: &Report) -> Vec<String> {
    let durable = |name: &str, text: &str| put(&run.disk, name, text, Durability::Durable);
    let written = [
        tasks(run, session, graph, Durability::Durable),
        durable("results.csv", &tasks_csv::write_results(session, graph)),
        durable("context.md", &context(run, session, graph, report)),
        own_file(session, graph, dialect, folder),
    ];
    let mut failures: Vec<_> = written.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    if dialect == Dialect::TasksJson
        && let Err(error) = session.tasks.iter().try_for_each(|task| discovery::unless_there(folder, task))
    {
        failures.push(format!("cannot write a discovery: {error}"));
    }
    failures
}

/// The session's own state file, over what stands in it now.
fn own_file(session: &Session, graph: &Graph, dialect: Dialect, folder: &Path) -> Result<(), ReplaceError> {
    let name = match dialect {
        Dialect::Tc => "team-session.json",
        Dialect::Tls if folder.join("team-session.json").exists() => "team-session.json",
        Dialect::Tls => "session.json",
        Dialect::TasksJson => "tasks.json",
        Dialect::TasksCsv => "tasks.csv",
    };
    // What cannot be read now is left alone: it is the user's.
    let Ok(original) = std::fs::read_to_string(folder.join(name)) else { return Ok(()) };
    let text = match dialect {
        Dialect::Tc => write::team_session(Some(&original), session),
        Dialect::Tls => write::lifecycle(Some(&original), session),
        Dialect::TasksJson => write::tasks_json(Some(&original), session, graph),
        Dialect::TasksCsv => tasks_csv::write(Some(&original), session, graph),
    };
    let disk =
        RealDisk::open_folder(folder).map_err(|errno| DiskError { action: "open", name: name.to_owned(), errno })?;
    sweep(&disk)?;
    put(&disk, name, &text, Durability::Durable)
}

/// Replaces a file unless it says so already.
fn put(disk: &RealDisk, name: &str, text: &str, durability: Durability) -> Result<(), ReplaceError> {
    if disk.read(name).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    replace(disk, name, text.as_bytes(), durability)
}

/// Where a session stands after all tasks are over.
fn session_status(session: &Session) -> SessionStatus {
    let all = session.tasks.iter().all(|task| task.status == TaskStatus::Completed);
    if all { SessionStatus::Completed } else { SessionStatus::Paused }
}

/// The report for people.
fn context(run: &RunAt, session: &Session, graph: &Graph, report: &Report) -> String {
    let mut text = format!("# {}\n\n", one_line(session.id.as_str()));
    if !session.requirement.is_empty() {
        writeln!(text, "{}\n", one_line(&session.requirement)).ok();
    }
    writeln!(text, "Run `{}`. {}", run.id, report.markdown()).ok();
    let mut wave = 0;
    for index in graph.order() {
        let task = &session.tasks[index.get()];
        if graph.wave(*index) != wave {
            wave = graph.wave(*index);
            writeln!(text, "## Wave {wave}\n").ok();
        }
        writeln!(text, "### {}: {}\n", one_line(task.id.as_str()), one_line(task.label())).ok();
        writeln!(text, "- status: {}", task.status).ok();
        writeln!(text, "- role: {}", one_line(task.role.as_str())).ok();
        if let Some(at) = task.updated_at {
            writeln!(text, "- at: {}", time::format(at)).ok();
        }
        if let Some(findings) = task.findings.as_deref().filter(|findings| !findings.is_empty()) {
            writeln!(text, "- findings: {}", one_line(findings)).ok();
        }
        if let Some(error) = &task.error {
            writeln!(text, "- error: {}", one_line(error)).ok();
        }
        text.push('\n');
    }
    text
}

/// Text of workers stays within its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
