//! `run`, and the program without a command: executes a session, or continues it.

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_core::run::{Backoff, Ending};
use team_executor_core::{Plan, SessionStatus};
use team_executor_engine::control::Decision;
use team_executor_engine::{self as engine, Notice, Options, Report};
use team_executor_files::{Code, Dialect, Finding};
use team_executor_store::JournalError;

use super::completion::{self, Action};
use super::continued;
use super::plan::summary;
use super::validate::count;
use crate::args::Run;
use crate::config::choose::{self, Defaults, Program};
use crate::config::{check, command};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use crate::printer::Printer;

/// Validates, asks, runs and reports.
pub(crate) fn run(session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    let continued =
        options.continued.as_ref().map(|id| continued::choose(session, id.as_deref(), printer)).transpose()?;
    let session = continued.as_ref().map_or(session, |run| Some(&run.session));
    let opened = open::session(session, &options.reading)?;
    let width = printer.width();
    let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, width);
    write!(printer.err(), "{findings}")?;
    let Some((session, graph)) = opened.session else {
        let errors = count(opened.findings.error_count(), "error");
        writeln!(printer.err(), "Nothing was started: the session has {errors}")?;
        return Ok(Exit::Invalid);
    };
    let place = Place::of(Some(Path::new(&opened.path)))?;
    let config = place.config()?;
    let chosen = choose::choose(&config, &options.settings, &session, &place.exe)?;
    check::programs_exist(&chosen.workers, &place)?;
    if options.yes {
        check::is_trusted(&chosen.programs, &config, options.trust_project)?;
    }
    if chosen.ignored {
        let key = "[defaults] session_may_choose = true";
        writeln!(printer.err(), "warning: the session names agents; they were ignored ({key} lets it choose)")?;
    }
    if !options.yes {
        let plan = Plan::of(&session, graph.clone());
        if !confirmed(&summary(&session, &plan), &chosen.programs, printer)? {
            return Ok(Exit::Invalid);
        }
    } else {
        let of_project = chosen.programs.iter().filter(|program| program.by_project.is_some());
        of_project.map(what_runs).try_for_each(|line| writeln!(printer.err(), "{line}"))?;
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let action = Action::of(options.on_complete, session.completion, options.yes, terminal);
    // What was to be decided after the last task is still open, if the program ended in between.
    let is_open = session.status == SessionStatus::Active && opened.dialect != Dialect::TasksCsv;
    let defaults = Defaults::of(&config, &options.settings);
    let options = Options {
        folder: place.folder,
        current: place.current,
        exe: place.exe,
        environment: place.environment,
        dialect: opened.dialect,
        session,
        graph,
        run: continued.map(|run| run.id),
        ask: (!options.yes && std::io::stdin().is_terminal()).then_some(decision),
        slots: defaults.concurrency.value,
        cadence: defaults.cadence.value,
        retries: defaults.retries.value,
        backoff: Backoff::default(),
        tasks: chosen.tasks,
        workers: chosen.workers,
        allow_network: options.allow_network_fs,
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
            let command = same_command(std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()));
            let exit = report(&done, Some(command.clone()), printer)?;
            if done.ending == Ending::AllCompleted && (!done.already || is_open) {
                // Not locked: a question that was answered from elsewhere may still be waiting for its line.
                let mut input = std::io::BufReader::new(std::io::stdin());
                let kept = completion::carry_out(action, &folder, &current, &mut input, printer)?;
                if kept {
                    writeln!(printer.out(), "The session is kept. Resume with: {}", escape::line(&command))?;
                }
            }
            Ok(exit)
        }
        Err(failure) => {
            let session = escape::shell_word(&format!("--session={}", opened.path));
            let exit = refuse_run(&failure, &session, printer)?;
            if exit == Exit::Io {
                let args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
                writeln!(printer.err(), "Resume with: {}", escape::line(&same_command(args)))?;
            }
            Ok(exit)
        }
    }
}

/// Shows what will happen and asks. Without somebody to ask, nothing is started.
fn confirmed(summary: &str, programs: &[Program], printer: &mut Printer) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let finding = Finding::error(Code::Usage, "the start was not confirmed, so nothing was started");
        return Err(finding.help("add -y to start without being asked").into());
    }
    writeln!(printer.err(), "{summary}")?;
    programs.iter().map(what_runs).try_for_each(|line| writeln!(printer.err(), "{line}"))?;
    write!(printer.err(), "Start? [Y/n] ")?;
    printer.err().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

