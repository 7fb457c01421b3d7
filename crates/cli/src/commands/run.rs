//! `run`, and the program without a command: executes a session, or continues it.

mod breakdown;
pub(super) mod ending;
mod proposed;

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_core::joining::record;
use team_executor_core::run::{Backoff, Cadence, Ending};
use team_executor_core::{Graph, Millis, Session, SessionStatus};
use team_executor_engine::{self as engine, Notice, Options};
use team_executor_files::{Code, Finding};
use team_executor_store::JournalError;

use super::completion::{self, Action};
use super::continued;
use super::csv;
use super::report;
use super::validate::count;
use crate::args::{Format, Run};
use crate::config::choose::{self, Defaults, Program};
use crate::config::{Origin, budget, check, prices};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::face::{Board, Event, Face, print_event};
use crate::failure::Failure;
use crate::joining;
use crate::open::{self, Opened};
use crate::place::{Place, program};
use crate::printer::{self, Printer};

/// What to do about a session that is not what its run began with.
pub(super) const UNDO: &str = "undo the change, or move the run's folder away to begin anew";

/// Runs a session, and again as long as tasks that its workers proposed are added to it.
pub(crate) fn run(
    session: Option<&Path>,
    options: &Run,
    goes_on: bool,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let mut added = 0;
    loop {
        let (exit, more) = once(session, options, goes_on, added, printer)?;
        if more == 0 {
            return Ok(exit);
        }
        added += more;
    }
}

