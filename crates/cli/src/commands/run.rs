//! `run`, and the program without a command: executes a session, or continues it.

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_core::run::{Cadence, Ending};
use team_executor_core::{Plan, SessionStatus};
use team_executor_engine::{self as engine, Notice, Options, Report};
use team_executor_files::{Code, Dialect, Finding};

use super::completion::{self, Action};
use super::plan::summary;
use super::validate::count;
use crate::args::{Run, RunCadence};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Validates, asks, runs and reports.
pub(crate) fn run(session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let width = printer.width();
    let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, width);
    write!(printer.err(), "{findings}")?;
    let Some((session, graph)) = opened.session else {
        let errors = count(opened.findings.error_count(), "error");
        writeln!(printer.err(), "Nothing was started: the session has {errors}")?;
        return Ok(Exit::Invalid);
    };
    let Some(command) = &options.agent_command else {
        let finding = Finding::error(Code::Usage, "no agent was named, so nothing was started");
        return Err(finding.help("name the program that does the work: --agent-command 'CMD'").into());
    };
    if !options.yes {
        let plan = Plan::of(&session, graph.clone());
        if !confirmed(&summary(&session, &plan), command, printer)? {
            return Ok(Exit::Invalid);
        }
    }
    let unusable =
        |what: &str, error: std::io::Error| Failure::from(Finding::error(Code::Usage, format!("{what}: {error}")));
    let folder = Path::new(&opened.path);
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let action = Action::of(options.on_complete, session.completion, options.yes, terminal);
    // What was to be decided after the last task is still open, if the program ended in between.
    let is_open = session.status == SessionStatus::Active && opened.dialect != Dialect::TasksCsv;
    let options = Options {
        folder: folder.canonicalize().map_err(|error| unusable("the session folder cannot be found", error))?,
        current: std::env::current_dir().map_err(|error| unusable("the current folder cannot be found", error))?,
        exe: std::env::current_exe().map_err(|error| unusable("this program cannot be found", error))?,
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        dialect: opened.dialect,
        session,
        graph,
        slots: options.concurrency.max(1),
        cadence: match options.cadence {
            RunCadence::Beat => Cadence::Beat,
            RunCadence::Wave => Cadence::Wave,
        },
        retries: options.retries,
        command: words(command),
        limit_ms: options.time_limit.saturating_mul(1000),
        at_end: action.at_end(),
    };
    let (folder, current) = (options.folder.clone(), options.current.clone());
    let mut failed = None;
    let result = engine::run(options, &mut |notice| {
        if failed.is_none() {
            failed = tell(&notice, width, printer.err()).err();
        }
    });
    match result {
        Ok(done) => {
            let exit = report(&done, printer)?;
            if done.ending == Ending::AllCompleted && (!done.already || is_open) {
                let kept = completion::carry_out(action, &folder, &current, &mut std::io::stdin().lock(), printer)?;
                if kept {
                    tell_resume("The session is kept. ", printer.out())?;
                }
            }
            Ok(exit)
        }
        Err(failure) => Ok(refuse(&failure, printer)?),
    }
}

/// Shows what will happen and asks. Without somebody to ask, nothing is started.
fn confirmed(summary: &str, command: &str, printer: &mut Printer) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let finding = Finding::error(Code::Usage, "the start was not confirmed, so nothing was started");
        return Err(finding.help("add -y to start without being asked").into());
    }
    write!(printer.err(), "{summary}\nEach task runs: {}\nStart? [Y/n] ", escape::line(command))?;
    printer.err().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

/// A command line as a program and its arguments; through a shell only where it needs one.
fn words(command: &str) -> Vec<String> {
    let needs_shell = command.contains(|c: char| "|&;<>()$`\\\"'*?[]{}~#!\n".contains(c));
    if needs_shell {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]
    } else {
        command.split_whitespace().map(str::to_owned).collect()
    }
}

fn tell(notice: &Notice, width: usize, out: &mut impl Write) -> std::io::Result<()> {
    let line = match notice {
        Notice::Begins { run, resumed: false, counts } => {
            format!("Run {run} begins, {} to do", counts.pending + counts.ready)
        }
        Notice::Begins { run, resumed: true, counts } => format!("Run {run} goes on, {} done", counts.completed),
        Notice::Started { task, role, attempt, fast_advance } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let fast = if *fast_advance { ", fast_advance" } else { "" };
            format!("▶ {task} ({role}{again}{fast})")
        }
        Notice::Completed { task, findings, counts } => {
            let total =
                counts.pending + counts.ready + counts.in_progress + counts.completed + counts.failed + counts.skipped;
            format!("✓ {task} [{}/{total}] {findings}", counts.completed)
        }
        Notice::Failed { task, error, again, .. } => {
            format!("✗ {task} {error}{}", if *again { "; it will be tried again" } else { "" })
        }
        Notice::Adopted(change) => format!("taken over: {change}"),
        Notice::Reconciled(change) => format!("put right: {change}"),
        Notice::Interrupted { task } => format!("– {task} was interrupted"),
        Notice::Skipped { task, reason } => format!("– {task} skipped: {reason}"),
        Notice::WaveMerged { wave } => format!("Wave {wave} is complete"),
        Notice::Draining { running } => {
            format!("Stopping after {}; press Ctrl-C again to end them now", count(*running, "running worker"))
        }
        Notice::Stopping => "Ending the workers".to_owned(),
        Notice::Warning(words) => format!("warning: {words}"),
    };
    writeln!(out, "{}", escape::cut(line.trim_end(), width))
}

