//! `status`: how the newest run of a session stands. Only looks.

mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_core::{Graph, Session, TaskIndex, TaskStatus};
use team_executor_engine::{self as engine, Status};
use team_executor_files::{Code, Finding};
use team_executor_store::JournalError;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL};

use super::plan::{list, mark};
use super::report;
use crate::args::{Format, Reading, StatusOf};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

use watch::Watched;

/// Reads the session and its newest run, and shows both together.
pub(crate) fn run(session: Option<&Path>, options: &StatusOf, printer: &mut Printer) -> Result<Exit, Failure> {
    show(session, &options.reading, options.format, options.watch, printer)
}

/// Shows how the newest run of a session stands.
pub(super) fn show(
    session: Option<&Path>,
    reading: &Reading,
    format: Format,
    watch: bool,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let opened = open::session(session, reading)?;
    let Some((session, graph)) = &opened.session else {
        if format == Format::Json {
            report::write(&opened, printer.out())?;
        } else {
            let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
            write!(printer.err(), "{findings}")?;
        }
        return Ok(Exit::Invalid);
    };
    let width = printer.width();
    match (newest(session, graph, &opened.path)?, format) {
        (Some(status), format) if watch => {
            watch::watch(&Watched { session, graph, path: &opened.path, format }, &status, printer)?;
        }
        (Some(status), Format::Text) => {
            text(&Watched { session, graph, path: &opened.path, format }, &status, width, false, printer.out())?
        }
        (None, Format::Text) => writeln!(printer.out(), "Session {} was never run", escape::line(session.id.as_str()))?,
        (status, Format::Json) => report::print(&json(session, graph, status.as_ref()), printer.out())?,
    }
    Ok(Exit::Fine)
}

/// Where a run keeps what happened.
pub(super) fn journal(status: &Status) -> PathBuf {
    status.folder.join(EXECUTOR).join(JOURNAL)
}

/// How the newest run of a session stands.
pub(super) fn newest(session: &Session, graph: &Graph, path: &str) -> Result<Option<Status>, Failure> {
    let cannot = |what: String| Failure::from(Finding::error(Code::Usage, what).help("check the path of the session"));
    let folder = Path::new(path).canonicalize().map_err(|error| cannot(error.to_string()))?;
    let current = std::env::current_dir().map_err(|error| cannot(error.to_string()))?;
    engine::status(session, graph, &folder, &current).map_err(|failure| {
        let named = escape::shell_word(&format!("--session={path}"));
        let help = match failure {
            engine::Failure::Journal(JournalError::Damaged(_)) | engine::Failure::Nameless(_) => {
                format!("team-executor doctor {named}")
            }
            _ => format!("continue the run with: team-executor {named}"),
        };
        Failure::from(Finding::error(Code::Usage, failure.to_string()).help(help))
    })
}

/// How a run stands, for people. In brief only those tasks are shown that somebody may want to look at.
fn text(shown: &Watched<'_>, status: &Status, width: usize, brief: bool, out: &mut impl Write) -> Result<(), Failure> {
    let Watched { session, graph, path, .. } = *shown;
    const BAR: usize = 30;
    let (counts, total) = (status.counts, session.tasks.len());
    let over = counts.completed + counts.failed + counts.skipped;
    let full = (BAR * over).checked_div(total).unwrap_or(BAR);
    let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let head = format!("Run {} is {}{reason}", status.run, status.stage);
    writeln!(out, "{}", escape::cut(&head, width))?;
    writeln!(out, "[{}{}] {}/{total} completed", "#".repeat(full), ".".repeat(BAR - full), counts.completed)?;
    let others = [
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.in_progress, "running"),
        (counts.ready, "ready"),
    ];
    let others: Vec<_> = others.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !others.is_empty() {
        writeln!(out, "{}", others.join(", "))?;
    }
    let id = |task: TaskIndex| escape::line(session.tasks[task.get()].id.as_str());
    let mut wave = 0;
    let is_shown = |task: &&TaskIndex| {
        !brief || matches!(status.statuses[task.get()], TaskStatus::InProgress | TaskStatus::Failed)
    };
    for task in graph.order().iter().filter(is_shown) {
        if graph.wave(*task) != wave {
            wave = graph.wave(*task);
            writeln!(out, "\nWave {wave}")?;
        }
        let (sign, style) = mark(status.statuses[task.get()]);
        let of_worker = status.running.iter().find(|running| running.task == *task);
        let since = of_worker.map(|running| format!("  attempt {}, {} s", running.attempt, running.seconds));
        let waits = graph.dependencies(*task).iter().map(|task| id(*task)).collect::<Vec<_>>().join(", ");
        let after = if waits.is_empty() { String::new() } else { format!("  after {waits}") };
        let line = format!("{} {}{}{after}", id(*task), status.statuses[task.get()], since.unwrap_or_default());
        writeln!(out, "  {style}{sign}{style:#} {}", escape::cut(&line, width - 4))?;
    }
    writeln!(out)?;
    let running = status.running.iter().map(|running| {
        let role = escape::line(session.tasks[running.task.get()].role.as_str());
        format!("{} ({role}, {} s)", id(running.task), running.seconds)
    });
    list(out, "Running", running, ", ", width)?;
    list(out, "Ready", status.ready.iter().map(|task| id(*task)), ", ", width)?;
    if !status.finished && !status.is_heard {
        writeln!(out, "\nNo executor has it. Go on with: team-executor resume --session={}", escape::line(path))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonStatus<'a> {
    version: u32,
    session: &'a str,
    run: Option<&'a str>,
    folder: Option<String>,
    stage: Option<&'static str>,
    reason: Option<&'a str>,
    executor: bool,
    finished: bool,
    tasks: Vec<JsonTask<'a>>,
    running: Vec<JsonRunning<'a>>,
    ready: Vec<&'a str>,
}

#[derive(Serialize)]
struct JsonTask<'a> {
    id: &'a str,
    wave: u32,
    status: &'static str,
}

#[derive(Serialize)]
struct JsonRunning<'a> {
    task: &'a str,
    role: &'a str,
    attempt: u32,
    seconds: u64,
}

fn json<'a>(session: &'a Session, graph: &Graph, status: Option<&'a Status>) -> JsonStatus<'a> {
    let id = |task: TaskIndex| session.tasks[task.get()].id.as_str();
    let statuses = status.map_or(&[][..], |status| &status.statuses);
    JsonStatus {
        version: 1,
        session: session.id.as_str(),
        run: status.map(|status| status.run.as_str()),
        folder: status.map(|status| status.folder.display().to_string()),
        stage: status.map(|status| status.stage),
        reason: status.and_then(|status| status.reason.as_deref()),
        executor: status.is_some_and(|status| status.is_heard),
        finished: status.is_some_and(|status| status.finished),
        tasks: (0..)
            .map(TaskIndex)
            .zip(statuses)
            .map(|(task, status)| JsonTask { id: id(task), wave: graph.wave(task), status: status.word() })
            .collect(),
        running: status
            .map_or(&[][..], |status| &status.running)
            .iter()
            .map(|running| JsonRunning {
                task: id(running.task),
                role: session.tasks[running.task.get()].role.as_str(),
                attempt: running.attempt,
                seconds: running.seconds,
            })
            .collect(),
        ready: status.map_or(&[][..], |status| &status.ready).iter().map(|task| id(*task)).collect(),
    }
}
