//! `run`, and the program without a command: executes a session, or continues it.

mod background;
mod breakdown;
pub(super) mod ending;

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_app::apart::Beside;
use team_executor_app::config::Program;
use team_executor_app::event::{Event as RunEvent, Kind as What};
use team_executor_app::run::{Prepared, Ready, RunOptions};
use team_executor_app::{App, Error, Kind, Opened, Remark, Report, Request, count, findings};
use team_executor_core::SessionStatus;
use team_executor_core::run::Ending;

use super::completion::{self, Action};
use super::continued;
use super::csv;
use crate::args::{self, Format, OnComplete, Run};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::face::{Board, Event, Face, Steered, keys, print_event};
use crate::failure::Failure;
use crate::printer::{self, Printer};

/// Runs a session, and again as long as tasks that its workers proposed are added to it. At a checkpoint it `goes_on` only
/// if that is wanted in so many words.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Run,
    goes_on: bool,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let mut asking =
        Asking { app, options, goes_on, added: 0, was_asked: false, yes: false, is_retry: false, page: None };
    loop {
        match asking.once(session, printer)? {
            Next::End(exit) => return Ok(exit),
            Next::Added(more) => asking.added += more,
            Next::Retry => asking.is_retry = true,
        }
    }
}

/// A user who wants a session to be run.
struct Asking<'a> {
    app: &'a App,
    options: &'a Run,
    goes_on: bool,
    /// How many tasks were added by workers before.
    added: u32,
    /// A person was asked something during the run.
    was_asked: bool,
    /// It starts without a question, as this start or an earlier one said.
    yes: bool,
    /// A person wants the failed tasks to run again, and has confirmed the start before.
    is_retry: bool,
    /// The page beside the run.
    page: Option<Beside>,
}

/// What follows on a run.
enum Next {
    End(Exit),
    /// So many tasks were added by workers: it continues with them.
    Added(u32),
    /// The failed tasks are to run again.
    Retry,
}

/// A run that was begun, and what follows on its end.
struct Begun {
    ready: Ready,
    path: String,
    action: Action,
    /// What was to be decided after the last task is still open, if the program ended in between.
    is_open: bool,
}

