//! `status`: how the newest run of a session stands. Only looks.

mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_core::run::Cause;
use team_executor_core::{Graph, Session, TaskId, TaskIndex, TaskStatus, Verdict, joining};
use team_executor_engine::artifacts::Shelved;
use team_executor_engine::usage::{Sum, sums};
use team_executor_engine::{self as engine, Judged, Status, runs};
use team_executor_files::{Code, Finding, time};
use team_executor_store::JournalError;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL};

use super::plan::{joined, list, mark, states};
use super::report;
use super::run::UNDO;
use super::validate::count;
use crate::args::{Format, Reading, StatusOf};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::joining::JsonJoining;
use crate::open;
use crate::printer::Printer;
use crate::usage::JsonUsage;

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
    open::must_be_no_run(&folder)?;
    let current = std::env::current_dir().map_err(|error| cannot(error.to_string()))?;
    engine::status(session, graph, &folder, &current).map_err(|failure| unknown(&failure, &folder, &current, path))
}

/// Why it cannot be said how the newest run of a session stands, and what to do.
pub(super) fn unknown(failure: &engine::Failure, folder: &Path, current: &Path, path: &str) -> Failure {
    let named = escape::session(path);
    let help = match failure {
        engine::Failure::Journal(JournalError::Damaged(_)) | engine::Failure::Nameless(_) => {
            format!("team-executor doctor {named}")
        }
        engine::Failure::Changed(_) if is_finished(folder, current) => {
            format!("that run is finished; begin another with: team-executor run {named}")
        }
        engine::Failure::Changed(_) => UNDO.to_owned(),
        _ => format!("continue the run with: team-executor {named}"),
    };
    Finding::error(Code::Usage, failure.to_string()).help(help).into()
}

/// Whether the newest run of a session is finished. One that was put away is.
fn is_finished(folder: &Path, current: &Path) -> bool {
    let newest = runs::newest(folder, current);
    let known = runs::known(&runs::project(Some(folder), current));
    newest.is_none_or(|(id, _)| known.iter().any(|run| run.id == id && run.finished))
}

/// How a run stands, for people. In brief only those tasks are shown that somebody may want to look at.
fn text(shown: &Watched<'_>, status: &Status, width: usize, brief: bool, out: &mut impl Write) -> Result<(), Failure> {
    let Watched { session, graph, path, .. } = *shown;
    const BAR: usize = 30;
    let (counts, total) = (status.counts, session.tasks.len());
    let over = counts.completed + counts.failed + counts.skipped;
    let full = (BAR * over).checked_div(total).unwrap_or(BAR);
    let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let head = format!("Run {} is {}{reason}", status.run, stage(status.stage, status.is_heard));
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
        let note = note(&status.judged[task.get()]);
        let line = format!("{} {}{}{note}{after}", id(*task), status.statuses[task.get()], since.unwrap_or_default());
        writeln!(out, "  {style}{sign}{style:#} {}", escape::cut(&line, width - 4))?;
    }
    writeln!(out)?;
    let running = status.running.iter().map(|running| {
        let role = escape::line(session.tasks[running.task.get()].role.as_str());
        format!("{} ({role}, {} s)", id(running.task), running.seconds)
    });
    list(out, "Running", running, ", ", width)?;
    list(out, "Ready", status.ready.iter().map(|task| id(*task)), ", ", width)?;
    joined(out, &joining(session, None, &[]), width)?;
    let delivered = states(status.artifacts.iter().map(|shelved| shelved.artifact.validation));
    if !delivered.is_empty() {
        list(out, "Artifacts", delivered.into_iter(), ", ", width)?;
    }
    if status.rounds > 0 {
        writeln!(out, "Work was sent back {}", count(status.rounds as usize, "time"))?;
    }
    if !status.used.is_empty() {
        let roles = sums(&status.used, |spent| &spent.role).into_iter();
        let roles = roles.map(|(role, sum)| format!("{}: {}", escape::line(role), sum.words()));
        writeln!(out, "Usage: {}", Sum::of(&status.used).words())?;
        for line in roles {
            writeln!(out, "  {}", escape::cut(&line, width - 2))?;
        }
    }
    for decision in &status.decisions {
        let at = decision.checkpoint.map(|task| format!(" after {}", id(task))).unwrap_or_default();
        let text = if decision.text.is_empty() { String::new() } else { format!(": {}", decision.text) };
        let line = format!("Decided{at} at {}: {}{text}", time::format(decision.at), decision.action);
        writeln!(out, "{}", escape::cut(&line, width))?;
    }
    if let Some(checkpoint) = &status.checkpoint {
        writeln!(out, "\nCheckpoint after {}: {}", id(checkpoint.task), why(checkpoint.cause))?;
        for (task, folder) in &checkpoint.judges {
            let folder = folder.as_ref().map(|folder| format!(": {}", folder.display())).unwrap_or_default();
            writeln!(out, "  judge {}{}", id(*task), escape::line(&folder))?; // never cut: paths are there to be copied
        }
        let named = escape::session(path);
        writeln!(out, "Decide with: team-executor checkpoint resume|improve|revise|recheck|feedback {named}")?;
    }
    if !status.finished && !status.is_heard {
        writeln!(out, "\nNo executor has it. Go on with: team-executor resume {}", escape::session(path))?;
    }
    Ok(())
}

