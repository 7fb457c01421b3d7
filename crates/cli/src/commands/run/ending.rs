//! How a run came out, for people and for programs, and what can be done then.

use std::io::Write;
use std::path::Path;

use anstyle::Style;
use clap::Parser as _;
use team_executor_app::attention::{budget_flag, budget_setting};
use team_executor_app::changes::Landed;
use team_executor_app::config::shown;
use team_executor_app::error::MAKE_ROOM;
use team_executor_app::usage::{self, Sum};
use team_executor_app::{App, FailedTask, Halted, Report};
use team_executor_beneath::read_regular;
use team_executor_core::TaskStatus;
use team_executor_core::run::{Ending, Halt};
use unicode_width::UnicodeWidthStr as _;

use super::super::plan::{joined, list, mark};
use crate::args::{Args, Command, Format};
use crate::escape;
use crate::exit::Exit;
use crate::face::{Event, print_event};
use crate::failure::Failure;
use crate::printer::Printer;

/// How many deliverables are shown; the report has all.
const SHOWN: usize = 20;
/// How many failed tasks are shown.
const FAILED: usize = 10;
/// How many lines of a report leave room for the verdict and the next commands on one screen of 24.
const SCREEN: usize = 18;
const LABEL: usize = 16;

/// What a user can type when a run was stopped, or when tasks of it failed.
pub(in crate::commands) struct Again<'a> {
    pub(super) app: &'a App,
    /// The command that goes on.
    pub(super) resume: &'a str,
    /// The session as commands name it.
    pub(super) session: &'a str,
}

/// Says how a run came out, and with what it can be resumed where it can.
pub(in crate::commands) fn tell(
    report: &Report,
    again: Option<Again<'_>>,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let exit = match report.ending {
        Ending::AllCompleted => Exit::Fine,
        Ending::WithFailures => Exit::Unfinished,
        Ending::Drained if is_full(report) => Exit::Io,
        Ending::Drained if is_part_done(report) => of_part(report),
        Ending::Paused | Ending::Drained => Exit::Paused,
        Ending::Stopped => Exit::Interrupted,
    };
    match format {
        Format::Json => {
            let again = again.filter(|_| !report.is_complete());
            print_event(&Event::ended(report, again.map(|again| again.resume), exit), printer.out())?;
        }
        Format::Text => text(report, again, printer)?,
    }
    Ok(exit)
}

/// The verdict first, then the reasons, then the rest. Behind a report that does not fit on a screen the verdict comes again.
fn text(report: &Report, again: Option<Again<'_>>, printer: &mut Printer) -> Result<(), Failure> {
    let mut body = Vec::new();
    if report.already {
        writeln!(body, "Run {} is finished; nothing was done", escape::line(&report.run))?;
    }
    writeln!(body, "{}", report.headline())?;
    failures(report, again.as_ref(), &mut body)?;
    details(report, printer.width(), &mut body)?;
    if body.iter().filter(|byte| **byte == b'\n').count() > SCREEN {
        writeln!(body, "{}", report.headline())?;
    }
    if let Some(again) = again {
        next(report, &again, &mut body)?;
    }
    Ok(printer.out().write_all(&body)?)
}

/// The tasks that failed, each with its reason and the command that shows more.
fn failures(report: &Report, again: Option<&Again<'_>>, out: &mut impl Write) -> std::io::Result<()> {
    let (sign, style) = mark(TaskStatus::Failed);
    for failed in report.failed.iter().take(FAILED) {
        let line = format!("{} ({}) {}", failed.task, failed.role, failed.reason);
        writeln!(out, "{style}{sign}{style:#} {}", escape::line(&line))?;
        if let Some(Again { app, session, .. }) = again {
            let logs = format!("{} logs {} {session}", app.typed(), escape::shell_word(&failed.task));
            writeln!(out, "  {}", escape::line(&logs))?;
        }
    }
    if report.failed.len() > FAILED {
        writeln!(out, "  … and {} more in context.md", report.counts.failed - FAILED)?;
    }
    for wave in report.troubled_waves() {
        writeln!(out, "  {wave}")?;
    }
    Ok(())
}

/// Where everything is, what was delivered, and what was used.
fn details(report: &Report, width: usize, out: &mut impl Write) -> Result<(), Failure> {
    field(out, "Session", &near(&report.session))?;
    field(out, "Files", &near(&report.folder))?;
    delivered(report, out)?;
    match &report.landed {
        Some(Landed::Branch { name, .. }) => {
            field(out, "Branch", &format!("{name}; git merge {name} takes it over"))?;
        }
        Some(Landed::FastForward { branch, .. }) => {
            field(out, "Branch", &format!("{branch}, which has everything that is completed"))?;
        }
        _ => {}
    }
    if !report.already {
        list(out, "Roles", report.roles_done().into_iter().map(|role| escape::line(&role)), ", ", width)?;
        joined(out, &report.joining, width)?;
        for (label, text) in report.judged() {
            field(out, label, &text)?;
        }
        field(out, "Duration", &report.duration_words())?;
    }
    if !report.used.is_empty() {
        field(out, "Usage", &Sum::total(&report.used).words())?;
        usage_table(report, width, out)?;
    }
    if let Some(halted) = &report.halt {
        field(out, "Stopped", &halted.words)?;
        if let Some(help) = more(halted) {
            writeln!(out, "help: {}", escape::line(&help))?;
        }
    }
    Ok(())
}