/// Validates, asks, runs and reports. At a checkpoint it `goes_on` only if that is wanted in so many words. So many tasks
/// were `added` by workers before; the number of those that were added now is returned.
fn once(
    session: Option<&Path>,
    options: &Run,
    goes_on: bool,
    added: u32,
    printer: &mut Printer,
) -> Result<(Exit, u32), Failure> {
    let continued =
        options.continued.as_ref().map(|id| continued::choose(session, id.as_deref(), printer)).transpose()?;
    let session = continued.as_ref().map_or(session, |run| Some(&run.session));
    let opened = open::unique(session, &options.reading)?;
    let format = options.start.format;
    tell_findings(&opened, format, printer)?;
    let Some((mut session, graph)) = opened.session else {
        return Ok((invalid("Nothing was started", &opened, format, printer)?, 0));
    };
    let place = Place::of(Some(Path::new(&opened.path)))?;
    open::runs_can_be_read(&place.folder, &place.current)?;
    let joining = joining::of(&session, &options.role, &place)?;
    record(&mut session, &joining);
    let config = place.config()?;
    for message in check::unused(&config, &session).iter().filter(|_| !options.is_csv) {
        warn(message, format, printer)?;
    }
    let mut chosen = choose::choose(&config, &options.settings, &session, &place.exe)?;
    for message in check::programs_exist(&mut chosen.workers, &place)? {
        warn(&message, format, printer)?;
    }
    if options.start.yes {
        check::is_trusted(&chosen.programs, &config, options.start.trust_project)?;
    }
    for message in &chosen.unheard {
        warn(message, format, printer)?;
    }
    if chosen.ignored {
        let key = "[defaults] session_may_choose = true";
        warn(&format!("the session names agents; they were ignored ({key} lets it choose)"), format, printer)?;
    }
    let named = continued.as_ref().map(|run| run.id.as_str());
    let at = (place.folder.as_path(), place.current.as_path());
    let done = (!options.start.yes).then(|| engine::finished(&session, &graph, opened.dialect, at, named)).flatten();
    if done.is_some() {
        // Nobody is asked about what will not be done.
    } else if options.start.yes {
        let of_project = chosen.programs.iter().filter(|program| program.by_project.is_some());
        for line in of_project.map(what_runs) {
            match format {
                Format::Json => print_event(&Event::Warning { message: &line }, printer.out())?,
                Format::Text => writeln!(printer.err(), "{line}")?,
            }
        }
    } else if format == Format::Json {
        return Err(breakdown::not_confirmed());
    } else {
        let programs: Vec<_> = chosen.programs.iter().map(what_runs).collect();
        if !breakdown::confirmed(&session, &graph, &programs, &opened.path, printer)? {
            return Ok((Exit::Invalid, 0));
        }
    }
    if done.is_none() {
        for message in check::agents_are_new_enough(&mut chosen.workers, &place)? {
            warn(&message, format, printer)?;
        }
    }
    let fallbacks = chosen.fallbacks(&session);
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let action = Action::of(options.on_complete, session.completion, options.start.yes, terminal);
    // What was to be decided after the last task is still open, if the program ended in between.
    let is_open = session.status == SessionStatus::Active && opened.dialect.has_session_status();
    let defaults = Defaults::of(&config, &options.settings);
    let budgets = budget::budgets(&config, &options.settings, &session);
    let prices = prices::prices(&config.settings);
    if done.is_none() {
        for message in budget::blind_spots(&budgets, &chosen.workers, &session, &prices) {
            warn(&message, format, printer)?;
        }
    }
    let slots = defaults.concurrency.value;
    if defaults.cadence.from != Origin::BuiltIn && done.is_none() {
        let began = engine::runs::cadence(&place.folder, &place.current, named);
        if let Some(began) = began.filter(|began| *began != defaults.cadence.value) {
            let word = began.word();
            warn(&format!("the run began in {word} cadence and stays in it"), format, printer)?;
        }
    }
    if done.is_none() && waves_can_move(&session, &graph) {
        let began = engine::runs::cadence(&place.folder, &place.current, named);
        if began.unwrap_or(defaults.cadence.value) == Cadence::Beat {
            note(WAVES_MOVE, format, printer)?;
        }
    }
    let mut face = match format {
        Format::Json => Face::Events,
        Format::Text if printer.is_live() && !options.start.no_progress => {
            Face::screen(Board::new(&session, &graph, slots), printer)?
        }
        Format::Text => Face::Lines,
    };
    let ask = !options.start.yes && std::io::stdin().is_terminal();
    let mut run = Options {
        folder: place.folder,
        current: place.current,
        exe: place.exe,
        environment: place.environment,
        dialect: opened.dialect,
        session,
        graph,
        run: continued.map(|run| run.id),
        goes_on,
        ask: ask.then_some(typed),
        slots,
        cadence: defaults.cadence.value,
        retries: defaults.retries.value,
        rounds: defaults.rounds.value,
        proposals: defaults.most_proposals().saturating_sub(added),
        checkpoints: defaults.checkpoints(),
        backoff: Backoff::default(),
        fallbacks,
        quota_wait: defaults.quota_wait.value.0.map(Millis),
        budgets,
        prices,
        tasks: chosen.tasks,
        workers: chosen.workers,
        allow_network: options.start.allow_network_fs,
        at_end: action.at_end(),
    };
    let current = run.current.clone();
    let mut failed = None;
    let mut was_asked = false;
    let mut tell = |notice| {
        was_asked |= matches!(notice, Notice::WaveFailed { .. } | Notice::Checkpoint { .. } | Notice::Asks { .. });
        if failed.is_none() {
            failed = face.tell(notice, printer).err();
        }
    };
    let result = done.map_or_else(|| engine::run(&mut run, &mut tell), Ok);
    drop(face);
    let halted = result.as_ref().ok().and_then(|report| report.halt.as_ref());
    let at_checkpoint = result.as_ref().is_ok_and(|report| report.at_checkpoint);
    let given: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let words = if at_checkpoint { ending::past_checkpoint(given) } else { given };
    let command = ending::resume(program(), words.into_iter(), halted);
    let session = escape::session(&opened.path);
    let report = result.map_err(|failure| refused_to(failure, &session, Some(&command)))?;
    let again = ending::Again { resume: &command, session: &session };
    let exit = ending::tell(&report, Some(again), format, printer)?;
    let named = (opened.path.as_str(), &options.reading);
    let added = proposed::settle(&report, defaults.proposals.value, named, &current, (format, printer))?;
    if added > 0 {
        return Ok((exit, added));
    }
    if report.ending == Ending::AllCompleted && (!report.already || is_open) {
        // Not locked: a question that was answered from elsewhere may still be waiting for its line.
        let mut input = std::io::BufReader::new(std::io::stdin());
        if completion::carry_out(action, &report, &current, &mut input, format, printer)? {
            let kept = format!("The session is kept. Resume with: {}", escape::line(&command));
            writeln!(completion::voice(format, printer), "{kept}")?;
        }
    } else if ask && !was_asked && format == Format::Text && report.is_complete() {
        // What is typed after a question that was answered from elsewhere is still taken for its answer.
        ending::choices(&report, printer)?;
    }
    if !options.is_csv {
        csv::conclude(Path::new(&opened.path), exit, format, printer)?;
    }
    Ok((exit, 0))
}