fn report(report: &Report, printer: &mut Printer) -> Result<Exit, Failure> {
    let counts = report.counts;
    let total = counts.pending + counts.ready + counts.in_progress + counts.completed + counts.failed + counts.skipped;
    let out = printer.out();
    if report.already {
        writeln!(out, "Run {} is finished; nothing was done", escape::line(&report.run))?;
    }
    let exit = match report.ending {
        Ending::AllCompleted => Exit::Fine,
        Ending::WithFailures => Exit::Unfinished,
        Ending::Paused | Ending::Drained => Exit::Paused,
        Ending::Stopped => Exit::Interrupted,
    };
    let resumable = matches!(exit, Exit::Paused | Exit::Interrupted);
    let how = if resumable { "stopped" } else { "complete" };
    writeln!(out, "Pipeline {how}: {}/{total} tasks completed", counts.completed)?;
    if counts.failed + counts.skipped > 0 {
        writeln!(out, "{} failed, {} skipped", counts.failed, counts.skipped)?;
    }
    writeln!(out, "Files: {}", escape::line(&report.folder.display().to_string()))?;
    if resumable {
        tell_resume("", out)?;
    }
    Ok(exit)
}

fn tell_resume(before: &str, out: &mut impl Write) -> std::io::Result<()> {
    let args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    writeln!(out, "{before}Resume with: {}", escape::line(&same_command(args)))
}

/// Says why something could not be done, and what to do about it.
pub(super) fn refuse(failure: &engine::Failure, printer: &mut Printer) -> Result<Exit, Failure> {
    let (exit, help) = match failure {
        engine::Failure::Held(_) => (Exit::Held, "wait for it to end, or end it with Ctrl-C where it runs"),
        engine::Failure::Changed(_) => (Exit::Invalid, "undo the change, or move the run's folder away to begin anew"),
        engine::Failure::Edited { .. } => {
            (Exit::Invalid, "the same command continues without the edit; see docs/recovery.md for what can be edited")
        }
        engine::Failure::Unfinished(_) => (Exit::Invalid, "run it to its end first: team-executor --session=PATH"),
        engine::Failure::NoRun(_) => (Exit::Invalid, "`team-executor sessions` lists the sessions and runs"),
        engine::Failure::InTheWay(_) => (Exit::Invalid, "nothing of it was changed; choose another place or name"),
        engine::Failure::TooDeep(_) => (Exit::Invalid, "start it outside of a worker"),
        _ => (Exit::Io, "once the cause is gone, the same command continues"),
    };
    let mut finding = Finding::error(Code::Usage, failure.to_string());
    if let engine::Failure::Edited { refused, kept } = failure {
        for line in refused {
            writeln!(printer.err(), "refused: {}", escape::line(line))?;
        }
        finding = kept.iter().fold(finding, |finding, copy| finding.help(format!("the edited file is kept as {copy}")));
    }
    let finding = finding.help(help);
    let text = diagnostics::finding(&finding, &team_executor_files::Sources::default(), "", printer.width());
    write!(printer.err(), "{text}")?;
    Ok(exit)
}

/// The command that was given, as a shell reads it.
fn same_command(args: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=/.,:@%+".contains(c);
    let quoted = |word: String| {
        let is_plain = !word.is_empty() && word.chars().all(plain);
        if is_plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    std::iter::once("team-executor".to_owned()).chain(args.skip(1).map(quoted)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{same_command, words};

    #[test]
    fn the_command_is_printed_so_that_a_shell_can_read_it() {
        let args = ["/usr/bin/x", "--session=my work", "it's", "", "-y"].map(str::to_owned);
        assert_eq!(same_command(args.into_iter()), r"team-executor '--session=my work' 'it'\''s' '' -y");
    }

    #[test]
    fn a_shell_is_used_only_where_it_is_needed() {
        assert_eq!(words("/bin/true"), ["/bin/true"]);
        assert_eq!(words(" worker stamp  log @TASK "), ["worker", "stamp", "log", "@TASK"]);
        assert_eq!(words("echo $HOME | cat"), ["/bin/sh", "-c", "echo $HOME | cat"]);
    }
}
