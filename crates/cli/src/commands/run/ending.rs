//! How a run came out, for people and for programs, and what can be done then.

use std::io::Write;
use std::path::Path;

use anstyle::Style;
use team_executor_core::run::Ending;
use team_executor_engine::Report;
use team_executor_engine::report::seconds;
use team_executor_engine::usage::Sum;

use super::super::plan::{joined, list};
use crate::args::Format;
use crate::config::command;
use crate::escape;
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

/// How many deliverables are shown; the report has all.
const SHOWN: usize = 20;
const LABEL: usize = 16;

/// Says how a run came out, and with what it can be resumed where it can.
pub(in crate::commands) fn tell(
    report: &Report,
    resume: Option<String>,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let exit = match report.ending {
        Ending::AllCompleted => Exit::Fine,
        Ending::WithFailures => Exit::Unfinished,
        Ending::Paused | Ending::Drained => Exit::Paused,
        Ending::Stopped => Exit::Interrupted,
    };
    let resume = resume.filter(|_| !report.is_complete());
    match format {
        Format::Json => print_event(&Event::ended(report, resume.as_deref(), exit), printer.out())?,
        Format::Text => text(report, resume.as_deref(), printer)?,
    }
    Ok(exit)
}

fn text(report: &Report, resume: Option<&str>, printer: &mut Printer) -> Result<(), Failure> {
    let width = printer.width();
    let out = printer.out();
    if report.already {
        writeln!(out, "Run {} is finished; nothing was done", escape::line(&report.run))?;
    }
    writeln!(out, "{}", report.headline())?;
    if report.counts.failed + report.counts.skipped > 0 {
        writeln!(out, "{} failed, {} skipped", report.counts.failed, report.counts.skipped)?;
    }
    for wave in report.troubled_waves() {
        writeln!(out, "  {wave}")?;
    }
    field(out, "Session", &near(&report.session))?;
    field(out, "Files", &near(&report.folder))?;
    for (nth, one) in report.deliverables.iter().take(SHOWN).enumerate() {
        let label = if nth == 0 { "Deliverables" } else { "" };
        let by = one.task.as_deref().map_or_else(|| one.role.clone(), |task| format!("{task}, {}", one.role));
        let in_files = one.path.strip_prefix(&report.folder).map(|path| path.display().to_string());
        field(out, label, &format!("{} ({by})", in_files.unwrap_or_else(|_| near(&one.path))))?;
    }
    if report.deliverables.len() > SHOWN {
        field(out, "", &format!("… and {} more", report.deliverables.len() - SHOWN))?;
    }
    for (nth, fault) in report.faults.iter().take(SHOWN).enumerate() {
        field(out, if nth == 0 { "Not right" } else { "" }, fault)?;
    }
    if report.faults.len() > SHOWN {
        field(out, "", &format!("… and {} more: team-executor artifacts verify", report.faults.len() - SHOWN))?;
    }
    if !report.already {
        list(out, "Roles", report.roles_done().into_iter().map(|role| escape::line(&role)), ", ", width)?;
        joined(out, &report.joining, width)?;
        for (label, text) in report.judged() {
            field(out, label, &text)?;
        }
        field(out, "Duration", &seconds(report.duration))?;
    }
    if !report.used.is_empty() {
        field(out, "Usage", &Sum::of(&report.used).words())?;
    }
    if let Some(resume) = resume {
        writeln!(out, "Resume with: {}", escape::line(resume))?;
    }
    Ok(())
}

/// A labelled line that is never cut: paths are there to be copied.
fn field(out: &mut impl Write, label: &str, text: &str) -> std::io::Result<()> {
    const BOLD: Style = Style::new().bold();
    writeln!(out, "{BOLD}{}{BOLD:#}{}", escape::pad(label, LABEL), escape::line(text))
}

/// Offers to look at the results and to try again what failed, until somebody has enough.
pub(super) fn choices(report: &Report, printer: &mut Printer) -> Result<(), Failure> {
    let failed = report.counts.failed > 0;
    let question =
        if failed { "View results, retry failed, or done? [v/r/D] " } else { "View results, or done? [v/D] " };
    loop {
        printer.flush()?;
        match printer.ask(question)?.as_deref() {
            Some("v" | "view" | "view results") => results(report, printer)?,
            Some("r" | "retry" | "retry failed") if failed => {
                let session = format!("--session={}", near(&report.session));
                let command = ["team-executor".to_owned(), "retry".to_owned(), "--failed".to_owned(), session];
                writeln!(printer.out(), "Retry with: {}", escape::line(&command::shown(&command)))?;
            }
            _ => return Ok(()),
        }
    }
}

/// Shows the report.
pub(in crate::commands) fn results(report: &Report, printer: &mut Printer) -> Result<(), Failure> {
    let path = report.folder.join("context.md");
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            for line in text.lines() {
                writeln!(printer.out(), "{}", escape::line(line))?;
            }
        }
        Err(error) => {
            let shown = escape::line(&path.display().to_string());
            writeln!(printer.err(), "{shown} cannot be read: {error}")?;
        }
    }
    Ok(())
}

/// A path as seen from where the user is.
fn near(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// The command that was given, as a shell reads it.
pub(super) fn same_command(args: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = std::iter::once("team-executor".to_owned()).chain(args.skip(1)).collect();
    command::shown(&words)
}

#[cfg(test)]
mod tests {
    use super::same_command;

    #[test]
    fn the_command_is_printed_so_that_a_shell_can_read_it() {
        let args = ["/usr/bin/x", "--session=my work", "it's", "", "-y"].map(str::to_owned);
        assert_eq!(same_command(args.into_iter()), r"team-executor '--session=my work' 'it'\''s' '' -y");
    }
}
