//! `run`, and the program without a command: executes a session, or continues it.

mod breakdown;
mod ending;

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_core::run::Cadence;
use team_executor_engine::{self as engine, Options};
use team_executor_files::{Code, Finding};

use super::report;
use super::validate::count;
use crate::args::{Format, Run, RunCadence};
use crate::diagnostics;
use crate::exit::Exit;
use crate::face::{Board, Event, Face, print_event};
use crate::failure::Failure;
use crate::open::{self, Opened};
use crate::printer::Printer;

/// Validates, asks, runs and reports.
pub(crate) fn run(session: Option<&Path>, options: &Run, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let is_json = options.format == Format::Json;
    tell_findings(&opened, is_json, printer)?;
    let Some((session, graph)) = opened.session else {
        let message = format!("Nothing was started: the session has {}", count(opened.findings.error_count(), "error"));
        if is_json {
            let help = [format!("team-executor validate --session={} shows them", opened.path)];
            print_event(
                &Event::Refused { message: &message, help: &help, exit_code: Exit::Invalid.code() },
                printer.out(),
            )?;
        } else {
            writeln!(printer.err(), "{message}")?;
        }
        return Ok(Exit::Invalid);
    };
    let Some(command) = &options.agent_command else {
        let finding = Finding::error(Code::Usage, "no agent was named, so nothing was started");
        return Err(finding.help("name the program that does the work: --agent-command 'CMD'").into());
    };
    if !options.yes {
        if is_json {
            return Err(breakdown::not_confirmed());
        }
        if !breakdown::confirmed(&session, &graph, command, &opened.path, printer)? {
            return Ok(Exit::Invalid);
        }
    }
    let slots = options.concurrency.max(1);
    let mut face = if is_json {
        Face::Events
    } else if printer.is_live() && !options.no_progress {
        Face::screen(Board::new(&session, &graph, slots))?
    } else {
        Face::Lines
    };
    let run = Options {
        folder: Path::new(&opened.path).canonicalize().map_err(unusable("the session folder cannot be found"))?,
        current: std::env::current_dir().map_err(unusable("the current folder cannot be found"))?,
        exe: std::env::current_exe().map_err(unusable("this program cannot be found"))?,
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        dialect: opened.dialect,
        session,
        graph,
        slots,
        cadence: match options.cadence {
            RunCadence::Beat => Cadence::Beat,
            RunCadence::Wave => Cadence::Wave,
        },
        retries: options.retries,
        command: words(command),
        limit_ms: options.time_limit.saturating_mul(1000),
    };
    let mut failed = None;
    let result = engine::run(run, &mut |notice| {
        if failed.is_none() {
            failed = face.tell(notice, printer).err();
        }
    });
    drop(face);
    let report = result.map_err(refused)?;
    let ask = !options.yes && std::io::stdin().is_terminal();
    ending::tell(&report, options.format, ask, printer)
}

fn tell_findings(opened: &Opened, is_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    if is_json {
        for finding in report::findings(opened) {
            print_event(&Event::Finding(finding), printer.out())?;
        }
        for hidden in report::hidden(opened) {
            print_event(&Event::HiddenFindings(hidden), printer.out())?;
        }
    } else {
        let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
        write!(printer.err(), "{findings}")?;
    }
    Ok(())
}

/// Something around the run that must be there and is not.
fn unusable(what: &'static str) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| {
        let finding = Finding::error(Code::Usage, format!("{what}: {error}"));
        finding.help("see whether it is still there, and give the command again from a folder that is").into()
    }
}

fn refused(failure: engine::Failure) -> Failure {
    let (exit, help) = match failure {
        engine::Failure::Held(_) => (Exit::Held, "wait for it to end, or end it with Ctrl-C where it runs"),
        engine::Failure::Changed(_) => (Exit::Invalid, "undo the change, or move the run's folder away to begin anew"),
        engine::Failure::TooDeep(_) => (Exit::Invalid, "start it outside of a worker"),
        _ => (Exit::Io, "once the cause is gone, the same command continues"),
    };
    Failure::Refused(Box::new(Finding::error(Code::Usage, failure.to_string()).help(help)), exit)
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

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_shell_is_used_only_where_it_is_needed() {
        assert_eq!(words("/bin/true"), ["/bin/true"]);
        assert_eq!(words(" worker stamp  log @TASK "), ["worker", "stamp", "log", "@TASK"]);
        assert_eq!(words("echo $HOME | cat"), ["/bin/sh", "-c", "echo $HOME | cat"]);
    }
}
