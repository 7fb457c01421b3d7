//! `artifacts`: what the runs of a session delivered, and whether it is still the same. Only looks.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use team_executor_app::artifacts::{Delivered, Past, Shelved, validation};
use team_executor_app::changes::{Change, TaskChanges};
use team_executor_app::{App, count, size};
use team_executor_core::{Artifact, Validation};
use team_executor_files::{Code, Finding};
use unicode_width::UnicodeWidthStr as _;

use super::changes::short;
use crate::args::{Artifacts, ArtifactsWhat, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Reads what is registered, and does what was asked for.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Artifacts,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let delivered = app.artifacts(session, options.reading.into(), options.of.run.as_deref())?;
    match options.what {
        ArtifactsWhat::List => list(&delivered, options.format, printer),
        ArtifactsWhat::Show => show(&delivered, options, printer),
        ArtifactsWhat::Verify => verify(&delivered, options.format, printer),
    }
}

fn list(delivered: &Delivered, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    if format == Format::Json {
        printer.json(&delivered.list())?;
        return Ok(Exit::Fine);
    }
    let shelf = &delivered.shelf;
    let width = printer.width();
    let out = printer.out();
    let own = shelf.artifacts.iter().filter(|one| one.run == shelf.run).count() + delivered.commits().count();
    writeln!(out, "{} of run {}", count(own, "artifact"), escape::line(&shelf.run))?;
    let producers = shelf.artifacts.iter().map(|one| producer(&one.artifact)).chain(delivered.commits().map(maker));
    let producer_width = producers.map(|producer| producer.width()).max();
    let producer_width = producer_width.unwrap_or(0).min(width / 4);
    let mut run_shown = &shelf.run;
    for Shelved { artifact, run, .. } in &shelf.artifacts {
        if run != run_shown {
            let others = shelf.artifacts.iter().filter(|one| one.run == *run).count();
            writeln!(out, "{} of the earlier run {}", count(others, "artifact"), escape::line(run))?;
            run_shown = run;
        }
        let style = colour(artifact.validation);
        let size = artifact.file_size.map(size).unwrap_or_default();
        let version = artifact.version.as_deref().unwrap_or("-");
        let by = escape::pad(&escape::cut(&producer(artifact), producer_width), producer_width);
        let line = format!("{:<5} {size:>9}  {by}  {}", escape::line(version), escape::line(&artifact.path));
        writeln!(out, "  {style}{:<10}{style:#}  {}", artifact.validation.word(), escape::cut(&line, width - 14))?;
    }
    for task in delivered.commits() {
        let state = validation(task.standing);
        let (style, size) = (colour(state), lines(&task.change));
        let by = escape::pad(&escape::cut(&maker(task), producer_width), producer_width);
        let line = format!("{:<5} {size:>9}  {by}  git:{}", task.change.attempt, short(&task.change.commit));
        writeln!(out, "  {style}{:<10}{style:#}  {}", state.word(), escape::cut(&line, width - 14))?;
    }
    Ok(Exit::Fine)
}

fn show(delivered: &Delivered, options: &Artifacts, printer: &mut Printer) -> Result<Exit, Failure> {
    let id = options.id.as_deref().unwrap_or_default();
    if let Some(task) = delivered.commit(id) {
        return show_commit(delivered, task, options.format, printer);
    }
    let (shelf, shelved) = (&delivered.shelf, delivered.find(id)?);
    let history = shelf.history(shelved);
    if options.format == Format::Json {
        printer.json(&delivered.show(shelved, &history))?;
        return Ok(Exit::Fine);
    }
    let (file, fault) = (shelf.path(shelved), shelf.fault(shelved));
    let artifact = &shelved.artifact;
    let out = printer.out();
    let dependencies: Vec<_> = artifact.dependencies.iter().map(|id| id.as_str()).collect();
    for (label, text) in [
        ("Artifact", artifact.id.to_string()),
        ("State", state(artifact)),
        ("File", file.display().to_string()),
        ("Now", fault.map(|fault| fault.describe()).unwrap_or_default()),
        ("Type", artifact.kind.word().to_owned()),
        ("Version", artifact.version.clone().unwrap_or_default()),
        ("Made by", producer(artifact)),
        ("Size", artifact.file_size.map(|bytes| format!("{bytes} bytes")).unwrap_or_default()),
        ("Checksum", artifact.checksum.clone().unwrap_or_default()),
        ("Builds on", dependencies.join(", ")),
    ] {
        field(out, label, &text)?;
    }
    if !history.is_empty() {
        writeln!(out, "\nHistory")?;
    }
    for Past { artifact, attempt } in &history {
        let version = artifact.version.as_deref().unwrap_or("-");
        let by = artifact.task.as_ref().map(|task| format!("{task}, attempt {attempt}")).unwrap_or_default();
        writeln!(out, "  {}", escape::line(&format!("{version}  {by}: {}", state(artifact))))?;
    }
    Ok(Exit::Fine)
}