impl Asking<'_> {
    /// Validates, asks, runs and reports.
    fn once(&mut self, session: Option<&Path>, printer: &mut Printer) -> Result<Next, Failure> {
        let (app, options) = (self.app, self.options);
        app.can_report(&options.report)?;
        let continued = options.continued.as_ref();
        let continued = continued.map(|id| continued::choose(app, session, id.as_deref(), printer)).transpose()?;
        let session = continued.as_ref().map_or(session, |run| Some(&run.session));
        let remembered = app.remembered(session, continued.as_ref().map(|run| run.id.as_str()));
        let reading = options.reading.into();
        let reading = remembered.as_ref().map_or(reading, |remembered| remembered.reading(reading));
        let mut opened = app.open_unique(session, reading)?;
        let format = options.start.format;
        tell_findings(&opened, format, printer)?;
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let Some((read, _)) = &opened.session else {
            return Ok(Next::End(invalid("Nothing was started", &opened, format, printer)?));
        };
        let start = remembered.as_ref().map(|remembered| &remembered.start);
        // A person at a terminal is asked again, unless they say yes again.
        self.yes = options.start.yes || (!terminal && start.is_some_and(|start| start.yes));
        let on_complete = start.and_then(|start| OnComplete::from_word(start.on_complete.as_deref()?));
        let on_complete = options.on_complete.or(on_complete);
        let action = Action::choose(on_complete, read.completion, self.yes, terminal);
        let is_open = read.status == SessionStatus::Active && opened.dialect.has_session_status();
        let wanted =
            RunOptions { reading, remembered, ..self.wanted(action, on_complete, continued.map(|run| run.id)) };
        let prepared = remarked(format, printer, |remarks| app.prepare(&mut opened, wanted, remarks))?;
        let Some(prepared) = prepared else { return Ok(Next::End(Exit::Invalid)) };
        if !self.is_confirmed(&prepared, &opened.path, printer)? {
            return Ok(Next::End(Exit::Invalid));
        }
        if options.detach && !options.background && prepared.done.is_none() {
            return Ok(Next::End(background::start(app, &prepared, options, &opened.path, printer)?));
        }
        let ready = remarked(format, printer, |remarks| prepared.ready(remarks))?;
        self.open_page(&opened.path, printer)?;
        self.carry_out(Begun { ready, path: opened.path, action, is_open }, printer)
    }

    /// Starts the page beside the run, if it is wanted.
    fn open_page(&mut self, path: &str, printer: &mut Printer) -> Result<(), Failure> {
        if !self.options.ui || self.page.is_some() {
            return Ok(());
        }
        let page = self.app.start_page(Path::new(path))?;
        match self.options.start.format {
            Format::Json => print_event(&Event::Page { address: page.address() }, printer.out())?,
            Format::Text => writeln!(printer.err(), "The page: {}", page.address())?,
        }
        self.page = Some(page);
        Ok(())
    }

    fn wanted(&self, action: Action, on_complete: Option<OnComplete>, run: Option<String>) -> RunOptions {
        let Run { reading, settings, role, part, start, is_csv, .. } = self.options;
        RunOptions {
            reading: (*reading).into(),
            flags: settings.into(),
            part: part.into(),
            roles: role.clone(),
            run,
            goes_on: self.goes_on,
            is_confirmed: self.yes,
            trust_project: start.trust_project,
            on_event: self.options.on_event.clone(),
            allow_network: start.allow_network_fs,
            is_job: *is_csv,
            at_end: action.at_end(),
            added: self.added,
            on_complete: on_complete.map(|action| action.word().to_owned()),
            remembered: None,
            limit: settings.concurrency,
        }
    }

    /// Says what will be run, and asks unless the user has said yes. There is no question about tasks that will not run.
    fn is_confirmed(&self, prepared: &Prepared, path: &str, printer: &mut Printer) -> Result<bool, Failure> {
        let format = self.options.start.format;
        if prepared.done.is_some() || self.is_retry {
            return Ok(true);
        }
        let is_agreed = prepared.is_agreed && (self.goes_on || !std::io::stdin().is_terminal());
        if self.yes || is_agreed {
            let of_project = prepared.programs().iter().filter(|program| program.by_project.is_some());
            for line in of_project.map(what_runs) {
                match format {
                    Format::Json => print_event(&Event::Warning { message: &line }, printer.out())?,
                    Format::Text => writeln!(printer.err(), "{line}")?,
                }
            }
            return Ok(true);
        }
        if format == Format::Json {
            return Err(breakdown::not_confirmed());
        }
        let programs: Vec<_> = prepared.programs().iter().map(what_runs).collect();
        breakdown::confirmed(&prepared.session, &prepared.graph, &programs, path, printer)
    }

    /// Runs, and says how it came out.
    fn carry_out(&mut self, mut begun: Begun, printer: &mut Printer) -> Result<Next, Failure> {
        let (app, format) = (self.app, self.options.start.format);
        let result = self.shown(&mut begun.ready, &begun.path, printer)?;
        let command = self.goes_on_with(&begun, &result);
        let report = result.map_err(|error| resumable(error, &command))?;
        let session = escape::session(&begun.path);
        let again = ending::Again { app, resume: &command, session: &session };
        let exit = ending::tell(&report, Some(again), format, printer)?;
        super::report::write(app, &begun.path, self.options, printer)?;
        let settled = |remarks: &mut Vec<Remark>| begun.ready.settle(app, &begun.path, &report, remarks);
        let added = remarked(format, printer, settled)?;
        let Begun { path, action, is_open, .. } = begun;
        if added > 0 {
            return Ok(Next::Added(added));
        }
        if report.ending == Ending::AllCompleted && (!report.already || is_open) {
            // Not locked: a question that was answered from elsewhere may still be waiting for its line.
            let mut input = std::io::BufReader::new(std::io::stdin());
            if completion::carry_out(app, action, &report, &mut input, format, printer)? {
                let kept = format!("The session is kept. Resume with: {}", escape::line(&command));
                writeln!(completion::voice(format, printer), "{kept}")?;
            }
        } else if self.asks() && !self.was_asked && format == Format::Text && report.is_complete() {
            // What is typed after a question that was answered from elsewhere is still taken for its answer.
            if ending::retries(&report, printer)? {
                let which = team_executor_app::ToRetry::Failed;
                let request = Request::Retry { which, downstream: false, feedback: String::new(), with: None };
                app.ask_or_note(Some(Path::new(&path)), self.options.reading.into(), &request)?.outcome?;
                return Ok(Next::Retry);
            }
        }
        if !self.options.is_csv {
            csv::conclude(app, Path::new(&path), exit, format, printer)?;
        }
        Ok(Next::End(exit))
    }

    /// The command that goes on with the run. It needs no options that the run remembers.
    fn goes_on_with(&self, begun: &Begun, result: &Result<Report, Error>) -> String {
        let program = self.app.program();
        let halted = result.as_ref().ok().and_then(|report| report.halt.as_ref());
        let is_over = result.as_ref().is_ok_and(|report| report.already && report.is_complete());
        if !is_over && begun.ready.is_remembered() {
            let run = self.options.continued.as_ref().and(result.as_ref().ok()).map(|report| report.run.as_str());
            let words = ending::without_options(&begun.path, run, self.options.start.format);
            return ending::resume(program, words.into_iter(), halted);
        }
        let given = args::without_values(std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()));
        let at_checkpoint = result.as_ref().is_ok_and(|report| report.at_checkpoint);
        let words = if at_checkpoint { ending::past_checkpoint(given) } else { given };
        ending::resume(program, words.into_iter(), halted)
    }

    /// Runs, and shows what happens.
    fn shown(
        &mut self,
        ready: &mut Ready,
        path: &str,
        printer: &mut Printer,
    ) -> Result<Result<Report, Error>, Failure> {
        let start = &self.options.start;
        let mut face = match start.format {
            Format::Json => Face::Events,
            Format::Text if printer.is_live() && !start.no_progress => {
                let (session, graph) = ready.session();
                let (app, reading) = (self.app.clone(), self.options.reading.into());
                let steered = Steered { app, session: path.into(), reading, can_leave: false };
                Face::screen(Board::new(session, graph, ready.slots(), ready.expected()), steered, printer)?
            }
            Format::Text => Face::Lines,
        };
        let mut failed = None;
        let console = self.options.background.then(|| ready.console());
        let ask = self.asks().then_some(typed as fn() -> Option<String>);
        let was_asked = &mut self.was_asked;
        Ok(ready.run(ask, &mut |event: RunEvent| {
            *was_asked |= matches!(event.kind, What::WaveFailed { .. } | What::Checkpoint { .. } | What::Asks { .. });
            if let (Some(console), What::RunStarted { run, .. }) = (&console, &event.kind) {
                failed = background::take_over(console, run, printer).err();
            }
            if failed.is_none() {
                failed = face.tell(event, printer).err();
            }
        }))
    }

    /// Whether a person can be asked.
    fn asks(&self) -> bool {
        !self.yes && std::io::stdin().is_terminal()
    }
}

