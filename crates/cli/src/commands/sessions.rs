//! `sessions`: what there is below `.workflow/`.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::Serialize;
use team_executor_beneath::{Dir, ours};
use team_executor_core::TaskStatus;
use team_executor_engine::{control, runs};
use team_executor_files::{Code, Dialect, Finding, load};
use team_executor_store::run_folder::{ARCHIVE, EXECUTOR, NESTED, SESSIONS};
use team_executor_store::{DiskFolder, OpenError};
use unicode_width::UnicodeWidthStr;

use super::report;
use super::validate::count;
use crate::args::{Format, Sessions};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// One session or run.
#[derive(Serialize)]
struct Row {
    path: String,
    id: String,
    kind: &'static str,
    dialect: &'static str,
    status: &'static str,
    tasks: usize,
    completed: usize,
    failed: usize,
    errors: usize,
    warnings: usize,
    /// The first other session that has its id.
    same_id_as: Option<String>,
}

#[derive(Serialize)]
struct Listing {
    version: u32,
    sessions: Vec<Row>,
}

/// Finds, reads and lists.
pub(crate) fn run(options: &Sessions, printer: &mut Printer) -> Result<Exit, Failure> {
    let here = options.dir == Path::new(".");
    let workflow = if here { PathBuf::from(".workflow") } else { options.dir.join(".workflow") };
    if Dir::open(&workflow).is_err() {
        let shown = options.dir.display();
        let finding = Finding::error(Code::NoSession, format!("there is no .workflow/ folder in {shown}"));
        return Err(finding.help("name the folder that holds it: team-executor sessions DIR").into());
    }
    let mut sessions: Vec<Row> = candidates(&workflow).iter().filter_map(|path| row(path)).collect();
    let mut first: HashMap<String, String> = HashMap::new();
    for row in sessions.iter_mut().filter(|row| row.kind == "session") {
        row.same_id_as = first.get(&row.id).cloned();
        first.entry(row.id.clone()).or_insert_with(|| row.path.clone());
    }
    match options.format {
        Format::Json => report::print(&Listing { version: 1, sessions }, printer.out())?,
        Format::Text => table(&sessions, &workflow, printer)?,
    }
    Ok(Exit::Fine)
}

/// Folders two levels below `.workflow/`: `.team/TC-…`, `.csv-wave/EX-…` and whatever else planners make; then the teams of
/// `sessions/<id>/runs/<run>/work/team`, and what is in such a folder if it is no session itself.
pub(crate) fn candidates(workflow: &Path) -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let Ok(folder) = Dir::open(path) else { return Vec::new() };
        let names = folder.list().unwrap_or_default().into_iter();
        // One that may not be looked into is listed too.
        let is_folder = |name: &String| matches!(folder.dir_inside(name), Ok(_) | Err(Errno::ACCESS | Errno::PERM));
        names.filter(is_folder).map(|name| path.join(name)).collect()
    };
    let mut found: Vec<PathBuf> = folders(workflow).iter().flat_map(|path| folders(path)).collect();
    let sessions = folders(&workflow.join(SESSIONS));
    for run in sessions.iter().flat_map(|session| folders(&session.join("runs"))) {
        let team = NESTED.iter().fold(run, |path, part| path.join(part));
        match DiskFolder::open(&team).map(|folder| Dialect::detect(&folder)) {
            Ok(Some(_)) => found.push(team),
            Ok(None) => found.extend(folders(&team)),
            Err(_) => {}
        }
    }
    found
}

fn row(path: &Path) -> Option<Row> {
    let is_run = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("EX-"));
    let folder = match DiskFolder::open(path) {
        Ok(folder) => folder,
        Err(OpenError::Refused(_)) if is_run => return Some(denied(path)),
        Err(_) => return None,
    };
    let dialect = Dialect::detect(&folder)?;
    let loaded = load(&folder, &open::name_of(path), Some(dialect));
    let tasks = loaded.session.as_ref().map_or(&[][..], |(session, _)| &session.tasks);
    let with = |status| tasks.iter().filter(|task| task.status == status).count();
    let listed = loaded.session.as_ref().map_or(0, |(session, _)| session.completed_tasks.len());
    Some(Row {
        path: path.display().to_string(),
        id: open::id_of(&folder, path),
        kind: if is_run { "run" } else { "session" },
        dialect: dialect.name(),
        status: match &loaded.session {
            None => "invalid",
            Some(_) if is_run && ours::open(&path.join(EXECUTOR)).is_ok() => of_run(path),
            Some((session, _)) => session.status.word(),
        },
        tasks: tasks.len(),
        completed: with(TaskStatus::Completed).max(listed),
        failed: with(TaskStatus::Failed),
        errors: loaded.findings.error_count(),
        warnings: loaded.findings.warning_count(),
        same_id_as: None,
    })
}

/// A run that only somebody else may look into.
fn denied(path: &Path) -> Row {
    Row {
        path: path.display().to_string(),
        id: open::name_of(path),
        kind: "run",
        dialect: Dialect::TasksCsv.name(),
        status: "denied",
        tasks: 0,
        completed: 0,
        failed: 0,
        errors: 0,
        warnings: 0,
        same_id_as: None,
    }
}

/// How a run stands, which its table has no place for.
fn of_run(path: &Path) -> &'static str {
    let is_away = path.parent().is_some_and(|folder| folder.ends_with(ARCHIVE));
    if is_away {
        "archived"
    } else if runs::is_finished(path) {
        "finished"
    } else if control::is_heard(path) {
        "active"
    } else {
        "paused"
    }
}

fn table(rows: &[Row], workflow: &Path, printer: &mut Printer) -> Result<(), Failure> {
    let out = printer.out();
    if rows.is_empty() {
        writeln!(out, "No sessions below {}", workflow.display())?;
        return Ok(());
    }
    let widest = rows.iter().map(|row| row.path.width()).max().unwrap_or(0);
    writeln!(out, "{}  {:10}  {:9}  {:>9}  NOTES", escape::pad("PATH", widest), "DIALECT", "STATUS", "DONE")?;
    for row in rows {
        let notes = [(row.failed, "failed"), (row.errors, "error"), (row.warnings, "warning")];
        let twin = row.same_id_as.as_ref().map(|other| format!("same id as {}", escape::line(other)));
        let notes: Vec<_> = notes
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| if what == "failed" { format!("{n} failed") } else { count(n, what) })
            .chain(twin)
            .collect();
        let done = if matches!(row.status, "invalid" | "denied") {
            "-".to_owned()
        } else {
            format!("{}/{}", row.completed, row.tasks)
        };
        let path = escape::pad(&escape::line(&row.path), widest);
        let line = format!("{path}  {:10}  {:9}  {done:>9}  {}", row.dialect, row.status, notes.join(", "));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