/// What a person types after a wave failed. Whoever has left does not want another try.
fn decision() -> Option<Decision> {
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    match (read, answer.trim().to_lowercase().as_str()) {
        (Ok(1..), "r" | "retry") => Some(Decision::Retry),
        (Ok(1..), word) if !matches!(word, "a" | "abort") => None,
        _ => Some(Decision::Abort),
    }
}

/// What will be run, and by whose choice. It is shown whole.
fn what_runs(program: &Program) -> String {
    let by = program.by_project.as_ref().map(|spot| format!(", chosen by {}:{}", spot.file, spot.line));
    escape::line(&format!("{} runs: {}{}", program.agent, program.command, by.unwrap_or_default()))
}

/// Tells one thing on one line.
pub(super) fn tell(notice: &Notice, width: usize, out: &mut impl Write) -> std::io::Result<()> {
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
        Notice::Paused { reason } => format!("Paused: {reason}; no new workers start until `resume`"),
        Notice::Resumed => "Going on".to_owned(),
        Notice::WaveFailed { wave } => {
            writeln!(out, "error: every task of wave {wave} failed")?;
            "help: type r to retry them or a to abort, and Enter".to_owned()
        }
        Notice::WaveMerged { wave } => format!("Wave {wave} is complete"),
        Notice::Draining { running } => {
            format!("Stopping after {}; press Ctrl-C again to end them now", count(*running, "running worker"))
        }
        Notice::Stopping => "Ending the workers".to_owned(),
        Notice::Warning(words) => format!("warning: {words}"),
    };
    writeln!(out, "{}", escape::cut(line.trim_end(), width))
}

/// Says how a run came out, and with what it can be resumed where it can.
pub(super) fn report(report: &Report, resume: Option<String>, printer: &mut Printer) -> Result<Exit, Failure> {
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
    if let Some(command) = resume.filter(|_| resumable) {
        writeln!(out, "Resume with: {}", escape::line(&command))?;
    }
    Ok(exit)
}

/// Says why something about a run cannot be done, and what to do about it.
pub(super) fn refuse(failure: &engine::Failure, printer: &mut Printer) -> Result<Exit, Failure> {
    refuse_run(failure, "--session=PATH", printer)
}

/// The same, where it is known how the user named the session.
fn refuse_run(failure: &engine::Failure, session: &str, printer: &mut Printer) -> Result<Exit, Failure> {
    use engine::Failure as Why;
    let doctor = |named: &str| format!("team-executor doctor {named}");
    let (exit, help) = match failure {
        Why::Held(_) => (Exit::Held, format!("wait for it to end, or end it with: team-executor stop {session}")),
        Why::Changed(_) => (Exit::Invalid, "undo the change, or move the run's folder away to begin anew".to_owned()),
        Why::Control(_) => (Exit::Io, "ask again; `team-executor status` shows how the run stands".to_owned()),
        Why::TooDeep(_) => (Exit::Invalid, "start it outside of a worker".to_owned()),
        Why::Network { .. } => {
            (Exit::Invalid, "move it to a local disk, or add --allow-network-fs if no other machine runs it".to_owned())
        }
        Why::Edited { .. } => (
            Exit::Invalid,
            "the same command continues without the edit; see docs/recovery.md for what can be edited".to_owned(),
        ),
        Why::Unfinished(_) => (Exit::Invalid, format!("run it to its end first: team-executor {session}")),
        Why::NoRun(_) => (Exit::Invalid, "`team-executor sessions` lists the sessions and runs".to_owned()),
        Why::InTheWay(_) => (Exit::Invalid, "nothing of it was changed; choose another place or name".to_owned()),
        Why::Journal(JournalError::Damaged(_)) => (Exit::Io, doctor(session)),
        Why::Nameless(run) => (Exit::Io, doctor(&format!("--run={}", escape::shell_word(run)))),
        Why::Journal(JournalError::Full(_)) => {
            (Exit::Io, "make room on the disk; df -h shows how it is used".to_owned())
        }
        _ => (Exit::Io, "once the cause is gone, the same command continues".to_owned()),
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