/// What a run is about, for people. Where no executor is heard, nothing is about to end: it did.
pub(super) fn stage(word: &str, is_heard: bool) -> &str {
    match word {
        "draining" | "stopping" if !is_heard => "stopped",
        word => word,
    }
}

/// How a task was judged, in a few words.
fn note(judged: &Judged) -> String {
    let rounds = if judged.rounds > 0 { format!("  round {}", judged.rounds) } else { String::new() };
    let verdict = judged.verdict.map(|verdict| format!("  says {verdict}")).unwrap_or_default();
    let why = judged.why.as_ref().map(|why| format!("  ({why})")).unwrap_or_default();
    let wait = judged.wait.map(|wait| format!("  again in {wait} s")).unwrap_or_default();
    format!("{rounds}{verdict}{wait}{why}")
}

/// Why a person is asked.
pub(crate) const fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Planned => "a person is to judge here",
        Cause::Blocked => "whoever judged it wants a person to decide",
        Cause::OutOfRounds => "work was sent back as often as it may be",
    }
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
    rounds: u32,
    checkpoint: Option<JsonCheckpoint<'a>>,
    decisions: Vec<JsonDecision<'a>>,
    artifacts: Vec<JsonArtifact<'a>>,
    usage: JsonUsage<'a>,
    injected_roles: Vec<JsonJoining>,
}

#[derive(Serialize)]
struct JsonTask<'a> {
    id: &'a str,
    wave: u32,
    status: &'static str,
    rounds: u32,
    verdict: Option<&'static str>,
    why: Option<&'a str>,
    wait_s: Option<u64>,
}

#[derive(Serialize)]
struct JsonArtifact<'a> {
    id: &'a str,
    task: Option<&'a str>,
    state: &'static str,
    version: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonCheckpoint<'a> {
    task: &'a str,
    cause: &'static str,
    judges: Vec<JsonJudged<'a>>,
}

#[derive(Serialize)]
struct JsonJudged<'a> {
    task: &'a str,
    folder: Option<String>,
}

#[derive(Serialize)]
struct JsonDecision<'a> {
    checkpoint: Option<&'a str>,
    action: &'static str,
    tasks: Vec<&'a str>,
    text: &'a str,
    at: String,
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
            .map(|(task, stands)| {
                let judged = status.and_then(|status| status.judged.get(task.get()));
                JsonTask {
                    id: id(task),
                    wave: graph.wave(task),
                    status: stands.word(),
                    rounds: judged.map_or(0, |judged| judged.rounds),
                    verdict: judged.and_then(|judged| judged.verdict).map(Verdict::word),
                    why: judged.and_then(|judged| judged.why.as_deref()),
                    wait_s: judged.and_then(|judged| judged.wait),
                }
            })
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
        rounds: status.map_or(0, |status| status.rounds),
        checkpoint: status.and_then(|status| status.checkpoint.as_ref()).map(|checkpoint| JsonCheckpoint {
            task: id(checkpoint.task),
            cause: checkpoint.cause.word(),
            judges: checkpoint
                .judges
                .iter()
                .map(|(task, folder)| JsonJudged {
                    task: id(*task),
                    folder: folder.as_ref().map(|folder| folder.display().to_string()),
                })
                .collect(),
        }),
        artifacts: status
            .map_or(&[][..], |status| &status.artifacts)
            .iter()
            .map(|Shelved { artifact, .. }| JsonArtifact {
                id: artifact.id.as_str(),
                task: artifact.task.as_ref().map(TaskId::as_str),
                state: artifact.validation.word(),
                version: artifact.version.as_deref(),
            })
            .collect(),
        decisions: status
            .map_or(&[][..], |status| &status.decisions)
            .iter()
            .map(|decision| JsonDecision {
                checkpoint: decision.checkpoint.map(id),
                action: decision.action.word(),
                tasks: decision.tasks.iter().map(|task| id(*task)).collect(),
                text: &decision.text,
                at: time::format(decision.at),
            })
            .collect(),
        usage: JsonUsage::of(status.map_or(&[][..], |status| &status.used)),
        injected_roles: crate::joining::json(&joining(session, None, &[])),
    }
}
