//! `artifacts`: what the newest run of a session delivered, and whether it is still the same. Only looks.

use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use team_executor_core::{Artifact, Validation};
use team_executor_engine::artifacts::{Fault, Past, Shelf, Shelved};
use team_executor_files::{Code, Finding, time};
use unicode_width::UnicodeWidthStr as _;

use super::report;
use super::run::refused;
use super::validate::count;
use crate::args::{Artifacts, ArtifactsWhat, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Reads what is registered, and does what was asked for.
pub(crate) fn run(session: Option<&Path>, options: &Artifacts, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (read, _) = open::runnable(&opened)?;
    let open::Place { folder, current } = open::place(session)?;
    let Some(shelf) = Shelf::of(&read.artifacts, &folder, &current).map_err(refused)? else {
        let finding = Finding::error(Code::Usage, format!("the session {} was never run", escape::line(&opened.path)));
        return Err(finding.help(format!("run it with: team-executor {}", escape::session(&opened.path))).into());
    };
    match options.what {
        ArtifactsWhat::List => list(&shelf, options.format, printer),
        ArtifactsWhat::Show => show(&shelf, options, &opened.path, printer),
        ArtifactsWhat::Verify => verify(&shelf, options.format, printer),
    }
}

#[derive(Serialize)]
struct JsonList<'a> {
    version: u32,
    run: &'a str,
    artifacts: Vec<JsonArtifact<'a>>,
}

#[derive(Serialize)]
struct JsonArtifact<'a> {
    id: &'a str,
    r#type: &'static str,
    path: &'a str,
    r#in: &'static str,
    state: &'static str,
    summary: Option<&'a str>,
    version: Option<&'a str>,
    size: Option<u64>,
    checksum: Option<&'a str>,
    task: Option<&'a str>,
    role: &'a str,
    attempt: u32,
    dependencies: Vec<&'a str>,
}

fn json(shelved: &Shelved) -> JsonArtifact<'_> {
    let Shelved { artifact, place, attempt } = shelved;
    JsonArtifact {
        id: artifact.id.as_str(),
        r#type: artifact.kind.word(),
        path: &artifact.path,
        r#in: place.word(),
        state: artifact.validation.word(),
        summary: artifact.validation_summary.as_deref(),
        version: artifact.version.as_deref(),
        size: artifact.file_size,
        checksum: artifact.checksum.as_deref(),
        task: artifact.task.as_ref().map(|task| task.as_str()),
        role: artifact.creator.as_str(),
        attempt: *attempt,
        dependencies: artifact.dependencies.iter().map(|id| id.as_str()).collect(),
    }
}

fn list(shelf: &Shelf, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    if format == Format::Json {
        let artifacts = shelf.artifacts.iter().map(json).collect();
        report::print(&JsonList { version: 1, run: &shelf.run, artifacts }, printer.out())?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    let out = printer.out();
    writeln!(out, "{} of run {}", count(shelf.artifacts.len(), "artifact"), escape::line(&shelf.run))?;
    let producer_width = shelf.artifacts.iter().map(|one| producer(&one.artifact).width()).max();
    let producer_width = producer_width.unwrap_or(0).min(width / 4);
    for Shelved { artifact, .. } in &shelf.artifacts {
        let style = colour(artifact.validation);
        let size = artifact.file_size.map(size).unwrap_or_default();
        let version = artifact.version.as_deref().unwrap_or("-");
        let by = escape::pad(&escape::cut(&producer(artifact), producer_width), producer_width);
        let line = format!("{:<5} {size:>9}  {by}  {}", escape::line(version), escape::line(&artifact.path));
        writeln!(out, "  {style}{:<10}{style:#}  {}", artifact.validation.word(), escape::cut(&line, width - 14))?;
    }
    Ok(Exit::Fine)
}

#[derive(Serialize)]
struct JsonShow<'a> {
    version: u32,
    run: &'a str,
    #[serde(flatten)]
    artifact: JsonArtifact<'a>,
    file: String,
    fault: Option<&'static str>,
    history: Vec<JsonPast<'a>>,
}

#[derive(Serialize)]
struct JsonPast<'a> {
    task: Option<&'a str>,
    attempt: u32,
    version: Option<&'a str>,
    state: &'static str,
    summary: Option<&'a str>,
    size: Option<u64>,
    checksum: Option<&'a str>,
    at: Option<String>,
}

fn show(shelf: &Shelf, options: &Artifacts, session: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    let id = options.id.as_deref().unwrap_or_default();
    let Some(shelved) = shelf.artifacts.iter().find(|one| one.artifact.id.as_str() == id) else {
        let finding = Finding::error(Code::Usage, format!("there is no artifact '{}'", escape::line(id)));
        return Err(finding.help(format!("team-executor artifacts {} lists them", escape::session(session))).into());
    };
    let (file, fault, history) = (shelf.path(shelved), shelf.fault(shelved), shelf.history(id));
    if options.format == Format::Json {
        let value = JsonShow {
            version: 1,
            run: &shelf.run,
            artifact: json(shelved),
            file: file.display().to_string(),
            fault: fault.as_ref().map(Fault::word),
            history: history.iter().map(json_past).collect(),
        };
        report::print(&value, printer.out())?;
        return Ok(Exit::Fine);
    }
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
        if !text.is_empty() {
            const BOLD: Style = Style::new().bold();
            writeln!(out, "{BOLD}{}{BOLD:#}{}", escape::pad(label, 12), escape::line(&text))?;
        }
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

fn json_past(Past { artifact, attempt }: &Past) -> JsonPast<'_> {
    JsonPast {
        task: artifact.task.as_ref().map(|task| task.as_str()),
        attempt: *attempt,
        version: artifact.version.as_deref(),
        state: artifact.validation.word(),
        summary: artifact.validation_summary.as_deref(),
        size: artifact.file_size,
        checksum: artifact.checksum.as_deref(),
        at: artifact.created_at.map(time::format),
    }
}

#[derive(Serialize)]
struct JsonVerify<'a> {
    version: u32,
    run: &'a str,
    artifacts: usize,
    faults: Vec<JsonFault<'a>>,
}

#[derive(Serialize)]
struct JsonFault<'a> {
    id: &'a str,
    path: &'a str,
    task: Option<&'a str>,
    fault: &'static str,
}

fn verify(shelf: &Shelf, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let faults = shelf.faults();
    let exit = if faults.is_empty() { Exit::Fine } else { Exit::Unfinished };
    let judged = shelf.artifacts.iter().filter(|one| one.attempt > 0 && one.artifact.validation == Validation::Passed);
    let judged = judged.count();
    if format == Format::Json {
        let list = faults.iter().map(|(shelved, fault)| JsonFault {
            id: shelved.artifact.id.as_str(),
            path: &shelved.artifact.path,
            task: shelved.artifact.task.as_ref().map(|task| task.as_str()),
            fault: fault.word(),
        });
        let value = JsonVerify { version: 1, run: &shelf.run, artifacts: judged, faults: list.collect() };
        report::print(&value, printer.out())?;
        return Ok(exit);
    }
    for (shelved, fault) in &faults {
        let line = format!("{} {} ({})", shelved.artifact.path, fault.describe(), producer(&shelved.artifact));
        writeln!(printer.out(), "{}", escape::line(&line))?;
    }
    let fine = judged.saturating_sub(faults.len());
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

/// A size for people.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_to_read() {
        assert_eq!([0, 1023, 1536, 5 << 20, u64::MAX].map(size)[..4], ["0 B", "1023 B", "1.5 KiB", "5.0 MiB"]);
    }
}