/// Does something and prints the remarks about it, also if it is refused.
pub(super) fn remarked<T>(
    format: Format,
    printer: &mut Printer,
    act: impl FnOnce(&mut Vec<Remark>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let mut remarks = Vec::new();
    let done = act(&mut remarks);
    remarks.iter().try_for_each(|remark| tell_remark(remark, format, printer))?;
    Ok(done?)
}

/// The same refusal, with the command that goes on once the cause is gone.
fn resumable(error: Error, command: &str) -> Failure {
    match error {
        Error::Refused(finding, Kind::Io) => {
            Failure::Refused(Box::new(finding.help(format!("Resume with: {command}"))), Exit::Io)
        }
        error => error.into(),
    }
}

/// Tells what is wrong or odd about a session.
pub(super) fn tell_findings(opened: &Opened, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match format {
        Format::Json => {
            for finding in findings::findings(opened) {
                print_event(&Event::Finding(finding), printer.out())?;
            }
            for hidden in findings::hidden(opened) {
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
            let help = [format!("see them: team-executor validate {}", escape::session(&opened.path))];
            let event = Event::Refused { message: &message, help: &help, exit_code: Exit::Invalid.code() };
            print_event(&event, printer.out())?;
        }
        Format::Text => writeln!(printer.err(), "{message}")?,
    }
    Ok(Exit::Invalid)
}

/// Prints remarks.
pub(super) fn tell_remark(remark: &Remark, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    match (format, remark) {
        (Format::Json, remark) => print_event(&Event::Warning { message: remark.text() }, printer.out())?,
        (Format::Text, Remark::Warning(text)) => writeln!(printer.err(), "warning: {}", escape::line(text))?,
        (Format::Text, Remark::Note(text)) => writeln!(printer.err(), "note: {}", escape::line(text))?,
    }
    Ok(())
}

/// Says something odd that is survived.
pub(super) fn warn(message: &str, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    tell_remark(&Remark::Warning(message.to_owned()), format, printer)
}

/// What a person types: a line; nothing at the end of the input.
fn typed() -> Option<String> {
    keys::aside(|| printer::typed(&mut std::io::stdin().lock()).ok().flatten())
}

/// What will be run, and by whose choice. It is shown whole.
fn what_runs(program: &Program) -> String {
    let by = program.by_project.as_ref().map(|spot| format!(", chosen by {}:{}", spot.file, spot.line));
    escape::line(&format!("{} runs: {}{}", program.agent, program.command, by.unwrap_or_default()))
}