/// Tells what is wrong or odd about a session.
pub(super) fn tell_findings(opened: &Opened, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match format {
        Format::Json => {
            for finding in report::findings(opened) {
                print_event(&Event::Finding(finding), printer.out())?;
            }
            for hidden in report::hidden(opened) {
                print_event(&Event::HiddenFindings(hidden), printer.out())?;
            }
        }
        Format::Text => {
            let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, printer.width());
            write!(printer.err(), "{findings}")?;
        }
    }
    Ok(())
}

/// Says that nothing can be done with a session whose findings were told.
pub(super) fn invalid(what: &str, opened: &Opened, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let message = format!("{what}: the session has {}", count(opened.findings.error_count(), "error"));
    match format {
        Format::Json => {
            let help = [format!("team-executor validate {} shows them", escape::session(&opened.path))];
            let event = Event::Refused { message: &message, help: &help, exit_code: Exit::Invalid.code() };
            print_event(&event, printer.out())?;
        }
        Format::Text => writeln!(printer.err(), "{message}")?,
    }
    Ok(Exit::Invalid)
}

/// What is said where a task can start before its planned wave.
pub(super) const WAVES_MOVE: &str =
    "beat cadence starts tasks when their dependencies allow, also before their planned wave (--cadence wave keeps it)";

/// Whether a task is planned for a later wave than its dependencies need, and only wave cadence keeps that.
pub(super) fn waves_can_move(session: &Session, graph: &Graph) -> bool {
    graph.is_planned() && !session.waves_are_barriers
}

/// Says how something is done.
pub(super) fn note(message: &str, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match format {
        Format::Json => print_event(&Event::Warning { message }, printer.out())?,
        Format::Text => writeln!(printer.err(), "note: {}", escape::line(message))?,
    }
    Ok(())
}

/// Says something odd that is survived.
pub(super) fn warn(message: &str, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match format {
        Format::Json => print_event(&Event::Warning { message }, printer.out())?,
        Format::Text => writeln!(printer.err(), "warning: {}", escape::line(message))?,
    }
    Ok(())
}

/// Why something about a run cannot be done, and what to do.
pub(super) fn refused(failure: engine::Failure) -> Failure {
    refused_to(failure, "--session=PATH", None)
}

/// The same, where it is known how the user named the session, and what goes on once the cause is gone.
pub(super) fn refused_to(failure: engine::Failure, session: &str, again: Option<&str>) -> Failure {
    use engine::Failure as Why;
    let doctor = |named: &str| format!("team-executor doctor {named}");
    let (exit, help) = match &failure {
        Why::Held(_) => (Exit::Held, format!("wait for it to end, or end it with: team-executor stop {session}")),
        Why::Changed(_) => (Exit::Invalid, UNDO.to_owned()),
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
        Why::Journal(JournalError::Damaged(_) | JournalError::Shortened { .. }) => (Exit::Io, doctor(session)),
        Why::Nameless(run) => return nameless(&failure, run, Exit::Io),
        Why::Journal(JournalError::Full(_)) | Why::NoRoom(_) => (Exit::Io, ending::MAKE_ROOM.to_owned()),
        _ => (Exit::Io, "once the cause is gone, the same command continues".to_owned()),
    };
    let mut finding = Finding::error(Code::Usage, failure.to_string());
    if let Why::Edited { refused, kept } = &failure {
        finding = refused.iter().fold(finding, |finding, line| finding.help(format!("refused: {line}")));
        finding = kept.iter().fold(finding, |finding, copy| finding.help(format!("the edited file is kept as {copy}")));
    }
    finding = finding.help(help);
    if let Some(again) = again.filter(|_| exit == Exit::Io) {
        finding = finding.help(format!("Resume with: {again}"));
    }
    Failure::Refused(Box::new(finding), exit)
}

/// Says that a run does not say of which session it is, and the two ways out.
pub(super) fn nameless(failure: &engine::Failure, run: &str, exit: Exit) -> Failure {
    let run = escape::shell_word(run);
    let finding = Finding::error(Code::Usage, failure.to_string());
    let finding = finding.help(format!("team-executor doctor --run={run}"));
    let finding = finding.help(format!("or put it away, to begin anew: team-executor archive {run} --give-up REASON"));
    Failure::Refused(Box::new(finding), exit)
}

/// What a person types: a line; nothing at the end of the input.
fn typed() -> Option<String> {
    printer::typed(&mut std::io::stdin().lock()).ok().flatten()
}

/// What will be run, and by whose choice. It is shown whole.
fn what_runs(program: &Program) -> String {
    let by = program.by_project.as_ref().map(|spot| format!(", chosen by {}:{}", spot.file, spot.line));
    escape::line(&format!("{} runs: {}{}", program.agent, program.command, by.unwrap_or_default()))
}