/// What was delivered, and what of it is not right.
fn delivered(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
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
    Ok(())
}

/// What can be typed next.
fn next(report: &Report, again: &Again<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let Again { app, resume, session } = again;
    if let Some(FailedTask { task, .. }) = report.failed.first().filter(|_| report.is_complete()) {
        let last = report.used.iter().rev().find(|one| one.task == *task);
        if let Some(attach) = last.and_then(|one| one.used.attach.as_deref()) {
            writeln!(out, "Open the conversation of {} with: {}", escape::line(task), escape::line(attach))?;
        }
        writeln!(out, "Retry with: {} retry --failed {}", app.typed(), escape::line(session))?;
    }
    if !report.is_complete() {
        writeln!(out, "Resume with: {}", escape::line(resume))?;
        if report.at_checkpoint {
            writeln!(out, "Look and decide with: {} checkpoint {}", app.typed(), escape::line(session))?;
        }
    }
    Ok(())
}

/// What agents used, by task, agent and model.
fn usage_table(report: &Report, width: usize, out: &mut impl Write) -> std::io::Result<()> {
    let rows = usage::table(&report.used);
    let header = usage::COLUMNS.map(str::to_owned);
    let shown: Vec<_> = std::iter::once(&header).chain(rows.iter().take(SHOWN)).collect();
    let widest = |column: usize| shown.iter().map(|row| escape::line(&row[column]).width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(widest).collect();
    for row in shown {
        let cells = row.iter().zip(&widths).map(|(cell, width)| escape::pad(&escape::line(cell), *width));
        let line = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        writeln!(out, "{}", escape::cut(line.trim_end(), width))?;
    }
    if rows.len() > SHOWN {
        writeln!(out, "  … and {} more in context.md", rows.len() - SHOWN)?;
    }
    Ok(())
}

/// A labelled line that is never cut: paths are there to be copied.
fn field(out: &mut impl Write, label: &str, text: &str) -> std::io::Result<()> {
    const BOLD: Style = Style::new().bold();
    writeln!(out, "{BOLD}{}{BOLD:#}{}", escape::pad(label, LABEL), escape::line(text))
}

/// Offers to view the results and to retry failed tasks, until the person is done. Whether to retry.
pub(super) fn retries(report: &Report, printer: &mut Printer) -> Result<bool, Failure> {
    let failed = report.counts.failed > 0;
    let question =
        if failed { "View results, retry failed, or done? [v/r/D] " } else { "View results, or done? [v/D] " };
    loop {
        printer.flush()?;
        match printer.ask(question)?.as_deref() {
            Some("v" | "view" | "view results") => results(report, printer)?,
            Some("r" | "retry" | "retry failed") if failed => return Ok(true),
            _ => return Ok(false),
        }
    }
}

/// Shows the report.
pub(in crate::commands) fn results(report: &Report, printer: &mut Printer) -> Result<(), Failure> {
    let path = report.folder.join("context.md");
    match read_regular(&path) {
        Ok(bytes) => {
            for line in String::from_utf8_lossy(&bytes).lines() {
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
    match path.strip_prefix(here).unwrap_or(path).display().to_string() {
        own if own.is_empty() => ".".to_owned(),
        path => path,
    }
}

/// Whether only a part of the plan was run, as far as it went.
fn is_part_done(report: &Report) -> bool {
    report.halt.as_ref().is_some_and(|halted| halted.why == Halt::PartDone)
}

/// How the chosen part of the plan came out.
fn of_part(report: &Report) -> Exit {
    match report.part {
        Some(part) if part.completed == part.total() => Exit::Fine,
        Some(part) if part.completed + part.failed + part.skipped == part.total() => Exit::Unfinished,
        _ => Exit::Paused,
    }
}

/// Whether a run stopped because the disk is full.
fn is_full(report: &Report) -> bool {
    report.halt.as_ref().is_some_and(|halted| halted.why == Halt::NoRoom)
}

/// What to do about what is in the way, where no flag helps.
fn more(halted: &Halted) -> Option<String> {
    match &halted.why {
        Halt::Budget(bound) => budget_setting(bound, halted),
        Halt::NoRoom => Some(MAKE_ROOM.to_owned()),
        Halt::NotLoggedIn(_) | Halt::PartDone => None,
    }
}

/// The command that goes on with a run that remembers its options; with a run that is not the session's newest, by name.
pub(super) fn without_options(session: &str, run: Option<&str>, format: Format) -> Vec<String> {
    let mut words = vec![String::new(), "resume".to_owned(), format!("--session={session}")];
    words.extend(run.map(|run| format!("--continue={run}")));
    words.extend((format == Format::Json).then(|| "--format=json".to_owned()));
    words
}

/// The command that goes on past a checkpoint: `resume` with what was given. To run it again is no decision.
pub(super) fn past_checkpoint(args: Vec<String>) -> Vec<String> {
    let command = |words: &Vec<String>| Args::try_parse_from(words).ok().and_then(|read| read.command);
    let is_resume = |words: &Vec<String>| matches!(command(words), Some(Command::Resume(_)));
    if !matches!(command(&args), None | Some(Command::Run(_))) {
        return args;
    }
    let resume = ["resume".to_owned()];
    let instead = |at: usize| [&args[..at], &resume, &args[at + 1..]].concat();
    // A folder or a worker may have the name of the command.
    let named = (1..args.len()).filter(|at| args[*at] == "run").map(instead).find(is_resume);
    let (program, others) = args.split_at(args.len().min(1));
    named.unwrap_or_else(|| [program, &resume, others].concat())
}

/// The command that continues a run: these words behind the program, with twice the budget of the run if that was in the way.
pub(super) fn resume(program: String, args: impl Iterator<Item = String>, halted: Option<&Halted>) -> String {
    let with_more = match halted.map(|halted| &halted.why) {
        Some(Halt::Budget(bound)) => budget_flag(bound),
        Some(Halt::PartDone) => return same_command(program, without_part(args).into_iter()),
        _ => None,
    };
    let Some((flag, most)) = with_more else { return same_command(program, args) };
    let mut is_value = false;
    let others = args.filter(|arg| {
        let is_flag = arg.strip_prefix(&flag).map(|rest| rest.is_empty() || rest.starts_with('='));
        let is_ours = std::mem::replace(&mut is_value, *arg == flag);
        !is_ours && is_flag != Some(true)
    });
    let words: Vec<String> = others.chain([flag.clone(), most]).collect();
    same_command(program, words.into_iter())
}

/// The same command for all of the plan.
fn without_part(args: impl Iterator<Item = String>) -> Vec<String> {
    let with_value = ["--only", "--until", "--from", "--only-role", "--wave"];
    let is_part = |arg: &str| {
        arg == "--with-deps"
            || with_value.iter().any(|flag| arg.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    };
    // One option takes several values: up to the next option.
    let (mut rest, mut left) = (Vec::new(), 0);
    for arg in args {
        match arg.as_str() {
            "--only" => left = usize::MAX,
            flag if with_value.contains(&flag) => left = 1,
            flag if is_part(flag) => left = 0,
            flag if left > 0 && !flag.starts_with('-') => left -= 1,
            _ => {
                left = 0;
                rest.push(arg);
            }
        }
    }
    rest
}

/// The command that was given, as a shell reads it.
fn same_command(program: String, args: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = std::iter::once(program).chain(args.skip(1)).collect();
    shown(&words)
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::{Bound, Measure, Scope};

    use super::*;

    #[test]
    fn suggested_command_raises_the_limit_that_stopped_the_run() {
        let bound = |measure, scope| Bound { scope, measure, used: 90_000, budget: 100_000, next: 20_000 };
        let after = |line: &str, bound| {
            let halted = Halted { words: String::new(), name: None, why: Halt::Budget(Box::new(bound)) };
            resume("team-executor".to_owned(), line.split(' ').map(str::to_owned), Some(&halted))
        };
        let given = "x run --budget-tokens 100000 -y --budget-usd=0.1";
        assert_eq!(
            after(given, bound(Measure::Tokens, Scope::Run)),
            "team-executor run -y --budget-usd=0.1 --budget-tokens 200000"
        );
        assert_eq!(
            after(given, bound(Measure::Usd, Scope::Run)),
            "team-executor run --budget-tokens 100000 -y --budget-usd 0.20"
        );
        assert_eq!(after("x run", bound(Measure::Wall, Scope::Run)), "team-executor run --budget-wall 200s");
        let of_task = bound(Measure::Turns, Scope::Task(team_executor_core::TaskIndex(0)));
        assert_eq!(after(given, of_task), given.replace("x run", "team-executor run"));
    }

    #[test]
    fn past_a_checkpoint_leads_only_a_decision() {
        let after = |line: &str| past_checkpoint(line.split(' ').map(str::to_owned).collect()).join(" ");
        assert_eq!(after("x run --session=S -y"), "x resume --session=S -y");
        assert_eq!(after("x resume --session=S -y"), "x resume --session=S -y");
        assert_eq!(after("x --session=S -y"), "x resume --session=S -y");
        assert_eq!(after("x --session run -y"), "x resume --session run -y");
        assert_eq!(after("x --session run run -y"), "x --session run resume -y");
        assert_eq!(after("x --session resume --agent-command run"), "x resume --session resume --agent-command run");
        assert_eq!(after("x continue -y"), "x continue -y");
        assert_eq!(after("x"), "x resume");
    }

    #[test]
    fn the_command_is_printed_so_that_a_shell_can_read_it() {
        let args = ["/usr/bin/x", "--session=my work", "it's", "", "-y"].map(str::to_owned);
        let command = same_command("/my bin/x".to_owned(), args.into_iter());
        assert_eq!(command, r"'/my bin/x' '--session=my work' 'it'\''s' '' -y");
    }
}