/// A commit: what it is, and what became of it.
fn show_commit(
    delivered: &Delivered,
    task: &TaskChanges,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    if format == Format::Json {
        printer.json(&delivered.show_commit(task))?;
        return Ok(Exit::Fine);
    }
    let Change { attempt, base, commit, .. } = &task.change;
    let out = printer.out();
    for (label, text) in [
        ("Artifact", format!("git:{commit}")),
        ("State", format!("{}: {}", validation(task.standing).word(), task.standing.words())),
        ("Made by", maker(task)),
        ("Attempt", attempt.to_string()),
        ("Size", lines(&task.change)),
        ("Builds on", base.clone()),
    ] {
        field(out, label, &text)?;
    }
    Ok(Exit::Fine)
}

/// A line, if there is something to say.
fn field(out: &mut impl Write, label: &str, text: &str) -> std::io::Result<()> {
    const BOLD: Style = Style::new().bold();
    match text {
        "" => Ok(()),
        text => writeln!(out, "{BOLD}{}{BOLD:#}{}", escape::pad(label, 12), escape::line(text)),
    }
}

fn verify(delivered: &Delivered, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let faults = delivered.shelf.faults();
    let lost = delivered.lost_commits().map_err(|why| {
        let finding = Finding::error(Code::Usage, format!("the commits of tasks cannot be looked at: {why}"));
        Failure::from(finding.help("git fsck shows what is wrong with the repository"))
    })?;
    let exit = if faults.is_empty() && lost.is_empty() { Exit::Fine } else { Exit::Unfinished };
    if format == Format::Json {
        printer.json(&delivered.verify(&faults, &lost))?;
        return Ok(exit);
    }
    let judged = delivered.judged() + delivered.commits().count();
    for task in &lost {
        let line = format!("git:{} is not whole any more ({})", task.change.commit, maker(task));
        writeln!(printer.out(), "{}", escape::line(&line))?;
    }
    for (shelved, fault) in &faults {
        let line = format!("{} {} ({})", shelved.artifact.path, fault.describe(), producer(&shelved.artifact));
        writeln!(printer.out(), "{}", escape::line(&line))?;
    }
    let fine = judged.saturating_sub(faults.len() + lost.len());
    writeln!(printer.out(), "{fine} of {} as delivered", count(judged, "artifact"))?;
    Ok(exit)
}

/// Which task and role made it.
fn producer(artifact: &Artifact) -> String {
    match &artifact.task {
        Some(task) => format!("{task} ({})", artifact.creator),
        None => artifact.creator.to_string(),
    }
}

/// The same of a commit.
fn maker(task: &TaskChanges) -> String {
    format!("{} ({})", task.id, task.role)
}

/// How many lines a commit adds and removes.
fn lines(change: &Change) -> String {
    format!("+{} -{}", change.total.added, change.total.removed)
}

/// Its state, and why.
fn state(artifact: &Artifact) -> String {
    match &artifact.validation_summary {
        Some(why) => format!("{}: {why}", artifact.validation),
        None => artifact.validation.word().to_owned(),
    }
}

const fn colour(state: Validation) -> Style {
    match state {
        Validation::Passed => AnsiColor::Green.on_default(),
        Validation::Failed => AnsiColor::Red.on_default(),
        Validation::Pending | Validation::Validating => AnsiColor::Yellow.on_default(),
    }
}
